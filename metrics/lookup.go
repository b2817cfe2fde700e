package metrics

import (
	"fmt"
	"slices"
	"strings"
)

// PathError is a part of a metric's path that names nothing.
type PathError struct {
	Path  string
	What  string // what the part should name: a phase, a figure, …
	Name  string // the part
	Known []string
}

func (e *PathError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("metric %q: unknown %s %q: there is none", e.Path, e.What, e.Name)
	}
	return fmt.Sprintf("metric %q: unknown %s %q: there is %s", e.Path, e.What, e.Name, strings.Join(e.Known, ", "))
}

// Vocabulary is what paths of figures can name before anything has run.
type Vocabulary struct {
	Phases       []string // of the scenario
	EntryTypes   []string // the keys of raft_entries_by_type
	EvalStatuses []string // the keys of evals_by_status
}

// CheckPath returns a *PathError for a path that no run has. A series or a latency that the
// run then did not record is an error of Lookup.
func (v *Vocabulary) CheckPath(path string) error {
	_, _, err := v.probe().lookup(path, v)
	return err
}

// probe returns the Result of a run in which nothing happened.
func (v *Vocabulary) probe() *Result {
	r := &Result{}
	for _, name := range v.Phases {
		r.Phases = append(r.Phases, Phase{Name: name})
	}
	for _, name := range []string{LatencyWait, LatencyProcess, LatencyResponse} {
		r.Latencies = append(r.Latencies, Latency{Name: name})
	}
	names := []string{
		SeriesReady, SeriesUnacked, SeriesPending, SeriesWaiting, SeriesCancelable, SeriesRaftIndex, SeriesCompleted, SeriesCanceled,
		SeriesFailed, SeriesNodesReady, SeriesNodesDown, SeriesNodesInit, SeriesNodesDisconnected, SeriesHeartbeats, SeriesPlanQueue,
		SeriesCPU, SeriesWorkers, SeriesMemoryRead, SeriesStolen,
	}
	for _, kind := range v.EntryTypes {
		names = append(names, SeriesEntriesPrefix+kind)
	}
	for _, name := range names {
		r.Series = append(r.Series, Series{Name: name, AtS: []float64{0}, Value: []float64{0}})
	}
	return r
}

// Lookup returns the figure that a path names and whether it is a time:
//
//	phases.PHASE.METRIC            totals.METRIC            (PhaseMetrics)
//	….raft_entries_by_type.TYPE    ….evals_by_status.STATUS
//	latencies.NAME.p50|p90|p95|p99|max|count
//	fan_in.p50|p99|max
//	series.NAME.min|max|last
//	host.wall_s|cpu_s|peak_rss_bytes
//
// A count by type or status that the run does not have is zero; Vocabulary.CheckPath tells
// those that no run can have. The error is a *PathError.
func (r *Result) Lookup(path string) (value float64, isTime bool, err error) {
	return r.lookup(path, nil)
}

// lookup is Lookup, but refuses keys that the vocabulary lacks if there is one.
func (r *Result) lookup(path string, v *Vocabulary) (value float64, isTime bool, err error) {
	fail := func(what, name string, known []string) (float64, bool, error) {
		return 0, false, &PathError{path, what, name, known}
	}
	root, rest, _ := strings.Cut(path, ".")
	switch root {
	case "totals":
		return r.Totals.lookup(path, rest, v)
	case "phases":
		name, rest, _ := strings.Cut(rest, ".")
		p := r.Phase(name)
		if p == nil {
			return fail("phase", name, names(r.Phases, func(e Phase) string { return e.Name }))
		}
		return p.lookup(path, rest, v)
	case "fan_in":
		if v == nil && r.FanIn.IsZero() {
			return fail("group", root, []string{"phases", "totals", "series", "host"})
		}
		return pick(path, rest, figure{"p50", r.FanIn.P50}, figure{"p99", r.FanIn.P99}, figure{"max", r.FanIn.Max})
	case "host":
		return pick(path, rest,
			figure{"wall_s", r.Host.WallS}, figure{"cpu_s", r.Host.CPUS}, figure{"peak_rss_bytes", float64(r.Host.PeakRSSBytes)})
	case "latencies":
		name, quantile := cutLast(rest)
		l := r.LatencyByName(name)
		if l == nil {
			return fail("latency", name, names(r.Latencies, func(e Latency) string { return e.Name }))
		}
		return pick(path, quantile,
			figure{"p50", l.P50}, figure{"p90", l.P90}, figure{"p95", l.P95}, figure{"p99", l.P99}, figure{"max", l.Max}, figure{"count", float64(l.Count)})
	case "series":
		name, which := cutLast(rest)
		s := r.SeriesByName(name)
		if s == nil || len(s.Value) == 0 {
			return fail("series", name, names(r.Series, func(e Series) string { return e.Name }))
		}
		return pick(path, which,
			figure{"min", slices.Min(s.Value)}, figure{"max", slices.Max(s.Value)}, figure{"last", s.Value[len(s.Value)-1]})
	}
	return fail("group", root, []string{"phases", "totals", "latencies", "fan_in", "series", "host"})
}

