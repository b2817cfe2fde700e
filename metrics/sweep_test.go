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
		"recovery_s<=5m":                           "totals.recovery_s <= 300",
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
		"":                       "it must be METRIC",
		"recovery_s":             "it must be METRIC",
		"recovery_s<300":         "it must be METRIC",
		"recovery_s=300":         "it must be METRIC",
		"recovery_s<=":           "not a number",
		"recovery_s<=five":       "not a number",
		"raft_entries<=5m":       "not a number",
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
		"totals.evals_created<=": `"" is not a number`,
		"totals.end_s<=soon":     `"soon" is not a number`,
		"totals.end_s<=Inf":      `"Inf" is not a number`,
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
	slices.Reverse(cells[1].Runs)
	if got := cells[1].Spread("totals.recovery_s"); got != (Spread{Median: 5.5, Low: 5, High: 6}) {
		t.Errorf("with the later seed first: %+v", got)
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
	if cells[1].Passes([]Threshold{{Metric: "phases.drain.recovery_s", Max: &limit}}) {
		t.Error("a limit on a phase that is not there is met")
	}
	if never.Cells()[0].Passes([]Threshold{{Metric: "totals.recovery_s", Max: &limit}}) {
		t.Error("a time that never came meets its limit")
	}
}
