package sweep

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// plane is a sweep over nodes (load) and batch (a setting), where recovery is given by fn.
func plane(fn func(nodes, batch int) float64) *metrics.Sweep {
	s := &metrics.Sweep{
		Axes: []metrics.Axis{
			{Name: "nodes", Values: []string{"10", "20", "40"}, Numeric: true, Load: true},
			{Name: "batch", Values: []string{"1", "2"}, Numeric: true},
		},
		Brokers: []string{"legacy"}, Seeds: []int64{1, 2},
	}
	for _, nodes := range []int{10, 20, 40} {
		for _, batch := range []int{1, 2} {
			for seed := range 2 {
				v := fn(nodes, batch)
				if v >= 0 {
					v += float64(seed)
				}
				s.Runs = append(s.Runs, metrics.SweepRun{
					Point: []string{fmt.Sprint(nodes), fmt.Sprint(batch)}, Broker: "legacy", Seed: int64(seed + 1),
					Result: &metrics.Result{Run: metrics.Run{Broker: "legacy"}, Totals: metrics.Phase{RecoveryS: v, RaftEntries: uint64(100 * nodes)}},
				})
			}
		}
	}
	return s
}

func TestLargest(t *testing.T) {
	s := plane(func(nodes, batch int) float64 { return float64(nodes / batch) })
	limit := 15.0
	s.Limits = []metrics.Threshold{{Metric: "totals.recovery_s", Max: &limit}}
	text := func(cells []metrics.Cell) (out string) {
		for _, c := range cells {
			out += strings.Join(c.Point, "/") + " "
		}
		return strings.TrimSpace(out)
	}
	if got := text(largest(s, "legacy")); got != "20/2" { // 40/2 recovers in 20 s
		t.Errorf("the largest is %q", got)
	}
	if got := text(failBelow(s, "legacy")); got != "" { // 20/1 fails, but with another batch
		t.Errorf("%q fail below a passing cell of other settings", got)
	}
	limit = 1000
	if got := text(largest(s, "legacy")); got != "40/1 40/2" { // batch is no load
		t.Errorf("with a limit that all meet, the largest are %q", got)
	}
	odd := plane(func(nodes, batch int) float64 { return map[int]float64{10: 50, 20: 5, 40: 50}[nodes] })
	limit = 15
	odd.Limits = s.Limits
	if got, below := text(largest(odd, "legacy")), text(failBelow(odd, "legacy")); got != "20/1 20/2" || below != "10/1 10/2" {
		t.Errorf("the largest are %q, and those that fail below them %q", got, below)
	}
}

// TestLargestAreAlternatives: brokers follow one another after semicolons, so loads do not.
func TestLargestAreAlternatives(t *testing.T) {
	s := plane(func(nodes, batch int) float64 { return float64(nodes * batch) })
	s.Axes[1].Load = true
	limit := 45.0
	s.Limits = []metrics.Threshold{{Metric: "totals.recovery_s", Max: &limit}}
	if got, want := largestText(s, "legacy"), "nodes=20 batch=2 or nodes=40 batch=1"; got != want {
		t.Errorf("the largest are %q, want %q", got, want)
	}
}

func TestEffects(t *testing.T) {
	// Four times the nodes take four times as long; twice the batch a tenth off.
	s := plane(func(nodes, batch int) float64 { return 1000 * float64(nodes) * (1 - 0.1*float64(batch-1)) })
	got := effectsOn(s, "totals.recovery_s", "legacy")
	if len(got) != 2 || got[0].axis != "nodes" || got[1].axis != "batch" {
		t.Fatalf("the effects are %+v", got)
	}
	for i, want := range []effect{{"nodes", 4, "10", "40", 0}, {"batch", 1 / 0.9, "2", "1", 0}} {
		if e := got[i]; e.low != want.low || e.high != want.high || e.factor < want.factor*0.999 || e.factor > want.factor*1.001 {
			t.Errorf("effect %d is %+v, want %+v", i, e, want)
		}
	}
	if got := effectsOn(s, "totals.raft_entries", "legacy"); got[1].factor != 1 {
		t.Errorf("an axis without effect has %+v", got[1])
	}
	if got := effectsOn(s, "totals.recovery_s", "shedding"); len(got) != 0 {
		t.Errorf("a broker without runs has %+v", got)
	}
	// One at a time: the cells where both differ from the base are somebody else's.
	s.Base = []string{"10", "1"}
	for i, r := range s.Runs {
		if r.Point[0] == "40" && r.Point[1] == "2" {
			s.Runs[i].Result.Totals.RecoveryS = 1e9
		}
	}
	if got := effectsOn(s, "totals.recovery_s", "legacy")[0]; got.factor > 4.01 {
		t.Errorf("one at a time, the effect is %+v", got)
	}
}

// TestEffectsWithoutSomeCells: where a search for a knee, or a limit of time, has left out cells, an axis is not
// credited with what another one does in the cells that are there.
func TestEffectsWithoutSomeCells(t *testing.T) {
	s := plane(func(nodes, batch int) float64 { return 1000 * float64(nodes) * float64(batch*batch) })
	for i := range s.Runs {
		s.Runs[i].Result.Totals.RaftEntries = 100 * uint64(s.Axes[1].Number(s.Runs[i].Point[1]))
	}
	s.Runs = slices.DeleteFunc(s.Runs, func(r metrics.SweepRun) bool {
		return r.Point[0] == "10" && r.Point[1] == "2" || r.Point[0] == "40" && r.Point[1] == "1"
	})
	for _, e := range effectsOn(s, "totals.recovery_s", "legacy") {
		if e.factor < 3.99 || e.factor > 4.01 {
			t.Errorf("the effect is %+v, want ×4", e)
		}
	}
	for _, e := range effectsOn(s, "totals.raft_entries", "legacy") {
		if want := map[string]string{"nodes": "nodes: nothing", "batch": "batch ×2.00 (1 → 2)"}[e.axis]; e.String() != want {
			t.Errorf("the effect is %v, want %s", e, want)
		}
	}
	// Nothing tells the axes apart: the levels are all there is.
	s.Runs = slices.DeleteFunc(s.Runs, func(r metrics.SweepRun) bool { return r.Point[0] == "20" })
	if got := effectsOn(s, "totals.raft_entries", "legacy"); len(got) != 2 || got[0].factor != got[1].factor {
		t.Errorf("the effects are %+v", got)
	}
}

