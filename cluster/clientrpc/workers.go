package clientrpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/nomadrpc"
)

// worker tells the workers behind one connection from others.
func worker(ctx context.Context) string { return nomadrpc.Caller(ctx).String() }

func (e *endpoint) dequeue(ctx context.Context, req *nomadrpc.EvalDequeueRequest) (*nomadrpc.EvalDequeueResponse, error) {
	w, err := e.cluster.Dequeue(ctx, e.id, worker(ctx), req.Schedulers, req.Timeout)
	if err != nil || w.Eval == nil {
		return &nomadrpc.EvalDequeueResponse{}, err
	}
	return &nomadrpc.EvalDequeueResponse{Token: w.Token, WaitIndex: w.WaitIndex, Eval: &nomadrpc.Evaluation{
		ID: w.Eval.ID, Namespace: w.Eval.Namespace, Priority: w.Eval.Priority, Type: w.Eval.Type, TriggeredBy: w.Eval.TriggeredBy, JobID: w.Eval.JobID,
		NodeID: w.Eval.NodeID, Status: w.Eval.Status, CreateIndex: w.Eval.CreateIndex, ModifyIndex: w.Eval.ModifyIndex,
	}}, nil
}

// end serves Eval.Ack and Eval.Nack.
func (e *endpoint) end(ack bool) func(context.Context, *nomadrpc.EvalAckRequest) (*nomadrpc.GenericResponse, error) {
	return func(ctx context.Context, req *nomadrpc.EvalAckRequest) (*nomadrpc.GenericResponse, error) {
		return &nomadrpc.GenericResponse{}, e.cluster.EndEval(ctx, e.id, worker(ctx), req.EvalID, req.Token, ack)
	}
}

// submit serves Plan.Submit. What a plan says of deployments and preemptions is not read.
func (e *endpoint) submit(ctx context.Context, req *nomadrpc.PlanRequest) (*nomadrpc.PlanResponse, error) {
	if req.Plan == nil {
		return nil, errors.New("cannot submit nil plan")
	}
	l := e.cluster.Leader()
	if l < 0 {
		return nil, rpc.ErrNoLeader
	}
	s := e.cluster.State(l).Snapshot() // the worker's server may not know yet what the worker plans for
	p := &cluster.Plan{
		EvalID: req.Plan.EvalID, EvalToken: req.Plan.EvalToken, Priority: req.Plan.Priority, SnapshotIndex: req.Plan.SnapshotIndex,
		NodeUpdate: map[string][]*rpc.Allocation{}, NodeAllocation: map[string][]*rpc.Allocation{},
	}
	for _, stops := range req.Plan.NodeUpdate {
		if err := whole("allocation", stops); err != nil {
			return nil, err
		}
		for _, a := range stops {
			if known := s.AllocByID(a.ID); known != nil { // else it was collected
				stop := known.Copy()
				stop.DesiredStatus, stop.DesiredDescription = a.DesiredStatus, a.DesiredDescription
				p.NodeUpdate[known.NodeID] = append(p.NodeUpdate[known.NodeID], stop)
			}
		}
	}
	for node, places := range req.Plan.NodeAllocation {
		if err := whole("allocation", places); err != nil {
			return nil, err
		}
		for _, a := range places {
			place, err := placed(s, p.EvalID, node, a)
			if err != nil {
				return nil, err
			}
			p.NodeAllocation[node] = append(p.NodeAllocation[node], place)
		}
	}
	r, err := e.cluster.SubmitPlan(ctx, e.id, worker(ctx), p)
	if err != nil {
		return nil, err
	}
	return &nomadrpc.PlanResponse{
		Result: &nomadrpc.PlanResult{
			NodeUpdate: ids(r.NodeUpdate), NodeAllocation: ids(r.NodeAllocation), RefreshIndex: r.RefreshIndex, AllocIndex: r.AllocIndex,
		},
		WriteMeta: nomadrpc.WriteMeta{Index: r.AllocIndex},
	}, nil
}

// placed returns an allocation that a plan places on a node. Its job and the job's group are those of the state.
func placed(s *state.Snapshot, evalID, node string, a *nomadrpc.Allocation) (*rpc.Allocation, error) {
	job := s.JobByID(a.Namespace, a.JobID)
	if job == nil || job.TaskGroup(a.TaskGroup) == nil {
		return nil, fmt.Errorf("allocation %q is of group %q of job %q, which is not registered", a.ID, a.TaskGroup, a.JobID)
	}
	known := s.AllocByID(a.ID)
	if a.ID == "" || a.NodeID != node || known != nil && known.NodeID != node {
		return nil, fmt.Errorf("allocation %q is planned for node %q and is of node %q", a.ID, node, a.NodeID)
	}
	return &rpc.Allocation{
		ID: a.ID, Namespace: a.Namespace, EvalID: evalID, Name: a.Name, NodeID: node, JobID: job.ID, JobVersion: job.Version, JobType: job.Type,
		TaskGroup: a.TaskGroup, Resources: job.TaskGroup(a.TaskGroup).Resources, DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientPending,
		PreviousAllocation: a.PreviousAllocation,
	}, nil
}

// ids returns allocations with their IDs only, for the answer to a plan. The worker that made the plan knows the rest.
func ids(byNode map[string][]*rpc.Allocation) map[string][]*nomadrpc.Allocation {
	out := map[string][]*nomadrpc.Allocation{}
	for node, allocs := range byNode {
		for _, a := range allocs {
			out[node] = append(out[node], &nomadrpc.Allocation{ID: a.ID, NodeID: node})
		}
	}
	return out
}
