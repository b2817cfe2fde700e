package broker

import (
	"iter"
	"slices"
	"time"
)

// handOver is how many evaluations a shed list must exceed to change hands as a slice
// instead of being copied, and a set to give up its memory when it is emptied.
const handOver = 64

// PendingEvaluations holds one job's pending evaluations: what a [Policy] is handed when
// the job is acked. It is not safe for concurrent use, and valid only during the call.
//
// Putting them in order is left until the first Pop, which a policy that keeps just the
// best never makes: then adding one takes constant time, and so does shedding them all.
type PendingEvaluations struct {
	// What came since the last Pop: evaluations, when each did, and which is the best.
	evals []*Evaluation
	since []time.Duration
	best  int
	// The others, best first in a heap or best last in a sorted run. Sorting many at once
	// is cheaper than a large heap, and nearly free when they came in the order of
	// the policy.
	h   heap[pendingItem]
	run []pendingItem

	ids idSet
	// gone has what a policy removed, of which cancelable many are still with the broker;
	// all are forgotten together when none is.
	gone       idSet
	cancelable int
	// oldest is the earliest time one was added at since the set was last emptied or shed:
	// not always the first, for a wait counts from when it ended, however late it fires.
	oldest time.Duration
}

// pendingItem is an evaluation and when it was added.
type pendingItem struct {
	e     *Evaluation
	since time.Duration
}

func newPending(policy Policy) PendingEvaluations {
	order := pendingOrder{policy}
	return PendingEvaluations{
		h:    heap[pendingItem]{before: func(a, b pendingItem) bool { return order.before(a.e, b.e) }},
		ids:  newIDSet(),
		gone: newIDSet(),
	}
}

// pendingOrder makes a policy's order total, so that it decides alone who is best, and
// not the sequence in which evaluations arrived.
type pendingOrder struct{ policy Policy }

func (o pendingOrder) before(a, b *Evaluation) bool {
	if o.policy.Less(a, b) {
		return true
	}
	return !o.policy.Less(b, a) && a.ID < b.ID
}

// Len returns how many evaluations are pending.
func (p *PendingEvaluations) Len() int { return len(p.evals) + len(p.h.items) + len(p.run) }

// Best returns the first by the policy's order, in constant time; nil when none is
// pending.
func (p *PendingEvaluations) Best() *Evaluation { return p.bestItem().e }

// bestItem returns the zero item when none is pending.
func (p *PendingEvaluations) bestItem() (best pendingItem) {
	consider := func(it pendingItem) {
		if best.e == nil || p.h.before(it, best) {
			best = it
		}
	}
	if len(p.evals) > 0 {
		consider(pendingItem{p.evals[p.best], p.since[p.best]})
	}
	if len(p.h.items) > 0 {
		consider(p.h.items[0])
	}
	if n := len(p.run); n > 0 {
		consider(p.run[n-1])
	}
	return best
}

// All iterates over the pending evaluations in no useful order. The set must not be
// changed meanwhile.
func (p *PendingEvaluations) All() iter.Seq[*Evaluation] {
	return func(yield func(*Evaluation) bool) {
		for _, items := range [][]pendingItem{p.run, p.h.items} {
			for _, it := range items {
				if !yield(it.e) {
					return
				}
			}
		}
		for _, e := range p.evals {
			if !yield(e) {
				return
			}
		}
	}
}

// Pop removes the best and returns it; nil when none is pending.
func (p *PendingEvaluations) Pop() *Evaluation {
	it := p.pop()
	if it.e != nil {
		p.gone.put(it.e)
	}
	return it.e
}

// KeepBest removes all but the best and returns the removed ones, in an order that
// depends on nothing but the calls made before. If nothing was popped since they were
// added it takes constant time. The result is valid until the set is next changed: copy
// it or return it from Shed.
func (p *PendingEvaluations) KeepBest() []*Evaluation {
	if p.Len() <= 1 {
		return nil
	}
	best := p.bestItem()
	var shed []*Evaluation
	last := len(p.evals) - 1
	switch {
	case len(p.run)+len(p.h.items) > 0:
		for e := range p.All() {
			if e != best.e {
				shed = append(shed, e)
			}
		}
	case last > handOver:
		p.evals[p.best] = p.evals[last]
		shed = p.evals[:last:last]
	default:
		copy(p.evals[1:], p.evals[:p.best]) // the best goes to the front below
		shed = p.evals[1:]
	}
	if len(shed) > handOver {
		p.evals, p.since = nil, nil // they, or their size, are not ours any more
	}
	p.evals, p.since, p.best = append(p.evals[:0], best.e), append(p.since[:0], best.since), 0
	p.h.items, p.run, p.oldest = nil, nil, best.since

	p.ids.remove(best.e.ID)
	if p.gone.n < p.ids.n {
		p.gone, p.ids = p.ids, p.gone
	}
	for e := range p.ids.all {
		p.gone.put(e)
	}
	p.ids.empty()
	p.ids.put(best.e)
	return shed
}

