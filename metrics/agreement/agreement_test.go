package agreement

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// run returns a run of one phase.
func run(target string, length, recovery float64, byType map[string]uint64, plans uint64) *metrics.Result {
	return &metrics.Result{
		Run: metrics.Run{Scenario: "s", Target: target},
		Phases: []metrics.Phase{{
			Name: "drain", StartS: 5, EndS: 5 + length, RecoveryS: recovery, RaftEntriesByType: byType, PlansSubmitted: plans,
		}},
	}
}

func TestOf(t *testing.T) {
	counts := func(evals uint64) map[string]uint64 {
		return map[string]uint64{metrics.EntryEvalUpdate: evals, metrics.EntryRaftNoop: 3}
	}
	real := []*metrics.Result{run("1.4.3", 10, 9, counts(100), 20), run("1.4.3", 12, 11, counts(104), 20)}
	simulated := []*metrics.Result{
		run("simulated", 12.1, 11, counts(110), 20), run("simulated", 12.3, 10.9, counts(108), 20), run("simulated", 11.9, -1, counts(109), 22),
	}
	report := Of(real, simulated)
	if len(report.Phases) != 1 || report.Target != "1.4.3" {
		t.Fatalf("got %+v", report)
	}
	got := map[string]Row{}
	for _, r := range report.Phases[0].Rows {
		got[r.Metric] = r
	}
	check := func(metric string, deviation float64, within bool) {
		t.Helper()
		r, ok := got[metric]
		if !ok || r.Deviation == nil || math.Abs(*r.Deviation-deviation) > 1e-9 || r.Within != within {
			t.Errorf("%s is %+v, want a deviation of %g, within: %v", metric, r, deviation, within)
		}
	}
	check(Duration, 0.1, true)
	real[0].Phases[0].EndS -= 5
	real[1].Phases[0].EndS -= 2.1 // 1.9 s below the lowest
	got[Duration] = Of(real, simulated).Phases[0].Rows[0]
	check(Duration, 12.1/7.45-1, false)
	real[1].Phases[0].EndS += 1 // no further than times are exact
	got[Duration] = Of(real, simulated).Phases[0].Rows[0]
	check(Duration, 12.1/7.95-1, true)
	check("raft_entries_by_type."+metrics.EntryEvalUpdate, 109.0/102-1, false)
	check("plans_submitted", 0, true)
	if r := got["recovery_s"]; r.Deviation != nil || r.Within || r.Simulated.Low != -1 {
		t.Errorf("a time that never came with a seed is %+v", r)
	}
	for _, metric := range []string{"nodes_down", "raft_entries_by_type." + metrics.EntryRaftNoop, "deployment_s", "end_s"} {
		if r, ok := got[metric]; ok {
			t.Errorf("%s, which nobody counted or should compare, is %+v", metric, r)
		}
	}
}

