package leader

import (
	"testing"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/state"
)

// TestSettledPlans: what becomes of the applier's state when a plan that was on its way ends.
func TestSettledPlans(t *testing.T) {
	for _, c := range []struct {
		keeps bool
		index uint64
		kept  bool
	}{{false, 7, false}, {false, 0, false}, {true, 7, false}, {true, 0, true}} {
		b := PlanBase{Keeps: c.keeps, Snap: state.New().Snapshot(), committed: 5, underWay: true}
		b.End(c.index)
		if (b.Snap != nil) != c.kept || b.UnderWay() || b.committed != max(5, c.index) {
			t.Errorf("%+v: state %v, committed %d", c, b.Snap != nil, b.committed)
		}
	}
}

// TestStatesOfPlans: whether a plan is verified on a new state, by the state there is, the last
// plan known to be in it, and whether one is on its way.
func TestStatesOfPlans(t *testing.T) {
	s := state.New()
	if err := s.Update(5, func(tx *state.Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n"}) }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name             string
		keeps, has, sent bool
		committed, made  uint64 // the index on which the plan was made
		renew            bool
	}{
		{name: "the first", renew: true},
		{name: "one while none is on its way", has: true, made: 5, renew: true},
		{name: "one on an older state", has: true, sent: true, made: 4},
		{name: "one on that state", has: true, sent: true, made: 5},
		{name: "one on a newer state", has: true, sent: true, made: 6, renew: true},
		{name: "one after another was committed", has: true, sent: true, committed: 6, renew: true},
		{name: "kept", keeps: true, has: true, made: 5},
		{name: "kept, with one on its way, though the state is old", keeps: true, has: true, sent: true, made: 6},
		{name: "kept, and too old", keeps: true, has: true, made: 6, renew: true},
		{name: "kept, the first", keeps: true, renew: true},
	} {
		b := PlanBase{Keeps: c.keeps, underWay: c.sent, committed: c.committed}
		if c.has {
			b.Snap = s.Snapshot()
		}
		if got := b.Begin(&scheduler.Plan{SnapshotIndex: c.made}); got != c.renew {
			t.Errorf("%s: a new state: %v, want %v", c.name, got, c.renew)
		}
	}
	for _, keeps := range []bool{false, true} {
		b := PlanBase{Keeps: keeps, Snap: s.Snapshot()}
		b.Send(5, &state.PlanResults{AllocsUpdated: []*rpc.Allocation{{ID: "a", NodeID: "n"}}})
		if b.Snap.AllocByID("a") == nil || b.Snap.Index() != 6 || !b.UnderWay() || s.Snapshot().AllocByID("a") != nil {
			t.Errorf("a plan on its way: %+v, want it taken for granted", b)
		}
		if renew := b.Next(9); renew == keeps || (b.Snap != nil) != keeps || b.UnderWay() || b.Min(&scheduler.Plan{}) != 9 {
			t.Errorf("the next plan, with the state kept %v: %v, %+v", keeps, renew, b)
		}
	}
}
