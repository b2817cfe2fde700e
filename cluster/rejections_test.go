package cluster

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
)

func TestRejectionTracker(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	cfg := PlanRejectionConfig{Enabled: true, Threshold: 3, Window: time.Minute}
	times := func(t *rejectionTracker, n int, every time.Duration) (bad int) {
		for range n {
			now = now.Add(every)
			if t.add(now, "a") {
				bad++
			}
		}
		return bad
	}
	for _, tt := range []struct {
		name string
		do   func(*rejectionTracker) int
		want int
	}{
		{"below the threshold", func(t *rejectionTracker) int { return times(t, 2, time.Second) }, 0},
		{"at it, and every time after", func(t *rejectionTracker) int { return times(t, 5, time.Second) }, 3},
		{"too far apart", func(t *rejectionTracker) int { return times(t, 20, 31*time.Second) }, 0},
		{"no more than ten at first", func(t *rejectionTracker) int { return times(t, 100, 0) }, 10},
		{"then one in six minutes", func(t *rejectionTracker) int {
			times(t, 100, 0)
			now = now.Add(13 * time.Minute)
			return times(t, 100, 0)
		}, 2},
		{"forgotten for fifty others", func(t *rejectionTracker) int {
			times(t, 2, 0)
			for i := range trackedNodes {
				t.add(now, fmt.Sprint(i))
			}
			return times(t, 2, 0)
		}, 0},
	} {
		if got := tt.do(newRejectionTracker(cfg)); got != tt.want {
			t.Errorf("%s: marked %d times, want %d", tt.name, got, tt.want)
		}
	}
	if off := newRejectionTracker(PlanRejectionConfig{Threshold: 1, Window: time.Minute}); off.add(now, "a") {
		t.Error("a tracker that is off marked a node")
	}
}

// TestRejectedNodeBecomesIneligible: with the refusal that reaches the threshold, one
// entry marks the node.
func TestRejectedNodeBecomesIneligible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, Config{Seed: 1, PlanRejection: PlanRejectionConfig{Enabled: true, Threshold: 3}})
		eval, err := r.c.RegisterJob(t.Context(), serviceJob("svc", 1, 0))
		r.ok(nil, err)
		time.Sleep(time.Second)
		r.entries()
		const node = "node-00001"
		tooMuch := &rpc.Allocation{
			ID: "big", NodeID: node, JobID: "svc", Namespace: rpc.DefaultNamespace, TaskGroup: "tg",
			DesiredStatus: rpc.AllocDesiredRun, Resources: rpc.Resources{CPUMHz: 1e6},
		}
		for n, want := range []string{"", "", "1 ApplyPlanResultsRequestType\n"} {
			pending, err := r.c.leader().plans.enqueue(&scheduler.Plan{
				EvalID: eval, Priority: 50, SnapshotIndex: r.snap().Index(),
				NodeAllocation: map[string][]*rpc.Allocation{node: {tooMuch}},
			})
			r.ok(nil, err)
			if a := <-pending.answer; a.err != nil || len(a.result.RejectedNodes) != 1 {
				t.Fatalf("plan: %+v", a)
			}
			r.want(fmt.Sprintf("refusal %d", n+1), r.entries(), want)
		}
		if got := r.snap().NodeByID(node).SchedulingEligibility; got != rpc.NodeIneligible {
			t.Errorf("node is %s", got)
		}
	})
}
