package metrics

import (
	"fmt"
	"slices"
	"strings"
)

// Metric is one figure of a phase, as tables, comparisons and exports show it.
type Metric struct {
	Name  string // as in the Result file
	Title string // for people
	Unit  string // s, entries, evaluations, plans, nodes or heartbeats
	// Value returns the figure. A metric whose unit is s is -1 when its condition was
	// never met.
	Value func(*Phase) float64
	// Optional metrics are zero where there was nothing to measure: no evaluation to
	// cancel, no allocation to replace.
	Optional bool
}

// Time reports whether the metric is a duration, of which a negative one means never.
func (m Metric) Time() bool { return m.Unit == "s" }

// Came reports whether v is a value to calculate with: no time that never came, and no
// optional figure of nothing.
func (m Metric) Came(v float64) bool { return !(m.Time() && v < 0) && !(m.Optional && v == 0) }

// PhaseMetrics returns every figure of a phase, in the order in which people want them.
func PhaseMetrics() []Metric { return slices.Clone(phaseMetrics) }

func count(get func(*Phase) uint64) func(*Phase) float64 {
	return func(p *Phase) float64 { return float64(get(p)) }
}

func optional(name, title string, get func(*Phase) float64) Metric {
	return Metric{Name: name, Title: title, Unit: "s", Value: get, Optional: true}
}

var phaseMetrics = []Metric{
	{Name: "raft_entries", Title: "Raft entries", Unit: "entries", Value: count(func(p *Phase) uint64 { return p.RaftEntries })},
	{Name: "evals_created", Title: "evals created", Unit: "evaluations", Value: count(func(p *Phase) uint64 { return p.EvalsCreated })},
	{Name: "evals_processed", Title: "evals processed", Unit: "evaluations", Value: count(func(p *Phase) uint64 { return p.EvalsProcessed })},
	{Name: "evals_canceled", Title: "evals canceled", Unit: "evaluations", Value: count(func(p *Phase) uint64 { return p.EvalsCanceled })},
	{Name: "plans_submitted", Title: "plans submitted", Unit: "plans", Value: count(func(p *Phase) uint64 { return p.PlansSubmitted })},
	{Name: "queue_empty_s", Title: "queue empty", Unit: "s", Value: func(p *Phase) float64 { return p.QueueEmptyS }},
	{Name: "recovery_s", Title: "recovery", Unit: "s", Value: func(p *Phase) float64 { return p.RecoveryS }},
	optional("cancels_written_s", "cancels written", func(p *Phase) float64 { return p.CancelsWrittenS }),
	optional("allocs_replaced_s", "allocs replaced", func(p *Phase) float64 { return p.AllocsReplacedS }),
	{Name: "start_s", Title: "start", Unit: "s", Value: func(p *Phase) float64 { return p.StartS }},
	{Name: "end_s", Title: "end", Unit: "s", Value: func(p *Phase) float64 { return p.EndS }},
	{Name: "peak_pending", Title: "peak pending", Unit: "evaluations", Value: count(func(p *Phase) uint64 { return p.PeakPending })},
	{Name: "peak_cancelable", Title: "peak cancelable", Unit: "evaluations", Value: count(func(p *Phase) uint64 { return p.PeakCancelable })},
	{Name: "nodes_down", Title: "nodes down", Unit: "nodes", Value: count(func(p *Phase) uint64 { return p.NodesDown })},
	{Name: "missed_heartbeats", Title: "missed heartbeats", Unit: "heartbeats", Value: count(func(p *Phase) uint64 { return p.MissedHeartbeats })},
}

// PhaseMetric returns the metric of that name.
func PhaseMetric(name string) (Metric, bool) {
	i := slices.IndexFunc(phaseMetrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}, false
	}
	return phaseMetrics[i], true
}

