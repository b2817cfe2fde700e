package apitypes

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Eval returns an evaluation.
func Eval(e *broker.Evaluation) *api.Evaluation {
	return &api.Evaluation{
		ID: e.ID, Priority: e.Priority, Type: e.Type, TriggeredBy: e.TriggeredBy, Namespace: e.Namespace, JobID: e.JobID,
		JobModifyIndex: e.JobModifyIndex, NodeID: e.NodeID, NodeModifyIndex: e.NodeModifyIndex, DeploymentID: e.DeploymentID,
		Status: e.Status, StatusDescription: e.StatusDescription, Wait: e.Wait, WaitUntil: e.WaitUntil,
		NextEval: e.NextEval, PreviousEval: e.PreviousEval, BlockedEval: e.BlockedEval, FailedTGAllocs: failed(e),
		ClassEligibility: e.ClassEligibility, EscapedComputedClass: e.EscapedComputedClass, QueuedAllocations: e.QueuedAllocations,
		SnapshotIndex: e.SnapshotIndex, CreateIndex: e.CreateIndex, ModifyIndex: e.ModifyIndex, CreateTime: e.CreateTime, ModifyTime: e.ModifyTime,
	}
}

// failed returns the placements that found no room. Nomad counts the first apart from those
// that failed for the same reason.
func failed(e *broker.Evaluation) map[string]*api.AllocationMetric {
	if len(e.FailedTGAllocs) == 0 {
		return nil
	}
	of := map[string]*api.AllocationMetric{}
	for group, n := range e.FailedTGAllocs {
		of[group] = &api.AllocationMetric{CoalescedFailures: max(0, n-1)}
	}
	return of
}

// evalStub returns an evaluation as one that is related to another.
func evalStub(e *broker.Evaluation) *api.EvaluationStub {
	return &api.EvaluationStub{
		ID: e.ID, Priority: e.Priority, Type: e.Type, TriggeredBy: e.TriggeredBy, Namespace: e.Namespace, JobID: e.JobID,
		NodeID: e.NodeID, DeploymentID: e.DeploymentID, Status: e.Status, StatusDescription: e.StatusDescription,
		WaitUntil: e.WaitUntil, NextEval: e.NextEval, PreviousEval: e.PreviousEval, BlockedEval: e.BlockedEval,
		CreateIndex: e.CreateIndex, ModifyIndex: e.ModifyIndex, CreateTime: e.CreateTime, ModifyTime: e.ModifyTime,
	}
}

// Related returns the evaluations that can be reached from e by following the next, previous and blocked evaluation of
// each, without e itself (state_store.go, EvalsRelatedToID).
func Related(s *state.Snapshot, e *broker.Evaluation) []*api.EvaluationStub {
	var found []*api.EvaluationStub
	seen := map[string]bool{"": true, e.ID: true}
	queue := []string{e.NextEval, e.PreviousEval, e.BlockedEval}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		if seen[id] {
			continue
		}
		seen[id] = true
		if o := s.EvalByID(id); o != nil {
			found = append(found, evalStub(o))
			queue = append(queue, o.NextEval, o.PreviousEval, o.BlockedEval)
		}
	}
	return found
}

// Deployment returns a deployment.
func Deployment(d *rpc.Deployment) *api.Deployment {
	of := &api.Deployment{
		ID: d.ID, Namespace: d.Namespace, JobID: d.JobID, JobVersion: d.JobVersion, JobCreateIndex: d.JobCreateIndex,
		TaskGroups: map[string]*api.DeploymentState{}, Status: d.Status, StatusDescription: d.StatusDescription,
		CreateIndex: d.CreateIndex, ModifyIndex: d.ModifyIndex,
	}
	for _, g := range d.Groups {
		state := &api.DeploymentState{
			ProgressDeadline: g.ProgressDeadline, DesiredTotal: g.DesiredTotal, PlacedAllocs: g.Placed,
			HealthyAllocs: g.Healthy, UnhealthyAllocs: g.Unhealthy,
		}
		if g.RequireProgressBy != 0 {
			state.RequireProgressBy = time.Unix(0, g.RequireProgressBy).UTC()
		}
		of.TaskGroups[g.Name] = state
	}
	return of
}
