package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
)

// dequeued is an evaluation on its way to a worker (structs.EvalDequeueResponse).
type dequeued struct {
	eval  *broker.Evaluation // nil: nothing came up in time
	token string
	// waitIndex is what the worker's state must have reached before it plans.
	waitIndex uint64
}

// dequeueEval answers Eval.Dequeue on the leader (nomad/eval_endpoint.go).
//
// While the broker is off it waits until it is on, and then for the worker's own
// turn: all workers are woken at one instant, and must not ask again at one.
func (s *server) dequeueEval(ctx context.Context, schedulers []string, timeout, turn time.Duration) (dequeued, error) {
	d, err := s.evals.Deliver(ctx, schedulers, timeout)
	if errors.Is(err, broker.ErrDisabled) {
		// Paused or losing leadership: as good as an empty queue.
		waited, cancel := context.WithTimeout(ctx, timeout)
		s.brokers.wait(waited, s.evals.Enabled)
		cancel()
		sleepContext(ctx, turn)
		return dequeued{}, nil
	}
	if err != nil || d.Eval == nil {
		return dequeued{}, err
	}
	if o := s.cfg.Observer; o != nil && d.Eval.Type != rpc.JobTypeCore {
		o.Dequeued(time.Now(), d.Eval, d.Waited)
	}
	e := d.Eval
	job := s.store.Snapshot().JobEvals(e.Job())
	// Nomad reads every evaluation of the job to find the newest; the store knows it,
	// but the leader's cores pay all the same.
	s.compute("scan/"+e.ID, time.Duration(job.Count)*s.cfg.Costs.RPC.WaitIndexScan)
	return dequeued{eval: e, token: d.Token, waitIndex: max(e.ModifyIndex, job.MaxModifyIndex)}, nil
}

// ackEval answers Eval.Ack on the leader and wakes the cancelable reaper.
func (s *server) ackEval(e *broker.Evaluation, token string) error {
	res, err := s.evals.Ack(e.ID, token)
	if err != nil {
		return err
	}
	if e.Type == rpc.JobTypeCore {
		s.wakeReaper()
		return nil
	}
	s.cluster.countNow(func(c *Counters) { c.EvalsProcessed++ })
	if o := s.cfg.Observer; o != nil {
		o.Acked(time.Now(), e, res.Held, res.Shed)
	}
	s.wakeReaper()
	return nil
}

func (s *server) wakeReaper() {
	select {
	case s.reap <- struct{}{}:
	default:
	}
}

// nackEval answers Eval.Nack on the leader.
func (s *server) nackEval(e *broker.Evaluation, token string) error {
	if err := s.evals.Nack(e.ID, token); err != nil {
		return err
	}
	if o := s.cfg.Observer; o != nil && e.Type != rpc.JobTypeCore {
		o.Nacked(time.Now(), e)
	}
	return nil
}

// writeEvals answers Eval.Update and Eval.Create on the leader: one
// entry each, if the evaluation being worked on is still outstanding.
func (s *server) writeEvals(outstanding, token string, evals ...*broker.Evaluation) error {
	if err := s.evals.OutstandingReset(outstanding, token); err != nil {
		return err
	}
	_, err := s.raftApply(evalUpdateRequestType, &evalUpdateRequest{Evals: evals})
	return err
}

// reblockEval answers Eval.Reblock on the leader: the evaluation, outstanding still, is
// blocked again in memory only.
func (s *server) reblockEval(e *broker.Evaluation, token string) error {
	if err := s.evals.OutstandingReset(e.ID, token); err != nil {
		return err
	}
	s.blocked.block(e, token)
	return nil
}

// submitPlan answers Plan.Submit on the leader. The nack timer stands still while the
// plan waits for the applier (nomad/plan_endpoint.go).
func (s *server) submitPlan(ctx context.Context, p *scheduler.Plan) (*scheduler.PlanResult, error) {
	s.cluster.countNow(func(c *Counters) { c.PlansSubmitted++ })
	s.compute("submit/"+p.EvalID, s.cfg.Costs.Plan.Submit+time.Duration(p.Size())*s.cfg.Costs.Plan.PerAlloc)
	if err := s.evals.PauseNackTimeout(p.EvalID, p.EvalToken); err != nil {
		return nil, fmt.Errorf("submit plan for evaluation %s: %w", p.EvalID, err)
	}
	// An evaluation that is gone by then has no timer to resume.
	defer func() { _ = s.evals.ResumeNackTimeout(p.EvalID, p.EvalToken) }()
	pending, err := s.plans.enqueue(p)
	if err != nil {
		return nil, err
	}
	select {
	case answer := <-pending.answer:
		return answer.result, answer.err
	case <-ctx.Done():
		return nil, ctx.Err() // the worker's server stops; the plan is applied all the same
	}
}

func sleepContext(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
