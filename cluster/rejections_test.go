package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestRejectedNodeBecomesIneligible: with the refusal that reaches the threshold, one
// entry marks the node.
func TestRejectedNodeBecomesIneligible(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
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
			r.c.leader().Because(fsm.PlanSubmitted) // as its own caller does
			result, err := r.c.leader().ApplyPlan(t.Context(), &scheduler.Plan{
				EvalID: eval, Priority: 50, SnapshotIndex: r.snap().Index(),
				NodeAllocation: map[string][]*rpc.Allocation{node: {tooMuch}},
			})
			if err != nil || len(result.RejectedNodes) != 1 {
				t.Fatalf("plan: %+v, %v", result, err)
			}
			r.want(fmt.Sprintf("refusal %d", n+1), r.entries(), want)
		}
		if got := r.snap().NodeByID(node).SchedulingEligibility; got != rpc.NodeIneligible {
			t.Errorf("node is %s", got)
		}
	})
}
