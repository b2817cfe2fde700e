package leader_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/leader"
)

// records is what the servers' state says of the evaluations: which are still pending. It
// outlives every leader.
type records struct {
	mu      sync.Mutex
	pending map[string]*broker.Evaluation
	done    chan struct{} // closed when none is pending
}

func newRecords(all []*broker.Evaluation) *records {
	r := &records{pending: map[string]*broker.Evaluation{}, done: make(chan struct{})}
	for _, e := range all {
		r.pending[e.ID] = e
	}
	return r
}

// end takes evaluations that are complete or canceled out.
func (r *records) end(evals ...*broker.Evaluation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.pending)
	for _, e := range evals {
		delete(r.pending, e.ID)
	}
	if before > 0 && len(r.pending) == 0 {
		close(r.done)
	}
}

// restore is what a new leader enqueues.
func (r *records) restore() []broker.EvalToken {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []broker.EvalToken
	for _, e := range r.pending {
		all = append(all, broker.EvalToken{Eval: e})
	}
	return all
}

// TestEvalServiceElections takes leadership away from a service, and gives it back, while
// many workers, producers and a reaper use it; it is meant for the race detector. Every
// call either works or is refused by a sentinel, and in the end everything came to an end.
func TestEvalServiceElections(t *testing.T) {
	for _, policy := range []broker.Policy{broker.Legacy(), broker.Shedding()} {
		t.Run(policy.String(), func(t *testing.T) { elections(t, policy) })
	}
}

func elections(t *testing.T, policy broker.Policy) {
	all := evaluations(20, 60)
	state := newRecords(all)
	s := leader.NewEvalService(broker.Config{Policy: policy, InitialNackDelay: -1, SubsequentNackDelay: -1, DeliveryLimit: 1 << 30})
	s.SetEnabled(true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var working sync.WaitGroup
	for p := range 4 {
		working.Go(func() {
			for i := p; i < len(all); i += 4 {
				s.Enqueue(all[i])
			}
		})
	}
	for w := range 24 {
		rng := rand.New(rand.NewPCG(uint64(w), 13))
		working.Go(func() {
			for ctx.Err() == nil {
				workOnce(ctx, t, s, state, rng)
			}
		})
	}
	working.Go(func() { // the reaper
		for ctx.Err() == nil {
			state.end(s.Cancelable(7)...)
			s.Stats()
		}
	})
	working.Go(func() { // elections, the last of which is won for good
		for range 50 {
			s.SetEnabled(false)
			s.SetEnabled(true)
			s.EnqueueAll(state.restore())
		}
	})
	<-state.done
	cancel()
	working.Wait()
	s.Close()
}

// workOnce is one turn of a worker, which gives one evaluation in eight back.
func workOnce(ctx context.Context, t *testing.T, s *leader.EvalService, state *records, rng *rand.Rand) {
	e, token, err := s.Dequeue(ctx, []string{"service", "batch", "system"}, time.Second)
	if err != nil && !errors.Is(err, broker.ErrDisabled) && !errors.Is(err, context.Canceled) {
		t.Errorf("dequeue: %v", err)
	}
	if e == nil {
		return
	}
	if rng.IntN(8) == 0 {
		refused(t, "nack", s.Nack(e.ID, token))
		return
	}
	// Nomad's worker proves its token when it writes the result, then acks.
	if err := s.OutstandingReset(e.ID, token); err != nil {
		refused(t, "reset", err)
		return
	}
	state.end(e)
	_, err = s.Ack(e.ID, token)
	refused(t, "ack", err)
}

// refused verifies that a call failed, if it did, as it may between two leaders.
func refused(t *testing.T, call string, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, broker.ErrDisabled) && !errors.Is(err, broker.ErrNotOutstanding) && !errors.Is(err, broker.ErrTokenMismatch) {
		t.Errorf("%s: %v", call, err)
	}
}
