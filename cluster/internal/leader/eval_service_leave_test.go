package leader

import (
	"context"
	"errors"
	"testing"

	"github.com/simctl/simctl/broker"
)

// TestAnsweredWhileLeaving: a worker whose wait ends at the very instant at which somebody
// answers it takes the answer along, or the evaluation would be lost until its nack timer
// fires. Which of the two comes first at one instant is up to the scheduler of goroutines; here
// the answer does.
func TestAnsweredWhileLeaving(t *testing.T) {
	for name, why := range map[string]error{"timeout": nil, "context": context.Canceled} {
		s := NewEvalService(broker.Config{})
		s.SetEnabled(true)
		w, schedulers := make(evalWaiter, 1), []string{"service"}
		s.line.Join(w, schedulers)
		s.Enqueue(evaluation("e"))
		d, err := s.leave(w, why)
		if err != nil || d.Eval == nil || d.Eval.ID != "e" || d.Token == "" {
			t.Errorf("%s: got %+v, error %v; want evaluation e and its token", name, d, err)
		}

		s.line.Join(w, schedulers)
		s.SetEnabled(false)
		if _, err := s.leave(w, why); !errors.Is(err, broker.ErrDisabled) {
			t.Errorf("%s, answered by an error: %v, want %v", name, err, broker.ErrDisabled)
		}

		s.SetEnabled(true)
		s.line.Join(w, schedulers)
		if d, err := s.leave(w, why); d.Eval != nil || !errors.Is(err, why) || len(s.line.Tickets()) > 0 {
			t.Errorf("%s, not answered: %+v, error %v, %d still wait; want nothing, %v and nobody", name, d, err, len(s.line.Tickets()), why)
		}
		s.Close()
	}
}
