package server

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/cpu"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/state"
)

// planSnapshotTimeout is how long the applier waits for its state to include what a
// plan was made on. Workers wait with it, which gives Raft time to catch up.
const planSnapshotTimeout = 10 * time.Second

// planApplier verifies plans one after the other and commits what still fits
// (nomad/plan_apply.go). Its base says on which state.
type planApplier struct {
	srv      *Server
	base     leader.PlanBase
	underWay []committing // in their order
	waits    sync.WaitGroup
}

// committing is a plan on its way to the log.
type committing struct {
	ended chan ending
	what  *state.PlanResults
}

// ending is the end of a plan.
type ending struct {
	index uint64 // zero if it failed
	at    time.Time
}

// Overlooked are the allocations of plans on their way to the log that a later plan was verified without:
// the workers were told that they failed, or the later plan needed a new state (leader.PlanBase, Send and Begin).
// It is safe for concurrent use.
type Overlooked struct {
	mu  sync.Mutex
	ids map[string]bool
}

// add adds what a plan places besides what the state has.
func (o *Overlooked) add(snap *state.Snapshot, r *state.PlanResults) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, alloc := range r.AllocsUpdated {
		if snap.AllocByID(alloc.ID) == nil {
			if o.ids == nil {
				o.ids = map[string]bool{}
			}
			o.ids[alloc.ID] = true
		}
	}
}

// IDs returns the IDs of the allocations.
func (o *Overlooked) IDs() map[string]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.ids)
}

// applyPlans runs the applier until ctx is done.
func (s *Server) applyPlans(ctx context.Context) {
	a := &planApplier{srv: s, base: leader.NewPlanBase(s.cfg.Habits, s.cfg.Design)}
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
	a.collect()
	if a.base.Begin(p.Plan) {
		if err := a.renew(ctx, p.Plan); err != nil {
			return err
		}
		for _, before := range a.underWay {
			a.srv.shared.Overlooked.add(a.base.Snap, before.what)
		}
	}
	a.srv.allocate("verify", Verifying(a.srv.cfg.Costs.Plan, p.Plan, a.base.Snap), 0)
	result := scheduler.EvaluatePlanOn(a.base.Snap, a.srv.Snapshot(), p.Plan)
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
	for a.base.Full() {
		before := <-a.underWay[0].ended
		a.underWay = a.underWay[1:]
		if a.base.Next(before.index) {
			if err := a.renew(ctx, p.Plan); err != nil {
				return err
			}
		}
	}
	return a.commit(p, result)
}

// collect takes note of the plans that have ended before this instant. Of those that end at it, goroutines decide how many
// have said so.
func (a *planApplier) collect() {
	for now := time.Now(); len(a.underWay) > 0; a.underWay = a.underWay[1:] {
		ended := a.underWay[0].ended
		select {
		case e := <-ended:
			if !e.at.Before(now) {
				ended <- e
				return
			}
			a.base.End(e.index)
		default:
			return
		}
	}
}

// renew takes a new state, which includes what the plan was made on.
func (a *planApplier) renew(ctx context.Context, p *scheduler.Plan) (err error) {
	a.base.Snap, err = a.srv.store.SnapshotMinIndex(ctx, a.base.Min(p), planSnapshotTimeout)
	if err != nil {
		return fmt.Errorf("snapshot for the plan of evaluation %s: %w", p.EvalID, err)
	}
	return nil
}

// commit hands the result to Raft, applies it to the snapshot as if it were in state
// already, and leaves waiting for the entry and answering the worker to a goroutine.
func (a *planApplier) commit(p *leader.PendingPlan, result *scheduler.PlanResult) error {
	req := result.Commit(p.Plan.EvalID, time.Now().UnixNano())
	a.encode(req.AllocsUpdated)
	entry := a.srv.begin(fsm.ApplyPlanResults.With(req))
	if entry.err != nil {
		return entry.err
	}
	work := fsm.PlanCost(req, a.srv.cfg.Costs.FSM, a.base.Snap)
	a.srv.allocate("optimistic", a.srv.cfg.Costs.Plan.Granting(work.Total()), a.srv.cfg.Costs.Leaves(work))
	if err := a.base.Send(a.srv.AppliedIndex(), req); err != nil {
		a.srv.shared.Overlooked.add(a.base.Snap, req)
		a.waits.Go(func() { _, _ = entry.wait() }) // nobody hears the outcome: the error below is the worker's answer
		return fmt.Errorf("plan of evaluation %s: %w", p.Plan.EvalID, err)
	}
	ended := make(chan ending, 1)
	a.underWay = append(a.underWay, committing{ended, req})
	a.waits.Go(func() {
		index, err := entry.wait()
		ended <- ending{index, time.Now()}
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

// encode takes as long as signing the identities of those allocations that are new (plan_apply.go,
// signAllocIdentities), and encoding all of them.
func (a *planApplier) encode(allocs []*rpc.Allocation) {
	costs := &a.srv.cfg.Costs.Plan
	signature := costs.PerToken
	if a.srv.cfg.Habits.SignsByRSA {
		signature = costs.PerSignature
	}
	written := time.Duration(len(allocs)) * costs.PerWrite
	d := written
	for _, alloc := range allocs {
		if alloc.CreateIndex == 0 {
			d += signature
		}
	}
	a.srv.charge("sign", cpu.Work{Takes: d, Turn: cpu.Next, Left: a.srv.others("sign", written)}) // the goroutine has a processor already
}

// Verifying is the CPU time of checking a plan. A node that is not there, or not ready, is refused
// before anybody looks at what is planned for it (plan_apply.go, evaluateNodePlan).
func Verifying(c config.PlanCosts, p *scheduler.Plan, snap *state.Snapshot) time.Duration {
	d := c.Evaluate
	for _, stops := range p.NodeUpdate {
		d += time.Duration(len(stops)) * c.PerStop
	}
	for node, places := range p.NodeAllocation {
		if n := snap.NodeByID(node); n != nil && n.Status == rpc.NodeStatusReady {
			d += time.Duration(len(places))*c.PerPlace + time.Duration(len(snap.NodeAllocs(node).Live))*c.PerProposed
		}
	}
	return d
}
