package leader_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/internal/virtualtest"
)

// ledger watches what many workers do: that no job is worked on twice at once, and what
// became of every evaluation.
type ledger struct {
	mu     sync.Mutex
	inJob  map[broker.JobID]string
	acked  map[string]bool
	shed   map[string]bool
	faults []string
	total  int
	done   chan struct{} // closed when all evaluations are acked or shed
}

func newLedger(total int) *ledger {
	return &ledger{
		inJob: map[broker.JobID]string{}, acked: map[string]bool{}, shed: map[string]bool{},
		total: total, done: make(chan struct{}),
	}
}

func (l *ledger) count() {
	if len(l.acked)+len(l.shed) == l.total {
		close(l.done)
	}
}

func (l *ledger) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// begin must be called after a Dequeue returned and before its Ack or Nack is called.
func (l *ledger) begin(e *broker.Evaluation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other, busy := l.inJob[e.Job()]; busy {
		l.fault("job %s: %s was delivered while %s was out", e.JobID, e.ID, other)
	}
	l.inJob[e.Job()] = e.ID
}

func (l *ledger) end(e *broker.Evaluation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.inJob, e.Job())
}

func (l *ledger) ack(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acked[id] {
		l.fault("%s was acked twice", id)
	}
	l.acked[id] = true
	l.count()
}

func (l *ledger) cancel(evals []*broker.Evaluation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range evals {
		if l.shed[e.ID] {
			l.fault("%s was shed twice", e.ID)
		}
		l.shed[e.ID] = true
		l.count()
	}
}

// settled verifies that all evaluations came to one end, and the newest of each job, to
// which none is preferred, to that of being acked.
func (l *ledger) settled(t *testing.T, all []*broker.Evaluation) {
	t.Helper()
	newest := map[broker.JobID]*broker.Evaluation{}
	for _, e := range all {
		if l.acked[e.ID] == l.shed[e.ID] {
			l.fault("%s: acked is %v, shed is %v", e.ID, l.acked[e.ID], l.shed[e.ID])
		}
		if n := newest[e.Job()]; n == nil || e.ModifyIndex > n.ModifyIndex {
			newest[e.Job()] = e
		}
	}
	for _, e := range newest {
		if !l.acked[e.ID] {
			l.fault("%s is the newest of job %s and was not acked", e.ID, e.JobID)
		}
	}
	slices.Sort(l.faults)
	for _, f := range l.faults {
		t.Error(f)
	}
}

// evaluations makes n for each of the jobs, of three types.
func evaluations(jobs, n int) []*broker.Evaluation {
	var all []*broker.Evaluation
	for i := range jobs * n {
		job := i % jobs
		all = append(all, &broker.Evaluation{
			ID: fmt.Sprintf("e%d", i), JobID: fmt.Sprintf("j%d", job), Priority: 50,
			Type:        []string{"service", "batch", "system"}[job%3],
			CreateIndex: uint64(i + 1), ModifyIndex: uint64(i + 1),
		})
	}
	return all
}

// TestEvalServiceConcurrently lets many producers, workers and reapers loose on one
// service; it is meant for the race detector.
func TestEvalServiceConcurrently(t *testing.T) {
	for _, policy := range []broker.Policy{broker.Legacy(), broker.Shedding()} {
		t.Run(policy.String(), func(t *testing.T) {
			const producers, workers = 8, 32
			all := evaluations(40, 100)
			s := leader.NewEvalService(broker.Config{Policy: policy, InitialNackDelay: -1, SubsequentNackDelay: -1, DeliveryLimit: 1 << 30})
			s.SetEnabled(true)
			l := newLedger(len(all))
			wake := make(chan struct{}, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()

			var producing, working sync.WaitGroup
			for p := range producers {
				producing.Go(func() {
					for i := p; i < len(all); i += producers {
						if i%3 == 0 {
							s.EnqueueAll([]broker.EvalToken{{Eval: all[i]}, {Eval: all[i]}})
						} else {
							s.Enqueue(all[i])
						}
					}
				})
			}
			for w := range workers {
				rng := rand.New(rand.NewPCG(uint64(w), 7))
				types := [][]string{{"service", "batch", "system"}, {"system", "service"}, {"batch"}}[w%3]
				working.Go(func() { work(ctx, t, s, l, wake, rng, types) })
			}
			for range 2 {
				working.Go(func() { reap(ctx, s, l, wake) })
			}
			producing.Wait()
			<-l.done
			if st := s.Stats(); st.Ready+st.Unacked+st.Pending+st.Waiting+st.Cancelable > 0 {
				t.Errorf("all is done, but the broker holds %+v", st)
			}
			cancel()
			working.Wait()
			s.Close()
			l.settled(t, all)
		})
	}
}

// reap takes what was shed whenever an ack wakes it, as Nomad's leader does.
func reap(ctx context.Context, s *leader.EvalService, l *ledger, wake <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
			for batch := s.Cancelable(7); len(batch) > 0; batch = s.Cancelable(7) {
				l.cancel(batch)
			}
		}
	}
}

