package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
)

// Dequeued is an evaluation on its way to a worker (structs.EvalDequeueResponse).
type Dequeued struct {
	Eval  *broker.Evaluation // nil: nothing came up in time
	Token string             // proves that the worker has it
	// WaitIndex is what the worker's state must have reached before it plans.
	WaitIndex uint64
}

// DequeueEval answers Eval.Dequeue on the leader (nomad/eval_endpoint.go).
func (s *Server) DequeueEval(ctx context.Context, schedulers []string, timeout, turn time.Duration) (Dequeued, error) {
	d, err := s.evals.Dequeue(ctx, schedulers, timeout, turn)
	if err != nil || d.Eval == nil {
		return Dequeued{}, err
	}
	e := d.Eval
	snap := s.Snapshot()
	// Nomad reads every evaluation of the job to find the newest; the store knows it,
	// but the leader's cores pay all the same.
	s.Compute("scan/"+e.ID, time.Duration(snap.JobEvals(e.Job()).Count)*s.cfg.Costs.RPC.WaitIndexScan)
	return Dequeued{Eval: e, Token: d.Token, WaitIndex: leader.WaitIndex(s.cfg.Design, snap, e)}, nil
}

// EndEval answers Eval.Ack and Eval.Nack on the leader.
func (s *Server) EndEval(d Dequeued, ack bool) error {
	if ack {
		return s.evals.Ack(d.Eval, d.Token)
	}
	return s.evals.Nack(d.Eval, d.Token)
}

// writeEvals answers Eval.Update and Eval.Create on the leader: one
// entry each, if the evaluation being worked on is still outstanding.
func (s *Server) writeEvals(outstanding, token string, evals ...*broker.Evaluation) error {
	if err := s.evals.Broker.OutstandingReset(outstanding, token); err != nil {
		return err
	}
	req := fsm.EvalUpdateRequest{Evals: evals}
	if s.cfg.Design.UpdateWindow > 0 {
		_, err := s.evalUpdates.Add("", req).Wait()
		return err
	}
	_, err := s.Write(fsm.EvalUpdate.With(&req))
	return err
}

// mergeEvals gathers updates of evaluations.
func mergeEvals(all *fsm.EvalUpdateRequest, one fsm.EvalUpdateRequest) {
	all.Evals = append(all.Evals, one.Evals...)
}

// writeGathered writes a batch of updates as one entry.
func (s *Server) writeGathered(req fsm.EvalUpdateRequest) (uint64, error) {
	slices.SortFunc(req.Evals, broker.ByID)
	for range req.Evals[1:] {
		s.Because(fsm.EvalJoined)
	}
	return s.Write(fsm.EvalUpdate.With(&req))
}

// reblockEval answers Eval.Reblock on the leader: the evaluation, outstanding still, is
// blocked again in memory only.
func (s *Server) reblockEval(e *broker.Evaluation, token string) error {
	if err := s.evals.Broker.OutstandingReset(e.ID, token); err != nil {
		return err
	}
	s.evals.Blocked.Block(e, token)
	return nil
}

// SubmitPlan answers Plan.Submit on the leader. The nack timer stands still while the
// plan waits for the applier (nomad/plan_endpoint.go).
func (s *Server) SubmitPlan(ctx context.Context, p *scheduler.Plan) (*scheduler.PlanResult, error) {
	s.Because(fsm.PlanSubmitted)
	s.Compute("submit/"+p.EvalID, s.cfg.Costs.Plan.Submit+time.Duration(p.Size())*s.cfg.Costs.Plan.PerAlloc)
	if err := s.evals.Broker.PauseNackTimeout(p.EvalID, p.EvalToken); err != nil {
		return nil, fmt.Errorf("submit plan for evaluation %s: %w", p.EvalID, err)
	}
	// An evaluation that is gone by then has no timer to resume.
	defer func() { _ = s.evals.Broker.ResumeNackTimeout(p.EvalID, p.EvalToken) }()
	return s.ApplyPlan(ctx, p)
}

// ApplyPlan has the leader's applier verify and commit a plan. The plan is applied even if
// ctx ends before.
func (s *Server) ApplyPlan(ctx context.Context, p *scheduler.Plan) (*scheduler.PlanResult, error) {
	pending, err := s.plans.Enqueue(p)
	if err != nil {
		return nil, err
	}
	return pending.Wait(ctx)
}

// deletesPerWrite bounds how many evaluations that match an operator's filter share an entry.
const deletesPerWrite = maxIDsPerWrite / 10

