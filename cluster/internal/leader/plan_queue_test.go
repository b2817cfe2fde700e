package leader

import (
	"context"
	"errors"
	"testing"

	"github.com/simctl/simctl/cluster/scheduler"
)

// TestPlanQueue: plans come by priority and then in order of arrival, and those that wait when the
// queue is turned off are answered.
func TestPlanQueue(t *testing.T) {
	var q PlanQueue
	if _, err := q.Enqueue(&scheduler.Plan{}); !errors.Is(err, ErrPlanQueueDisabled) {
		t.Errorf("a plan for a queue that is off: %v", err)
	}
	q.SetEnabled(true)
	for _, p := range []scheduler.Plan{{EvalID: "a", Priority: 50}, {EvalID: "b", Priority: 70}, {EvalID: "c", Priority: 50}, {EvalID: "d", Priority: 70}} {
		if _, err := q.Enqueue(&p); err != nil {
			t.Fatal(err)
		}
	}
	order := ""
	for q.Depth() > 1 {
		order += q.Dequeue(t.Context()).Plan.EvalID
	}
	if order != "bda" {
		t.Errorf("order %s", order)
	}
	last := q.plans.Items[0]
	q.SetEnabled(false)
	if _, err := last.Wait(t.Context()); !errors.Is(err, ErrPlanQueueDisabled) || q.Depth() != 0 {
		t.Errorf("a plan that waited: %v, and %d wait", err, q.Depth())
	}
	if p := q.Dequeue(canceled(t)); p != nil {
		t.Errorf("%+v of an empty queue", p)
	}
	q.SetEnabled(true)
	next, err := q.Enqueue(&scheduler.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next.Wait(canceled(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("a worker that has ended: %v", err)
	}
	q.Dequeue(t.Context()).Respond(&scheduler.PlanResult{AllocIndex: 7}, nil)
	if r, err := next.Wait(t.Context()); err != nil || r.AllocIndex != 7 {
		t.Errorf("answered by %+v, %v", r, err)
	}
}
