package agreement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
)

// Report compares simulated runs with real ones.
type Report struct {
	Scenario string         `json:"scenario"`
	Target   string         `json:"target"` // the release of the real servers
	Params   map[string]any `json:"params"`
	Cost     string         `json:"cost"` // the class of machines that the simulation charges
	Phases   []Phase        `json:"phases"`

	Real      []*metrics.Result `json:"-"`
	Simulated []*metrics.Result `json:"-"`
}

// Phase is the figures of one phase.
type Phase struct {
	Name string `json:"name"`
	Rows []Row  `json:"rows"`
	// MemoryRead is how long a read of the real servers' memory took, in nanoseconds: the mean over the phase, of each run that
	// has it; nil if none has. If it differs from run to run, so does the speed of the servers, and no model has to explain that.
	MemoryRead *Range `json:"memory_read_ns,omitempty"`
	// Stolen is the time that the host of the real servers' machine took away from its cores, in seconds of all cores, as in
	// CoresBusy; nil if no run has it.
	Stolen *Range `json:"cores_stolen_s,omitempty"`
}

// Row is one figure.
type Row struct {
	Metric    string `json:"metric"` // as Result.Lookup takes it after the phase, or Duration
	Unit      string `json:"unit"`
	Real      Range  `json:"real"`
	Simulated Range  `json:"simulated"`
	// Deviation is the simulated median by the real one, less one; nil if the real one is zero,
	// or either is a time that did not come.
	Deviation *float64 `json:"deviation"`
	// Within says that the two ranges meet. Ranges of times may be Resolution apart.
	Within bool `json:"within"`
}

// Resolution is how exact times of real servers are, in seconds: they renew their gauges so often.
const Resolution = 1

// Duration is the metric of how long a phase took.
const Duration = "duration_s"

// CoresBusy is the metric of how long the cores of a machine worked in a phase, in seconds of all cores: half a second if half of
// them were in use for a second. If it deviates although the counts agree, the machine is slower or faster than the costs
// say. If simulated servers do not share their cores with clients, the work of clients is missing.
const CoresBusy = "cores_busy_s"

// Range is a figure over several runs. In Values, -1 stands for a time that never came in a run.
type Range struct {
	Median float64   `json:"median"`
	Low    float64   `json:"low"`
	High   float64   `json:"high"`
	Values []float64 `json:"values"`
}

// came reports whether the range has no time that never came.
func (r Range) came(unit string) bool { return unit != "s" || r.Low >= 0 }