// DeleteEvals answers Eval.Delete on the leader (nomad/eval_endpoint.go): it deletes the
// evaluations with these IDs, in one entry, or, if matches is not nil, those that match and may
// go. The broker must be paused. Nothing is deleted if one of the IDs cannot be.
func (s *Server) DeleteEvals(ids []string, matches func(*broker.Evaluation) bool) (n int, index uint64, err error) {
	snap := s.Snapshot()
	if !snap.SchedulerConfig().PauseEvalBroker {
		return 0, 0, rpc.ErrBrokerEnabled
	}
	run := &coreRun{snap: snap}
	for _, id := range ids {
		e := snap.EvalByID(id)
		switch {
		case e == nil:
			return 0, 0, rpc.ErrEvalNotFound
		case !run.mayDelete(e):
			return 0, 0, fmt.Errorf("eval %s is not safe to delete", id)
		}
	}
	perWrite := max(len(ids), 1)
	if matches != nil {
		perWrite = deletesPerWrite
		for e := range snap.Evals() {
			if matches(e) && run.mayDelete(e) {
				ids = append(ids, e.ID)
			}
		}
	}
	for batch := range slices.Chunk(ids, perWrite) {
		s.Because(fsm.EvalsDeleted)
		if index, err = s.Write(fsm.EvalDelete.With(&fsm.EvalDeleteRequest{Evals: batch})); err != nil {
			return n, index, fmt.Errorf("delete %d evaluations: %w", len(batch), err)
		}
		n += len(batch)
	}
	return n, index, nil
}

// evalOver reports whether an evaluation may go, and which of the allocations it placed, in the order of their IDs
// (core_sched.go, gcEval).
func (c *coreRun) evalOver(e *broker.Evaluation, limit uint64, ofDeadJob bool) (over bool, allocs []string) {
	if !e.Terminal() || e.ModifyIndex > limit {
		return false, nil
	}
	job := c.snap.JobByID(e.Namespace, e.JobID)
	if e.Type == rpc.JobTypeBatch && job != nil && (!c.dead(job) || !job.Stop && !ofDeadJob) {
		// What a batch job ran tells its scheduler what not to run again.
		over = c.batchToo
		for _, a := range c.placed(e) {
			older := a.CreateIndex < job.CreateIndex
			if c.batchToo {
				older = a.CreateIndex < job.JobModifyIndex && a.ModifyIndex < limit
			}
			switch {
			case !c.isAlloc(a):
			case older && a.Terminal():
				allocs = append(allocs, a.ID)
			default:
				over = false
			}
		}
		slices.Sort(allocs)
		return over, allocs
	}
	over = true
	for _, a := range c.placed(e) {
		switch goes := c.allocOver(a, job, limit); {
		case !goes && !over: // one that stays is enough
		case !c.isAlloc(a):
		case goes:
			allocs = append(allocs, a.ID)
		default:
			over = false
		}
	}
	slices.Sort(allocs)
	return over, allocs
}

// allocOver reports whether an allocation may go (core_sched.go, allocGCEligible). Of
// reschedule policies there are the defaults only: services are replaced without limit, system
// and sysbatch jobs never. Those of a batch job that is not dead go with evalOver.
func (c *coreRun) allocOver(a *rpc.Allocation, job *rpc.Job, limit uint64) bool {
	switch {
	case !a.Terminal() || a.ModifyIndex > limit || a.ClientStatus == rpc.AllocClientRunning:
		return false
	case job == nil || job.Stop || c.dead(job) || a.DesiredStatus == rpc.AllocDesiredStop || a.ClientStatus != rpc.AllocClientFailed:
		return true
	}
	return job.TaskGroup(a.TaskGroup) == nil || job.Type == rpc.JobTypeSystem || job.Type == rpc.JobTypeSysBatch || c.isReplaced(a)
}

// mayDelete reports whether an operator may delete an evaluation: nothing it placed may be
// running, or may have to be replaced (state_store.go, isEvalDeleteSafe). Of reschedule policies there
// are the defaults only.
func (c *coreRun) mayDelete(e *broker.Evaluation) bool {
	job := c.snap.JobByID(e.Namespace, e.JobID)
	if job == nil || job.Stop || c.dead(job) {
		return true
	}
	keeps := func(a *rpc.Allocation) bool {
		switch {
		case a.ClientStatus == rpc.AllocClientRunning || a.ClientStatus == rpc.AllocClientUnknown:
			return true
		case a.ClientStatus != rpc.AllocClientFailed || job.TaskGroup(a.TaskGroup) == nil || job.Type == rpc.JobTypeSystem || job.Type == rpc.JobTypeSysBatch:
			return false
		}
		return job.Type == rpc.JobTypeService || !c.isReplaced(a) || a.PreviousAllocation == ""
	}
	return !slices.ContainsFunc(c.placed(e), func(a *rpc.Allocation) bool { return keeps(a) && c.isAlloc(a) })
}
