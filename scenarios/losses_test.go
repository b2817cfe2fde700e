package scenarios

import (
	"fmt"
	"testing"
)

// TestRunRecordsReplacements: survivors take over what was lost; where nobody survives it
// is never replaced.
func TestRunRecordsReplacements(t *testing.T) {
	spec := mixed("shedding")
	res := runOne(t, spec, nil)
	storm := res.Phase("storm")
	if at := storm.AllocsReplacedS; at <= 0 || at > storm.RecoveryS {
		t.Errorf("replaced after %g s, want before the recovery after %g s", at, storm.RecoveryS)
	}
	if at := res.Phase("drain").AllocsReplacedS; at != 0 {
		t.Errorf("drain: replaced after %g s, want 0: nothing was lost", at)
	}
	for _, name := range []string{"simctl.workers.utilisation", "simctl.cpu.utilisation"} {
		s := res.SeriesByName(name)
		if s == nil || s.Unit != "1" {
			t.Fatalf("series %s: %+v, want one of unit 1", name, s)
		}
		if most, _, err := res.Lookup(fmt.Sprintf("series.%s.max", name)); err != nil || most <= 0 || most > 1 {
			t.Errorf("%s is at most %g (%v), want a share above 0", name, most, err)
		}
	}
	spec.Set("fraction", 1)
	if at := runOne(t, spec, nil).Phase("storm").AllocsReplacedS; at != -1 {
		t.Errorf("no client left: replaced after %g s, want never", at)
	}
}