// work processes evaluations until ctx ends; one in four it gives back.
func work(ctx context.Context, t *testing.T, s *leader.EvalService, l *ledger, wake chan<- struct{}, rng *rand.Rand, types []string) {
	for {
		e, token, err := s.Dequeue(ctx, types, time.Minute)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("dequeue: %v", err)
			}
			return
		}
		if e == nil {
			continue
		}
		l.begin(e)
		for _, call := range []func(id, token string) error{s.PauseNackTimeout, s.ResumeNackTimeout, s.OutstandingReset} {
			if err := call(e.ID, token); err != nil {
				t.Errorf("nack timer: %v", err)
			}
		}
		l.end(e)
		if rng.IntN(4) == 0 {
			if err := s.Nack(e.ID, token); err != nil {
				t.Errorf("nack: %v", err)
			}
			continue
		}
		if _, err := s.Ack(e.ID, token); err != nil {
			t.Errorf("ack: %v", err)
			continue
		}
		l.ack(e.ID)
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// TestEvalServiceSlowWorkers has workers that often take longer than the nack timeout,
// so that evaluations are delivered again while their first holders are still at work.
func TestEvalServiceSlowWorkers(t *testing.T) {
	for _, policy := range []broker.Policy{broker.Legacy(), broker.Shedding()} {
		t.Run(policy.String(), func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) { slowWorkers(t, policy) })
		})
	}
}

func slowWorkers(t *testing.T, policy broker.Policy) {
	all := evaluations(10, 20)
	s := leader.NewEvalService(broker.Config{Policy: policy, DeliveryLimit: 1 << 30, Rand: rand.New(rand.NewPCG(3, 3))})
	s.SetEnabled(true)
	l := newLedger(len(all))
	ctx, cancel := context.WithCancel(t.Context())
	late := 0
	var working sync.WaitGroup
	for w := range 8 {
		rng := rand.New(rand.NewPCG(uint64(w), 11))
		working.Go(func() {
			for {
				e, token, err := s.Dequeue(ctx, []string{"service", "batch", "system"}, 500*time.Millisecond)
				if err != nil {
					return
				}
				if e == nil {
					continue
				}
				time.Sleep(time.Duration(rng.Int64N(int64(80 * time.Second))))
				_, err = s.Ack(e.ID, token)
				if err == nil {
					l.ack(e.ID)
					continue
				}
				if !errors.Is(err, broker.ErrNotOutstanding) && !errors.Is(err, broker.ErrTokenMismatch) {
					t.Errorf("late ack: %v", err)
				}
				l.mu.Lock()
				late++
				l.mu.Unlock()
			}
		})
	}
	for _, e := range all {
		s.Enqueue(e)
		time.Sleep(3 * time.Second)
	}
	for {
		time.Sleep(time.Second)
		l.cancel(s.Cancelable(1000))
		if st := s.Stats(); st.Ready+st.Unacked+st.Pending+st.Waiting == 0 {
			break
		}
	}
	cancel()
	working.Wait()
	s.Close()
	l.settled(t, all)
	if late == 0 {
		t.Error("no ack was late: the test shows nothing")
	}
}

// TestEvalServiceClose verifies that Close frees every waiter, may be called again, and
// leaves a service that refuses to work.
func TestEvalServiceClose(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		s := leader.NewEvalService(broker.Config{})
		s.SetEnabled(true)
		s.Enqueue(&broker.Evaluation{ID: "later", JobID: "k", Type: "batch", Wait: time.Hour})
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() {
				if _, _, err := s.Dequeue(t.Context(), []string{"service"}, 0); !errors.Is(err, broker.ErrDisabled) {
					t.Errorf("dequeue on close: %v", err)
				}
			})
		}
		synctest.Wait()
		s.Close()
		waiting.Wait()
		s.SetEnabled(true)
		if s.Enabled() {
			t.Error("a closed service was enabled")
		}
		s.Close()
	})
}