// Phase returns the phase of that name; nil means that the run had none.
func (r *Result) Phase(name string) *Phase {
	i := slices.IndexFunc(r.Phases, func(p Phase) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Phases[i]
}

// SeriesByName returns the series of that name; nil means that the run recorded none.
func (r *Result) SeriesByName(name string) *Series {
	i := slices.IndexFunc(r.Series, func(s Series) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Series[i]
}

// LatencyByName returns the latency of that name; nil means that the run recorded none.
func (r *Result) LatencyByName(name string) *Latency {
	i := slices.IndexFunc(r.Latencies, func(l Latency) bool { return l.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Latencies[i]
}

// entryTypes and evalStatuses are the keys that a count by type or by status may lack
// because none was seen, and so are zero when they are missing; any other missing key is
// a mistake.
var (
	entryTypes = []string{
		EntryNodeRegister, EntryNodeDeregister, EntryNodeUpdateStatus, EntryJobRegister, EntryJobDeregister,
		EntryEvalUpdate, EntryEvalDelete, EntryAllocClientUpdate, EntryApplyPlanResults,
		EntryRaftNoop, EntryRaftBarrier, EntryRaftConfiguration,
	}
	evalStatuses = []string{"pending", "blocked", "complete", "failed", "canceled"}
)

// Lookup returns the figure that a path names and whether it is a time:
//
//	phases.PHASE.METRIC            totals.METRIC            (PhaseMetrics)
//	….raft_entries_by_type.TYPE    ….evals_by_status.STATUS
//	latencies.NAME.p50|p90|p99|max|count
//	fan_in.p50|p99|max
//	series.NAME.min|max|last
//	host.wall_s|cpu_s|peak_rss_bytes
//
// The error says which part of the path is unknown and what there is instead.
func (r *Result) Lookup(path string) (value float64, isTime bool, err error) {
	fail := func(what, name string, known []string) (float64, bool, error) {
		return 0, false, fmt.Errorf("metric %q: unknown %s %q: there is %s", path, what, name, strings.Join(known, ", "))
	}
	root, rest, _ := strings.Cut(path, ".")
	switch root {
	case "totals":
		return r.Totals.lookup(path, rest)
	case "phases":
		name, rest, _ := strings.Cut(rest, ".")
		p := r.Phase(name)
		if p == nil {
			var known []string
			for _, p := range r.Phases {
				known = append(known, p.Name)
			}
			return fail("phase", name, known)
		}
		return p.lookup(path, rest)
	case "fan_in":
		return pick(path, rest, figures{{"p50", r.FanIn.P50}, {"p99", r.FanIn.P99}, {"max", r.FanIn.Max}})
	case "host":
		return pick(path, rest, figures{
			{"wall_s", r.Host.WallS}, {"cpu_s", r.Host.CPUS}, {"peak_rss_bytes", float64(r.Host.PeakRSSBytes)},
		})
	case "latencies":
		name, quantile := cutLast(rest)
		l := r.LatencyByName(name)
		if l == nil {
			var known []string
			for _, l := range r.Latencies {
				known = append(known, l.Name)
			}
			return fail("latency", name, known)
		}
		return pick(path, quantile, figures{
			{"p50", l.P50}, {"p90", l.P90}, {"p99", l.P99}, {"max", l.Max}, {"count", float64(l.Count)},
		})
	case "series":
		name, which := cutLast(rest)
		s := r.SeriesByName(name)
		if s == nil || len(s.Value) == 0 {
			var known []string
			for _, s := range r.Series {
				known = append(known, s.Name)
			}
			return fail("series", name, known)
		}
		return pick(path, which, figures{
			{"min", slices.Min(s.Value)}, {"max", slices.Max(s.Value)}, {"last", s.Value[len(s.Value)-1]},
		})
	}
	return fail("group", root, []string{"phases", "totals", "latencies", "fan_in", "series", "host"})
}

func (p *Phase) lookup(path, name string) (float64, bool, error) {
	if m, ok := PhaseMetric(name); ok {
		return m.Value(p), m.Time(), nil
	}
	group, key, _ := strings.Cut(name, ".")
	switch group {
	case "raft_entries_by_type":
		return countOf(path, key, p.RaftEntriesByType, entryTypes)
	case "evals_by_status":
		return countOf(path, key, p.EvalsByStatus, evalStatuses)
	}
	var known []string
	for _, m := range phaseMetrics {
		known = append(known, m.Name)
	}
	return 0, false, fmt.Errorf("metric %q: a phase has no %q: there is %s, raft_entries_by_type.TYPE, evals_by_status.STATUS",
		path, name, strings.Join(known, ", "))
}

func countOf(path, key string, counts map[string]uint64, known []string) (float64, bool, error) {
	n, ok := counts[key]
	if !ok && !slices.Contains(known, key) {
		return 0, false, fmt.Errorf("metric %q: unknown key %q: there is %s", path, key, strings.Join(known, ", "))
	}
	return float64(n), false, nil
}

type figures []struct {
	name  string
	value float64
}

func pick(path, name string, of figures) (float64, bool, error) {
	var known []string
	for _, f := range of {
		if f.name == name {
			return f.value, false, nil
		}
		known = append(known, f.name)
	}
	return 0, false, fmt.Errorf("metric %q: unknown figure %q: there is %s", path, name, strings.Join(known, ", "))
}

func cutLast(s string) (before, after string) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i+1:]
}
