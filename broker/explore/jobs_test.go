package explore

import (
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/broker/workqueue"
)

func jobBounds() Bounds {
	b := DefaultBounds()
	b.Evals, b.Timeouts = 2, 1
	return b
}

func TestJobs(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Bounds){
		"two jobs":              func(*Bounds) {},
		"one job, five calls":   func(b *Bounds) { b.Jobs, b.Evals, b.Failovers = 1, 5, 2 },
		"one job, three nacks":  func(b *Bounds) { b.Jobs, b.Evals, b.Timeouts = 1, 3, 3 },
		"two jobs and failover": func(b *Bounds) { b.Evals, b.Failovers = 1, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			bounds := jobBounds()
			change(&bounds)
			r, err := RunJobs(t.Context(), bounds, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Violation != nil || !r.Complete || r.Quiet == 0 {
				t.Errorf("%+v: %+v", r.Violation, r.Found)
			}
			t.Logf("%d states, %d transitions, depth %d", r.States, r.Transitions, r.Depth)
		})
	}
}

// TestJobsBroken holds the search to finding queues that are wrong.
func TestJobsBroken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		system   jobSystem
		property string
	}{
		"a call is dropped while a worker has the job": {jobSystem{enqueue: func(q *workqueue.Queue, now time.Time, e *broker.Evaluation) {
			if s := q.State(); len(s.Unacked) == 0 {
				q.Enqueue(now, e)
			}
		}}, "no lost wake-up"},
		"calls keep their own index": {jobSystem{enqueue: func(q *workqueue.Queue, now time.Time, e *broker.Evaluation) {
			old := *e
			old.ModifyIndex = 0
			q.Enqueue(now, &old)
		}}, "fresh"},
		"calls are queued one by one": {jobSystem{enqueue: func(q *workqueue.Queue, now time.Time, e *broker.Evaluation) {
			q.EvalBroker.Enqueue(now, e)
		}}, "once"},
		"a new leader looks at nothing": {jobSystem{resync: func(*jobWorld) {}}, "no lost wake-up"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.system.bounds = jobBounds()
			r, err := tt.system.search(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Violation == nil || r.Violation.Property != tt.property {
				t.Errorf("found %+v, want a violation of %q", r.Violation, tt.property)
			}
		})
	}
}
