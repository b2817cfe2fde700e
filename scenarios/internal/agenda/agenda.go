package agenda

import (
	"errors"
	"slices"
	"sort"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/scale"
)

// A user who finds no leader tries again after retryAfter, and gives up after retryFor.
const (
	retryAfter = time.Second
	retryFor   = 10 * time.Minute
)

// Agenda is what is to happen on a stage. It belongs to the goroutine that the stage belongs to.
type Agenda struct {
	stage  *actions.Stage
	factor float64 // of the run's clock
	steps  []step  // in the order of their times
}

// step is an event to come.
type step struct {
	due    time.Time
	giveUp time.Time // zero before the first try
	action actions.Action
	// over, if it is not nil, is told how the event went instead of whoever calls Do.
	over func(error)
}

// New returns an agenda without events, on a clock whose durations are multiplied by the factor.
func New(stage *actions.Stage, factor float64) *Agenda { return &Agenda{stage: stage, factor: factor} }

// Add adds an event, which comes after those of the same time. Over, unless it is nil, is told
// when the event has happened, or why it could not.
func (a *Agenda) Add(due time.Time, action actions.Action, over func(error)) {
	at := sort.Search(len(a.steps), func(i int) bool { return a.steps[i].due.After(due) })
	a.steps = slices.Insert(a.steps, at, step{due: due, action: action, over: over})
}

// Next returns when the next event comes or the next fault ends; ok is false when no event is
// left, and no fault that ends by itself.
func (a *Agenda) Next() (due time.Time, ok bool) {
	due, _, ends := a.stage.NextEnd()
	if len(a.steps) > 0 && (!ends || a.steps[0].due.Before(due)) {
		return a.steps[0].due, true
	}
	return due, ends
}

// Do does what Next has announced. An event whose action finds no leader, or gets no answer,
// stays for later.
func (a *Agenda) Do() error {
	due, end, ends := a.stage.NextEnd()
	if ends && (len(a.steps) == 0 || !a.steps[0].due.Before(due)) {
		return end()
	}
	next := a.steps[0]
	a.steps = a.steps[1:]
	again, err := a.take(next)
	switch {
	case again != nil:
		a.steps = putBack(a.steps, *again)
	case next.over != nil:
		next.over(err)
		return nil
	}
	return err
}

// Ahead returns the actions of the events to come, and when they come.
func (a *Agenda) Ahead(yield func(time.Time, actions.Action) bool) {
	for _, s := range a.steps {
		if !yield(s.due, s.action) {
			return
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
func (a *Agenda) take(s step) (again *step, err error) {
	a.stage.Doing = s.action.Mark()
	if a.stage.Doing != "" && s.giveUp.IsZero() {
		a.stage.Note(a.stage.Doing)
	}
	err = s.action.Do(a.stage)
	if errors.Is(err, rpc.ErrJobNotFound) && !s.giveUp.IsZero() {
		return nil, nil
	}
	// The server that answered may not know a node yet that was picked from another's state.
	if !errors.Is(err, rpc.ErrNoLeader) && !errors.Is(err, rpc.ErrUnreachable) && !errors.Is(err, rpc.ErrNodeNotFound) {
		return nil, err
	}
	now := time.Now()
	if s.giveUp.IsZero() {
		s.giveUp = now.Add(scale.Durations(retryFor, a.factor))
	}
	if now.After(s.giveUp) {
		return nil, err
	}
	s.due = now.Add(scale.Durations(retryAfter, a.factor))
	return &s, nil
}
