package leader

import (
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/state"
)

// PlanBase decides on which state the applier verifies plans (nomad/plan_apply.go). Verifying a
// plan overlaps with committing the one before it, on a state that takes the commit for granted.
// It is what of the applier needs neither clock nor goroutines. The zero value is ready.
type PlanBase struct {
	// Keeps says that the state, with what it takes for granted, is kept while plans are on their
	// way to the log. If each plan finds the one before it still on its way, it is never renewed.
	Keeps bool
	// Snap is what the next plan is verified against; nil: it needs a new state.
	Snap *state.Snapshot

	underWay  bool   // a plan is on its way to the log
	committed uint64 // the index of the last plan known to be in state
}

// Min returns the index that a new state for a plan must include: that on which the plan was
// made, and the last plan's.
func (b *PlanBase) Min(p *scheduler.Plan) uint64 { return max(b.committed, p.SnapshotIndex) }

// Begin begins the verification of a plan, and reports whether that needs a new state.
func (b *PlanBase) Begin(p *scheduler.Plan) (renew bool) {
	if b.Snap != nil && b.Snap.Index() < b.Min(p) && !(b.Keeps && b.underWay) {
		b.Snap = nil
	}
	return b.Snap == nil || !b.underWay && !b.Keeps
}

// UnderWay reports whether a plan is on its way to the log. Its end must be waited for before the
// next is sent there.
func (b *PlanBase) UnderWay() bool { return b.underWay }

// Next takes note of the end of the plan under way, now that another is to follow, and reports
// whether that needs a new state. The index is zero if the plan failed.
func (b *PlanBase) Next(index uint64) (renew bool) {
	if b.Keeps {
		b.committed, b.underWay = max(b.committed, index), false
		return false
	}
	b.End(index)
	return true
}

// End takes note of the end of the plan under way. A state that is kept is kept, too, if the plan
// failed: it then has a plan that no state will have.
func (b *PlanBase) End(index uint64) {
	if index > b.committed || !b.Keeps {
		b.Snap = nil
	}
	b.committed, b.underWay = max(b.committed, index), false
}

// Send takes note that a plan is on its way to the log, which has applied so much, and takes it for
// granted.
func (b *PlanBase) Send(applied uint64, r *state.PlanResults) {
	b.Snap, _ = b.Snap.Optimistic(applied+1, r) // after an error nil: the next plan needs a new state
	b.underWay = true
}
