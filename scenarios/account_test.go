package scenarios

import (
	"path"
	"reflect"
	"testing"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/internal/run"
)

// TestEveryEntryIsExplained: without faults the log grows by what the events should have
// cost it, entry by entry, in every phase and under both brokers.
func TestEveryEntryIsExplained(t *testing.T) {
	t.Parallel()
	reports := mixed("")
	reports.Set("report_allocations", true)
	for name, spec := range map[string]Spec{"system jobs": small(""), "service jobs": mixed(""), "with reports": reports} {
		for _, broker := range []string{"legacy", "shedding"} {
			spec.Broker = broker
			res := elsewhere(t, spec)
			for _, p := range append(res.Phases, res.Totals) {
				if rest := p.Unexplained(); len(rest) > 0 || len(p.RaftAccount) == 0 {
					t.Errorf("%s, %s broker, %s: wrote %v more entries than its events should cost: expected %v, wrote %v",
						name, broker, p.Name, rest, p.RaftEntriesExpectedByType, p.RaftEntriesByType)
				}
			}
		}
	}
}

// TestNothingFallsBetweenPhases: what happens between the samples that end a phase and begin the next is of the next. On a
// machine whose cores are shared a sample takes time. Here clients report in it.
func TestNothingFallsBetweenPhases(t *testing.T) {
	t.Parallel()
	spec, err := FromFile("testdata/between-phases.hcl")
	must(t, err)
	spec.Seed, spec.Broker, spec.Cost = 261130015, "2.0.5", "../testdata/validation/second/machine.hcl"
	results, err := RunAll(t.Context(), []Spec{spec}, nil)
	must(t, err)
	if rest := results[0].Totals.Unexplained(); len(rest) > 0 {
		t.Errorf("wrote %v more entries than its events should cost", rest)
	}
}

// TestTheCatalogueIsExplained: so it is in every scenario of the catalogue in which no server,
// disk or link fails, whatever clients and users do there.
func TestTheCatalogueIsExplained(t *testing.T) {
	t.Parallel()
	explained := 0
	results, err := catalogueRuns()
	must(t, err)
	for _, res := range results {
		sc, err := scenarioOf(catalogued(res.Run.Scenario, res.Run.Broker))
		must(t, err)
		if fails(sc) {
			continue
		}
		explained++
		judged := []metrics.Phase{res.Totals}
		for i, p := range res.Phases {
			// What is under way when such a phase ends is written in the next.
			if !endsBusy(sc.Phases[i]) && (i == 0 || !endsBusy(sc.Phases[i-1])) {
				judged = append(judged, p)
			}
		}
		for _, p := range judged {
			if rest := p.Unexplained(); len(rest) > 0 || len(p.RaftAccount) == 0 && p.RaftEntries > 0 {
				t.Errorf("%s, %s broker, %s: wrote %v more entries than its events should cost", res.Run.Scenario, res.Run.Broker, p.Name, rest)
			}
		}
	}
	if explained < 24 {
		t.Errorf("%d runs of the catalogue are without faults, want most of them", explained)
	}
}

// endsBusy reports whether a phase ends whatever is going on.
func endsBusy(p run.Phase) bool {
	_, busy := p.Until.(conditions.EvalsCreated)
	return busy
}

// fails reports whether servers, disks or links fail in a scenario.
func fails(sc *run.Scenario) bool {
	for _, p := range sc.Phases {
		for _, e := range p.Events {
			if path.Base(reflect.TypeOf(e.Action).PkgPath()) == "faults" {
				return true
			}
		}
	}
	return false
}

// The laws, on the published numbers: nodes that go down cost a status and an entry for
// all their evaluations, a processed no-op one.
func TestTheAccountOfAStorm(t *testing.T) {
	spec := small("legacy")
	res := runOne(t, spec, nil)
	const nodes, jobs = 40, 3
	want := map[string]int64{
		"nodes whose time to live ran out":             nodes,
		"changes of nodes that called for evaluations": nodes,
		"evaluations processed":                        nodes * jobs,
	}
	storm := res.Phase("storm")
	for _, e := range storm.RaftAccount {
		if n, ok := want[e.Event]; ok && n != e.Entries {
			t.Errorf("%s: %d entries expected, want %d", e.Event, e.Entries, n)
		}
		delete(want, e.Event)
	}
	if len(want) > 0 {
		t.Errorf("the account lacks %v", want)
	}
	if got := storm.RaftEntriesExpectedByType[metrics.EntryEvalUpdate]; got < nodes+nodes*jobs {
		t.Errorf("%d entries of evaluations expected, want at least one for each node and each evaluation", got)
	}
}

// What the laws do not know of shows.
func TestUnknownEntriesAreUnexplained(t *testing.T) {
	p := metrics.Phase{
		RaftEntriesByType:         map[string]uint64{"A": 5, "B": 1},
		RaftEntriesExpectedByType: map[string]uint64{"A": 3, "C": 2},
		RaftAccount:               []metrics.Expectation{{Type: "A", Event: "a", Entries: 3}, {Type: "C", Event: "c", Entries: 2}},
	}
	got := p.Unexplained()
	if len(got) != 3 || got["A"] != 2 || got["B"] != 1 || got["C"] != -2 {
		t.Errorf("unexplained %v, want 2 of A, 1 of B and 2 too few of C", got)
	}
}
