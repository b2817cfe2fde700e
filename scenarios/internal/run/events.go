package run

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
)

// A user who finds no leader tries again after retryAfter, and gives up after retryFor.
const (
	retryAfter = time.Second
	retryFor   = 10 * time.Minute
)

// step is an event to come.
type step struct {
	due    time.Time
	giveUp time.Time // zero before the first try
	action actions.Action
}

// answer is what became of a request: a step if it is to be tried again.
type answer struct {
	again *step
	err   error
}

// events does a phase's events, each at its time or when the one before is through, and ends
// faults when they are due. It returns when no event is left, and no fault that ends by itself.
//
// A request may wait for an answer for as long as a fault lasts: a leader that reaches no disk but
// its own neither commits an entry nor steps down. So faults end, and later ones begin, meanwhile.
func (r *run) events(p Phase) error {
	var steps []step
	for start, i := time.Now(), 0; i < len(p.Events); i++ {
		steps = append(steps, step{due: start.Add(p.Events[i].At), action: p.Events[i].Action})
	}
	answers := make(chan answer, 1)
	defer r.asking.Store(nil)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due, end, ends := r.stage.NextEnd()
		asking := r.asking.Load()
		next := nextStep(steps, asking)
		if !ends && next < 0 && asking == nil {
			return nil
		}
		if ends = ends && (next < 0 || !steps[next].due.Before(due)); !ends && next >= 0 {
			due = steps[next].due
		}
		if timer.Stop(); ends || next >= 0 { // otherwise only an answer is left to come
			timer.Reset(time.Until(due))
		}
		var got answer
		select {
		case <-r.stage.Ctx.Done():
			return r.stage.Ctx.Err()
		case got = <-answers:
			r.asking.Store(nil)
		case <-timer.C:
			if ends {
				got.err = end()
				break
			}
			s := steps[next]
			steps = slices.Delete(steps, next, next+1)
			got = r.take(s, answers)
		}
		if got.err != nil {
			return got.err
		}
		if got.again != nil {
			steps = putBack(steps, *got.again)
		}
	}
}

// nextStep returns the place of the step that comes next, or -1. While a request has no answer
// only what befalls the cluster later than the request comes next.
func nextStep(steps []step, asking *step) int {
	return slices.IndexFunc(steps, func(s step) bool {
		return asking == nil || !asksLeader(s.action) && s.due.After(asking.due)
	})
}

// putBack adds a step that is to be tried again. Later requests of users and operators wait
// for it: otherwise a job that is stopped and then registered could end up stopped. Faults do
// not wait, since a fault may be what keeps the leader away.
func putBack(steps []step, again step) []step {
	if asksLeader(again.action) {
		for i := range steps {
			if asksLeader(steps[i].action) && steps[i].due.Before(again.due) {
				steps[i].due = again.due
			}
		}
	}
	steps = slices.Insert(steps, 0, again)
	slices.SortStableFunc(steps, func(a, b step) int { return a.due.Compare(b.due) })
	return steps
}

// asksLeader reports whether an action is a request of users or operators.
func asksLeader(a actions.Action) bool {
	_, ok := a.(actions.Request)
	return ok
}

// take does an event's action. That of a request is under way when take returns, and answers gets
// what becomes of it.
func (r *run) take(s step, answers chan<- answer) answer {
	if mark := s.action.Mark(); mark != "" && s.giveUp.IsZero() {
		r.rec.Mark(time.Now(), mark)
	}
	if !asksLeader(s.action) {
		return r.try(s)
	}
	r.asking.Store(&s)
	// It ends with the cluster at the latest.
	go func() { answers <- r.try(s) }()
	return answer{}
}

// try does an event's action, and returns the step to try again if the action found no leader
// or lost its answer. An action whose answer was lost may have been done: if its job is gone
// at the next try, nothing is left to do.
func (r *run) try(s step) answer {
	err := s.action.Do(&r.stage)
	if errors.Is(err, rpc.ErrJobNotFound) && !s.giveUp.IsZero() {
		return answer{}
	}
	// The server that answered may not know a node yet that was picked from another's state.
	if !errors.Is(err, rpc.ErrNoLeader) && !errors.Is(err, rpc.ErrUnreachable) && !errors.Is(err, rpc.ErrNodeNotFound) {
		return answer{err: err}
	}
	now := time.Now()
	if s.giveUp.IsZero() {
		s.giveUp = now.Add(r.scaled(retryFor))
	}
	if now.After(s.giveUp) {
		return answer{err: err}
	}
	s.due = now.Add(r.scaled(retryAfter))
	return answer{again: &s}
}

// unanswered says that a request waits for its answer; nothing of none.
func (s *step) unanswered() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("; no leader has answered the event %q", s.action.Mark())
}
