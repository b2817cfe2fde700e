package cluster

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/server"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestAStoppedServerWritesNothing: what comes to write when the writer has stopped is told
// so at once, and is not left waiting, which once kept a server from ever stopping.
func TestAStoppedServerWritesNothing(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 1})
		leader := c.server(c.Leader())
		if err := c.StopServer(leader.ID()); err != nil {
			t.Fatal(err)
		}
		_, err := leader.Write(fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: []*broker.Evaluation{{ID: "e"}}}))
		if !errors.Is(err, server.ErrStopped) {
			t.Errorf("a write on a stopped server: %v, want %v", err, server.ErrStopped)
		}
	})
}

// TestAServerStartsUnderTheEyesOfOthers: who looks at all servers while one starts, as a run does on
// the clock of the wall, finds its old process or its new one, and nothing in between.
func TestAServerStartsUnderTheEyesOfOthers(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 1})
		for range 20 {
			if err := c.StopServer(0); err != nil {
				t.Fatal(err)
			}
			var started atomic.Bool
			var looks sync.WaitGroup
			looking := make(chan struct{}, 1)
			looks.Go(func() {
				for !started.Load() {
					if err := c.StorageError(); err != nil || c.State(0) == nil {
						t.Errorf("the state of a server that starts is %v, and its storage says %v", c.State(0), err)
					}
					select {
					case looking <- struct{}{}:
					default:
					}
				}
			})
			<-looking
			err := c.StartServer(0)
			started.Store(true)
			looks.Wait()
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestWritesEnd: servers are drained when each has applied the same and nothing is on its way. When
// writing ends they come to that however busy they were, and stay so.
func TestWritesEnd(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, Config{Seed: 1, Costs: Costs{ServerLink: Link{Latency: time.Millisecond}}})
		r.fails = allTypes // what is refused is an event, too
		same := func() bool {
			for i := range r.c.Servers() {
				if r.c.State(i).Index() != r.c.State(0).Index() {
					return false
				}
			}
			return true
		}
		var calls sync.WaitGroup
		for caller := range 4 {
			calls.Go(func() {
				for n := 0; ; n++ {
					time.Sleep(time.Duration(2000+113*caller) * time.Microsecond)
					if _, err := r.c.RegisterJob(t.Context(), serviceJob(fmt.Sprintf("svc-%d-%d", caller, n), 1, 0)); err != nil {
						if !errors.Is(err, rpc.ErrNoLeader) {
							t.Errorf("a call after writing has ended: %v, want %v", err, rpc.ErrNoLeader)
						}
						return
					}
				}
			})
		}
		differ := 0
		for range 2000 {
			time.Sleep(97 * time.Microsecond)
			if !same() {
				differ++
				if r.c.Drained() {
					t.Fatal("servers that have applied different entries are drained")
				}
			}
		}
		for r.c.Drained() {
			time.Sleep(97 * time.Microsecond)
		}
		r.c.EndWrites()
		if differ == 0 || r.c.Drained() {
			t.Errorf("servers differed at %d looks; what is on its way when writing ends is there: %v", differ, r.c.Drained())
		}
		calls.Wait()
		time.Sleep(time.Second)
		acked, index := r.c.Acknowledged(), r.c.State(0).Index()
		if a := r.c.CheckLogs(); !r.c.Drained() || !same() || index < acked || a.Lost != nil || a.Logs != nil {
			t.Errorf("a second after writing ended: drained %v, the same %v, index %d, %d acknowledged; %+v", r.c.Drained(), same(), index, acked, a)
		}
		time.Sleep(10 * time.Minute)
		if now := r.c.State(0).Index(); now != index || !r.c.Drained() {
			t.Errorf("the log went on from %d to %d", index, now)
		}
	})
}

// TestDrainedCountsWhatWaitsForTheDisk: a command that Raft does not have yet is on its way.
func TestDrainedCountsWhatWaitsForTheDisk(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, Config{Seed: 1, Costs: Costs{Fsync: 50 * time.Millisecond}})
		time.Sleep(time.Second)
		before := r.c.Drained()
		var call sync.WaitGroup
		call.Go(func() { r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 1, 0))) })
		time.Sleep(10 * time.Millisecond)
		if amid := r.c.Drained(); !before || amid {
			t.Errorf("drained before a call: %v, and while it waits: %v", before, amid)
		}
		call.Wait()
	})
}

// TestAStoppedServerTakesNoWorkers: a reload that waits for workers while their server stops brings it no new
// ones, which Stop would not wait for.
func TestAStoppedServerTakesNoWorkers(t *testing.T) {
	for range 50 {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 1, Config{Seed: 1, Servers: 1, NumSchedulers: 1, Costs: Costs{Cores: 16, Scheduler: map[string]SchedulerCosts{"system": {Base: 30 * time.Second}}}})
			r.fails = allTypes // for what is in hand
			r.ok(r.c.RegisterJob(t.Context(), systemJob("sys")))
			time.Sleep(10 * time.Second)
			var reload sync.WaitGroup
			reload.Go(func() { r.c.SetNumSchedulers(2) })
			time.Sleep(time.Second)
			if err := r.c.StopServer(0); err != nil {
				t.Error(err)
			}
			reload.Wait()
			if n := r.c.NumSchedulers(0); n != 2 {
				t.Errorf("the next process has %d workers, want 2", n)
			}
		})
	}
}
