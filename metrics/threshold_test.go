package metrics

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func pointer(f float64) *float64 { return &f }

// runOf is a run with one phase.
func runOf(scenario, broker string, p Phase) *Result {
	p.Name = "drain"
	r := &Result{Run: Run{Scenario: scenario, Broker: broker}, Phases: []Phase{p}}
	r.Totals = Totals(r.Phases)
	return r
}

// TestDemandsAtTheirEdges: each kind of demand, at its bound and beyond, on counts and on times
// that came or did not.
func TestDemandsAtTheirEdges(t *testing.T) {
	const entries, recovery = "phases.drain.raft_entries", "phases.drain.recovery_s"
	count := func(n uint64) Phase { return Phase{RaftEntries: n} }
	time := func(s float64) Phase { return Phase{RecoveryS: s} }
	for _, c := range []struct {
		name      string
		now, base Phase
		t         Threshold
		ok        bool
		demand    string
	}{
		{"the most", count(10), Phase{}, Threshold{Metric: entries, Max: pointer(10)}, true, "<= 10"},
		{"more", count(11), Phase{}, Threshold{Metric: entries, Max: pointer(10)}, false, "<= 10"},
		{"the least", count(10), Phase{}, Threshold{Metric: entries, Min: pointer(10)}, true, ">= 10"},
		{"less", count(9), Phase{}, Threshold{Metric: entries, Min: pointer(10)}, false, ">= 10"},
		{"a time that never came is not the least", time(-1), Phase{}, Threshold{Metric: recovery, Min: pointer(-5)}, false, ">= -5"},
		{"nor the most", time(-1), Phase{}, Threshold{Metric: recovery, Max: pointer(5)}, false, "<= 5"},
		{"a time at once", time(0), Phase{}, Threshold{Metric: recovery, Max: pointer(0)}, true, "<= 0"},
		{"a ratio", time(20), time(10), Threshold{Metric: recovery, MaxRatio: pointer(2), RatioOf: "legacy"}, true, "<= 2 × 10 of legacy"},
		{"beyond the ratio", time(20.5), time(10), Threshold{Metric: recovery, MaxRatio: pointer(2), RatioOf: "legacy"}, false, "<= 2 × 10 of legacy"},
		{"a ratio of what never came", time(-1), time(10), Threshold{Metric: recovery, MaxRatio: pointer(2), RatioOf: "legacy"}, false, ""},
		{"to what never came", time(-3), time(-1), Threshold{Metric: recovery, MaxRatio: pointer(2), RatioOf: "legacy"}, false, ""},
		{"a ratio to what never came", time(0), time(-1), Threshold{Metric: recovery, MaxRatio: pointer(-2), RatioOf: "legacy"}, false, ""},

		{"within the tolerance", count(110), count(100), Threshold{Metric: entries, Tolerance: pointer(0.1)}, true, "within 10% of the baseline's 100"},
		{"beyond it", count(111), count(100), Threshold{Metric: entries, Tolerance: pointer(0.1)}, false, "within 10% of the baseline's 100"},
		{"below it", count(89), count(100), Threshold{Metric: entries, Tolerance: pointer(0.1)}, false, "within 10% of the baseline's 100"},
		{"within the slack", count(12), count(10), Threshold{Metric: entries, Tolerance: pointer(0.1), Slack: 2}, true, "within 2 of the baseline's 10"},
		{"beyond the slack", count(13), count(10), Threshold{Metric: entries, Tolerance: pointer(0.1), Slack: 2}, false, "within 2 of the baseline's 10"},
		{"a slack as large as the tolerance", count(20), count(20), Threshold{Metric: entries, Tolerance: pointer(0.1), Slack: 2}, true, "within 10% of the baseline's 20"},
		{"a time within the slack", time(2.5), time(1.5004), Threshold{Metric: recovery, Tolerance: pointer(0.1), Slack: 1}, true, "within 1 s of the baseline's 1.5 s"},
		{"a time within the tolerance", time(110), time(100.25), Threshold{Metric: recovery, Tolerance: pointer(0.1), Slack: 1}, true, "within 10% of the baseline's 100.25 s"},
		{"never, as before", time(-1), time(-1), Threshold{Metric: recovery, Tolerance: pointer(0.1)}, true, "never, as in the baseline"},
		{"at last", time(0), time(-1), Threshold{Metric: recovery, Tolerance: pointer(9), Slack: 9}, false, "never, as in the baseline"},
		{"never now", time(-1), time(0), Threshold{Metric: recovery, Tolerance: pointer(9), Slack: 9}, false, "within 9 s of the baseline's 0 s"},
		{"a number below zero", Phase{}, Phase{}, Threshold{Metric: "series.x.min", Max: pointer(0)}, true, "<= 0"},
	} {
		now := runOf("s", "shedding", c.now)
		now.Series = []Series{{Name: "x", AtS: []float64{0}, Value: []float64{-1}}}
		c.t.Broker = "shedding"
		// Runs of other scenarios and brokers are no baseline.
		baseline := []*Result{runOf("other", "shedding", Phase{}), runOf("s", "legacy", Phase{}), runOf("s", "shedding", c.base)}
		got, err := Check([]*Result{now, runOf("s", "legacy", c.base)}, baseline, []Threshold{c.t})
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v, %v", c.name, got, err)
		}
		if got[0].OK != c.ok || c.demand != "" && got[0].Demand != c.demand || (got[0].Baseline != nil) != (c.t.Tolerance != nil) {
			t.Errorf("%s: %+v, want %v of %q", c.name, got[0], c.ok, c.demand)
		}
	}
}

