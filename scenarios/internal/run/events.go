package run

import (
	"errors"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
)

// retryAfter is how long the user of an action waits who found no leader, and retryFor how
// long it is before he gives up.
const (
	retryAfter = time.Second
	retryFor   = 10 * time.Minute
)

// step is an event to come.
type step struct {
	due    time.Time
	giveUp time.Time // zero: it was not tried yet
	action actions.Action
}

// events goes through a phase's events, each at its time or when the one before is through,
// and ends the faults that end in between. It returns after the last event, and once the last
// fault that ends by itself has ended.
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
		case <-r.ctx.Done():
			timer.Stop()
			return r.ctx.Err()
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

// putBack adds a step that is to be tried again. What users and operators do after it waits
// for it, as they would: else a job that was to be stopped and then registered might end as
// stopped. Faults wait for nobody, since what keeps the leader away may be one that they end.
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

// asksLeader tells what users and operators do from what befalls machines and networks.
func asksLeader(a actions.Action) bool {
	_, ok := a.(actions.Request)
	return ok
}

// take does what an event says. One that found no leader is to be tried again; so is one whose
// answer was lost, which may have happened all the same: if its job is gone by then, there is
// nothing left to try.
func (r *run) take(s step) (again *step, err error) {
	if mark := s.action.Mark(); mark != "" && s.giveUp.IsZero() {
		r.rec.Mark(time.Now(), mark)
	}
	err = s.action.Do(&r.stage)
	if errors.Is(err, rpc.ErrJobNotFound) && !s.giveUp.IsZero() {
		return nil, nil
	}
	// A node that is not found is one that the server which answered has not heard of: it was
	// picked from the state of another.
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
