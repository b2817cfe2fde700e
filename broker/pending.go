package broker

import (
	"iter"
	"slices"
	"sort"
	"time"
)

// PendingEvaluations are one job's pending evaluations, as a [Policy] sees them. A value is
// valid only during the call it is passed to, and is not safe for concurrent use.
type PendingEvaluations interface {
	// Len returns how many evaluations are pending.
	Len() int
	// All iterates over them in no useful order. They must not be removed meanwhile.
	All() iter.Seq[*Evaluation]
	// KeepBest removes all but the first by the policy's order, and returns the removed
	// ones. It takes next to no time, however many they are.
	KeepBest() []*Evaluation
	// RemoveFunc removes those for which remove returns true, and returns them.
	RemoveFunc(remove func(*Evaluation) bool) []*Evaluation
}

// pending holds the pending evaluations of one job.
//
// They are in the order of arrival until the first pop sorts them. A policy that keeps
// the best and sheds the others never pops from more than one, so that it adds and sheds
// an evaluation in constant time.
type pending struct {
	before func(x, y *Evaluation) bool // the policy's order, made total
	evals  []*Evaluation
	best   int // index in evals
	sorted bool
	// since is when each evaluation became pending. It also has the IDs of those that were
	// shed, until the reaper has taken all of them; cancelable counts those it has not.
	since      map[string]time.Duration
	cancelable int
	oldest     time.Duration // the earliest since of evals that are not sorted
}

// totalOrder breaks the ties of a policy's order by ID, so that the order of arrival does
// not decide who is best.
func totalOrder(p Policy) func(x, y *Evaluation) bool {
	return func(x, y *Evaluation) bool {
		return p.Less(x, y) || !p.Less(y, x) && x.ID < y.ID
	}
}

func (p *pending) Len() int { return len(p.evals) }

func (p *pending) All() iter.Seq[*Evaluation] { return slices.Values(p.evals) }

func (p *pending) KeepBest() []*Evaluation {
	last := len(p.evals) - 1
	if last < 1 {
		return nil
	}
	best, shed := p.evals[p.best], p.evals
	if last > long {
		shed[p.best] = shed[last]
		shed = shed[:last]
	} else {
		shed = slices.Delete(shed, p.best, p.best+1)
	}
	p.refill([]*Evaluation{best})
	return shed
}

// long is the length of a list that is not worth shifting to keep the order of arrival.
const long = 64

func (p *pending) RemoveFunc(remove func(*Evaluation) bool) []*Evaluation {
	var removed, kept []*Evaluation
	for _, e := range p.evals {
		if remove(e) {
			removed = append(removed, e)
		} else {
			kept = append(kept, e)
		}
	}
	p.refill(kept)
	return removed
}

func (p *pending) refill(evals []*Evaluation) {
	p.evals, p.best, p.sorted = evals[:0], 0, false
	for _, e := range evals {
		p.append(e, p.since[e.ID])
	}
}

// add makes an evaluation pending whose ID is not known.
func (p *pending) add(e *Evaluation, now time.Duration) {
	if p.since == nil {
		p.since = make(map[string]time.Duration)
	}
	p.since[e.ID] = now
	if !p.sorted {
		p.append(e, now)
		return
	}
	i := sort.Search(len(p.evals), func(i int) bool { return p.before(e, p.evals[i]) })
	p.evals = slices.Insert(p.evals, i, e)
}

// knows reports whether an evaluation of that ID is pending or is remembered as shed.
func (p *pending) knows(id string) bool {
	_, ok := p.since[id]
	return ok
}

func (p *pending) append(e *Evaluation, since time.Duration) {
	p.evals = append(p.evals, e)
	last := len(p.evals) - 1
	if last == 0 || since < p.oldest {
		p.oldest = since
	}
	if p.before(e, p.evals[p.best]) {
		p.best = last
	}
}

// pop removes the best evaluation and returns it with the time at which it became
// pending. There must be one.
func (p *pending) pop() (*Evaluation, time.Duration) {
	if !p.sorted {
		slices.SortFunc(p.evals, func(x, y *Evaluation) int { return compare(x, y, p.before) })
		p.best = 0
	}
	e := p.evals[0]
	p.evals[0] = nil
	p.evals = p.evals[1:]
	p.sorted = len(p.evals) > 0
	since := p.since[e.ID]
	delete(p.since, e.ID)
	return e, since
}

// oldestWith returns the earliest time at which one of the evaluations, or of those still
// pending, became pending.
func (p *pending) oldestWith(shed []*Evaluation) time.Duration {
	oldest := p.since[shed[0].ID]
	for _, evals := range [][]*Evaluation{shed, p.evals} {
		for _, e := range evals {
			oldest = min(oldest, p.since[e.ID])
		}
	}
	return oldest
}

// taken notes that the reaper took n of the shed evaluations. With the last one the IDs of
// all are forgotten.
func (p *pending) taken(n int) {
	if p.cancelable -= n; p.cancelable > 0 {
		return
	}
	since := make(map[string]time.Duration, len(p.evals))
	for _, e := range p.evals {
		since[e.ID] = p.since[e.ID]
	}
	p.since = since
}

// compare makes a comparison of an order.
func compare[T any](x, y T, before func(x, y T) bool) int {
	switch {
	case before(x, y):
		return -1
	case before(y, x):
		return 1
	}
	return 0
}
