package cluster

import (
	"container/heap"
	"errors"
	"sync"

	"github.com/simctl/simctl/cluster/scheduler"
)

// errPlanQueueDisabled makes a worker submit again later (worker.go, shouldResubmit).
var errPlanQueueDisabled = errors.New("plan queue is disabled")

// pendingPlan is a plan waiting for the applier, and the way to answer its worker.
type pendingPlan struct {
	plan   *scheduler.Plan
	seq    uint64
	answer chan planAnswer // buffered: the applier never waits for a worker
}

type planAnswer struct {
	result *scheduler.PlanResult
	err    error
}

func (p *pendingPlan) respond(r *scheduler.PlanResult, err error) {
	p.answer <- planAnswer{r, err}
}

// planQueue orders plans by priority, then by arrival (nomad/plan_queue.go). It is
// enabled only on the leader; the zero value is a disabled queue.
type planQueue struct {
	mu      sync.Mutex
	enabled bool
	seq     uint64
	plans   planHeap
	wake    chan struct{}
}

// setEnabled turns the queue on or off; turning it off fails every waiting plan.
func (q *planQueue) setEnabled(on bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.enabled = on
	q.wake = make(chan struct{}, 1)
	if !on {
		for _, p := range q.plans {
			p.respond(nil, errPlanQueueDisabled)
		}
		q.plans = nil
	}
}

func (q *planQueue) enqueue(p *scheduler.Plan) (*pendingPlan, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.enabled {
		return nil, errPlanQueueDisabled
	}
	q.seq++
	pending := &pendingPlan{plan: p, seq: q.seq, answer: make(chan planAnswer, 1)}
	heap.Push(&q.plans, pending)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return pending, nil
}

// dequeue waits for a plan; it returns nil when stop closes.
func (q *planQueue) dequeue(stop <-chan struct{}) *pendingPlan {
	for {
		q.mu.Lock()
		if len(q.plans) > 0 {
			p := heap.Pop(&q.plans).(*pendingPlan)
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

func (q *planQueue) depth() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.plans)
}

type planHeap []*pendingPlan

func (h planHeap) Len() int { return len(h) }
func (h planHeap) Less(i, j int) bool {
	if h[i].plan.Priority != h[j].plan.Priority {
		return h[i].plan.Priority > h[j].plan.Priority
	}
	return h[i].seq < h[j].seq
}
func (h planHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *planHeap) Push(x any)   { *h = append(*h, x.(*pendingPlan)) }
func (h *planHeap) Pop() any {
	old := *h
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return p
}
