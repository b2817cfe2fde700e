package explore

import (
	"fmt"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/internal/interleave"
)

// verify verifies the first plan of the queue and sends it to the log. If as many plans as allowed are on
// their way there, it keeps this one in hand, verified, until one of them has landed.
func (w *world) verify(s step) error {
	sub := &w.subs[s.arg]
	if w.sys.seams.begin(&w.base, sub.plan) {
		w.renew(sub.plan)
	}
	sub.result = scheduler.EvaluatePlanOn(w.base.Snap, w.latest(), sub.plan)
	if sub.result.IsNoOp() {
		sub.stage = ended
		return nil
	}
	if sub.stage = inHand; w.base.Full() {
		return nil
	}
	return w.send(s.arg)
}

// renew gives the applier a new state. It never has to wait for one: the leader has applied every state that
// a plan was made on.
func (w *world) renew(p *scheduler.Plan) {
	w.base.Snap = w.snaps[w.sys.seams.renew(w.base.Min(p), w.latest().Index())]
	w.based = fmt.Sprint(w.base.Snap.Index())
}

// send hands a verified plan to the log.
func (w *world) send(i int) error {
	sub := &w.subs[i]
	if w.base.Snap == nil {
		w.renew(sub.plan)
	}
	req := sub.result.Commit(w.sys.seams.planEval(sub.plan), w.now.UnixNano())
	entry, err := fsm.ApplyPlanResults.With(req).Encode()
	if err != nil {
		return err
	}
	if w.sys.seams.send(&w.base, w.latest().Index(), req) != nil {
		return w.refuse(i, entry)
	}
	sub.entry, sub.stage = entry, sent
	w.based += placements(sub.result)
	return nil
}

// refuse tells the plan's worker that the plan failed, although its entry is on its way to the log.
func (w *world) refuse(i int, entry []byte) error {
	sub := w.subs[i]
	w.subs[i].entry, w.subs[i].stage, w.subs[i].refused, w.subs[i].worker = entry, sent, true, -1
	if w.answered(sub); sub.worker >= 0 {
		return w.give(sub.worker)
	}
	return nil
}

// landAll applies all plans that are on their way to the log.
func (w *world) landAll() error {
	for slices.ContainsFunc(w.subs, func(s submission) bool { return s.stage == sent }) {
		if err := w.land(); err != nil {
			return err
		}
	}
	return nil
}

// land applies the first plan that is on its way to the log, if there is one. The applier knows of it
// before it verifies or sends another.
func (w *world) land() error {
	i := slices.IndexFunc(w.subs, func(s submission) bool { return s.stage == sent })
	if i < 0 {
		return nil
	}
	sub := &w.subs[i]
	if err := w.checkPlan(sub); err != nil {
		return err
	}
	sub.stage = ended
	w.apply(fmt.Sprintf("plan %s on %d:%s", sub.plan.EvalID, sub.plan.SnapshotIndex, placements(sub.result)), sub.entry)
	if sub.refused {
		w.subs = append(w.subs[:i:i], w.subs[i+1:]...)
		return nil
	}
	r := *sub.result
	r.AllocIndex = w.latest().Index()
	if r.RefreshIndex != 0 {
		r.RefreshIndex = max(r.RefreshIndex, r.AllocIndex)
	}
	sub.result = &r
	if slices.ContainsFunc(w.subs, func(s submission) bool { return s.stage == inHand }) {
		if w.base.Next(r.AllocIndex) {
			w.base.Snap = nil
		}
	} else {
		w.base.End(r.AllocIndex)
	}
	if w.base.Snap == nil {
		w.based = ""
	}
	return nil
}

// checkPlan looks at a plan that is about to be applied.
func (w *world) checkPlan(sub *submission) error {
	before := w.snaps[sub.plan.SnapshotIndex]
	for node, allocs := range sub.result.NodeAllocation {
		if n := before.NodeByID(node); n == nil || n.Status == rpc.NodeStatusDown {
			return interleave.Violated("no allocation on a node that is down", "%s is placed on node %s, which was down at index %d, on which the plan was made",
				allocs[0].Name, node, sub.plan.SnapshotIndex)
		}
	}
	return nil
}

// elapse moves time a little, so that no two timers are set at one instant.
func (w *world) elapse() { w.now = w.now.Add(time.Nanosecond) }
