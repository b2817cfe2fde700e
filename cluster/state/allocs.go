package state

import (
	"fmt"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// AllocDiff is what a plan changes on an allocation that it stops. The rest is in the state
// already and need not go through the log (structs.go, AllocationDiff).
type AllocDiff struct {
	ID                 string
	DesiredDescription string
	ClientStatus       string // empty leaves it as it is
	FollowupEvalID     string
	ModifyTime         int64 // Unix nanoseconds
}

// PlanResults is the part of a plan that the applier commits
// (structs.go, ApplyPlanResultsRequest).
type PlanResults struct {
	EvalID        string // the evaluation that the plan was made for; empty = none
	AllocsStopped []AllocDiff
	AllocsUpdated []*rpc.Allocation // new ones, and changed ones in full
	// IneligibleNodes are nodes that rejected too many plans.
	IneligibleNodes   []string
	UpdatedAt         int64                   // Unix nanoseconds
	Deployment        *rpc.Deployment         // that the plan begins; nil = none
	DeploymentUpdates []*rpc.DeploymentUpdate // ends of deployments
}

// Deploys reports whether the plan begins a deployment or changes one.
func (r *PlanResults) Deploys() bool { return r.Deployment != nil || len(r.DeploymentUpdates) > 0 }

// UpdateAllocsFromClient takes over what clients decide: ClientStatus, ClientDescription,
// ModifyTime and, if it is set, Health. It ignores allocations that do not exist. It returns the IDs of
// the evaluations that need not wait any more (state_store.go, nestedUpdateAllocFromClient).
func (tx *Tx) UpdateAllocsFromClient(allocs ...*rpc.Allocation) (ended []string) {
	tx.counts.AllocsIndex = tx.index
	if tx.returnEndsWaits {
		ended = tx.endWaits(allocs)
	}
	for _, update := range allocs {
		tx.reported(update.NodeID)
		old := tx.allocs.get(update.ID)
		if old == nil {
			continue
		}
		now := old.Copy()
		now.ClientStatus, now.ClientDescription = update.ClientStatus, update.ClientDescription
		now.ModifyTime = update.ModifyTime
		now.ModifyIndex = tx.index
		if update.Health != "" && update.Health != old.Health {
			now.Health, now.HealthIndex = update.Health, tx.index
		}
		if tx.returnEndsWaits && returns(old, update) {
			now.FollowupEvalID = ""
		}
		tx.putAlloc(old, now)
	}
	return ended
}

// DescReturned is the status description of evaluations that were canceled because the allocation they waited for is
// back.
const DescReturned = "allocs reconnected"

// returns reports whether, by a client's update, an allocation is back that was out of reach and for which an
// evaluation waits (structs.go, FollowupEvalForReconnect).
func returns(old, update *rpc.Allocation) bool {
	known := update.ClientStatus == rpc.AllocClientRunning || update.ClientStatus == rpc.AllocClientComplete || update.ClientStatus == rpc.AllocClientFailed
	return known && old.DisconnectedAt() != 0 && old.FollowupEvalID != ""
}

// endWaits cancels the evaluations that wait for allocations which are back, whatever the status of these evaluations,
// and returns their IDs. Nomad means to spare an evaluation that waits for another allocation, too. But it looks for that
// one in the namespace of the client's report, which is always empty (state_store.go, cancelFollowupEvalsForReconnect).
func (tx *Tx) endWaits(updates []*rpc.Allocation) (ended []string) {
	for _, update := range updates {
		old := tx.allocs.get(update.ID)
		if old == nil || !returns(old, update) {
			continue
		}
		e := tx.evals.get(old.FollowupEvalID)
		if e == nil {
			continue
		}
		canceled := e.Copy()
		canceled.Status, canceled.StatusDescription = broker.StatusCanceled, DescReturned
		canceled.ModifyIndex = tx.index
		tx.putEval(e, canceled)
		if e.Status != broker.StatusCanceled {
			ended = append(ended, e.ID)
		}
	}
	return ended
}

// UpsertPlanResults applies a verified plan (state_store.go, UpsertPlanResults). The error
// is for an evaluation, a stopped allocation or an ineligible node that does not exist, and
// for an allocation that moves to another node.
func (tx *Tx) UpsertPlanResults(r *PlanResults) error {
	for _, id := range r.IneligibleNodes {
		err := tx.UpdateNodeEligibility(id, rpc.NodeIneligible, r.UpdatedAt/1e9, "Node marked as ineligible for scheduling due to multiple plan rejections")
		if err != nil {
			return err
		}
	}
	if r.EvalID != "" {
		if err := tx.touchEval(r.EvalID); err != nil {
			return err
		}
	}
	for _, u := range r.DeploymentUpdates {
		tx.UpdateDeployment(u)
	}
	if r.Deployment != nil {
		if err := tx.UpsertDeployment(r.Deployment); err != nil {
			return err
		}
		// The loop above has updated the deployment that the job had until now. Updates may also be of the new one.
		for _, u := range r.DeploymentUpdates {
			tx.UpdateDeployment(u)
		}
	}
	tx.counts.AllocsIndex = tx.index
	for _, diff := range r.AllocsStopped {
		if err := tx.stopAlloc(diff); err != nil {
			return err
		}
	}
	for _, a := range r.AllocsUpdated {
		if err := tx.upsertAlloc(a); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) stopAlloc(diff AllocDiff) error {
	old := tx.allocs.get(diff.ID)
	if old == nil {
		return fmt.Errorf("cannot stop allocation %q: it does not exist", diff.ID)
	}
	now := old.Copy()
	now.DesiredStatus = rpc.AllocDesiredStop
	now.DesiredDescription = diff.DesiredDescription
	now.SetDisconnectedAt(0)
	if diff.ClientStatus != "" {
		now.ClientStatus = diff.ClientStatus
	}
	if diff.FollowupEvalID != "" {
		now.FollowupEvalID = diff.FollowupEvalID
	}
	now.ModifyTime = diff.ModifyTime
	now.ModifyIndex, now.AllocModifyIndex = tx.index, tx.index
	tx.putAlloc(old, now)
	return nil
}

// upsertAlloc stores an allocation as a scheduler wants it. An existing one keeps what its
// client said, unless the scheduler declares it lost or unknown (state_store.go,
// upsertAllocsImpl). A new one of a job that was stopped meanwhile is left out, if the store says so.
func (tx *Tx) upsertAlloc(now *rpc.Allocation) error {
	old := tx.allocs.get(now.ID)
	if old != nil && old.NodeID != now.NodeID {
		return fmt.Errorf("allocation %q is on node %q and cannot move to %q", now.ID, old.NodeID, now.NodeID)
	}
	if old == nil && tx.skipsStopped {
		if job := tx.jobs.get(jobOf(now)); job == nil || job.Stop {
			return nil
		}
	}
	if tx.copies {
		now = now.Copy()
	}
	now.CreateIndex, now.ModifyIndex, now.AllocModifyIndex = tx.index, tx.index, tx.index
	if old != nil {
		now.CreateIndex = old.CreateIndex
		if now.ClientStatus != rpc.AllocClientLost && now.ClientStatus != rpc.AllocClientUnknown {
			now.ClientStatus, now.ClientDescription = old.ClientStatus, old.ClientDescription
		}
	}
	tx.putAlloc(old, now)
	return nil
}

// RequestTransitions asks schedulers to migrate and to reschedule allocations. It ignores
// unknown IDs (state_store.go, UpdateAllocDesiredTransitionTxn).
func (tx *Tx) RequestTransitions(migrate, reschedule []string) {
	for _, id := range migrate {
		tx.requestTransition(id, func(a *rpc.Allocation) { a.Migrate = true })
	}
	for _, id := range reschedule {
		tx.requestTransition(id, func(a *rpc.Allocation) { a.Reschedule = true })
	}
}

func (tx *Tx) requestTransition(id string, request func(*rpc.Allocation)) {
	old := tx.allocs.get(id)
	if old == nil {
		return
	}
	now := old.Copy()
	request(now)
	now.ModifyIndex, now.AllocModifyIndex = tx.index, tx.index
	tx.putAlloc(old, now)
}
