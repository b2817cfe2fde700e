package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/state"
)

// planSnapshotTimeout is how long the applier waits for its state to include what a
// plan was made on. Workers wait with it, which gives Raft time to catch up.
const planSnapshotTimeout = 10 * time.Second

// planApplier verifies plans one after the other and commits what still fits
// (nomad/plan_apply.go). Verifying a plan overlaps with committing the one before it,
// on a snapshot that takes the commit for granted.
type planApplier struct {
	srv *Server
	// snap is what the next plan is verified against; nil: take a new snapshot.
	snap *state.Snapshot
	// committing yields the index of the plan under way, zero when it failed; nil: none.
	committing chan uint64
	// committed is the index of the last plan known to be in state.
	committed uint64
	waits     sync.WaitGroup
}

// applyPlans runs the applier until ctx is done.
func (s *Server) applyPlans(ctx context.Context) {
	a := &planApplier{srv: s}
	defer a.waits.Wait()
	for {
		p := s.plans.Dequeue(ctx)
		if p == nil {
			return
		}
		if s.unstuck.Wait(ctx, func() bool { return !s.stuck.Load() }); ctx.Err() != nil {
			p.Respond(nil, leader.ErrPlanQueueDisabled)
			return
		}
		if err := a.apply(ctx, p); err != nil {
			p.Respond(nil, err)
		}
	}
}

// apply verifies one plan and starts to commit it. An error is the worker's to hear;
// otherwise it is answered here or when the commit ends.
func (a *planApplier) apply(ctx context.Context, p *leader.PendingPlan) error {
	select {
	case index := <-a.committing:
		a.settle(index)
	default:
	}
	if a.snap != nil && a.snap.Index() < a.minIndex(p) && !(a.keeps() && a.committing != nil) {
		a.snap = nil
	}
	if a.snap == nil || a.committing == nil && !a.keeps() {
		if err := a.refresh(ctx, p); err != nil {
			return err
		}
	}
	a.srv.allocate("verify", verifying(a.srv.cfg.Costs.Plan, p.Plan))
	result := scheduler.EvaluatePlan(a.snap, p.Plan)
	for _, node := range result.RejectedNodes {
		if a.srv.rejections.Add(time.Now(), node) {
			result.IneligibleNodes = append(result.IneligibleNodes, node)
		}
	}
	if result.IsNoOp() {
		a.srv.Because(fsm.PlanEmpty)
		p.Respond(result, nil)
		return nil
	}
	switch {
	case a.committing == nil:
	case a.keeps():
		a.committed = max(a.committed, <-a.committing)
	default:
		a.settle(<-a.committing)
		if err := a.refresh(ctx, p); err != nil {
			return err
		}
	}
	return a.commit(p, result)
}

// keeps reports whether the snapshot, with what it takes for granted, is kept while plans are
// on their way to the log. If each plan finds the one before it still on its way, it is never
// renewed.
func (a *planApplier) keeps() bool { return a.srv.cfg.Habits.KeptSnapshot }

func (a *planApplier) minIndex(p *leader.PendingPlan) uint64 {
	return max(a.committed, p.Plan.SnapshotIndex)
}

// settle takes note of the end of the commit under way. An applier that keeps its snapshot
// keeps it, too, if the commit failed: the snapshot then has a plan that no state will have.
func (a *planApplier) settle(index uint64) {
	if index > a.committed || !a.keeps() {
		a.snap = nil
	}
	a.committed, a.committing = max(a.committed, index), nil
}

func (a *planApplier) refresh(ctx context.Context, p *leader.PendingPlan) (err error) {
	a.snap, err = a.srv.store.SnapshotMinIndex(ctx, a.minIndex(p), planSnapshotTimeout)
	if err != nil {
		return fmt.Errorf("snapshot for the plan of evaluation %s: %w", p.Plan.EvalID, err)
	}
	return nil
}

// commit hands the result to Raft, applies it to the snapshot as if it were in state
// already, and leaves waiting for the entry and answering the worker to a goroutine.
func (a *planApplier) commit(p *leader.PendingPlan, result *scheduler.PlanResult) error {
	req := result.Commit(p.Plan.EvalID, time.Now().UnixNano())
	entry := a.srv.begin(fsm.ApplyPlanResults.With(req))
	if entry.err != nil {
		return entry.err
	}
	// The optimistic write costs the leader what applying the entry will cost everyone.
	a.srv.allocate("optimistic", fsm.PlanCost(p.Plan.Size(), a.srv.cfg.Costs.FSM))
	a.snap, _ = a.snap.Optimistic(a.srv.AppliedIndex()+1, req) // after an error nil: the next plan takes a new one
	committing := make(chan uint64, 1)
	a.committing = committing
	a.waits.Go(func() {
		index, err := entry.wait()
		committing <- index
		if err != nil {
			p.Respond(nil, err)
			return
		}
		result.AllocIndex = index
		if result.RefreshIndex != 0 {
			// The index of an optimistic snapshot may be older than the plan itself.
			result.RefreshIndex = max(result.RefreshIndex, index)
		}
		p.Respond(result, nil)
	})
	return nil
}

// verifying is the CPU time of checking a plan.
func verifying(c config.PlanCosts, p *scheduler.Plan) time.Duration {
	d := c.Evaluate
	for _, stops := range p.NodeUpdate {
		d += time.Duration(len(stops)) * c.PerStop
	}
	for _, places := range p.NodeAllocation {
		d += time.Duration(len(places)) * c.PerPlace
	}
	return d
}
