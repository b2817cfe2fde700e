package metrics

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

var storm = vocabulary("register", "drain", "storm")

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]string{
		"recovery_s<=300":                          "totals.recovery_s <= 300",
		" recovery_s <= 3e2 ":                      "totals.recovery_s <= 300",
		"drain.recovery_s<=300":                    "phases.drain.recovery_s <= 300",
		"phases.storm.raft_entries>=1":             "phases.storm.raft_entries >= 1",
		"legacy:totals.evals_processed<=10":        "legacy totals.evals_processed <= 10",
		"evals_by_status.failed<=0":                "totals.evals_by_status.failed <= 0",
		"latencies.nomad.broker.wait_time.p99<=30": "latencies.nomad.broker.wait_time.p99 <= 30",
		"fan_in.max>=2":                            "fan_in.max >= 2",
		"host.wall_s<=60":                          "host.wall_s <= 60",
	} {
		l, err := storm.ParseLimit(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got := strings.TrimSpace(l.Broker + " " + l.Metric)
		if l.Max != nil {
			got += " <= " + number(*l.Max)
		}
		if l.Min != nil {
			got += " >= " + number(*l.Min)
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		again, err := storm.ParseLimit(l.String())
		if err != nil || again.String() != l.String() {
			t.Errorf("%q is written as %q, which reads as %v (%v)", text, l.String(), again, err)
		}
	}
	for text, want := range map[string]string{
		"":                       "is no limit",
		"recovery_s":             "is no limit",
		"recovery_s<300":         "is no limit",
		"recovery_s=300":         "is no limit",
		"recovery_s<=":           "not a number",
		"recovery_s<=five":       "not a number",
		"recovery_s<=NaN":        "not a number",
		"recovry_s<=300":         "recovry_s",
		"drian.recovery_s<=300":  "drian",
		"drain.recovry_s<=3":     "recovry_s",
		"phases.boot.end_s<=1":   "boot",
		"series.x.max<=1":        "not kept",
		"latencies.x.p99<=1":     "unknown latency",
		"host.loudness<=1":       "loudness",
		"<=5":                    "",
		"legacy:<=5":             "",
		"totals.evals_created<=": "not a number",
	} {
		_, err := storm.ParseLimit(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line that says %q", text, err, want)
		}
	}
}

// plane is a sweep over nodes (load) and batch (a setting), where recovery is given by fn.
func plane(fn func(nodes, batch int) float64) *Sweep {
	s := &Sweep{
		Axes: []Axis{
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
				s.Runs = append(s.Runs, SweepRun{
					Point: []string{fmt.Sprint(nodes), fmt.Sprint(batch)}, Broker: "legacy", Seed: int64(seed + 1),
					Result: &Result{Run: Run{Broker: "legacy"}, Totals: Phase{RecoveryS: v, RaftEntries: uint64(100 * nodes)}},
				})
			}
		}
	}
	return s
}

func TestCellsAndSpreads(t *testing.T) {
	s := plane(func(nodes, batch int) float64 { return float64(nodes / batch) })
	s.Runs[0].Result = nil // nodes 10, batch 1, the first seed
	cells := s.Cells()
	if len(cells) != 6 || len(cells[0].Runs) != 2 {
		t.Fatalf("%d cells, the first with %d runs", len(cells), len(cells[0].Runs))
	}
	if got := cells[0].Spread("totals.recovery_s"); got != (Spread{Median: 11, Low: 11, High: 11}) {
		t.Errorf("with one of two seeds: %+v", got)
	}
	if got := cells[1].Spread("totals.recovery_s"); got != (Spread{Median: 5.5, Low: 5, High: 6}) {
		t.Errorf("with both seeds: %+v", got)
	}
	if got := cells[1].Spread("phases.drain.recovery_s"); !got.None {
		t.Errorf("of a phase that is not there: %+v", got)
	}
	never := plane(func(nodes, batch int) float64 { return -1 })
	if got := never.Cells()[0].Spread("totals.recovery_s"); !got.Never {
		t.Errorf("of a time that never came: %+v", got)
	}
	limit := 100.0
	if cells[0].Passes([]Threshold{{Metric: "totals.recovery_s", Max: &limit}}) {
		t.Error("a cell with a failed run passes")
	}
	if !cells[1].Passes([]Threshold{{Metric: "totals.recovery_s", Max: &limit}, {Metric: "totals.recovery_s", Broker: "shedding", Min: &limit}}) {
		t.Error("a limit on another broker fails a cell")
	}
	if never.Cells()[0].Passes([]Threshold{{Metric: "totals.recovery_s", Max: &limit}}) {
		t.Error("a time that never came meets its limit")
	}
}