// TestRows: each figure is held against the other side's. Times may be as far apart as they are exact, and counts not at all; what
// one side alone has counted, or seen come, deviates by nothing that can be said.
func TestRows(t *testing.T) {
	const never = -1
	none := math.NaN()
	for _, tt := range []struct {
		name, metric    string
		real, simulated float64
		deviation       float64 // NaN: none
		within, absent  bool
	}{
		{name: "a second later", metric: "recovery_s", real: 10, simulated: 11, deviation: 0.1, within: true},
		{name: "a second sooner", metric: "recovery_s", real: 10, simulated: 9, deviation: -0.1, within: true},
		{name: "later", metric: "recovery_s", real: 10, simulated: 12, deviation: 0.2},
		{name: "sooner", metric: "recovery_s", real: 10, simulated: 8, deviation: -0.2},
		{name: "at once", metric: "recovery_s", real: 10, simulated: 0, deviation: -1},
		{name: "came on real servers only", metric: "recovery_s", real: 10, simulated: never, deviation: none},
		{name: "came in simulations only", metric: "recovery_s", real: never, simulated: 10, deviation: none},
		{name: "never came", metric: "recovery_s", real: never, simulated: never, absent: true},
		{name: "the same", metric: "plans_submitted", real: 10, simulated: 10, within: true},
		{name: "one more", metric: "plans_submitted", real: 10, simulated: 11, deviation: 0.1},
		{name: "one less", metric: "plans_submitted", real: 10, simulated: 9, deviation: -0.1},
		{name: "real ones only", metric: "plans_submitted", real: 10, simulated: 0, deviation: -1},
		{name: "simulated ones only", metric: "plans_submitted", real: 0, simulated: 10, deviation: none},
		{name: "none", metric: "plans_submitted", absent: true},
		{name: "a type", metric: "raft_entries_by_type.A", real: 4, simulated: 5, deviation: 0.25},
		{name: "a type of real entries", metric: "raft_entries_by_type.A", real: 4, deviation: -1},
		{name: "a type of simulated entries", metric: "raft_entries_by_type.A", simulated: 4, deviation: none},
		{name: "a status", metric: "evals_by_status.failed", real: 4, simulated: 5, deviation: 0.25},
	} {
		of := func(target string, value float64) []*metrics.Result {
			r := run(target, 10, 5, map[string]uint64{}, 20)
			r.Run.CostModel = &metrics.CostModel{Class: "loopback"}
			p := &r.Phases[0]
			p.EvalsByStatus = map[string]uint64{"complete": 1}
			switch kind, key, _ := strings.Cut(tt.metric, "."); {
			case kind == "recovery_s":
				p.RecoveryS = value
			case kind == "plans_submitted":
				p.PlansSubmitted = uint64(value)
			case value == 0: // and the file has no line for it
			case kind == "evals_by_status":
				p.EvalsByStatus[key] = uint64(value)
			default:
				p.RaftEntriesByType[key] = uint64(value)
			}
			return []*metrics.Result{r}
		}
		report := Of(of("1.4.3", tt.real), of("simulated", tt.simulated))
		if report.Cost != "loopback" {
			t.Errorf("the costs are %q", report.Cost)
		}
		rows := report.Phases[0].Rows
		i := slices.IndexFunc(rows, func(r Row) bool { return r.Metric == tt.metric })
		if i < 0 || tt.absent {
			if (i < 0) != tt.absent {
				t.Errorf("%s: there is a row: %v", tt.name, i >= 0)
			}
			continue
		}
		deviation := none
		if d := rows[i].Deviation; d != nil {
			deviation = *d
		}
		if math.IsNaN(deviation) != math.IsNaN(tt.deviation) || math.Abs(deviation-tt.deviation) > 1e-9 || rows[i].Within != tt.within {
			t.Errorf("%s: %+v deviates by %g, want %g, within: %v", tt.name, rows[i], deviation, tt.deviation, tt.within)
		}
	}
}

// TestCoresBusy: how long the cores of both sides worked is compared, if both say so.
func TestCoresBusy(t *testing.T) {
	of := func(target string, shares ...float64) *metrics.Result {
		r := run(target, 10, 9, nil, 20)
		r.Series = []metrics.Series{{Name: metrics.SeriesCPU, AtS: []float64{0, 5, 10, 20}, Value: shares}}
		return r
	}
	real, simulated := of("1.4.3", 0, 0.9, 0.5, 0.3), of("simulated", 0, 0.1, 0.7, 0.6) // from 5 to 15
	phase := Of([]*metrics.Result{real}, []*metrics.Result{simulated}).Phases[0]
	got := phase.Rows[len(phase.Rows)-1]
	if got.Metric != CoresBusy || got.Real.Median != 4 || got.Simulated.Median != 6.5 || *got.Deviation != 0.625 || got.Within {
		t.Errorf("got %+v", got)
	}
	silent := of("1.4.3", 0, 0, 0, 0) // not on this system
	for _, r := range Of([]*metrics.Result{real, silent}, []*metrics.Result{simulated}).Phases[0].Rows {
		if r.Metric == CoresBusy {
			t.Errorf("the cores of servers that did not say are %+v", r)
		}
	}
	if busy := Busy(real, "storm"); busy != 0 {
		t.Errorf("the cores were busy for %v s in a phase that was not", busy)
	}
}

// TestMachine: how long reading memory took is the average over a phase, and what was stolen of the cores the sum, of each run
// that says so.
func TestMachine(t *testing.T) {
	of := func(name string) *metrics.Result {
		r := run("1.4.3", 10, 9, nil, 20)
		r.Series = []metrics.Series{{Name: name, AtS: []float64{0, 5, 10, 20}, Value: []float64{900, 900, 200, 300}}} // from 5 to 15
		return r
	}
	says, silent := of(metrics.SeriesMemoryRead), of(metrics.SeriesCPU)
	got := Of([]*metrics.Result{silent, says}, []*metrics.Result{silent}).Phases[0].MemoryRead
	if got == nil || got.Median != 250 || len(got.Values) != 1 {
		t.Errorf("got %+v, want 250 ns of one run", got)
	}
	if got := Of([]*metrics.Result{silent}, []*metrics.Result{says}).Phases[0]; got.MemoryRead != nil || got.Stolen != nil {
		t.Errorf("of runs that do not say: %+v", got)
	}
	moment := of(metrics.SeriesMemoryRead)
	moment.Phases[0].EndS = moment.Phases[0].StartS
	if got := Of([]*metrics.Result{moment}, []*metrics.Result{silent}).Phases[0].MemoryRead; got != nil {
		t.Errorf("in a phase of no length: %+v", got)
	}
	stolen := of(metrics.SeriesStolen)
	if got := Of([]*metrics.Result{silent, stolen}, []*metrics.Result{stolen}).Phases[0].Stolen; got == nil || got.Median != 2500 || len(got.Values) != 1 {
		t.Errorf("got %+v, want 2500 s of one run", got)
	}
}

