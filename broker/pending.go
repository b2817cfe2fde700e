package broker

import (
	"iter"
	"time"
)

// handOver is how many evaluations a shed list must exceed to change hands as a slice
// instead of being copied.
const handOver = 64

// PendingEvaluations holds one job's pending evaluations: what a [Policy] is handed when
// the job is acked. It is not safe for concurrent use, and valid only during the call.
type PendingEvaluations struct {
	// h.items[0] is always the best. Only h.items[:heaped] is a heap: the rest waits for
	// the first Pop, which a policy that keeps just the best never makes, so that
	// adding an evaluation takes constant time.
	h      heap[*Evaluation]
	heaped int
	// since says when each was added, and serves to recognise duplicates.
	since map[string]time.Duration
	// gone has the IDs that a policy removed, of which cancelable many are still with the
	// broker; all are forgotten together when none is.
	gone       map[string]time.Duration
	cancelable int
	// oldest is the earliest time one was added at since the set was last emptied or shed:
	// not always the first, for a wait counts from when it ended, however late it fires.
	oldest time.Duration
}

func newPending(policy Policy) PendingEvaluations {
	return PendingEvaluations{h: heap[*Evaluation]{before: pendingOrder{policy}.before}}
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
func (p *PendingEvaluations) Len() int { return len(p.h.items) }

// Best returns the first by the policy's order, in constant time; nil when none is
// pending.
func (p *PendingEvaluations) Best() *Evaluation {
	if len(p.h.items) == 0 {
		return nil
	}
	return p.h.items[0]
}

// All iterates over the pending evaluations in no useful order. The set must not be
// changed meanwhile.
func (p *PendingEvaluations) All() iter.Seq[*Evaluation] {
	return func(yield func(*Evaluation) bool) {
		for _, e := range p.h.items {
			if !yield(e) {
				return
			}
		}
	}
}

// Pop removes the best and returns it; nil when none is pending.
func (p *PendingEvaluations) Pop() *Evaluation {
	e, since := p.pop()
	if e != nil {
		p.remember(e.ID, since)
	}
	return e
}

// KeepBest removes all but the best and returns the removed ones, in an order that
// depends on nothing but the calls made before. A long list takes no more time than a
// short one. The result is valid until the set is next changed: copy it or return it
// from Shed.
func (p *PendingEvaluations) KeepBest() []*Evaluation {
	n := len(p.h.items)
	if n <= 1 {
		return nil
	}
	best, shed := p.h.items[0], p.h.items[1:]
	since := p.since[best.ID]
	delete(p.since, best.ID)
	if len(shed) > handOver {
		// The slice and the map change hands as they are.
		p.h.items = []*Evaluation{best}
		if len(p.gone) < len(p.since) {
			p.gone, p.since = p.since, p.gone
		}
	} else {
		p.h.items = p.h.items[:1]
	}
	for id, since := range p.since {
		p.remember(id, since)
	}
	clear(p.since)
	p.heaped = 1
	p.note(best.ID, since)
	p.oldest = since
	return shed
}

// RemoveFunc removes the evaluations for which remove returns true and returns them, in
// a slice of their own, in linear time.
func (p *PendingEvaluations) RemoveFunc(remove func(*Evaluation) bool) []*Evaluation {
	var removed []*Evaluation
	kept := p.h.items[:0]
	for _, e := range p.h.items {
		if remove(e) {
			removed = append(removed, e)
			p.remember(e.ID, p.since[e.ID])
			delete(p.since, e.ID)
		} else {
			kept = append(kept, e)
		}
	}
	clear(p.h.items[len(kept):])
	p.h.items = kept
	p.h.init()
	p.heaped = len(kept)
	return removed
}

func (p *PendingEvaluations) note(id string, since time.Duration) {
	if p.since == nil {
		p.since = make(map[string]time.Duration)
	}
	p.since[id] = since
}

func (p *PendingEvaluations) remember(id string, since time.Duration) {
	if p.gone == nil {
		p.gone = make(map[string]time.Duration)
	}
	p.gone[id] = since
}

// taken is told how many of the cancelable ones left the broker.
func (p *PendingEvaluations) taken(n int) {
	p.cancelable -= n
	if p.cancelable > 0 {
		return
	}
	if len(p.gone) > handOver {
		p.gone = nil
	} else {
		clear(p.gone)
	}
}

// add reports false, and does nothing, when it contains the ID already.
func (p *PendingEvaluations) add(e *Evaluation, now time.Duration) bool {
	if p.contains(e.ID) {
		return false
	}
	p.note(e.ID, now)
	n := len(p.h.items)
	if n == 0 {
		p.oldest, p.heaped = now, 1
	}
	p.oldest = min(p.oldest, now)
	p.h.items = append(p.h.items, e)
	if n > 0 && p.h.before(e, p.h.items[0]) {
		// A new best at the root leaves h.items[:heaped] a heap.
		p.h.items[0], p.h.items[n] = e, p.h.items[0]
	}
	return true
}

// contains reports whether the ID is pending, or was shed and is not forgotten yet.
func (p *PendingEvaluations) contains(id string) bool {
	if _, ok := p.since[id]; ok {
		return true
	}
	_, ok := p.gone[id]
	return ok
}

// pop also returns when the evaluation was added.
func (p *PendingEvaluations) pop() (*Evaluation, time.Duration) {
	if len(p.h.items) == 0 {
		return nil, 0
	}
	p.sift()
	e := p.h.pop()
	p.heaped--
	since := p.since[e.ID]
	delete(p.since, e.ID)
	return e, since
}

// sift makes a heap of all items: one at a time when few are new, else at once.
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

// release frees the memory of a set that was large before it became empty.
func (p *PendingEvaluations) release() {
	if cap(p.h.items) > handOver {
		p.h.items, p.since = nil, nil
	}
}
