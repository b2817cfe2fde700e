package leader

import (
	"container/heap"
	"context"
	"errors"
	"sync"

	"github.com/simctl/simctl/cluster/scheduler"
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
	plans   planHeap
	wake    chan struct{}
}

// SetEnabled turns the queue on or off; turning it off fails every waiting plan.
func (q *PlanQueue) SetEnabled(on bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.enabled = on
	q.wake = make(chan struct{}, 1)
	if !on {
		for _, p := range q.plans {
			p.Respond(nil, ErrPlanQueueDisabled)
		}
		q.plans = nil
	}
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
	heap.Push(&q.plans, pending)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return pending, nil
}

// Dequeue waits for a plan; it returns nil when stop closes.
func (q *PlanQueue) Dequeue(stop <-chan struct{}) *PendingPlan {
	for {
		q.mu.Lock()
		if len(q.plans) > 0 {
			p := heap.Pop(&q.plans).(*PendingPlan)
			q.mu.Unlock()
			return p
		}
		wake := q.wake
		q.mu.Unlock()
		select {
		case <-wake:
		case <-stop:
			return nil
		}
	}
}

// Depth returns the number of plans that wait.
func (q *PlanQueue) Depth() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.plans)
}

type planHeap []*PendingPlan

func (h planHeap) Len() int { return len(h) }
func (h planHeap) Less(i, j int) bool {
	if h[i].Plan.Priority != h[j].Plan.Priority {
		return h[i].Plan.Priority > h[j].Plan.Priority
	}
	return h[i].seq < h[j].seq
}
func (h planHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *planHeap) Push(x any)   { *h = append(*h, x.(*PendingPlan)) }
func (h *planHeap) Pop() any {
	old := *h
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return p
}