func TestRepeats(t *testing.T) {
	of := func(target string, nodes any) *metrics.Result {
		return &metrics.Result{Run: metrics.Run{Scenario: "s", Target: target, Params: map[string]any{"nodes": nodes}}}
	}
	runs := []*metrics.Result{of("1.4.3", 50), of("2.0.5", 50), of("1.4.3", json.Number("50")), of("1.4.3", 100), of("1.4.3", 50)}
	runs[4].Run.Scenario = "other"
	got := Repeats(runs)
	want := [][]*metrics.Result{{runs[0], runs[2]}, {runs[1]}, {runs[3]}, {runs[4]}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestAbsent: what real servers could not tell is not compared.
func TestAbsent(t *testing.T) {
	real := []*metrics.Result{run("1.4.3", 10, 9, nil, 20)}
	simulated := []*metrics.Result{run("simulated", 10, 9, map[string]uint64{metrics.EntryEvalUpdate: 5}, 20)}
	for _, r := range Of(real, simulated).Phases[0].Rows {
		if r.Metric == "raft_entries_by_type."+metrics.EntryEvalUpdate {
			t.Errorf("the entries, which are unknown, are %+v", r)
		}
	}
	stopped := []*metrics.Result{real[0], run("1.4.3", 10, 9, nil, 20)}
	stopped[1].Phases[0].Name = "other"
	if report := Of(stopped, simulated); len(report.Phases) != 0 {
		t.Errorf("phases that one of two real runs lacks: %+v", report.Phases)
	}
	simulated[0].Phases[0].Name = "other"
	if report := Of(real, simulated); len(report.Phases) != 0 {
		t.Errorf("phases that one side lacks: %+v", report.Phases)
	}
}

// TestCreated: a phase has created as many evaluations as there are more of at its end, whatever was guessed meanwhile, unless
// some were deleted or nobody counted.
func TestCreated(t *testing.T) {
	phase := func(name string, guess uint64, byStatus map[string]uint64, deletes uint64) metrics.Phase {
		return metrics.Phase{
			Name: name, EvalsCreated: guess, EvalsByStatus: byStatus, RaftEntriesByType: map[string]uint64{metrics.EntryEvalDelete: deletes},
		}
	}
	real := &metrics.Result{Run: metrics.Run{Target: "1.4.3"}, Phases: []metrics.Phase{
		phase("register", 50, map[string]uint64{"pending": 50}, 0),
		phase("drain", 7, map[string]uint64{"complete": 20, "canceled": 30}, 0),
		phase("storm", 43, map[string]uint64{"complete": 60, "canceled": 40}, 0),
		phase("collect", 5, map[string]uint64{"complete": 102}, 2), // of five more
		phase("lost", 4, map[string]uint64{"complete": 40}, 0),
		phase("unknown", 6, nil, 0),
	}}
	simulated := &metrics.Result{Phases: []metrics.Phase{
		phase("register", 50, map[string]uint64{"pending": 50}, 0), phase("drain", 0, map[string]uint64{"complete": 50}, 0),
		phase("storm", 55, map[string]uint64{"complete": 105}, 0),
		phase("collect", 5, nil, 0), phase("lost", 4, nil, 0), phase("unknown", 6, nil, 0),
	}}
	want := map[string][2]float64{"register": {50, 50}, "storm": {50, 55}, "collect": {5, 5}, "lost": {4, 4}, "unknown": {6, 6}}
	got := map[string][2]float64{}
	for _, p := range Of([]*metrics.Result{real}, []*metrics.Result{simulated}).Phases {
		for _, r := range p.Rows {
			if r.Metric == "evals_created" {
				got[p.Name] = [2]float64{r.Real.Median, r.Simulated.Median}
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("created are %v, want %v", got, want)
	}
	if real.Phases[1].EvalsCreated != 7 {
		t.Error("the run was changed")
	}
}
