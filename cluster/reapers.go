package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
)

// loopGroup is the set of goroutines that live as long as a leadership does.
type loopGroup struct{ wg sync.WaitGroup }

func (g *loopGroup) run(f func()) { g.wg.Go(f) }
func (g *loopGroup) wait()        { g.wg.Wait() }

// reapCancelable writes off evaluations that the broker shed: one batch, in one entry,
// on each wake-up, which an Ack or the interval brings. It does not loop until the set
// is empty, and neither does Nomad's (nomad/leader.go, reapCancelableEvaluations).
func (s *server) reapCancelable(ctx context.Context) {
	timer := time.NewTimer(s.cfg.Reaper.Interval)
	defer timer.Stop()
	for {
		tick := false
		select {
		case <-timer.C: // first, so that a run does not depend on which of two ready cases is chosen
			tick = true
		default:
			select {
			case <-ctx.Done():
				return
			case <-s.reap:
			case <-timer.C:
				tick = true
			}
		}
		s.cancelEvals(s.evals.Cancelable(s.cfg.Reaper.Batch))
		if tick {
			timer.Reset(s.cfg.Reaper.Interval)
		}
	}
}

// cancelEvals writes one batch. When the write fails the batch is lost, as Nomad loses
// it: the evaluations stay pending in state until the next leader restores them.
func (s *server) cancelEvals(batch []*broker.Evaluation) {
	if len(batch) == 0 {
		return
	}
	s.happened(func(c *Causes) { c.Reaps++ })
	canceled := make([]*broker.Evaluation, len(batch))
	for i, e := range batch {
		canceled[i] = withStatus(e, broker.StatusCanceled, "canceled after more recent eval was processed")
	}
	_, _ = s.raftApply(evalUpdateRequestType, &evalUpdateRequest{Evals: canceled})
}

// reapFailedEvals marks evaluations that were delivered too often as failed, and tries
// their jobs again later (nomad/leader.go, reapFailedEvaluations).
func (s *server) reapFailedEvals(ctx context.Context) {
	for ctx.Err() == nil {
		e, token, err := s.evals.Dequeue(ctx, []string{broker.FailedQueue}, time.Second)
		switch {
		case err != nil && s.cfg.PauseEndsFailedReaper:
			return
		case err != nil: // paused, or leadership ends
			s.brokers.wait(ctx, s.evals.Enabled)
			continue
		case e == nil:
			continue
		}
		s.happened(func(c *Causes) { c.EvalsGivenUp++ })
		if o := s.cfg.Observer; o != nil && e.Type != rpc.JobTypeCore {
			o.Nacked(time.Now(), e) // whoever had it last gave it back, or lost it
		}
		failed := withStatus(e, broker.StatusFailed, fmt.Sprintf("evaluation reached delivery limit (%d)", s.cfg.Eval.DeliveryLimit))
		if e.Type == rpc.JobTypeCore {
			_, _ = s.evals.Ack(e.ID, token) // the leader makes another in time
			continue
		}
		next := s.failedFollowUp(e)
		failed.NextEval = next.ID
		if _, err := s.raftApply(evalUpdateRequestType, &evalUpdateRequest{Evals: []*broker.Evaluation{failed, next}}); err != nil {
			continue
		}
		_, _ = s.evals.Ack(e.ID, token) // a flush in between has forgotten the evaluation: nothing to do
	}
}

// failedFollowUp returns the evaluation that retries a failed one's job after a wait
// long enough for the cluster to have settled.
func (s *server) failedFollowUp(e *broker.Evaluation) *broker.Evaluation {
	now := time.Now()
	draw := simnet.HashStrings(s.seed, "follow-up", e.ID) % uint64(s.cfg.Eval.FailedFollowupRange)
	return &broker.Evaluation{
		ID: s.uuid("follow-up", e.ID), Namespace: e.Namespace, JobID: e.JobID, Type: e.Type, Priority: e.Priority,
		TriggeredBy: broker.TriggeredByFailedFollowUp, JobModifyIndex: e.JobModifyIndex,
		Status: broker.StatusPending, PreviousEval: e.ID,
		Wait:       s.cfg.Eval.FailedFollowupBaseline + time.Duration(draw),
		CreateTime: now.UnixNano(), ModifyTime: now.UnixNano(),
	}
}

// reapDuplicateBlocked cancels blocked evaluations of jobs that have a newer one.
func (s *server) reapDuplicateBlocked(ctx context.Context) {
	for {
		dups := s.blocked.duplicates(ctx)
		if dups == nil {
			return
		}
		s.happened(func(c *Causes) { c.Duplicates++ })
		canceled := make([]*broker.Evaluation, len(dups))
		for i, e := range dups {
			canceled[i] = withStatus(e, broker.StatusCanceled, fmt.Sprintf("existing blocked evaluation exists for job %q", e.JobID))
		}
		_, _ = s.raftApply(evalUpdateRequestType, &evalUpdateRequest{Evals: canceled})
	}
}

// failedUnblockInterval is how often blocked evaluations that follow failed planning
// are tried again (nomad/leader.go, failedEvalUnblockInterval).
const failedUnblockInterval = time.Minute

func (s *server) unblockFailed(ctx context.Context) {
	ticker := time.NewTicker(failedUnblockInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.blocked.unblockFailed()
		}
	}
}

// withStatus returns a copy of an evaluation in a new status.
func withStatus(e *broker.Evaluation, status, description string) *broker.Evaluation {
	c := e.Copy()
	c.Status, c.StatusDescription = status, description
	c.ModifyTime = time.Now().UnixNano()
	return c
}
