package run

import (
	"errors"
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

// events does a phase's events, each at its time or when the one before is through, and ends
// faults when they are due. It returns when no event is left, and no fault that ends by itself.
func (r *run) events(p Phase) error {
	var steps []step
	for start, i := time.Now(), 0; i < len(p.Events); i++ {
		steps = append(steps, step{due: start.Add(p.Events[i].At), action: p.Events[i].Action})
	}
	for {
		due, end, ends := r.stage.NextEnd()
		if !ends && len(steps) == 0 {
			return nil
		}
		if ends = ends && (len(steps) == 0 || !steps[0].due.Before(due)); !ends {
			due = steps[0].due
		}
		timer := time.NewTimer(time.Until(due))
		select {
		case <-timer.C:
		case <-r.stage.Ctx.Done():
			timer.Stop()
			return r.stage.Ctx.Err()
		}
		if ends {
			if err := end(); err != nil {
				return err
			}
			continue
		}
		next := steps[0]
		steps = steps[1:]
		again, err := r.take(next)
		if err != nil {
			return err
		}
		if again != nil {
			steps = putBack(steps, *again)
		}
	}
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

// take does an event's action, and returns the step to try again if the action found no leader
// or lost its answer. An action whose answer was lost may have been done: if its job is gone
// at the next try, nothing is left to do.
func (r *run) take(s step) (again *step, err error) {
	if mark := s.action.Mark(); mark != "" && s.giveUp.IsZero() {
		r.rec.Mark(time.Now(), mark)
	}
	err = s.action.Do(&r.stage)
	if errors.Is(err, rpc.ErrJobNotFound) && !s.giveUp.IsZero() {
		return nil, nil
	}
	// The server that answered may not know a node yet that was picked from another's state.
	if !errors.Is(err, rpc.ErrNoLeader) && !errors.Is(err, rpc.ErrUnreachable) && !errors.Is(err, rpc.ErrNodeNotFound) {
		return nil, err
	}
	now := time.Now()
	if s.giveUp.IsZero() {
		s.giveUp = now.Add(r.scaled(retryFor))
	}
	if now.After(s.giveUp) {
		return nil, err
	}
	s.due = now.Add(r.scaled(retryAfter))
	return &s, nil
}