// TestApplicableToWhatRan: a threshold is left out for what did not run, and for nothing else.
func TestApplicableToWhatRan(t *testing.T) {
	legacy, shedding := runOf("s", "legacy", Phase{}), runOf("s", "shedding", Phase{})
	shedding.Stopped = "--max-time 1m"
	const metric = "totals.raft_entries"
	for _, c := range []struct {
		name     string
		runs     []*Result
		baseline []*Result
		t        Threshold
		want     string // why it is left out
	}{
		{"a maximum", []*Result{legacy}, nil, Threshold{Metric: metric, Max: pointer(1)}, ""},
		{"of a broker that did not run", []*Result{legacy}, nil, Threshold{Metric: metric, Broker: "x", Max: pointer(1)}, metric + ": no run of x"},
		{"a ratio of two that ran", []*Result{legacy, runOf("s", "x", Phase{})}, nil, Threshold{Metric: metric, Broker: "x", MaxRatio: pointer(1), RatioOf: "legacy"}, ""},
		{"no ratio, although the other is named", []*Result{legacy}, nil, Threshold{Metric: metric, Max: pointer(1), RatioOf: "x"}, ""},
		{"of a run that was stopped", []*Result{legacy, shedding}, nil, Threshold{Metric: metric, Broker: "shedding", Max: pointer(1)}, metric + ": a run was stopped"},
		{"of one that was not", []*Result{legacy, shedding}, nil, Threshold{Metric: metric, Broker: "legacy", Max: pointer(1)}, ""},
		{"compared with one that was", []*Result{legacy, shedding}, nil, Threshold{Name: "r", Metric: metric, Broker: "legacy", MaxRatio: pointer(1), RatioOf: "shedding"}, "r: a run was stopped"},
		{"not compared, although it is named", []*Result{legacy, shedding}, nil, Threshold{Metric: metric, Broker: "legacy", Max: pointer(1), RatioOf: "shedding"}, ""},
		{"with a baseline", []*Result{legacy}, []*Result{legacy}, Threshold{Metric: metric, Tolerance: pointer(1)}, ""},
		{"without one", []*Result{legacy}, nil, Threshold{Metric: metric, Tolerance: pointer(1)}, metric + ": no baseline"},
	} {
		apply, skipped := Applicable(c.runs, c.baseline, []Threshold{c.t})
		if len(apply)+len(skipped) != 1 || strings.Join(skipped, "; ") != c.want {
			t.Errorf("%s: apply %v, left out %q, want %q", c.name, apply, skipped, c.want)
		}
	}
}

