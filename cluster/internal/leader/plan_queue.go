package leader

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/simctl/simctl/cluster/internal/config"
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
// plan overlaps with committing those before it, on a state that takes the commits for granted.
// It is what of the applier needs neither clock nor goroutines.
type PlanBase struct {
	// Snap is the state that a plan is verified against, once Begin was called; nil if a new one is needed.
	Snap *state.Snapshot

	// granted, unless it is nil, returns Snap with the plan that is on its way to the log. Unless keeps
	// is set, only Begin calls it: most plans end before the next begins, and then it is not needed.
	granted func() (*state.Snapshot, error)

	// keeps says that the state, with what it takes for granted, is kept while plans are on their
	// way to the log. If each plan finds one before it still on its way, it is never renewed.
	keeps     bool
	depth     int // plans that may be on their way at a time
	unseen    unseen
	underWay  int    // plans on their way to the log
	committed uint64 // the highest index of plans known to be in state
}

// unseen says what becomes of a plan whose evaluation is newer than the state that is kept.
type unseen uint8

const (
	unseenRenews  unseen = iota // the next plan needs a new state
	unseenPasses                // nothing: the evaluation is not looked for
	unseenRefuses               // its worker is told that it failed, although it is on its way
)

// NewPlanBase returns the base of an applier that has applied nothing yet.
func NewPlanBase(h config.Habits, d config.DesignConfig) PlanBase {
	b := PlanBase{keeps: h.KeptSnapshot || d.Pipeline > 0, depth: max(d.Pipeline, 1)}
	switch {
	case d.NackUnseen || h.NacksUnseen && d.Pipeline == 0:
		b.unseen = unseenRefuses
	case d.Pipeline > 0:
		b.unseen = unseenPasses
	}
	return b
}

// Min returns the index that a new state for a plan must include: that on which the plan was
// made, and the last plan's.
func (b *PlanBase) Min(p *scheduler.Plan) uint64 { return max(b.committed, p.SnapshotIndex) }

// Begin begins the verification of a plan, and reports whether that needs a new state. A new state may lack
// plans that are on their way to the log.
func (b *PlanBase) Begin(p *scheduler.Plan) (renew bool) {
	if b.granted != nil {
		_ = b.grant() // after an error there is no state
	}
	if b.Snap != nil && b.Snap.Index() < b.Min(p) && !(b.keeps && b.underWay > 0) {
		b.Snap = nil
	}
	return b.Snap == nil || b.underWay == 0 && !b.keeps
}

// UnderWay returns how many plans are on their way to the log.
func (b *PlanBase) UnderWay() int { return b.underWay }

// Full reports whether the end of a plan must be waited for before the next is sent to the log.
func (b *PlanBase) Full() bool { return b.underWay >= b.depth }

// Next takes note of the end of the oldest plan under way, now that another is to follow, and
// reports whether that needs a new state. The index is zero if the plan failed.
func (b *PlanBase) Next(index uint64) (renew bool) {
	if b.keeps {
		b.committed = max(b.committed, index)
		b.underWay--
		return false
	}
	b.End(index)
	return true
}

// End takes note of the end of the oldest plan under way. An applier that keeps its state does so
// even if the plan failed: the state then includes a plan that was never committed.
func (b *PlanBase) End(index uint64) {
	b.underWay--
	b.granted = nil
	if b.underWay == 0 && (index > b.committed || !b.keeps) {
		b.Snap = nil
	}
	b.committed = max(b.committed, index)
}

// Send takes note that a plan is on its way to the log, and adds it to the state. Applied is the index
// that the server has applied. After an error, which is for the plan's worker, the state lacks the plan,
// although the plan is on its way all the same. Nobody needs to wait for it.
func (b *PlanBase) Send(applied uint64, r *state.PlanResults) error {
	if b.unseen == unseenPasses {
		blind := *r
		blind.EvalID = ""
		r = &blind
	}
	snap := b.Snap
	b.granted = func() (*state.Snapshot, error) { return snap.Optimistic(applied+1, r) }
	if b.keeps {
		if err := b.grant(); err != nil && b.unseen == unseenRefuses {
			b.Snap = snap
			return err
		}
	}
	b.underWay++
	return nil
}

func (b *PlanBase) grant() (err error) {
	b.Snap, err = b.granted()
	b.granted = nil
	return err
}
