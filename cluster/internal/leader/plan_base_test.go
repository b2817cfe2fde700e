package leader

import (
	"testing"

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
