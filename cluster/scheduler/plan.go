package scheduler

import (
	"cmp"
	"maps"
	"slices"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Plan is what a scheduler wants to change (structs.go, Plan). A worker hands it to the plan
// queue, and that to the applier; only its present owner may use it.
type Plan struct {
	EvalID   string
	Priority int
	// EvalToken proves that the worker owns the evaluation. The worker sets it.
	EvalToken string
	// SnapshotIndex is the index of the state the plan is for. The applier's state must
	// include it.
	SnapshotIndex uint64
	// NodeUpdate has the allocations to stop, by node and as they will be.
	NodeUpdate map[string][]*rpc.Allocation
	// NodeAllocation has the allocations to place or to change in place, by node.
	NodeAllocation    map[string][]*rpc.Allocation
	Deployment        *rpc.Deployment         // that the plan begins; nil = none
	DeploymentUpdates []*rpc.DeploymentUpdate // ends of deployments
}

// IsNoOp reports whether the plan changes nothing.
func (p *Plan) IsNoOp() bool {
	return len(p.NodeUpdate) == 0 && len(p.NodeAllocation) == 0 && p.Deployment == nil && len(p.DeploymentUpdates) == 0
}

// Size counts the allocations in the plan.
func (p *Plan) Size() int { return size(p.NodeUpdate) + size(p.NodeAllocation) }

func size(byNode map[string][]*rpc.Allocation) int {
	n := 0
	for _, allocs := range byNode {
		n += len(allocs)
	}
	return n
}

// stop plans to stop an allocation (structs.go, AppendStoppedAlloc). An empty client status
// leaves that as it is.
func (p *Plan) stop(a *rpc.Allocation, description, clientStatus string) {
	s := a.Copy()
	s.DesiredStatus, s.DesiredDescription = rpc.AllocDesiredStop, description
	s.SetDisconnectedAt(0)
	s.ClientStatus = cmp.Or(clientStatus, s.ClientStatus)
	p.NodeUpdate[a.NodeID] = append(p.NodeUpdate[a.NodeID], s)
}

// unstop undoes the last stop on the allocation's node, which is that of the allocation (structs.go, PopUpdate).
func (p *Plan) unstop(a *rpc.Allocation) {
	stops := p.NodeUpdate[a.NodeID]
	put(p.NodeUpdate, a.NodeID, stops[:len(stops)-1])
}

// put sets a node's allocations; a node without any has no entry.
func put(byNode map[string][]*rpc.Allocation, node string, allocs []*rpc.Allocation) {
	if len(allocs) == 0 {
		delete(byNode, node)
	} else {
		byNode[node] = allocs
	}
}

// unplace undoes the change of an allocation that the plan now stops: it failed, and was to be
// replaced later. Nomad leaves both in the plan, where the change undoes the stop, but does
// not replace the allocation again because its NextAllocation is set.
func (p *Plan) unplace(a *rpc.Allocation) {
	places := slices.DeleteFunc(p.NodeAllocation[a.NodeID], func(x *rpc.Allocation) bool { return x.ID == a.ID })
	put(p.NodeAllocation, a.NodeID, places)
}

func (p *Plan) place(a *rpc.Allocation) {
	p.NodeAllocation[a.NodeID] = append(p.NodeAllocation[a.NodeID], a)
}

// PlanResult is the part of a plan that the applier commits (structs.go, PlanResult).
type PlanResult struct {
	NodeUpdate        map[string][]*rpc.Allocation
	NodeAllocation    map[string][]*rpc.Allocation
	Deployment        *rpc.Deployment
	DeploymentUpdates []*rpc.DeploymentUpdate
	// RefreshIndex is what the worker's state must include before it tries again; zero if no
	// part of the plan was refused.
	RefreshIndex uint64
	// AllocIndex is the index of the entry that committed the result. The applier sets it.
	AllocIndex uint64
	// RejectedNodes lists, in order, the nodes whose part was refused.
	RejectedNodes []string
	// IneligibleNodes lists nodes that have rejected too many plans. The applier sets it, and
	// committing the result makes them ineligible.
	IneligibleNodes []string
}

// IsNoOp reports whether there is nothing to commit.
func (r *PlanResult) IsNoOp() bool {
	return !r.progress() && len(r.IneligibleNodes) == 0
}

// fullCommit reports whether all placements of the plan were committed (structs.go, FullCommit).
func (r *PlanResult) fullCommit(p *Plan) bool {
	for node, allocs := range p.NodeAllocation {
		if len(r.NodeAllocation[node]) != len(allocs) {
			return false
		}
	}
	return true
}

// progress reports whether anything was committed (util.go, progressMade).
func (r *PlanResult) progress() bool {
	return len(r.NodeUpdate) > 0 || len(r.NodeAllocation) > 0 || r.Deployment != nil || len(r.DeploymentUpdates) > 0
}

// Commit returns the log entry that commits the result, and sets the times of its
// allocations to now, in Unix nanoseconds (plan_apply.go, applyPlan).
func (r *PlanResult) Commit(evalID string, now int64) *state.PlanResults {
	entry := &state.PlanResults{
		EvalID:          evalID,
		IneligibleNodes: r.IneligibleNodes,
		UpdatedAt:       now,
		Deployment:      r.Deployment, DeploymentUpdates: r.DeploymentUpdates,
		AllocsStopped: make([]state.AllocDiff, 0, size(r.NodeUpdate)),
		AllocsUpdated: make([]*rpc.Allocation, 0, size(r.NodeAllocation)),
	}
	for _, node := range slices.Sorted(maps.Keys(r.NodeUpdate)) {
		for _, a := range r.NodeUpdate[node] {
			entry.AllocsStopped = append(entry.AllocsStopped, state.AllocDiff{
				ID: a.ID, DesiredDescription: a.DesiredDescription, ClientStatus: a.ClientStatus,
				FollowupEvalID: a.FollowupEvalID, ModifyTime: now,
			})
		}
	}
	for _, node := range slices.Sorted(maps.Keys(r.NodeAllocation)) {
		for _, a := range r.NodeAllocation[node] {
			if a.CreateTime == 0 {
				a.CreateTime = now
			}
			if a.ClientStatus != rpc.AllocClientFailed { // its replacement waits from when it failed (structs.go, LastEventTime)
				a.ModifyTime = now
			}
			entry.AllocsUpdated = append(entry.AllocsUpdated, a)
		}
	}
	return entry
}