// TestLimitsAsText: a limit is written as it is read.
func TestLimitsAsText(t *testing.T) {
	for text, want := range map[string]string{
		"recovery_s<=300": "recovery_s<=300", "totals.recovery_s >= 12345678901": "recovery_s>=1.23456789e+10",
		"legacy:drain.recovery_s<=0.1": "legacy:drain.recovery_s<=0.1",
	} {
		l, err := storm.ParseLimit(text)
		if err != nil || l.String() != want {
			t.Errorf("%q is written as %q (%v), want %q", text, l, err, want)
		}
	}
	if got := (Threshold{Metric: "totals.recovery_s"}).String(); got != "recovery_s" {
		t.Errorf("a demand that is no limit is written as %q", got)
	}
}

// TestBaselineDifferences: every figure that differs, however little, of the runs and phases
// that both have.
func TestBaselineDifferences(t *testing.T) {
	old, now := runOf("s", "legacy", Phase{RaftEntries: 5, RecoveryS: 3}), runOf("s", "legacy", Phase{RaftEntries: 5, RecoveryS: 4})
	now.Phases[0].NodesDown = 1
	now.Phases = append(now.Phases, Phase{Name: "new", RaftEntries: 9}, Phase{Name: "both", EvalsCreated: 2})
	old.Phases = append(old.Phases, Phase{Name: "both", EvalsCreated: 1})
	b := NewBaseline(nil, 0.1, []*Result{runOf("s", "other", Phase{RaftEntries: 7}), old})
	var got []string
	for _, v := range b.Differences([]*Result{runOf("s", "third", Phase{RaftEntries: 1}), now}) {
		got = append(got, strings.Join([]string{v.Run, v.Metric, number(*v.Baseline), number(v.Value)}, " "))
	}
	want := []string{"legacy phases.drain.recovery_s 3 4", "legacy phases.drain.nodes_down 0 1", "legacy phases.both.evals_created 1 2"}
	if !slices.Equal(got, want) {
		t.Errorf("differences %q, want %q", got, want)
	}
}

// TestBaselineFiles: what cannot be read or written is named.
func TestBaselineFiles(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none", "base.json")
	if b, err := LoadBaseline(missing); b != nil || err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("%v, %v: want an error that names the file", b, err)
	}
	if err := (&Baseline{}).WriteFile(missing); err == nil {
		t.Error("a baseline was written into no directory")
	}
	if err := (&Baseline{Tolerance: math.NaN()}).WriteFile(filepath.Join(t.TempDir(), "base.json")); err == nil {
		t.Error("a baseline that is no JSON was written")
	}
	legacy, shedding := pair()
	legacy.Latencies = []Latency{{Name: "a", Distribution: Distribution{LE: []float64{1}}}, {Name: "b", Distribution: Distribution{LE: []float64{1}}}}
	for _, l := range NewBaseline(nil, 0, []*Result{legacy, shedding}).Runs[0].Latencies {
		if l.Distribution.LE != nil {
			t.Errorf("the baseline keeps the distribution of %s", l.Name)
		}
	}
	path := filepath.Join(t.TempDir(), "base.json")
	if err := NewBaseline([]byte(`{}`), 0, []*Result{runOf("s", "a", Phase{}), runOf("s", "b", Phase{})}).WriteFile(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if runs, err := DecodeRuns(data); err != nil || len(runs) != 2 || !runs[0].OfBaseline {
		t.Errorf("%d runs of a baseline, %v", len(runs), err)
	}
	b, err := decodeBaseline([]byte(`{"baseline":1,"runs":[{"schema":1,"run":{"scenario":"s","broker":"a","params":{"nodes":5000000}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := paramDifferences(Run{Scenario: "s", Broker: "a", Params: map[string]any{"nodes": 5_000_000}}, b.Runs[0].Run); len(got) > 0 {
		t.Errorf("a setting changes when it is written and read: %v", got)
	}
	one, err := sample(t).encode()
	if err != nil {
		t.Fatal(err)
	}
	if runs, err := DecodeRuns(one); err != nil || len(runs) != 1 || runs[0].OfBaseline {
		t.Errorf("%d runs of a Result, %v", len(runs), err)
	}
	if runs, err := DecodeRuns([]byte(`{"baseline":1,"runs":[]}`)); err == nil || runs != nil {
		t.Errorf("%v of a baseline without runs, %v", runs, err)
	}
}