// RangeOf returns the range of values, of which there must be some.
func RangeOf(values []float64) Range {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Range{(sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[0], sorted[n-1], values}
}

// Repeats puts runs of one scenario, release and parameters together, in the order of the first
// ones.
func Repeats(runs []*metrics.Result) [][]*metrics.Result {
	var groups [][]*metrics.Result
	for _, r := range runs {
		i := slices.IndexFunc(groups, func(g []*metrics.Result) bool { return same(g[0].Run, r.Run) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

func same(a, b metrics.Run) bool {
	// Numbers are of several Go types, depending on whether the run was loaded.
	text := func(v any) string { return fmt.Sprint(v) }
	return a.Scenario == b.Scenario && a.Target == b.Target && maps.EqualFunc(a.Params, b.Params, func(x, y any) bool { return text(x) == text(y) })
}

// Of compares runs, of which there must be some on each side. Figures that the real runs do not
// have are left out.
func Of(real, simulated []*metrics.Result) *Report {
	r := &Report{
		Scenario: real[0].Run.Scenario, Target: real[0].Run.Target, Params: real[0].Run.Params,
		Real: real, Simulated: simulated,
	}
	if m := simulated[0].Run.CostModel; m != nil {
		r.Cost = m.Class
	}
	for _, p := range real[0].Phases {
		theirs, ours := phases(real, p.Name), phases(simulated, p.Name)
		if len(theirs) == len(real) && len(ours) == len(simulated) {
			memory := machine(real, p.Name, metrics.SeriesMemoryRead, func(took, seconds float64) float64 { return took / seconds })
			stolen := machine(real, p.Name, metrics.SeriesStolen, func(took, _ float64) float64 { return took })
			r.Phases = append(r.Phases, Phase{p.Name, append(rows(theirs, ours), busy(real, simulated, p.Name)...), memory, stolen})
		}
	}
	return r
}

// Busy returns how long the cores of a run's machine worked in a phase, as CoresBusy counts it; zero if the run does not say.
func Busy(r *metrics.Result, phase string) (seconds float64) {
	return spent(r, metrics.SeriesCPU, phase)
}

// spent adds up a series over a phase, each value for the seconds that it holds for; zero if the run does not have both.
func spent(r *metrics.Result, series, phase string) float64 {
	if s, p := r.SeriesByName(series), r.Phase(phase); s != nil && p != nil {
		return s.Spent(p.StartS, p.EndS)
	}
	return 0
}

// machine returns the range, over the real runs, of what a series comes to in a phase. Of works that out from the sum of the
// series' values, each times the seconds that it holds for, and from the length of the phase. Machine returns nil if no
// run has both the series and a phase of some length.
func machine(real []*metrics.Result, phase, series string, of func(sum, seconds float64) float64) *Range {
	var all []float64
	for _, r := range real {
		if p := r.Phase(phase); r.SeriesByName(series) != nil && p != nil && p.EndS > p.StartS {
			all = append(all, of(spent(r, series, phase), p.EndS-p.StartS))
		}
	}
	if all == nil {
		return nil
	}
	return new(RangeOf(all))
}

// busy returns the row of CoresBusy, unless a run does not say.
func busy(real, simulated []*metrics.Result, phase string) []Row {
	silent := false
	in := func(runs []*metrics.Result) (all []float64) {
		for _, r := range runs {
			worked := Busy(r, phase)
			silent = silent || worked == 0
			all = append(all, worked)
		}
		return all
	}
	theirs, ours := in(real), in(simulated)
	if silent {
		return nil
	}
	return []Row{row(figure{name: CoresBusy, unit: "s"}, RangeOf(theirs), RangeOf(ours))}
}

// phases returns the phase of that name of each run that has it, with what it created as it was counted.
func phases(runs []*metrics.Result, name string) []*metrics.Phase {
	var all []*metrics.Phase
	for _, r := range runs {
		i := slices.IndexFunc(r.Phases, func(p metrics.Phase) bool { return p.Name == name })
		if i < 0 {
			continue
		}
		p := r.Phases[i]
		var before map[string]uint64
		if i > 0 {
			before = r.Phases[i-1].EvalsByStatus
		}
		if n, ok := created(before, p); ok {
			p.EvalsCreated = n
		}
		all = append(all, &p)
	}
	return all
}

// created returns how many more evaluations there are at the end of a phase than before it; ok is false if some were deleted.
// For simulated servers that is EvalsCreated. For real ones EvalsCreated is a guess that is made while they work. If it is too
// high it stays so, and the next phase has as many too few. Their counts by status are exact once nothing changes.
func created(before map[string]uint64, p metrics.Phase) (n uint64, ok bool) {
	was, now := sum(before), sum(p.EvalsByStatus)
	return now - was, now >= was && p.EvalsByStatus != nil && p.RaftEntriesByType[metrics.EntryEvalDelete] == 0
}

func sum(counts map[string]uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// figure is something to compare. It is absent from a phase for which ok is false.
type figure struct {
	name, unit string
	of         func(*metrics.Phase) (value float64, ok bool)
}

func rows(real, simulated []*metrics.Phase) []Row {
	var out []Row
	for _, f := range figures(append(slices.Clone(real), simulated...)) {
		theirs, ok := values(real, f)
		ours, alsoOK := values(simulated, f)
		if !ok || !alsoOK || nothing(theirs) && nothing(ours) {
			continue
		}
		out = append(out, row(f, RangeOf(theirs), RangeOf(ours)))
	}
	return out
}

func row(f figure, real, simulated Range) Row {
	r := Row{Metric: f.name, Unit: f.unit, Real: real, Simulated: simulated}
	if !real.came(f.unit) || !simulated.came(f.unit) {
		return r
	}
	slack := 0.0
	if f.unit == "s" {
		slack = Resolution
	}
	r.Within = real.Low-slack <= simulated.High && simulated.Low-slack <= real.High
	if real.Median != 0 {
		r.Deviation = new(simulated.Median/real.Median - 1)
	}
	return r
}

// nothing reports whether there is nothing to say of the values: none counted, or none came.
func nothing(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v > 0 })
}

func values(of []*metrics.Phase, f figure) (all []float64, ok bool) {
	for _, p := range of {
		v, ok := f.of(p)
		if !ok {
			return nil, false
		}
		all = append(all, v)
	}
	return all, true
}

// left are the metrics of a phase that are left out. The first two are told by Duration. The others are the highest of
// samples, and real servers are sampled too seldom for that.
var left = []string{"start_s", "end_s", "peak_pending", "peak_cancelable"}

// ofRaft begins the types of entries that Raft writes of its own accord, which real servers do not count.
const ofRaft = "raft:"

// figures lists what phases have.
func figures(of []*metrics.Phase) []figure {
	all := []figure{{Duration, "s", func(p *metrics.Phase) (float64, bool) { return p.EndS - p.StartS, true }}}
	for _, m := range metrics.PhaseMetrics() {
		if !slices.Contains(left, m.Name) {
			all = append(all, figure{m.Name, m.Unit, func(p *metrics.Phase) (float64, bool) {
				v := m.Value(p)
				return v, m.Measured(v)
			}})
		}
	}
	counts := func(prefix, unit string, counts func(*metrics.Phase) map[string]uint64) {
		keys := map[string]bool{}
		for _, p := range of {
			for k := range counts(p) {
				keys[k] = !strings.HasPrefix(k, ofRaft)
			}
		}
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			if keys[k] {
				all = append(all, figure{prefix + k, unit, func(p *metrics.Phase) (float64, bool) {
					n := counts(p)
					return float64(n[k]), n != nil
				}})
			}
		}
	}
	counts("raft_entries_by_type.", "entries", func(p *metrics.Phase) map[string]uint64 { return p.RaftEntriesByType })
	counts("evals_by_status.", "evaluations", func(p *metrics.Phase) map[string]uint64 { return p.EvalsByStatus })
	return all
}