func TestLargest(t *testing.T) {
	s := plane(func(nodes, batch int) float64 { return float64(nodes / batch) })
	limit := 15.0
	s.Limits = []Threshold{{Metric: "totals.recovery_s", Max: &limit}}
	text := func(cells []Cell) (out string) {
		for _, c := range cells {
			out += strings.Join(c.Point, "/") + " "
		}
		return strings.TrimSpace(out)
	}
	if got := text(s.Largest("legacy")); got != "20/2" { // 40/2 recovers in 20 s
		t.Errorf("the largest is %q", got)
	}
	if got := text(s.FailBelow("legacy")); got != "" { // 20/1 fails, but with another batch
		t.Errorf("%q fail below a passing cell of other settings", got)
	}
	limit = 1000
	if got := text(s.Largest("legacy")); got != "40/1 40/2" { // batch is no load
		t.Errorf("with a limit that all meet, the largest are %q", got)
	}
	odd := plane(func(nodes, batch int) float64 { return map[int]float64{10: 50, 20: 5, 40: 50}[nodes] })
	limit = 15
	odd.Limits = s.Limits
	if got, below := text(odd.Largest("legacy")), text(odd.FailBelow("legacy")); got != "20/1 20/2" || below != "10/1 10/2" {
		t.Errorf("the largest are %q, and those that fail below them %q", got, below)
	}
}

func TestEffects(t *testing.T) {
	// Four times the nodes take four times as long; twice the batch a tenth off.
	s := plane(func(nodes, batch int) float64 { return 1000 * float64(nodes) * (1 - 0.1*float64(batch-1)) })
	got := s.Effects("totals.recovery_s", "legacy")
	if len(got) != 2 || got[0].Axis != "nodes" || got[1].Axis != "batch" {
		t.Fatalf("the effects are %+v", got)
	}
	for i, want := range []Effect{{"nodes", 4, "10", "40"}, {"batch", 1 / 0.9, "2", "1"}} {
		if e := got[i]; e.Low != want.Low || e.High != want.High || e.Factor < want.Factor*0.999 || e.Factor > want.Factor*1.001 {
			t.Errorf("effect %d is %+v, want %+v", i, e, want)
		}
	}
	if got := s.Effects("totals.raft_entries", "legacy"); got[1].Factor != 1 {
		t.Errorf("an axis without effect has %+v", got[1])
	}
	if got := s.Effects("totals.recovery_s", "shedding"); len(got) != 0 {
		t.Errorf("a broker without runs has %+v", got)
	}
	// One at a time: the cells where both differ from the base are somebody else's.
	s.Base = []string{"10", "1"}
	for i, r := range s.Runs {
		if r.Point[0] == "40" && r.Point[1] == "2" {
			s.Runs[i].Result.Totals.RecoveryS = 1e9
		}
	}
	if got := s.Effects("totals.recovery_s", "legacy")[0]; got.Factor > 4.01 {
		t.Errorf("one at a time, the effect is %+v", got)
	}
}

func TestEffectsOfManyValues(t *testing.T) {
	s := &Sweep{Axes: []Axis{{Name: "nodes", Numeric: true}}}
	for i := 1; i <= 40; i++ {
		value := fmt.Sprint(i)
		s.Axes[0].Values = append(s.Axes[0].Values, value)
		s.Runs = append(s.Runs, SweepRun{Point: []string{value}, Broker: "b", Result: &Result{Totals: Phase{RaftEntries: map[bool]uint64{true: 100, false: 1000}[i <= 10]}}})
	}
	got := s.Effects("totals.raft_entries", "b")
	if len(got) != 1 || got[0].Low != "1 to 10" || got[0].Factor < 9.99 || got[0].Factor > 10.01 {
		t.Errorf("the effect is %+v, want the first quarter against the others", got)
	}
}

// TestEffectsOfASample has runs in which the axes go together: levels alone would give each
// the effect of the other.
func TestEffectsOfASample(t *testing.T) {
	s := &Sweep{Design: "sample", Axes: []Axis{{Name: "nodes", Numeric: true}, {Name: "jobs", Numeric: true}, {Name: "idle", Numeric: true}}}
	for i := 1; i <= 20; i++ {
		nodes, jobs, idle := 10*i, 5*i+(i*7)%5, (i*13)%20
		point := []string{fmt.Sprint(nodes), fmt.Sprint(jobs), fmt.Sprint(idle)}
		for k := range s.Axes {
			s.Axes[k].Values = append(s.Axes[k].Values, point[k])
		}
		// As the square of the nodes, and inverse to the jobs.
		s.Runs = append(s.Runs, SweepRun{Point: point, Broker: "b", Result: &Result{Totals: Phase{RecoveryS: 1000 * float64(nodes*nodes) / float64(jobs)}}})
	}
	slices.SortFunc(s.Axes[2].Values, func(a, b string) int { return int(s.Axes[2].Number(a) - s.Axes[2].Number(b)) })
	got := s.Effects("totals.recovery_s", "b")
	if len(got) != 3 || got[0].Axis != "nodes" || got[1].Axis != "jobs" || got[2].Axis != "idle" {
		t.Fatalf("the effects are %+v", got)
	}
	if e := got[0]; e.Factor < 399 || e.Factor > 401 || e.Low != "10" || e.High != "200" { // twenty times the nodes
		t.Errorf("the nodes have %+v", e)
	}
	if e := got[1]; e.Low != s.Axes[1].Values[19] || e.High != s.Axes[1].Values[0] {
		t.Errorf("the jobs have %+v, want more of them to be better", e)
	}
	if e := got[2]; e.Factor > 1.001 {
		t.Errorf("the axis that does nothing has %+v", e)
	}
	s.Runs = s.Runs[:3] // too few for four coefficients: the levels are all there is
	if got := s.Effects("totals.recovery_s", "b"); len(got) != 3 {
		t.Errorf("of three runs the effects are %+v", got)
	}
}
