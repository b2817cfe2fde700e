package scheduler

import (
	"maps"
	"slices"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Plan is what a scheduler wants changed (structs.go, Plan). It belongs to whoever it was
// handed to last: worker, then plan queue, then applier.
type Plan struct {
	EvalID   string
	Priority int
	// EvalToken proves that the worker still owns the evaluation; the worker sets it.
	EvalToken string
	// SnapshotIndex is the state index the plan was made at; the applier's must include it.
	SnapshotIndex uint64
	// Job is the job as the plan knew it; nil when it was purged.
	Job *rpc.Job
	// NodeUpdate holds the allocations to stop, in full and as they are to be, by node.
	NodeUpdate map[string][]*rpc.Allocation
	// NodeAllocation holds the allocations to place, and those to change in place, by node.
	NodeAllocation map[string][]*rpc.Allocation
	// Deployment is one that the plan begins; nil for none.
	Deployment *rpc.Deployment
	// DeploymentUpdates end deployments.
	DeploymentUpdates []*rpc.DeploymentUpdate
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

// stop plans to stop an allocation; empty strings leave its client status and follow-up
// as they are (structs.go, AppendStoppedAlloc).
func (p *Plan) stop(a *rpc.Allocation, description, clientStatus, followup string) {
	s := a.Copy()
	s.DesiredStatus, s.DesiredDescription = rpc.AllocDesiredStop, description
	s.DisconnectedAt = 0
	if clientStatus != "" {
		s.ClientStatus = clientStatus
	}
	if followup != "" {
		s.FollowupEvalID = followup
	}
	p.NodeUpdate[a.NodeID] = append(p.NodeUpdate[a.NodeID], s)
}

// unstop takes back the stop planned last on the allocation's node (PopUpdate).
func (p *Plan) unstop(a *rpc.Allocation) {
	stops := p.NodeUpdate[a.NodeID]
	if n := len(stops); n > 0 && stops[n-1].ID == a.ID {
		if stops = stops[:n-1]; len(stops) == 0 {
			delete(p.NodeUpdate, a.NodeID)
			return
		}
		p.NodeUpdate[a.NodeID] = stops
	}
}

// unplace takes back a change of an allocation that the plan stops as well: that it was to
// be replaced later for having failed. Nomad leaves both in the plan, where the change
// undoes the stop, and tells by NextAllocation that it is not to be replaced again.
func (p *Plan) unplace(a *rpc.Allocation) {
	places := p.NodeAllocation[a.NodeID]
	if !slices.ContainsFunc(places, func(x *rpc.Allocation) bool { return x.ID == a.ID }) {
		return
	}
	if places = slices.DeleteFunc(places, func(x *rpc.Allocation) bool { return x.ID == a.ID }); len(places) == 0 {
		delete(p.NodeAllocation, a.NodeID)
		return
	}
	p.NodeAllocation[a.NodeID] = places
}

func (p *Plan) place(a *rpc.Allocation) {
	p.NodeAllocation[a.NodeID] = append(p.NodeAllocation[a.NodeID], a)
}

// PlanResult is the part of a plan that was, or is to be, committed
// (structs.go, PlanResult).
type PlanResult struct {
	NodeUpdate     map[string][]*rpc.Allocation
	NodeAllocation map[string][]*rpc.Allocation
	Deployment     *rpc.Deployment
	// DeploymentUpdates is the plan's.
	DeploymentUpdates []*rpc.DeploymentUpdate
	// RefreshIndex is set when part of the plan was refused: the worker must see at least
	// this index before it tries again.
	RefreshIndex uint64
	// AllocIndex is the index the result was committed at; the applier sets it.
	AllocIndex uint64
	// RejectedNodes lists, in order, the nodes whose part was refused.
	RejectedNodes []string
	// IneligibleNodes lists the nodes to be made ineligible for being rejected too often;
	// the applier sets it.
	IneligibleNodes []string
}

// IsNoOp reports whether there is nothing to commit.
func (r *PlanResult) IsNoOp() bool {
	return len(r.NodeUpdate) == 0 && len(r.NodeAllocation) == 0 && len(r.IneligibleNodes) == 0 &&
		r.Deployment == nil && len(r.DeploymentUpdates) == 0
}

// FullCommit compares with the plan: whether every placement was committed, how many
// were wanted and how many there are.
func (r *PlanResult) FullCommit(p *Plan) (full bool, expected, actual int) {
	for node, allocs := range p.NodeAllocation {
		expected += len(allocs)
		actual += len(r.NodeAllocation[node])
	}
	return actual == expected, expected, actual
}

// progress reports whether anything at all was committed, which makes a scheduler start
// counting its attempts afresh (util.go, progressMade).
func (r *PlanResult) progress() bool {
	return len(r.NodeUpdate) > 0 || len(r.NodeAllocation) > 0 || r.Deployment != nil || len(r.DeploymentUpdates) > 0
}

// Commit returns the log entry that commits the result, and stamps the allocations in it
// with the time now in Unix nanoseconds (plan_apply.go, applyPlan).
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
			a.ModifyTime = now
			entry.AllocsUpdated = append(entry.AllocsUpdated, a)
		}
	}
	return entry
}
