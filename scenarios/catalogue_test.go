package scenarios

import (
	"math"
	"slices"
	"testing"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/judge"
	"github.com/simctl/simctl/scenarios/language"
)

// TestCatalogueExplainsItself: people start from these files, and from their flags.
func TestCatalogueExplainsItself(t *testing.T) {
	common := []string{"seed", "broker", "clock", "time-scale", "cost", "force", "out", "baseline", "format", "quiet", "help", "var", "var-file"}
	for _, name := range Names() {
		spec := Spec{Scenario: name, Broker: "shedding"}
		c, err := Compile(spec)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		def := c.def
		if def.Title == "" || len(def.About) < 150 {
			t.Errorf("%s is not described", name)
		}
		for _, v := range def.Variables {
			if v.Description == "" || slices.Contains(common, Flag(v.Name)) {
				t.Errorf("%s: variable %s is not described, or its flag is taken", name, v.Name)
			}
		}
		if v := def.Variables[0]; v.Name != "nodes" {
			t.Errorf("%s: the first variable is %s, want nodes, which every command line names", name, v.Name)
		}
		text, _ := Text(name)
		formatted, err := language.Format(name, text) // which looks for what OpenOwn does not
		if err != nil || string(formatted) != string(text) {
			t.Errorf("%s is not formatted (%v): run simctl scenario fmt scenarios/catalogue/*.hcl", name, err)
		}
	}
}

// TestBacklogDrainTrailsByTheTick re-enacts what was published of the change that brought
// load shedding, with everything but the times smaller by the same factor: 49,730
// evaluations in batches of 728. Once the queue is empty nothing is acknowledged any more, and
// 23 ticks of 5 s write off 23 batches: the published run went from 33,694 to 16,950.
func TestBacklogDrainTrailsByTheTick(t *testing.T) {
	const batch, ticks = 44, 23
	spec := Spec{Scenario: "backlog-drain", Broker: "shedding", Seed: 1, Vars: map[string]any{"nodes": 300, "reaper_batch": batch}}
	res := runOne(t, spec, nil)
	wantSound(t, res, judge.InvariantNonePending)
	trail := res.Phase("trail")
	s := res.SeriesByName(metrics.SeriesCancelable)
	at := func(when float64) float64 {
		i := slices.IndexFunc(s.AtS, func(x float64) bool { return x >= when })
		return s.Value[i]
	}
	first := at(trail.StartS)
	if first < 1500 {
		t.Fatalf("%g evaluations are cancelable when the queue is empty, want most of 3010", first)
	}
	if got := first - at(trail.StartS+5*ticks); math.Abs(got-ticks*batch) > batch {
		t.Errorf("%d ticks wrote off %g evaluations, want %d batches of %d", ticks, got, ticks, batch)
	}
	if want := uint64(math.Ceil(first / batch)); trail.RaftEntries < want || trail.RaftEntries > want+1 {
		t.Errorf("the trail took %d entries, want one for each of %d batches", trail.RaftEntries, want)
	}
	if ideal := first / batch * 5; math.Abs(trail.RecoveryS-ideal) > 6 {
		t.Errorf("recovered after %g s, want about %g: a tick for every batch", trail.RecoveryS, ideal)
	}
	if empty := res.Phase("empty"); empty.EvalsProcessed != 20 || empty.QueueEmptyS < 0 || empty.QueueEmptyS > 15 {
		t.Errorf("the queue was empty after %g s and %d evaluations, want two of each job at once", empty.QueueEmptyS, empty.EvalsProcessed)
	}
}

// TestTheWorkedExample: 100 system jobs and 20 allocations of service jobs a node; a tenth of
// the nodes makes an evaluation for each. At 5,000 nodes that is the published 60,000.
func TestTheWorkedExample(t *testing.T) {
	t.Parallel()
	spec := Spec{Scenario: "worked-example", Broker: "shedding", Seed: 1, Vars: map[string]any{"nodes": 40}}
	res := elsewhere(t, spec)
	wantSound(t, res)
	miss := res.Phase("miss")
	const want = 4 * (100 + 20)
	if miss.NodesDown != 4 || miss.EvalsCreated > want || miss.EvalsCreated < want*98/100 {
		t.Errorf("%d nodes down made %d evaluations, want 4 and %d, or 2%% fewer", miss.NodesDown, miss.EvalsCreated, want)
	}
}

// TestCatalogueRuns: every scenario goes through at a small size, and keeps its invariants. Under the
// shedding broker it keeps its thresholds, too.
func TestCatalogueRuns(t *testing.T) {
	t.Parallel()
	results, err := catalogueRuns()
	must(t, err)
	for _, res := range results {
		wantSound(t, res, judge.InvariantNonePending, judge.InvariantServersSame)
		if res.Run.Broker == "shedding" {
			wantThresholds(t, catalogued(res.Run.Scenario, res.Run.Broker), res)
		}
	}
}

// wantThresholds fails the test for every threshold of the scenario that does not hold.
func wantThresholds(t *testing.T, spec Spec, res *metrics.Result) {
	t.Helper()
	c, err := Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	apply, _ := metrics.Applicable([]*metrics.Result{res}, nil, c.Thresholds())
	verdicts, err := metrics.Check([]*metrics.Result{res}, nil, apply)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		if !v.OK {
			t.Errorf("threshold %s: %s is %g, want %s", v.Name, v.Metric, v.Value, v.Demand)
		}
	}
}
