package scheduler

import (
	"maps"
	"slices"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// EvaluatePlan returns the part of a plan that can be committed to the state in snap. It
// accepts or refuses each node's part as a whole (plan_apply.go, evaluatePlanPlacements).
// The result shares the plan's allocations.
func EvaluatePlan(snap *state.Snapshot, plan *Plan) *PlanResult {
	return EvaluatePlanOn(snap, snap, plan)
}

// EvaluatePlanOn is EvaluatePlan on a state that was kept, and may lack what was written since: the latest state
// tells which allocations are gone.
func EvaluatePlanOn(snap, latest *state.Snapshot, plan *Plan) *PlanResult {
	r := &PlanResult{
		NodeUpdate:     make(map[string][]*rpc.Allocation, len(plan.NodeUpdate)),
		NodeAllocation: make(map[string][]*rpc.Allocation, len(plan.NodeAllocation)),
		Deployment:     plan.Deployment, DeploymentUpdates: plan.DeploymentUpdates,
	}
	for _, node := range plan.nodes() {
		if !nodeFits(snap, plan, node) {
			r.RejectedNodes = append(r.RejectedNodes, node)
			r.RefreshIndex = max(snap.RefreshIndex(), 1)
			continue
		}
		put(r.NodeUpdate, node, existing(latest, plan, node))
		put(r.NodeAllocation, node, plan.NodeAllocation[node])
	}
	return r
}

// existing returns a node's stops of allocations that still exist. Others were collected since the
// plan was made; Nomad fails such a plan.
func existing(latest *state.Snapshot, plan *Plan, node string) []*rpc.Allocation {
	stops := plan.NodeUpdate[node]
	gone := func(a *rpc.Allocation) bool { return latest.AllocByID(a.ID) == nil }
	if latest.Index() < plan.SnapshotIndex || !slices.ContainsFunc(stops, gone) {
		return stops
	}
	return slices.DeleteFunc(slices.Clone(stops), gone)
}

// nodes returns the IDs of the plan's nodes in order.
func (p *Plan) nodes() []string {
	ids := slices.AppendSeq(slices.Collect(maps.Keys(p.NodeUpdate)), maps.Keys(p.NodeAllocation))
	slices.Sort(ids)
	return slices.Compact(ids)
}

// nodeFits reports whether a node's part of the plan can be committed to the state in snap
// (plan_apply.go, evaluateNodePlan).
func nodeFits(snap *state.Snapshot, plan *Plan, nodeID string) bool {
	places := plan.NodeAllocation[nodeID]
	if len(places) == 0 {
		return true // stopping always fits
	}
	node := snap.NodeByID(nodeID)
	switch {
	case node == nil:
		return false
	case node.Status == rpc.NodeStatusDisconnected:
		// A plan can only declare such a node's allocations unknown.
		return !slices.ContainsFunc(places, func(a *rpc.Allocation) bool { return a.ClientStatus != rpc.AllocClientUnknown })
	case node.Status != rpc.NodeStatusReady:
		return false
	}
	on := snap.NodeAllocs(nodeID)
	if !slices.ContainsFunc(places, func(a *rpc.Allocation) bool { return on.LiveByID(a.ID) == nil }) {
		return true // only changes in place, which an ineligible node accepts
	}
	if node.SchedulingEligibility == rpc.NodeIneligible {
		return false
	}
	used := on.Used
	removed := make(map[string]bool, len(places)+len(plan.NodeUpdate[nodeID]))
	for _, a := range slices.Concat(plan.NodeUpdate[nodeID], places) {
		if old := on.LiveByID(a.ID); old != nil && !removed[a.ID] {
			removed[a.ID] = true
			used = used.Sub(old.Resources)
		}
	}
	for _, a := range places {
		if !a.ClientTerminal() {
			used = used.Add(a.Resources)
		}
	}
	return node.Resources.Fits(used)
}
