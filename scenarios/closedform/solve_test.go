package closedform

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// TestSolve: at a bound the limit holds, and one further it does not.
func TestSolve(t *testing.T) {
	vars := map[string]any{"nodes": 2000, "system_jobs": 20, "schedulers": 4}
	for _, c := range []struct {
		broker, metric string
		max            float64
	}{
		{"legacy", "totals.recovery_s", 900},
		{"shedding", "totals.recovery_s", 300},
		{"legacy", "phases.drain.recovery_s", 500},
		{"shedding", "totals.raft_entries", 20_000},
		{"legacy", "totals.evals_processed", 30_000},
	} {
		w, err := Solve(spec(c.broker, vars), metrics.Threshold{Metric: c.metric, Max: &c.max})
		if err != nil {
			t.Fatal(err)
		}
		if len(w.Bounds) != 5 || w.Bounds[0].Asked != 2000 || w.Bounds[3].Asked != 4 || w.OK != (w.Estimate <= c.max) {
			t.Errorf("%s %s: %+v", c.broker, c.metric, w)
		}
		for _, b := range w.Bounds {
			at := func(value float64) float64 {
				s := spec(c.broker, vars)
				if b.Setting == silentNodes {
					s.Set("fraction", value/2000)
				} else {
					s.Set(b.Setting, int(value))
				}
				v, _ := estimate(t, s).total(c.metric)
				return v
			}
			if math.IsNaN(b.Low) {
				continue
			}
			for _, v := range []float64{b.Low, b.High} {
				if at(v) > c.max {
					t.Errorf("%s %s: %s %g gives %g, more than %g", c.broker, c.metric, b.Setting, v, at(v), c.max)
				}
			}
			for _, v := range []float64{b.Low - 1, b.High + 1} {
				if v >= 1 && v <= b.Max && at(v) <= c.max {
					t.Errorf("%s %s: %s %g holds, too, beyond %g to %g", c.broker, c.metric, b.Setting, v, b.Low, b.High)
				}
			}
		}
	}
	none := -1.0
	w, err := Solve(spec("legacy", vars), metrics.Threshold{Metric: "totals.recovery_s", Max: &none})
	if err != nil || w.OK || !math.IsNaN(w.Bounds[0].High) || !math.IsNaN(w.Bounds[3].Low) {
		t.Errorf("nothing recovers before it begins: %+v (%v)", w, err)
	}
	all := 1e12
	w, err = Solve(spec("legacy", vars), metrics.Threshold{Metric: "totals.recovery_s", Max: &all})
	if err != nil || !w.OK {
		t.Errorf("everything recovers in the end: %+v (%v)", w, err)
	}
	for _, b := range w.Bounds {
		if b.Low != 1 || b.High != b.Max || b.Max < 15 {
			t.Errorf("everything recovers in the end, whatever the setting: %+v", b)
		}
	}
	// Three jobs leave workers idle; more of them do not.
	minute := 60.0
	w, err = Solve(spec("legacy", map[string]any{"nodes": 300, "system_jobs": 3}), metrics.Threshold{Metric: "totals.recovery_s", Max: &minute})
	if jobs := w.Bounds[2]; err != nil || w.OK || jobs.Low <= 3 || jobs.High < 20 {
		t.Errorf("a stretch of jobs: %+v (%v)", jobs, err)
	}
}