// TestGrowth: a power law is told, and so is that there is none.
func TestGrowth(t *testing.T) {
	s := &metrics.Sweep{Axes: []metrics.Axis{{Name: "nodes", Numeric: true}}}
	for _, n := range []int{100, 200, 400, 800} {
		value := fmt.Sprint(n)
		s.Axes[0].Values = append(s.Axes[0].Values, value)
		s.Runs = append(s.Runs, metrics.SweepRun{Point: []string{value}, Broker: "b", Result: &metrics.Result{Totals: metrics.Phase{RaftEntries: uint64(n * n)}}})
	}
	text := func() string { return effectsOn(s, "totals.raft_entries", "b")[0].String() }
	if got := text(); got != "nodes ×64.0 (100 → 800), as nodes^2.00" {
		t.Errorf("squares are %q", got)
	}
	s.Runs[1].Result.Totals.RaftEntries = 100 * 100
	s.Runs[3].Result.Totals.RaftEntries = 100 * 100
	if got := text(); strings.Contains(got, "^") {
		t.Errorf("what goes up and down is %q", got)
	}
}

func TestEffectsOfManyValues(t *testing.T) {
	s := &metrics.Sweep{Axes: []metrics.Axis{{Name: "nodes", Numeric: true}}}
	for i := 1; i <= 40; i++ {
		value := fmt.Sprint(i)
		s.Axes[0].Values = append(s.Axes[0].Values, value)
		s.Runs = append(s.Runs, metrics.SweepRun{Point: []string{value}, Broker: "b", Result: &metrics.Result{Totals: metrics.Phase{RaftEntries: map[bool]uint64{true: 100, false: 1000}[i <= 10]}}})
	}
	got := effectsOn(s, "totals.raft_entries", "b")
	if len(got) != 1 || got[0].low != "1 to 10" || got[0].factor < 9.99 || got[0].factor > 10.01 {
		t.Errorf("the effect is %+v, want the first quarter against the others", got)
	}
}

// TestEffectsOfASample has runs in which the axes go together: levels alone would give each
// the effect of the other.
func TestEffectsOfASample(t *testing.T) {
	s := &metrics.Sweep{Design: "sample", Axes: []metrics.Axis{{Name: "nodes", Numeric: true}, {Name: "jobs", Numeric: true}, {Name: "idle", Numeric: true}}}
	for i := 1; i <= 20; i++ {
		nodes, jobs, idle := 10*i, 5*i+(i*7)%5, (i*13)%20
		point := []string{fmt.Sprint(nodes), fmt.Sprint(jobs), fmt.Sprint(idle)}
		for k := range s.Axes {
			s.Axes[k].Values = append(s.Axes[k].Values, point[k])
		}
		// As the square of the nodes, and inverse to the jobs.
		s.Runs = append(s.Runs, metrics.SweepRun{Point: point, Broker: "b", Result: &metrics.Result{Totals: metrics.Phase{RecoveryS: 1000 * float64(nodes*nodes) / float64(jobs)}}})
	}
	slices.SortFunc(s.Axes[2].Values, func(a, b string) int { return int(s.Axes[2].Number(a) - s.Axes[2].Number(b)) })
	got := effectsOn(s, "totals.recovery_s", "b")
	if len(got) != 3 || got[0].axis != "nodes" || got[1].axis != "jobs" || got[2].axis != "idle" {
		t.Fatalf("the effects are %+v", got)
	}
	if e := got[0]; e.factor < 399 || e.factor > 401 || e.low != "10" || e.high != "200" { // twenty times the nodes
		t.Errorf("the nodes have %+v", e)
	}
	if e := got[1]; e.low != s.Axes[1].Values[19] || e.high != s.Axes[1].Values[0] {
		t.Errorf("the jobs have %+v, want more of them to be better", e)
	}
	if e := got[2]; e.factor > 1.001 {
		t.Errorf("the axis that does nothing has %+v", e)
	}
	s.Runs = s.Runs[:3] // too few for four coefficients: the levels are all there is
	if got := effectsOn(s, "totals.recovery_s", "b"); len(got) != 3 {
		t.Errorf("of three runs the effects are %+v", got)
	}
}

// Values of durations are numbers of seconds, which nothing else says.
func TestDurationsHaveTheirUnit(t *testing.T) {
	s := plane(func(nodes, batch int) float64 { return float64(nodes) })
	s.Axes[0] = metrics.Axis{Name: "wait", Values: []string{"10", "20", "40"}, Numeric: true, Unit: "s"}
	if e := effectsOn(s, "totals.recovery_s", "legacy")[0]; e.low != "10s" || e.high != "40s" {
		t.Errorf("the levels are %s and %s", e.low, e.high)
	}
	if got := axisTitle(s.Axes[0]); got != "wait (s)" {
		t.Errorf("the values are headed %q", got)
	}
	if got := pointText(s, []string{"40", "2"}); got != "wait=40s batch=2" {
		t.Errorf("a cell is called %q", got)
	}
}
