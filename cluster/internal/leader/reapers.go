package leader

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
)

// Reap starts the goroutines that end failed, duplicate and shed evaluations, and retry
// those that ran out of planning attempts. They stop with ctx; the group joins them.
func (v *Evaluations) Reap(ctx context.Context, loops *sync.WaitGroup) {
	loops.Go(func() { v.reapFailed(ctx) })
	loops.Go(func() { v.reapDuplicates(ctx) })
	loops.Go(func() { v.reapCancelable(ctx) })
	loops.Go(func() { Every(ctx, failedUnblockInterval, v.Blocked.unblockFailed) })
}

// reapCancelable writes off evaluations that the broker shed: one batch, in one entry,
// on each wake-up, which an Ack or the interval brings. It does not loop until the set
// is empty, and neither does Nomad's (nomad/leader.go, reapCancelableEvaluations).
func (v *Evaluations) reapCancelable(ctx context.Context) {
	timer := time.NewTimer(v.cfg.Reaper.Interval)
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
			case <-v.reap:
			case <-timer.C:
				tick = true
			}
		}
		for v.cancelBatch() && v.cfg.Design.ReapUntilEmpty && ctx.Err() == nil {
		}
		if tick {
			timer.Reset(v.cfg.Reaper.Interval)
		}
	}
}

// cancelBatch writes one batch, and reports whether it did. When the write fails the batch is
// lost, as Nomad loses it: the evaluations stay pending in state until the next leader
// restores them.
func (v *Evaluations) cancelBatch() bool {
	size := v.cfg.Reaper.Batch
	if share := v.cfg.Design.ReapShare; share > 0 {
		size = max(size, int(share*float64(v.Broker.Stats().Cancelable)))
	}
	if v.Broker.Stats().Cancelable == 0 {
		return false
	}
	v.log.Compute("reaper", v.cfg.Costs.RPC.Reap)
	batch := v.Broker.Cancelable(size)
	if len(batch) == 0 { // the broker was flushed meanwhile
		return false
	}
	v.log.Because(fsm.EvalsReaped)
	err := v.writeCanceled(batch, func(*broker.Evaluation) string { return "canceled after more recent eval was processed" })
	if err != nil && v.cfg.Design.ReapKeepsFailed {
		v.Broker.Cancel(batch)
	}
	return err == nil
}

// writeCanceled writes evaluations as canceled, in one entry.
func (v *Evaluations) writeCanceled(evals []*broker.Evaluation, why func(*broker.Evaluation) string) error {
	canceled := make([]*broker.Evaluation, len(evals))
	for i, e := range evals {
		canceled[i] = withStatus(e, broker.StatusCanceled, why(e))
	}
	_, err := v.log.Write(fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: canceled}))
	return err
}

// reapFailed marks evaluations that were delivered too often as failed, and tries
// their jobs again later (nomad/leader.go, reapFailedEvaluations), but in newer releases not those that are purged.
func (v *Evaluations) reapFailed(ctx context.Context) {
	for ctx.Err() == nil {
		e, token, err := v.Broker.Dequeue(ctx, []string{broker.FailedQueue}, time.Second)
		switch {
		case err != nil && v.cfg.PauseEndsFailedReaper:
			return
		case err != nil: // paused, or leadership ends
			v.switched.Wait(ctx, v.Broker.Enabled)
			continue
		case e == nil:
			continue
		}
		v.log.Because(fsm.EvalGivenUp)
		if o := v.observer(e); o != nil {
			o.Nacked(time.Now(), e) // whoever had it last gave it back, or lost it
		}
		failed := withStatus(e, broker.StatusFailed, fmt.Sprintf("evaluation reached delivery limit (%d)", v.cfg.Eval.DeliveryLimit))
		if e.Type == rpc.JobTypeCore {
			_, _ = v.Broker.Ack(e.ID, token) // the leader makes another in time
			continue
		}
		evals := []*broker.Evaluation{failed}
		if !v.cfg.Habits.PurgedNotRetried || v.log.Snapshot().JobByID(e.Namespace, e.JobID) != nil {
			next := v.failedFollowUp(e)
			failed.NextEval = next.ID
			evals = append(evals, next)
		}
		if _, err := v.log.Write(fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: evals})); err != nil {
			continue
		}
		_, _ = v.Broker.Ack(e.ID, token) // a flush in between has forgotten the evaluation: nothing to do
	}
}

// failedFollowUp returns the evaluation that retries a failed one's job after a wait
// long enough for the cluster to have settled.
func (v *Evaluations) failedFollowUp(e *broker.Evaluation) *broker.Evaluation {
	now := time.Now()
	draw := simnet.HashStrings(v.seed, "follow-up", e.ID) % uint64(v.cfg.Eval.FailedFollowupRange)
	return &broker.Evaluation{
		ID: v.log.NewID("follow-up", e.ID), Namespace: e.Namespace, JobID: e.JobID, Type: e.Type, Priority: e.Priority,
		TriggeredBy: broker.TriggeredByFailedFollowUp, JobModifyIndex: e.JobModifyIndex,
		Status: broker.StatusPending, PreviousEval: e.ID,
		Wait:       v.cfg.Eval.FailedFollowupBaseline + time.Duration(draw),
		CreateTime: now.UnixNano(), ModifyTime: now.UnixNano(),
	}
}

// reapDuplicates cancels blocked evaluations of jobs that have a newer one.
func (v *Evaluations) reapDuplicates(ctx context.Context) {
	for {
		dups := v.Blocked.duplicates(ctx)
		if dups == nil {
			return
		}
		v.log.Because(fsm.DuplicateReaped)
		// If this fails, they stay blocked in state until the next leader finds them.
		_ = v.writeCanceled(dups, func(e *broker.Evaluation) string {
			return fmt.Sprintf("existing blocked evaluation exists for job %q", e.JobID)
		})
	}
}

// failedUnblockInterval is how often blocked evaluations that follow failed planning
// are tried again (nomad/leader.go, failedEvalUnblockInterval).
const failedUnblockInterval = time.Minute

// withStatus returns a copy of an evaluation in a new status.
func withStatus(e *broker.Evaluation, status, description string) *broker.Evaluation {
	c := e.Copy()
	c.Status, c.StatusDescription = status, description
	c.ModifyTime = time.Now().UnixNano()
	return c
}
