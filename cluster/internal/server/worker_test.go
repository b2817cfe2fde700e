package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/internal/virtualtest"
)

// noCollection keeps servers from collecting garbage.
var noCollection = config.GCConfig{Interval: 1000 * time.Hour, TokenInterval: 1000 * time.Hour}

// TestAWorkerThatIsBehind: having given back an evaluation that its server was behind for, a worker of
// a newer release waits for the server before it takes another.
func TestAWorkerThatIsBehind(t *testing.T) {
	for catchesUp, want := range map[bool]time.Duration{false: raftSyncLimit, true: raftSyncLimit + catchUpLimit} {
		virtualtest.Test(t, func(t *testing.T) {
			s := alone(t, config.Config{Seed: 1, GC: noCollection, Habits: config.Habits{CatchUp: catchesUp}})
			pending := func(id string, priority int, index uint64) *broker.Evaluation {
				return &broker.Evaluation{
					ID: id, Namespace: rpc.DefaultNamespace, JobID: id, Type: rpc.JobTypeService, Priority: priority,
					TriggeredBy: broker.TriggeredByJobRegister, Status: broker.StatusPending, ModifyIndex: index,
				}
			}
			s.evals.Broker.Enqueue(pending("ahead", 50, s.Snapshot().Index()+1000))
			time.Sleep(time.Second)
			s.evals.Broker.Enqueue(pending("next", 90, 0))
			began := time.Now().Add(-time.Second)
			for len(s.Snapshot().EvalsByStatus(broker.StatusComplete)) == 0 {
				time.Sleep(100 * time.Millisecond)
			}
			if took := time.Since(began); took < want || took > want+2*time.Second {
				t.Errorf("catches up %v: the next evaluation was done after %v, want %v", catchesUp, took, want)
			}
		})
	}
}

// TestBackoffs: each is four times as long as the one before, up to a limit, and each worker's is its own.
func TestBackoffs(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := &worker{srv: &Server{cfg: &config.Config{}, ctx: ctx, opts: Options{ID: 2}}, id: 3}
		var got []time.Duration
		for range 8 {
			began := time.Now()
			w.backoff(backoffFast)
			got = append(got, time.Since(began)-(2*64+3)*time.Microsecond)
		}
		if want := "[20ms 80ms 320ms 1.28s 5.12s 10s 10s 10s]"; fmt.Sprint(got) != want {
			t.Errorf("waits of %v, want %s", got, want)
		}
		w.failures = 0
		if w.backoff(backoffSlow); w.failures != 1 {
			t.Errorf("%d failures after the first", w.failures)
		}
		cancel()
		began := time.Now()
		if w.backoff(backoffSlow); time.Since(began) != 0 {
			t.Errorf("a server that has died waits for %v", time.Since(began))
		}
	})
}

// TestNotReadyOnceDead: a server's context ends before those that were made of it. Between the two, a worker must not begin
// another call.
func TestNotReadyOnceDead(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		ctx, die := context.WithCancel(t.Context())
		w := &worker{srv: &Server{ctx: ctx}, ctx: t.Context()}
		if !w.ready() {
			t.Error("a worker of a server that runs is not ready")
		}
		if die(); w.ready() {
			t.Error("a worker of a dead server is ready")
		}
	})
}

// TestCallsThatAreMadeAgain: a call is made again while there is no leader, or one that takes no plans yet, ever more
// slowly, and the wait after a success is the first again. Any other error is the caller's, as any is when the server has died.
func TestCallsThatAreMadeAgain(t *testing.T) {
	refused := errors.New("refused")
	for _, c := range []struct {
		answers []error
		dead    bool
		calls   int
		want    error
		took    time.Duration
	}{
		{answers: []error{nil}, calls: 1},
		{answers: []error{refused, nil}, calls: 1, want: refused},
		{answers: []error{rpc.ErrNoLeader, leader.ErrPlanQueueDisabled, nil}, calls: 3, took: 2500 * time.Millisecond},
		{answers: []error{rpc.ErrNoLeader, refused, nil}, calls: 2, want: refused, took: 500 * time.Millisecond},
		{answers: []error{rpc.ErrNoLeader, nil}, dead: true, calls: 1, want: rpc.ErrNoLeader},
	} {
		virtualtest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w := &worker{srv: &Server{cfg: &config.Config{}, ctx: ctx}}
			if c.dead {
				cancel()
			}
			calls, began := 0, time.Now()
			err := w.retry(func() error {
				calls++
				return c.answers[calls-1]
			})
			if took := time.Since(began); calls != c.calls || !errors.Is(err, c.want) || took != c.took {
				t.Errorf("%v: after %d calls in %v: %v; want %d, %v, %v", c.answers, calls, took, err, c.calls, c.took, c.want)
			}
			if c.want == nil && w.failures != 0 {
				t.Errorf("%v: after a success it remembers %d failures", c.answers, w.failures)
			}
		})
	}
}

// TestDying: at the instant at which a server dies it leads no more, nobody reaches it, and what it has
// in hand comes to nothing, though its goroutines still run.
func TestDying(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		s := lead(t, config.Config{Seed: 1, GC: noCollection})
		peer := s.shared.Network.NewTransport("peer", nil)
		s.die()
		if s.Established() || !s.dead() {
			t.Error("it leads on")
		}
		if s.evals.Broker.Enabled() {
			t.Error("its broker gives out evaluations")
		}
		if _, ok := <-s.Node.Write([]byte{1}); ok {
			t.Error("its log takes an entry")
		}
		if err := peer.RequestVote("", raft.ServerAddress(s.addr), &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{}); !errors.Is(err, simnet.ErrUnreachable) {
			t.Errorf("its Raft answers %v, want %v", err, simnet.ErrUnreachable)
		}
		err := errors.Join(s.Node.Stop(), peer.Close())
		s.workerWG.Wait()
		s.wg.Wait()
		if err := errors.Join(err, s.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestOneThatNeverLed: a server that dies without having led has not led afterwards.
func TestOneThatNeverLed(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		s := start(t, config.Config{Seed: 1, GC: noCollection})
		if err := s.Stop(); err != nil || s.Established() {
			t.Errorf("%v; leads: %v", err, s.Established())
		}
	})
}

// TestTurns: no two workers of a cluster ask at one instant.
func TestTurns(t *testing.T) {
	var turns []time.Duration
	for server := range 5 {
		for id := range 64 {
			turns = append(turns, (&worker{srv: &Server{opts: Options{ID: server}}, id: id}).turn())
		}
	}
	slices.Sort(turns)
	if different := len(slices.Compact(slices.Clone(turns))); different != len(turns) || turns[0] <= 0 {
		t.Errorf("%d turns of %d workers, the first %v", different, len(turns), turns[0])
	}
}