func (p *Phase) lookup(path, name string, v *Vocabulary) (float64, bool, error) {
	if m, ok := PhaseMetric(name); ok {
		return m.Value(p), m.Time(), nil
	}
	group, key, _ := strings.Cut(name, ".")
	switch group {
	case "raft_entries_by_type":
		if v != nil && !slices.Contains(v.EntryTypes, key) {
			return 0, false, &PathError{path, "key", key, v.EntryTypes}
		}
		return float64(p.RaftEntriesByType[key]), false, nil
	case "evals_by_status":
		if v != nil && !slices.Contains(v.EvalStatuses, key) {
			return 0, false, &PathError{path, "key", key, v.EvalStatuses}
		}
		return float64(p.EvalsByStatus[key]), false, nil
	}
	known := names(phaseMetrics, func(m Metric) string { return m.Name })
	return 0, false, &PathError{path, "figure of a phase", name, append(known, "raft_entries_by_type.TYPE", "evals_by_status.STATUS")}
}

// Figure is one number of a run.
type Figure struct {
	Path  string // as Lookup takes it
	Unit  string // as Metric.Unit; B for bytes, triggers for fan-in, "" for a plain count
	Value float64
}

// Figures returns every figure of the run that was measured, but those of its series, in the order of the
// file: each phase's and the totals', latencies, fan-in, and the cost to the host.
func (r *Result) Figures() []Figure {
	var out []Figure
	phase := func(prefix string, p *Phase) {
		for _, m := range phaseMetrics {
			if v := m.Value(p); m.Measured(v) {
				out = append(out, Figure{prefix + m.Name, m.Unit, v})
			}
		}
		counts := func(name, unit string, of map[string]uint64) {
			for _, key := range sortedKeys(of) {
				out = append(out, Figure{prefix + name + "." + key, unit, float64(of[key])})
			}
		}
		counts("raft_entries_by_type", "entries", p.RaftEntriesByType)
		counts("evals_by_status", "evaluations", p.EvalsByStatus)
	}
	for i := range r.Phases {
		phase("phases."+r.Phases[i].Name+".", &r.Phases[i])
	}
	phase("totals.", &r.Totals)
	for _, l := range r.Latencies {
		prefix := "latencies." + l.Name + "."
		out = append(out,
			Figure{prefix + "count", "", float64(l.Count)}, Figure{prefix + "p50", l.Unit, l.P50},
			Figure{prefix + "p90", l.Unit, l.P90}, Figure{prefix + "p95", l.Unit, l.P95},
			Figure{prefix + "p99", l.Unit, l.P99}, Figure{prefix + "max", l.Unit, l.Max})
	}
	if !r.FanIn.IsZero() {
		out = append(out,
			Figure{"fan_in.p50", "triggers", r.FanIn.P50}, Figure{"fan_in.p99", "triggers", r.FanIn.P99},
			Figure{"fan_in.max", "triggers", r.FanIn.Max})
	}
	return append(out,
		Figure{"host.wall_s", "s", r.Host.WallS}, Figure{"host.cpu_s", "s", r.Host.CPUS},
		Figure{"host.peak_rss_bytes", "B", float64(r.Host.PeakRSSBytes)})
}

// figure is a number of a group, which pick finds by its name.
type figure struct {
	name  string
	value float64
}

func pick(path, name string, of ...figure) (float64, bool, error) {
	i := slices.IndexFunc(of, func(f figure) bool { return f.name == name })
	if i < 0 {
		return 0, false, &PathError{path, "figure", name, names(of, func(f figure) string { return f.name })}
	}
	return of[i].value, false, nil
}

// names returns the names of all elements of a list.
func names[T any](list []T, name func(T) string) []string {
	var out []string
	for _, e := range list {
		out = append(out, name(e))
	}
	return out
}

func cutLast(s string) (before, after string) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i+1:]
}
