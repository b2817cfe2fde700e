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
type PendingEvaluations struct {
	// What was added lately is in h, of which h.items[0] is always the best. Only
	// h.items[:heaped] is a heap: the rest waits for the first Pop, which a policy that
	// keeps just the best never makes, so that adding takes constant time. When there is
	// much to pop it is sorted into run, best last, once: cheaper than a large heap, and
	// nearly free when evaluations come in the order of the policy.
	h      heap[pendingItem]
	heaped int
	run    []pendingItem
	ids    idSet
	// gone has what a policy removed, of which cancelable many are still with the broker;
	// all are forgotten together when none is.
	gone       idSet
	cancelable int
	// oldest is the earliest time one was added at since the set was last emptied or shed:
	// not always the first, for a wait counts from when it ended, however late it fires.
	oldest time.Duration
	shed   []*Evaluation // scratch of KeepBest
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
func (p *PendingEvaluations) Len() int { return len(p.run) + len(p.h.items) }

// bestInRun reports whether the best is the last of run, or else the first of h.
func (p *PendingEvaluations) bestInRun() bool {
	n := len(p.run)
	return n > 0 && (len(p.h.items) == 0 || p.h.before(p.run[n-1], p.h.items[0]))
}

// Best returns the first by the policy's order, in constant time; nil when none is
// pending.
func (p *PendingEvaluations) Best() *Evaluation {
	if p.Len() == 0 {
		return nil
	}
	return p.best().e
}

// best needs something pending.
func (p *PendingEvaluations) best() pendingItem {
	if p.bestInRun() {
		return p.run[len(p.run)-1]
	}
	return p.h.items[0]
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
// depends on nothing but the calls made before. It looks at none of them. The result is
// valid until the set is next changed: copy it or return it from Shed.
func (p *PendingEvaluations) KeepBest() []*Evaluation {
	n := p.Len()
	if n <= 1 {
		return nil
	}
	if n-1 > handOver {
		p.shed = make([]*Evaluation, 0, n-1)
	}
	best, shed := p.best(), p.shed[:0]
	for e := range p.All() {
		if e != best.e {
			shed = append(shed, e)
		}
	}
	p.forgetItems()
	p.h.items = append(p.h.items, best)
	p.heaped, p.oldest = 1, best.since

	p.ids.remove(best.e.ID)
	if p.gone.n < p.ids.n {
		p.gone, p.ids = p.ids, p.gone
	}
	for e := range p.ids.all {
		p.gone.put(e)
	}
	p.ids.empty()
	p.ids.put(best.e)

	p.shed = shed
	if len(shed) > handOver {
		p.shed = nil // it is the caller's now
	}
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
	p.heaped = len(p.h.items)
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
	n := len(p.h.items)
	if n == 0 {
		p.heaped = 1
	}
	if n == cap(p.h.items) {
		// Doubling leaves less garbage than append does.
		p.h.items = append(make([]pendingItem, 0, max(4, 2*n)), p.h.items...)
	}
	it := pendingItem{e, now}
	p.h.items = append(p.h.items, it)
	if n > 0 && p.h.before(it, p.h.items[0]) {
		// A new best at the root leaves h.items[:heaped] a heap.
		p.h.items[0], p.h.items[n] = it, p.h.items[0]
	}
	return true
}

// pop removes the best; the zero item when none is pending.
func (p *PendingEvaluations) pop() pendingItem {
	if p.Len() == 0 {
		return pendingItem{}
	}
	if len(p.h.items) > len(p.run)+handOver {
		p.sort()
	}
	var it pendingItem
	if last := len(p.run) - 1; p.bestInRun() {
		it, p.run[last] = p.run[last], it
		p.run = p.run[:last]
	} else {
		p.sift()
		it = p.h.pop()
		p.heaped--
	}
	p.ids.remove(it.e.ID)
	if p.Len() == 0 {
		p.forgetItems()
		p.ids.empty()
	}
	return it
}

// sort moves everything into run.
func (p *PendingEvaluations) sort() {
	all := append(p.h.items, p.run...)
	slices.SortFunc(all, func(a, b pendingItem) int {
		if p.h.before(b, a) {
			return -1
		}
		return 1
	})
	p.run, p.h.items, p.heaped = all, nil, 0
}

// sift makes a heap of h.items: one at a time when few are new, else at once.
func (p *PendingEvaluations) sift() {
	if fresh := len(p.h.items) - p.heaped; fresh > p.heaped/4 {
		p.h.init()
	} else {
		all := p.h.items
		for i := p.heaped; i < len(all); i++ {
			p.h.items = all[:i+1]
			p.h.up(i)
		}
	}
	p.heaped = len(p.h.items)
}

// forgetItems empties run and h, which give up their memory if they were large.
func (p *PendingEvaluations) forgetItems() {
	p.run = nil
	if cap(p.h.items) > handOver {
		p.h.items = nil
	} else {
		clear(p.h.items)
		p.h.items = p.h.items[:0]
	}
	p.heaped = 0
}

// recycle forgets everything but keeps the memory.
func (p *PendingEvaluations) recycle() {
	p.forgetItems()
	p.ids.empty()
	p.gone.empty()
	p.cancelable, p.oldest = 0, 0
}
