package leader

import (
	"testing"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/state"
)

// TestSettledPlans: what becomes of the applier's state when a plan that was on its way ends.
func TestSettledPlans(t *testing.T) {
	for _, c := range []struct {
		keeps         bool
		before, index uint64
		kept          bool
	}{{false, 5, 7, false}, {false, 5, 0, false}, {true, 5, 7, false}, {true, 5, 0, true}, {true, 0, 0, true}} {
		b := PlanBase{keeps: c.keeps, Snap: state.New().Snapshot(), committed: c.before, underWay: 1}
		b.End(c.index)
		if (b.Snap != nil) != c.kept || b.UnderWay() != 0 || b.committed != max(c.before, c.index) {
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
		name            string
		keeps, has      bool
		sent            int
		committed, made uint64 // the index on which the plan was made
		renew           bool
	}{
		{name: "the first", renew: true},
		{name: "one while none is on its way", has: true, made: 5, renew: true},
		{name: "one on an older state", has: true, sent: 1, made: 4},
		{name: "one on that state", has: true, sent: 1, made: 5},
		{name: "one on a newer state", has: true, sent: 1, made: 6, renew: true},
		{name: "one after another was committed", has: true, sent: 1, committed: 6, renew: true},
		{name: "kept", keeps: true, has: true, made: 5},
		{name: "kept, with one on its way, though the state is old", keeps: true, has: true, sent: 1, made: 6},
		{name: "kept, and too old", keeps: true, has: true, made: 6, renew: true},
		{name: "kept, the first", keeps: true, renew: true},
	} {
		b := PlanBase{keeps: c.keeps, underWay: c.sent, committed: c.committed}
		if c.has {
			b.Snap = s.Snapshot()
		}
		if got := b.Begin(&scheduler.Plan{SnapshotIndex: c.made}); got != c.renew {
			t.Errorf("%s: a new state: %v, want %v", c.name, got, c.renew)
		}
	}
	for _, keeps := range []bool{false, true} {
		b := NewPlanBase(config.Habits{KeptSnapshot: keeps}, config.DesignConfig{})
		b.Snap = s.Snapshot()
		err := b.Send(5, &state.PlanResults{AllocsUpdated: []*rpc.Allocation{{ID: "a", NodeID: "n"}}})
		if b.Begin(&scheduler.Plan{}) {
			t.Errorf("the plan after it needs a new state, with the state kept %v", keeps)
		}
		if err != nil || b.Snap.AllocByID("a") == nil || b.Snap.Index() != 6 || !b.Full() || s.Snapshot().AllocByID("a") != nil {
			t.Errorf("a plan on its way: %+v, want it taken for granted", b)
		}
		if renew := b.Next(9); renew == keeps || (b.Snap != nil) != keeps || b.Full() || b.Min(&scheduler.Plan{}) != 9 {
			t.Errorf("the next plan, with the state kept %v: %v, %+v", keeps, renew, b)
		}
	}
}

// TestPipeline: as many plans as the design allows are on their way at a time, each taken for
// granted, and the state is renewed only when the last has ended. What becomes of one whose
// evaluation the state does not have differs.
func TestPipeline(t *testing.T) {
	s := state.New()
	if err := s.Update(5, func(tx *state.Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n"}) }); err != nil {
		t.Fatal(err)
	}
	places := func(id, eval string) *state.PlanResults {
		return &state.PlanResults{EvalID: eval, AllocsUpdated: []*rpc.Allocation{{ID: id, NodeID: "n"}}}
	}
	for _, c := range []struct {
		name    string
		design  config.DesignConfig
		fails   bool
		granted bool // with a state that has the plan
		sent    int
	}{
		{"as the release", config.DesignConfig{}, false, false, 2},
		{"a pipeline", config.DesignConfig{Pipeline: 2}, false, true, 2},
		{"a pipeline that nacks", config.DesignConfig{Pipeline: 2, NackUnseen: true}, true, false, 1},
	} {
		b := NewPlanBase(config.Habits{KeptSnapshot: true}, c.design)
		b.Snap = s.Snapshot()
		if err := b.Send(5, places("a", "")); err != nil || b.Full() != (c.design.Pipeline == 0) {
			t.Errorf("%s: after one plan, %v: full %v", c.name, err, b.Full())
		}
		err := b.Send(5, places("b", "unseen"))
		if (err != nil) != c.fails || (b.Snap != nil && b.Snap.AllocByID("b") != nil) != c.granted || b.UnderWay() != c.sent {
			t.Errorf("%s: after one whose evaluation is newer: %v, %d under way", c.name, err, b.UnderWay())
		}
	}
	if b := NewPlanBase(config.Habits{}, config.DesignConfig{Pipeline: 1}); !b.keeps {
		t.Error("a pipeline of one does not keep the state")
	}
	b := NewPlanBase(config.Habits{}, config.DesignConfig{Pipeline: 2})
	b.Snap, b.underWay = s.Snapshot(), 2
	if b.End(7); b.Snap == nil || b.Begin(&scheduler.Plan{SnapshotIndex: 9}) {
		t.Error("one of two has ended, and the state is new")
	}
	if b.End(8); b.Snap != nil || !b.Begin(&scheduler.Plan{}) {
		t.Error("both have ended, and the state is old")
	}
}
