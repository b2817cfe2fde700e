package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/chart"
	"github.com/simctl/simctl/reports/figure"
)

// compared returns the runs of brokers that differ in the entries and the recovery of one phase.
func compared(brokers ...metrics.Phase) (runs []*metrics.Result) {
	for i, ph := range brokers {
		ph.EvalsProcessed, ph.EndS = 1, 100
		r := &metrics.Result{Run: metrics.Run{Scenario: "s", Broker: ph.Name, Clock: "virtual", Seed: 1}, Totals: metrics.Phase{EndS: 100}}
		ph.Name = "storm"
		r.Phases = []metrics.Phase{ph}
		r.Invariants = []metrics.Invariant{{Name: "holds", OK: i != 4}}
		runs = append(runs, r)
	}
	return runs
}

func paretoOf(runs []*metrics.Result) *figure.Figure {
	for _, f := range chart.Of(runs) {
		if f.ID == "pareto" {
			return &f
		}
	}
	return nil
}

func TestPareto(t *testing.T) {
	runs := compared(
		metrics.Phase{Name: "legacy", RaftEntries: 900, RecoveryS: 90},
		metrics.Phase{Name: "shedding", RaftEntries: 500, RecoveryS: 10},
		metrics.Phase{Name: "few", RaftEntries: 100, RecoveryS: 30},
		metrics.Phase{Name: "beaten", RaftEntries: 500, RecoveryS: 20},
		metrics.Phase{Name: "wrong", RaftEntries: 50, RecoveryS: 5},
		metrics.Phase{Name: "never", RaftEntries: 50, RecoveryS: -1},
	)
	f := paretoOf(runs)
	if f == nil || len(f.Panels) != 1 {
		t.Fatalf("the figure is %+v, want one panel", f)
	}
	p := f.Panels[0]
	if got, want := fmt.Sprint(p.Lines[0].X, p.Lines[0].Y), "[100 500] [30 10]"; got != want {
		t.Errorf("the line is through %s, want %s", got, want)
	}
	if len(p.Lines) != 1+5 || len(p.Tags) != 5 {
		t.Errorf("%d lines and %d tags, want a point and a tag for each run that recovered, and the line", len(p.Lines), len(p.Tags))
	}
	if len(p.Crosses) != 1 || p.Crosses[0].X != 50 {
		t.Errorf("crosses %+v, want one for the run that failed its check", p.Crosses)
	}
	// A run beyond a threshold did what it should, and is no cross: the note speaks of no check.
	runs[0].Thresholds = []metrics.Verdict{{Run: runs[0].Run.Label()}}
	if f := paretoOf(runs); len(f.Panels[0].Crosses) != 1 || !strings.Contains(f.Note, "whose invariants held") {
		t.Errorf("crosses %+v, note %q", f.Panels[0].Crosses, f.Note)
	}
	if f := paretoOf(runs[:2]); f != nil {
		t.Errorf("two brokers have a figure: %+v", f)
	}
}

// TestParetoOfTinyTimes: an axis has an end that its labels can tell from zero.
func TestParetoOfTinyTimes(t *testing.T) {
	f := paretoOf(compared(metrics.Phase{Name: "a", RaftEntries: 9, RecoveryS: 1.25}, metrics.Phase{Name: "b", RecoveryS: 1e-309}, metrics.Phase{Name: "c", RaftEntries: 1, RecoveryS: 1}))
	for _, fault := range layoutFaults(*f) {
		t.Error(fault)
	}
}
