//go:build !race

// The race detector would make these runs take minutes, and finds no more in them than
// in the small ones.

package scenarios

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/madeby"
	"github.com/simctl/simctl/internal/nightly"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/metrics/agreement"
)

// measuredRun is one run of real Nomad in testdata/calibration/nomad-measured.json.
type measuredRun struct {
	Version string `json:"nomad_version"`
	Nodes   int    `json:"nodes"`
	Phases  map[string]struct {
		ByKind map[string]uint64 `json:"byKind"`
	} `json:"phases"`
}

// entries sums the run's entries of a phase by Nomad's type, without Raft's own.
func (r measuredRun) entries(phase string) map[string]uint64 {
	types := map[string]string{
		"NodeRegister": metrics.EntryNodeRegister, "NodeUpdateStatus": metrics.EntryNodeUpdateStatus,
		"EvalUpdate": metrics.EntryEvalUpdate, "ApplyPlanResults": metrics.EntryApplyPlanResults,
	}
	sum := map[string]uint64{}
	for kind, n := range r.Phases[phase].ByKind {
		kind, _, _ = strings.Cut(kind, ":")
		if t := types[kind]; t != "" {
			sum[t] += n
		}
	}
	return sum
}

// TestLoopbackMatchesRealNomad: with the costs of loopback, which are of machines like the one that real Nomad was measured on,
// the simulation writes the entries real Nomad wrote: the same to within ten of each
// type while clients register and the backlog drains, and within 5% in all in a storm.
func TestLoopbackMatchesRealNomad(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../testdata/calibration/nomad-measured.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Runs []measuredRun `json:"runs"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	brokers := map[string]string{"1.4.2": "legacy", "1.4.3": "shedding"}
	var specs []Spec
	if !nightly.On {
		file.Runs = slices.DeleteFunc(file.Runs, func(run measuredRun) bool { return run.Nodes > 500 })
	}
	for _, run := range file.Runs {
		specs = append(specs, Spec{
			Scenario: "heartbeat-storm", Broker: brokers[run.Version], Seed: 1, Clock: ClockVirtual, Cost: "loopback",
			Vars: map[string]any{"nodes": run.Nodes},
		})
	}
	results, err := RunAll(t.Context(), specs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, run := range file.Runs {
		for _, phase := range []string{"register", "drain"} {
			got := results[i].Phase(phase).RaftEntriesByType
			for kind, want := range run.entries(phase) {
				if math.Abs(float64(got[kind])-float64(want)) > 10 {
					t.Errorf("%s, %d nodes, %s: %d entries of %s, real Nomad wrote %d", run.Version, run.Nodes, phase, got[kind], kind, want)
				}
			}
		}
		want := uint64(0)
		for _, n := range run.entries("storm") {
			want += n
		}
		got := results[i].Phase("storm").RaftEntries
		off := float64(got)/float64(want) - 1
		t.Logf("%s, %d nodes, storm: %d entries, real Nomad wrote %d: %+.1f%%", run.Version, run.Nodes, got, want, 100*off)
		if math.Abs(off) > 0.1 {
			t.Errorf("%s, %d nodes, storm: %d entries are %+.1f%% from the %d that real Nomad wrote", run.Version, run.Nodes, got, 100*off, want)
		}
	}
}

// TestAgreement: with the costs of the machines that made the runs of testdata/validation, the
// simulation comes as near to them as docs/validation says. A change that moves it away is red; one
// that moves it nearer tightens the bounds.
func TestAgreement(t *testing.T) {
	t.Parallel()
	const dir = "../testdata/validation/"
	type bounds struct {
		file string
		// how far the entries of the storm, and the times until the drain and the storm are
		// over, may be from the real ones
		entries, drain, storm float64
	}
	// Times are read once a second, from gauges that are up to a second old, and then a little. No run of the first machine, of
	// the fifth and of later ones is part of a calibration.
	const look = 2.05 * agreement.Resolution
	draw := max(chance(0.05), 0.015) // other draws of the same runs: of one seed, and of the mean of three
	runs := []bounds{
		{"real/2.0.5-500-silent", 0.03, 0.02, 0.02},
		{"second/1.4.3-250-silent", 0.04, 0.02, 0.02},
		{"second/2.0.5-250-silent", 0.03, 0.02, 0.02},
		{"second/1.4.3-500-silent-1job", 0.02, 0.02, 0.02},
	}
	if nightly.On { // make validate has more, of up to 5,000 nodes
		runs = append(runs, []bounds{
			{"second/1.4.2-250-silent", 0.02, 0.02, 0.02},
			{"real/2.0.5-500-silent-2", 0.03, 0.02, 0.02},
			{"real/1.4.2-500-silent", 0.03, 0.02, 0.03},
			{"real/1.4.2-500-silent-2", 0.02, 0.02, 0.02},
			{"real/1.4.3-500-silent", 0.08, 0.02, 0.02},
			{"second/1.4.3-500-silent", 0.02, 0.02, 0.02},
			{"real/1.4.3-500-1server", 0.04, 0.02, 0.02},
			{"second/1.4.3-500-1", 0.07, 0.02, 0.02},
			{"second/1.4.3-500-2", 0.05, 0.02, 0.02},
			{"second/1.4.3-500-silent-20jobs", 0.06, 0.02, 0.02},
			{"second/2.0.5-500-silent", 0.04, 0.02, 0.02},
			{"fifth/1.4.2-500-silent", 0.02, 0.02, 0.02},
			{"fifth/1.4.3-500-silent-2", 0.04, 0.02, 0.02},
			{"fifth/2.0.5-500-silent-2", 0.02, 0.02, 0.02},
			{"real/1.4.2-500-1", 0.03, 0.02, 0.02},
			{"real/1.4.3-500-2", 0.02, 0.02, 0.02},
			{"real/1.4.3-1000-1", 0.10, 0.49, 0.13},
			{"real/2.0.5-500-1", 0.05, 0.02, 0.02},
			{"real/1.4.3-500-5servers", 0.05, 0.02, 0.02},
			{"second/1.4.3-500-5servers-1", 0.11, 0.02, 0.02},
			{"second/1.4.3-500-5servers-2", 0.03, 0.02, 0.02},
			{"second/1.4.3-500-5servers-3", 0.03, 0.02, 0.02},
			{"second/1.4.3-500-silent-1scheduler", 0.02, 0.02, 0.02},
			{"second/1.4.3-500-silent-4schedulers", 0.04, 0.02, 0.02},
			{"second/asked/1.4.3-1000-silent", 0.07, 0.8, 0.02},
			{"second/asked/2.0.5-1000-silent", 0.04, 0.02, 0.02},
			{"sixth/1.4.3-500-silent-2", 0.02, 0.02, 0.02},
			{"sixth/1.4.3-500-reports-3", 0.03, 0.02, 0.02},
			{"sixth/1.4.3-500-5servers", 0.02, 0.02, 0.02},
			{"sixth/2.0.5-500-silent", 0.02, 0.02, 0.02},
			{"sixth/1.4.3-1000-silent-3", 0.07, 0.02, 0.02},
			{"sixth/2.0.5-1000-silent-2", 0.02, 0.02, 0.02},
			{"sixth/1.4.3-2000-silent-3", 0.05, 0.08, 0.02}, // two batches more or less wait for ticks
			{"sixth/later/1.4.2-500-silent-2", 0.02, 0.02, 0.02},
			{"sixth/later/1.4.3-500-silent-4schedulers", 0.02, 0.02, 0.02},
			{"sixth/later/1.4.3-500-1server-2", 0.04, 0.02, 0.02},
			{"sixth/later/2.0.5-500-reports-2", 0.03, 0.07, 0.02},
			{"sixth/evening/2.0.5-2000-silent-2", 0.02, 0.06, 0.02},
			{"sixth/evening/1.4.3-500-reports-4", 0.05, 0.02, 0.02},
			{"sixth/evening/2.0.5-500-reports-2", 0.04, 0.07, 0.02},
			{"seventh/1.4.3-1000-silent-2", 0.02, 0.02, 0.02},
			{"seventh/2.0.5-500-silent-2", 0.13, 0.02, 0.02},
			{"eighth/1.4.3-1000-silent-3", 0.04, 0.02, 0.02},
			{"eighth/2.0.5-500-silent-3", 0.02, 0.02, 0.02},
			{"eighth/2.0.5-2000-silent-2", 0.09, 0.1, 0.02},
			{"ninth/1.4.3-1000-silent", 0.05, 0.02, 0.02},
			{"ninth/2.0.5-500-silent-2", 0.05, 0.02, 0.02},
		}...)
	}
	var real []*metrics.Result
	var specs []Spec
	var like []int // the place of each run's Spec: repeats have one
	for _, run := range runs {
		r, spec := realRun(t, dir+run.file+".json", Spec{})
		var at int
		specs, at = placed(specs, spec)
		real, like = append(real, r), append(like, at)
	}
	t.Logf("%d runs, %d specs", len(runs), len(specs))
	simulations := seeds(t, specs)
	for i, run := range runs {
		simulated := simulations[like[i]]
		within := func(what string, got, want, bound, exact float64) {
			off := got/want - 1
			t.Logf("%s, %s: %.6g, real Nomad's is %.6g: %+.1f%%", run.file, what, got, want, 100*off)
			if math.Abs(got-want) > bound*want+exact {
				t.Errorf("%s, %s: %.6g is %+.1f%% from real Nomad's %.6g, which is more than %.0f%% and %.2f", run.file, what, got, 100*off, want, 100*bound, exact)
			}
		}
		drain := simulated[0].Phase("drain")
		realDrain, realStorm := real[i].Phase("drain"), real[i].Phase("storm")
		recovery := func(p *metrics.Phase) float64 { return p.RecoveryS }
		within("entries of the storm", meanOf(simulated, "storm", entriesOf), float64(realStorm.RaftEntries), run.entries+draw, 0)
		within("recovery of the drain", meanOf(simulated, "drain", recovery), realDrain.RecoveryS, run.drain+chance(0.15), look)
		within("recovery of the storm", meanOf(simulated, "storm", recovery), realStorm.RecoveryS, run.storm+chance(0.02), look)
		types := 10.0
		if run.file == "real/2.0.5-500-1" { // whose drains take longer, in which servers ask for more changes of allocations
			types = 12
		}
		for kind, want := range realDrain.RaftEntriesByType {
			got := drain.RaftEntriesByType[kind]
			if kind != metrics.EntryAllocClientUpdate && math.Abs(float64(got)-float64(want)) > types {
				t.Errorf("%s, drain: %d entries of %s, real Nomad wrote %d", run.file, got, kind, want)
			}
		}
	}
}

// TestFlappingAgrees: racks that come and go cost as many entries of each type as on real servers. What was
// flapping when it ended comes back in the last phase, so a type's entries of both count together. Reports come
// in batches, whose number is a matter of instants. Servers of 2.0.5 recover, as real ones do.
func TestFlappingAgrees(t *testing.T) {
	t.Parallel()
	const dir = "../testdata/validation/"
	file, err := FromFile(dir + "flapping.hcl")
	if err != nil {
		t.Fatal(err)
	}
	// While clients start, appliers of 2.0.5 that keep their state may refuse the same plan again and again: now and
	// then for seconds here, for moments on real servers. So what kinds of entries that phase has is a matter of
	// chance, and how many it has less so. Those of 1.4.3 differ by the seed, too: 1,146 to 1,220 plans of three.
	// Racks that flap have some 150 reports.
	type bounds struct {
		file                      string
		start, all, flap, reports float64
	}
	runs := []bounds{{"second/1.4.3-flapping", 0.19, 0.1, 0.05, 0.06}}
	if nightly.On {
		runs = append(runs, []bounds{
			{"second/2.0.5-flapping", math.Inf(1), 0.19, 0.05, math.Inf(1)}, // its clients did not report what was given up
			{"sixth/evening/1.4.3-flapping", 0.19, 0.06, 0.04, 0.09},
			{"sixth/evening/2.0.5-flapping", math.Inf(1), 0.19, 0.04, math.Inf(1)}, // its start differs by 18% from seed to seed
			{"../releases/flapping-2.0.5", math.Inf(1), 0.19, 0.05, 0.1},
		}...)
	}
	var specs []Spec
	var reals []*metrics.Result
	for _, run := range runs {
		if file.Cost = ""; strings.HasPrefix(run.file, "../releases") {
			file.Cost = madeby.Cost(dir+"eighth", "2.0.5")
		}
		real, spec := realRun(t, dir+run.file+".json", file)
		specs, reals = append(specs, spec), append(reals, real)
	}
	simulated, err := RunAll(t.Context(), specs, nil)
	if err != nil {
		t.Fatal(err)
	}
	count := func(r *metrics.Result, kind string, phases ...string) (n float64) {
		for _, p := range phases {
			n += float64(r.Phase(p).RaftEntriesByType[kind])
		}
		return n
	}
	for i, real := range reals {
		for _, within := range []struct {
			phases         []string
			bound, reports float64
		}{{[]string{"start"}, runs[i].start, runs[i].start}, {[]string{"flap", "recover"}, runs[i].flap, runs[i].reports}} {
			for _, kind := range []string{
				"ApplyPlanResultsRequestType", "EvalUpdateRequestType", "NodeRegisterRequestType",
				"NodeUpdateStatusRequestType", metrics.EntryAllocClientUpdate,
			} {
				got, want := count(simulated[i], kind, within.phases...), count(real, kind, within.phases...)
				off := got/want - 1
				t.Logf("%s, %v, %s: %.0f, real Nomad wrote %.0f: %+.1f%%", runs[i].file, within.phases, kind, got, want, 100*off)
				bound := within.bound
				if kind == metrics.EntryAllocClientUpdate {
					bound = within.reports
				}
				if math.Abs(off) > bound {
					t.Errorf("%s, %v, %s: %.0f entries are %+.1f%% from the %.0f that real Nomad wrote", runs[i].file, within.phases, kind, got, 100*off, want)
				}
			}
		}
		if off := entriesOf(simulated[i].Phase("start"))/entriesOf(real.Phase("start")) - 1; math.Abs(off) > runs[i].all {
			t.Errorf("%s: clients that start cost %+.1f%% of the entries that real Nomad wrote", runs[i].file, 100*off)
		}
		if end := simulated[i].Phase("recover").RecoveryS; end < 0 {
			t.Errorf("%s: simulated servers never recover from flapping", runs[i].file)
		}
	}
}

// TestDispatchAgrees: batch jobs that wait for room write the entries, and their evaluations end, as on real
// servers. Those that fail are told apart: they lose a race for room, twice, and more do in simulations.
func TestDispatchAgrees(t *testing.T) {
	t.Parallel()
	const dir = "../testdata/validation/second/"
	type off struct{ entries, processed, failed float64 }
	runs := map[string]off{"1.4.3-dispatch-1": {0.07, 0.15, 0.6}}
	if nightly.On {
		runs["2.0.5-dispatch-1"] = off{0.05, 0.19, 0.46}
	}
	for file, bounds := range runs {
		real, spec := realRun(t, dir+file+".json", Spec{})
		simulated := seeds(t, []Spec{spec})[0]
		within := func(what string, of func(*metrics.Phase) float64, bound float64) {
			t.Helper()
			got, want := meanOf(simulated, "dispatch", of), of(real.Phase("dispatch"))
			off := got/want - 1
			t.Logf("%s, %s: %.6g, real Nomad's is %.6g: %+.1f%%", file, what, got, want, 100*off)
			if math.Abs(off) > bound {
				t.Errorf("%s, %s: %.6g is %+.1f%% from real Nomad's %.6g, which is more than %.0f%%", file, what, got, 100*off, want, 100*bound)
			}
		}
		ended := func(status string) func(*metrics.Phase) float64 {
			return func(p *metrics.Phase) float64 { return float64(p.EvalsByStatus[status]) }
		}
		within("entries", entriesOf, bounds.entries+chance(0.03))
		within("evaluations processed", func(p *metrics.Phase) float64 { return float64(p.EvalsProcessed) }, bounds.processed+chance(0.15))
		within("complete", ended(broker.StatusComplete), 0.01)
		within("failed", ended(broker.StatusFailed), bounds.failed+chance(0.20))
	}
}

// TestFailuresAgree: what clients report of allocations that fail together, and what is made of it, costs what it costs real
// servers. Beside idle clients that are not told of others' changes, entries of reports were a third too few.
func TestFailuresAgree(t *testing.T) {
	t.Parallel()
	releases := []string{"1.4.3"}
	if nightly.On {
		releases = append(releases, "2.0.5")
	}
	for _, release := range releases {
		real, spec := realRun(t, "../testdata/releases/alloc-failures-"+release+".json", Spec{Cost: madeby.Cost("../testdata/validation/eighth", release)})
		simulated := seeds(t, []Spec{spec})[0]
		for entry, bound := range map[string]float64{metrics.EntryAllocClientUpdate: 0.16, metrics.EntryApplyPlanResults: 0.12, metrics.EntryEvalUpdate: 0.12} {
			of := func(p *metrics.Phase) float64 { return float64(p.RaftEntriesByType[entry]) }
			got, want := meanOf(simulated, "fail", of), of(real.Phase("fail"))
			t.Logf("%s: %.6g entries %s, real Nomad's are %.6g: %+.1f%%", release, got, entry, want, 100*(got/want-1))
			if bound += chance(0.06); math.Abs(got/want-1) > bound {
				t.Errorf("%s: %.6g entries %s, which is more than %.0f%% from real Nomad's %.6g", release, got, entry, 100*bound, want)
			}
		}
	}
}

// seeds runs each Spec, nightly with three seeds: one seed's figures differ from their mean by chance.
func seeds(t *testing.T, specs []Spec) [][]*metrics.Result {
	t.Helper()
	n := 1
	if nightly.On {
		n = 3
	}
	var all []Spec
	for _, spec := range specs {
		for seed := range n {
			spec.Seed = int64(1 + seed)
			all = append(all, spec)
		}
	}
	results, err := RunAll(t.Context(), all, nil)
	must(t, err)
	return slices.Collect(slices.Chunk(results, n))
}

// chance is how much further from the real figure one seed may be than the mean of several.
func chance(off float64) float64 {
	if nightly.On {
		return 0
	}
	return off
}

func meanOf(runs []*metrics.Result, phase string, of func(*metrics.Phase) float64) float64 {
	sum := 0.0
	for _, r := range runs {
		sum += of(r.Phase(phase))
	}
	return sum / float64(len(runs))
}

func entriesOf(p *metrics.Phase) float64 { return float64(p.RaftEntries) }

// realRun reads the result of a run on real servers, and returns it with what simulates it.
func realRun(t *testing.T, file string, base Spec) (*metrics.Result, Spec) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := metrics.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if base.Cost == "" {
		base.Cost = madeby.Cost(filepath.Dir(file), r.Run.Target)
	}
	spec, err := SpecOf(r, base)
	if err != nil {
		t.Fatal(err)
	}
	spec.Seed = 1
	return r, spec
}