// RemoveFunc removes the evaluations for which remove returns true and returns them, in
// a slice of their own, in linear time.
func (p *PendingEvaluations) RemoveFunc(remove func(*Evaluation) bool) []*Evaluation {
	var removed []*Evaluation
	unwanted := func(it pendingItem) bool {
		if !remove(it.e) {
			return false
		}
		removed = append(removed, it.e)
		p.ids.remove(it.e.ID)
		p.gone.put(it.e)
		return true
	}
	p.run = slices.DeleteFunc(p.run, unwanted)
	p.h.items = slices.DeleteFunc(p.h.items, unwanted)
	p.h.init()
	evals, since := p.evals, p.since
	p.evals, p.since = evals[:0], since[:0]
	for i, e := range evals {
		if !unwanted(pendingItem{e, since[i]}) {
			p.append(pendingItem{e, since[i]})
		}
	}
	clear(evals[len(p.evals):])
	return removed
}

// taken is told how many of the cancelable ones left the broker.
func (p *PendingEvaluations) taken(n int) {
	if p.cancelable -= n; p.cancelable <= 0 {
		p.gone.empty()
	}
}

// contains reports whether the ID is pending, or was shed and is not forgotten yet.
func (p *PendingEvaluations) contains(id string) bool { return p.ids.has(id) || p.gone.has(id) }

// add reports false, and does nothing, when it contains the ID already.
func (p *PendingEvaluations) add(e *Evaluation, now time.Duration) bool {
	if p.gone.has(e.ID) || !p.ids.put(e) {
		return false
	}
	if p.Len() == 0 {
		p.oldest = now
	}
	p.oldest = min(p.oldest, now)
	if n := len(p.evals); n == cap(p.evals) {
		// Doubling leaves less garbage than append does.
		p.evals = append(make([]*Evaluation, 0, max(4, 2*n)), p.evals...)
		p.since = append(make([]time.Duration, 0, max(4, 2*n)), p.since...)
	}
	p.append(pendingItem{e, now})
	return true
}

func (p *PendingEvaluations) append(it pendingItem) {
	n := len(p.evals)
	p.evals, p.since = append(p.evals, it.e), append(p.since, it.since)
	if n == 0 || p.h.before(it, pendingItem{p.evals[p.best], p.since[p.best]}) {
		p.best = n
	}
}

// pop removes the best; the zero item when none is pending.
func (p *PendingEvaluations) pop() pendingItem {
	if p.Len() == 0 {
		return pendingItem{}
	}
	if p.Len() == 1 && len(p.evals) == 1 {
		it := p.bestItem()
		p.forgetItems()
		p.ids.empty()
		return it
	}
	p.order()
	var it pendingItem
	n := len(p.run)
	if n > 0 && (len(p.h.items) == 0 || p.h.before(p.run[n-1], p.h.items[0])) {
		it, p.run[n-1] = p.run[n-1], it
		p.run = p.run[:n-1]
	} else {
		it = p.h.pop()
	}
	p.ids.remove(it.e.ID)
	if p.Len() == 0 {
		p.forgetItems()
		p.ids.empty()
	}
	return it
}

// order moves what came lately into the heap or, if that is the greater part, everything
// into run.
func (p *PendingEvaluations) order() {
	if len(p.evals) > len(p.run)+len(p.h.items)+handOver {
		all := make([]pendingItem, 0, p.Len())
		all = append(append(all, p.run...), p.h.items...)
		for i, e := range p.evals {
			all = append(all, pendingItem{e, p.since[i]})
		}
		slices.SortFunc(all, func(a, b pendingItem) int {
			if p.h.before(b, a) {
				return -1
			}
			return 1
		})
		p.run, p.h.items = all, nil
	} else {
		for i, e := range p.evals {
			p.h.push(pendingItem{e, p.since[i]})
		}
	}
	p.forgetEvals()
}

// forgetItems empties the set but for its IDs; what was large gives up its memory.
func (p *PendingEvaluations) forgetItems() {
	p.forgetEvals()
	p.run = nil
	if cap(p.h.items) > handOver {
		p.h.items = nil
	}
}

func (p *PendingEvaluations) forgetEvals() {
	if cap(p.evals) > handOver {
		p.evals, p.since = nil, nil
	}
	clear(p.evals)
	p.evals, p.since, p.best = p.evals[:0], p.since[:0], 0
}

// recycle forgets everything but keeps the memory.
func (p *PendingEvaluations) recycle() {
	p.forgetItems()
	clear(p.h.items)
	p.h.items = p.h.items[:0]
	p.ids.empty()
	p.gone.empty()
	p.cancelable, p.oldest = 0, 0
}
