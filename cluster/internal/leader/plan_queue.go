package leader

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/heap"
)

// ErrPlanQueueDisabled makes a worker submit again later (worker.go, shouldResubmit).
var ErrPlanQueueDisabled = errors.New("plan queue is disabled")

// PendingPlan is a plan waiting for the applier, and the way to answer its worker.
type PendingPlan struct {
	Plan   *scheduler.Plan
	seq    uint64
	answer chan planAnswer // buffered: the applier never waits for a worker
}

type planAnswer struct {
	result *scheduler.PlanResult
	err    error
}

// Respond answers the plan's worker. It must be called once.
func (p *PendingPlan) Respond(r *scheduler.PlanResult, err error) {
	p.answer <- planAnswer{r, err}
}

// Wait returns what the applier answered, or ctx's error.
func (p *PendingPlan) Wait(ctx context.Context) (*scheduler.PlanResult, error) {
	select {
	case a := <-p.answer:
		return a.result, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// PlanQueue orders plans by priority, then by arrival (nomad/plan_queue.go). It is
// enabled only on the leader; the zero value is a disabled queue.
type PlanQueue struct {
	mu      sync.Mutex
	enabled bool
	seq     uint64
	plans   heap.Heap[*PendingPlan]
	queued  Notifier
}

// SetEnabled turns the queue on or off; turning it off fails every waiting plan.
func (q *PlanQueue) SetEnabled(on bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.enabled = on
	for _, p := range q.plans.Items {
		p.Respond(nil, ErrPlanQueueDisabled)
	}
	q.plans = heap.Heap[*PendingPlan]{Before: func(a, b *PendingPlan) bool {
		return cmp.Or(cmp.Compare(b.Plan.Priority, a.Plan.Priority), cmp.Compare(a.seq, b.seq)) < 0
	}}
}

// Enqueue adds a plan, or returns ErrPlanQueueDisabled.
func (q *PlanQueue) Enqueue(p *scheduler.Plan) (*PendingPlan, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.enabled {
		return nil, ErrPlanQueueDisabled
	}
	q.seq++
	pending := &PendingPlan{Plan: p, seq: q.seq, answer: make(chan planAnswer, 1)}
	q.plans.Push(pending)
	q.queued.Notify()
	return pending, nil
}

// Dequeue waits for a plan; it returns nil when ctx is done.
func (q *PlanQueue) Dequeue(ctx context.Context) (p *PendingPlan) {
	q.queued.Wait(ctx, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.plans.Len() > 0 {
			p = q.plans.Pop()
		}
		return p != nil
	})
	return p
}

// Depth returns the number of plans that wait.
func (q *PlanQueue) Depth() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.plans.Len()
}

// PlanBase decides on which state the applier verifies plans (nomad/plan_apply.go). Verifying a
// plan overlaps with committing the one before it, on a state that takes the commit for granted.
// It is what of the applier needs neither clock nor goroutines. The zero value is ready.
type PlanBase struct {
	// Keeps says that the state, with what it takes for granted, is kept while plans are on their
	// way to the log. If each plan finds the one before it still on its way, it is never renewed.
	Keeps bool
	// Snap is what the next plan is verified against; nil: it needs a new state.
	Snap *state.Snapshot

	underWay  bool   // a plan is on its way to the log
	committed uint64 // the index of the last plan known to be in state
}

// Min returns the index that a new state for a plan must include: that on which the plan was
// made, and the last plan's.
func (b *PlanBase) Min(p *scheduler.Plan) uint64 { return max(b.committed, p.SnapshotIndex) }

// Begin begins the verification of a plan, and reports whether that needs a new state.
func (b *PlanBase) Begin(p *scheduler.Plan) (renew bool) {
	if b.Snap != nil && b.Snap.Index() < b.Min(p) && !(b.Keeps && b.underWay) {
		b.Snap = nil
	}
	return b.Snap == nil || !b.underWay && !b.Keeps
}

// UnderWay reports whether a plan is on its way to the log. Its end must be waited for before the
// next is sent there.
func (b *PlanBase) UnderWay() bool { return b.underWay }

// Next takes note of the end of the plan under way, now that another is to follow, and reports
// whether that needs a new state. The index is zero if the plan failed.
func (b *PlanBase) Next(index uint64) (renew bool) {
	if b.Keeps {
		b.committed, b.underWay = max(b.committed, index), false
		return false
	}
	b.End(index)
	return true
}

// End takes note of the end of the plan under way. A state that is kept is kept, too, if the plan
// failed: it then has a plan that no state will have.
func (b *PlanBase) End(index uint64) {
	if index > b.committed || !b.Keeps {
		b.Snap = nil
	}
	b.committed, b.underWay = max(b.committed, index), false
}

// Send takes note that a plan is on its way to the log, which has applied so much, and takes it for
// granted.
func (b *PlanBase) Send(applied uint64, r *state.PlanResults) {
	b.Snap, _ = b.Snap.Optimistic(applied+1, r) // after an error nil: the next plan needs a new state
	b.underWay = true
}
