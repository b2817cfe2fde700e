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
//
// A request may wait for its answer for as long as a fault lasts: a leader whose followers have no
// room on their disks neither commits an entry nor steps down. So a request is made on a goroutine
// of its own, and faults begin and end meanwhile.
type Agenda struct {
	stage  *actions.Stage
	factor float64 // of the run's clock
	steps  []step  // in the order of their times
	asking *step   // the request that has no answer yet; nil: none

	// Answers yields what has become of a request, for Take.
	Answers <-chan Answer
	answers chan Answer // the same, with room for the only one
}

// Answer is what has become of an event's action.
type Answer struct {
	step
	again bool // the step, with its new time, is to be done again
	err   error
}

// step is an event to come.
type step struct {
	due    time.Time
	giveUp time.Time // zero before the first try
	action actions.Action
	// over, if it is not nil, is called with the error of the event, which Take then does not return.
	over func(error)
}

// New returns an agenda without events, on a clock whose durations are multiplied by the factor.
func New(stage *actions.Stage, factor float64) *Agenda {
	answers := make(chan Answer, 1)
	return &Agenda{stage: stage, factor: factor, Answers: answers, answers: answers}
}

// Add adds an event, which comes after those of the same time. Over, unless it is nil, is told
// when the event has happened, or why it could not.
func (a *Agenda) Add(due time.Time, action actions.Action, over func(error)) {
	at := sort.Search(len(a.steps), func(i int) bool { return a.steps[i].due.After(due) })
	a.steps = slices.Insert(a.steps, at, step{due: due, action: action, over: over})
}

// Asking returns the mark of the request that has no answer yet; ok is false when there is none.
func (a *Agenda) Asking() (mark string, ok bool) {
	if a.asking == nil {
		return "", false
	}
	return a.asking.action.Mark(), true
}

// Next returns when the next event comes or the next fault ends; ok is false when no event is
// left that can come before the next answer, and no fault that ends by itself.
func (a *Agenda) Next() (due time.Time, ok bool) {
	due, _, ends := a.stage.NextEnd()
	if i := a.first(); i >= 0 && (!ends || a.steps[i].due.Before(due)) {
		return a.steps[i].due, true
	}
	return due, ends
}

// first returns the place of the step that comes next, or -1. While a request has no answer, no other request
// can come, nor can a step that was due before it or with it.
func (a *Agenda) first() int {
	return slices.IndexFunc(a.steps, func(s step) bool {
		return a.asking == nil || !asksLeader(s.action) && s.due.After(a.asking.due)
	})
}

// Do does what Next has announced. It only begins a request.
func (a *Agenda) Do() error {
	due, end, ends := a.stage.NextEnd()
	i := a.first()
	if ends && (i < 0 || !a.steps[i].due.Before(due)) {
		return end()
	}
	next := a.steps[i]
	a.steps = slices.Delete(a.steps, i, i+1)
	a.stage.Doing = next.action.Mark()
	if a.stage.Doing != "" && next.giveUp.IsZero() {
		a.stage.Note(a.stage.Doing)
	}
	if !asksLeader(next.action) {
		return a.Take(a.try(next))
	}
	a.asking = &next
	go func() { a.answers <- a.try(next) }() // it ends with the cluster at the latest
	return nil
}

// Take takes note of what has become of an event. One whose action found no leader, or got no
// answer, stays for later. The error is the event's, unless somebody else is told.
func (a *Agenda) Take(got Answer) error {
	if asksLeader(got.action) {
		a.asking = nil
	}
	switch {
	case got.again:
		a.steps = putBack(a.steps, got.step)
	case got.over != nil:
		got.over(got.err)
	default:
		return got.err
	}
	return nil
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

// try does an event's action. The action is to be done again if it found no leader or lost its
// answer. One whose answer was lost may have been done: if its job is gone at the next try,
// nothing is left to do.
func (a *Agenda) try(s step) Answer {
	err := s.action.Do(a.stage)
	if errors.Is(err, rpc.ErrJobNotFound) && !s.giveUp.IsZero() {
		return Answer{step: s}
	}
	// The node was picked from the state of one server, and the server that answered may not know it yet.
	if !rpc.Passes(err) && !errors.Is(err, rpc.ErrNodeNotFound) {
		return Answer{step: s, err: err}
	}
	now := time.Now()
	if s.giveUp.IsZero() {
		s.giveUp = now.Add(scale.Durations(retryFor, a.factor))
	}
	if now.After(s.giveUp) {
		return Answer{step: s, err: err}
	}
	s.due = now.Add(scale.Durations(retryAfter, a.factor))
	return Answer{step: s, again: true}
}
