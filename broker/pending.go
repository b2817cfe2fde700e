package broker

import (
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/simctl/simctl/internal/uuid"
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
	since  []time.Duration // when each of evals became pending
	best   int             // index in evals
	sorted bool
	oldest time.Duration // the earliest of since, while evals are not sorted
	// ids has the IDs of evals. It also has those that were shed, until the reaper has
	// taken all of them; cancelable counts those it has not.
	ids        uuid.Set
	cancelable int
	shedOldest time.Duration // the earliest of since when the policy at work began to shed
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
	p.noteOldest()
	best, since, shed := p.evals[p.best], p.since[p.best], p.evals
	if last > long {
		shed[p.best] = shed[last]
		shed = shed[:last]
	} else {
		shed = slices.Delete(shed, p.best, p.best+1)
	}
	p.empty()
	p.evals, p.since = nil, nil // the list of evaluations is the broker's now
	p.append(best, since)
	return shed
}

// long is the length of a list that is not worth shifting to keep the order of arrival.
const long = 64

func (p *pending) RemoveFunc(remove func(*Evaluation) bool) []*Evaluation {
	p.noteOldest()
	var removed []*Evaluation
	evals, since := p.evals, p.since
	p.empty()
	for i, e := range evals {
		if remove(e) {
			removed = append(removed, e)
		} else {
			p.append(e, since[i])
		}
	}
	clear(evals[len(p.evals):])
	return removed
}

func (p *pending) empty() {
	p.evals, p.since, p.best, p.sorted = p.evals[:0], p.since[:0], 0, false
}

func (p *pending) noteOldest() {
	if p.sorted {
		p.oldest = slices.Min(p.since)
	}
	if len(p.evals) > 0 {
		p.shedOldest = min(p.shedOldest, p.oldest)
	}
}

// add makes an evaluation pending, unless it knows its ID. It reports whether it did.
func (p *pending) add(e *Evaluation, now time.Duration) bool {
	if !p.ids.Add(e.ID) {
		return false
	}
	if !p.sorted {
		p.append(e, now)
		return true
	}
	i := sort.Search(len(p.evals), func(i int) bool { return p.before(e, p.evals[i]) })
	p.evals = slices.Insert(p.evals, i, e)
	p.since = slices.Insert(p.since, i, now)
	return true
}

func (p *pending) append(e *Evaluation, since time.Duration) {
	p.evals, p.since = append(p.evals, e), append(p.since, since)
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
		sort.Sort((*byOrder)(p))
		p.best = 0
	}
	e, since := p.evals[0], p.since[0]
	p.evals[0] = nil
	p.evals, p.since = p.evals[1:], p.since[1:]
	p.sorted = len(p.evals) > 0
	p.ids.Remove(e.ID)
	return e, since
}

// byOrder sorts pending evaluations, the best first.
type byOrder pending

func (p *byOrder) Len() int           { return len(p.evals) }
func (p *byOrder) Less(i, j int) bool { return p.before(p.evals[i], p.evals[j]) }
func (p *byOrder) Swap(i, j int) {
	p.evals[i], p.evals[j] = p.evals[j], p.evals[i]
	p.since[i], p.since[j] = p.since[j], p.since[i]
}

// taken notes that the reaper took n of the shed evaluations. With the last one the IDs of
// all are forgotten.
func (p *pending) taken(n int) {
	if p.cancelable -= n; p.cancelable > 0 {
		return
	}
	p.ids = uuid.Set{}
	for _, e := range p.evals {
		p.ids.Add(e.ID)
	}
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
