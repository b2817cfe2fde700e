package leader

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/simctl/simctl/cluster/scheduler"
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