// TestSolveSaysWhy: of what does not depend on a setting, or only so far, it names the part.
func TestSolveSaysWhy(t *testing.T) {
	for _, c := range []struct {
		broker  string
		vars    map[string]any
		metric  string
		max     float64
		setting string
		part    string // as it begins; empty if only some values will do
		same    bool
	}{
		{"shedding", map[string]any{"nodes": 8000, "system_jobs": 15}, "phases.storm.recovery_s", 300, "schedulers", "until the last silent node is noticed", true},
		{"shedding", map[string]any{"nodes": 8000, "system_jobs": 15}, "totals.recovery_s", 300, "schedulers", "until the reaper has canceled", true},
		{"legacy", map[string]any{"nodes": 8000, "system_jobs": 15}, "totals.recovery_s", 300, "schedulers", "to process evaluations", false},
		{"shedding", map[string]any{"nodes": 8000, "system_jobs": 15}, "totals.recovery_s", 300, "system_jobs", "until the last silent node is noticed", true},
		{"legacy", map[string]any{"nodes": 8000, "system_jobs": 15}, "totals.raft_entries", 300, "schedulers", "for the status of each evaluation", true},
		{"legacy", map[string]any{"nodes": 100}, "totals.recovery_s", 1e9, "schedulers", "to process evaluations with one worker a job", false},
		{"legacy", map[string]any{"nodes": 100}, "totals.recovery_s", 1e9, "nodes", "to process evaluations", false},
		{"legacy", map[string]any{"nodes": 2000, "system_jobs": 20}, "totals.recovery_s", 900, "nodes", "", false},
	} {
		w, err := Solve(spec(c.broker, c.vars), metrics.Threshold{Metric: c.metric, Max: &c.max})
		if err != nil {
			t.Fatal(err)
		}
		b := w.Bounds[slices.IndexFunc(w.Bounds, func(b Bound) bool { return b.Setting == c.setting })]
		x := b.Extreme
		if (x == nil) != (c.part == "") || x != nil && (!strings.HasPrefix(x.Part.For, c.part) || x.Same != c.same) {
			t.Errorf("%s %v %s<=%g: %s %+v, want %+v", c.broker, c.vars, c.metric, c.max, c.setting, x, c)
		}
		if x == nil {
			continue
		}
		s := spec(c.broker, c.vars)
		s.Set(c.setting, int(x.At))
		if v, _ := estimate(t, s).total(c.metric); v != x.Value || v <= c.max != b.all() || v > w.Estimate != b.all() && v != w.Estimate || x.Part.Value > v {
			t.Errorf("%s %s<=%g: %g, not as in %+v", c.broker, c.metric, c.max, v, x)
		}
	}
}

// TestSolveWithinWhatIsAllowed: values that other settings do not allow are not values that fail.
func TestSolveWithinWhatIsAllowed(t *testing.T) {
	limit := 300.0
	w, err := Solve(spec("legacy", map[string]any{"nodes": 1200, "service_jobs": 40, "allocs_per_node": 6.0}), metrics.Threshold{Metric: "totals.recovery_s", Max: &limit})
	if err != nil {
		t.Fatal(err)
	}
	if b := w.Bounds[0]; b.Min != 4 || b.Low != b.Min || b.High >= b.Max {
		t.Errorf("of 40 jobs that need 4 nodes: %+v", b)
	}
}

func TestSolveRefuses(t *testing.T) {
	bound := 1.0
	for want, limit := range map[string]metrics.Threshold{
		"it must be METRIC<=NUMBER":         {Metric: "totals.recovery_s", Min: &bound},
		"no formula gives totals.plans":     {Metric: "totals.plans_submitted", Max: &bound},
		"storm.raft_entries, raft_entries,": {Metric: "totals.queue_empty_s", Max: &bound}, // the storm has none
	} {
		if _, err := Solve(spec("legacy", nil), limit); !errors.Is(err, ErrNoFormula) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: error %v, want one that says %q", limit, err, want)
		}
	}
}

func TestSolveFindsEveryBound(t *testing.T) {
	const most = 300
	for bound := range most + 2 {
		low, high := solve(1, most, false, func(v int) bool { return v <= bound })
		if bound == 0 != math.IsNaN(high) || bound > 0 && (low != 1 || high != float64(min(bound, most))) {
			t.Errorf("values up to %d of %d: %g to %g", bound, most, low, high)
		}
		low, high = solve(1, most, true, func(v int) bool { return v >= bound })
		if bound > most != math.IsNaN(low) || bound <= most && (low != float64(max(bound, 1)) || high != most) {
			t.Errorf("values from %d on of %d: %g to %g", bound, most, low, high)
		}
		if bound > most/2 || bound == 0 {
			continue
		}
		for _, least := range []bool{false, true} { // a stretch that no two steps enclose
			if low, high := solve(1, most, least, func(v int) bool { return v >= bound && v <= 2*bound }); low != float64(bound) || high != float64(2*bound) {
				t.Errorf("values from %d to %d: %g to %g", bound, 2*bound, low, high)
			}
		}
	}
}
