package wording

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/simctl/simctl/metrics"
)

// MaxColumns is the number of runs that a table shows side by side.
const MaxColumns = 4

// Summary is the comparison of runs as text, before it is laid out for a terminal, as Markdown
// or on the page.
type Summary struct {
	Headline string
	Subtitle string
	Labels   []string
	Pair     bool // two runs, with their delta and ratio
	Sections []Section
	Verdicts Section // invariants and thresholds: how many hold, run by run
	Failures []string
}

// Section is a part of the comparison: one phase, the totals or the verdicts.
type Section struct {
	Name string
	Rows []Row
}

// Row is one metric in every run.
type Row struct {
	Title  string
	Values []string // one a run
	Delta  string
	Ratio  string
	Change Change
}

// Change says whether the newer run did better.
type Change int

const (
	Better Change = iota - 1
	neutral
	Worse
)

// String returns the name that styles the figure on the page; "" for neutral.
func (c Change) String() string { return [...]string{"better", "", "worse"}[c-Better] }

// The metrics that a summary shows of a phase and of the totals. The exports have all.
var (
	phaseRows = []string{
		"raft_entries", "evals_created", "evals_processed", "evals_canceled", "plans_submitted",
		"queue_empty_s", "recovery_s", "allocs_replaced_s", "deployment_s", "peak_pending", "peak_cancelable", "nodes_down", "missed_heartbeats",
	}
	totalRows = []string{"raft_entries", "evals_created", "evals_processed", "evals_canceled", "plans_submitted", "end_s"}
)

// lessIsBetter are the metrics of which a better broker has less.
var lessIsBetter = []string{"raft_entries", "evals_processed", "plans_submitted", "queue_empty_s", "recovery_s", "allocs_replaced_s", "deployment_s", "peak_pending", "end_s"}

// Summarise compares the runs, of which there is at least one.
func Summarise(runs []*metrics.Result) Summary {
	s := Summary{Subtitle: Subtitle(runs), Labels: Labels(runs), Pair: len(runs) == 2}
	for _, name := range PhaseNames(runs) {
		s.Sections = append(s.Sections, Section{name, rowsOf(phasesNamed(runs, name), phaseRows)})
	}
	if len(s.Sections) > 1 {
		totals := make([]*metrics.Phase, len(runs))
		for i, r := range runs {
			totals[i] = &r.Totals
		}
		s.Sections = append(s.Sections, Section{"total", rowsOf(totals, totalRows)})
	}
	if rows := latencyRows(runs); len(rows) > 0 {
		s.Sections = append(s.Sections, Section{"latency", rows})
	}
	s.judge(runs)
	s.Headline = s.opening(runs)
	return s
}

// rowsOf lays out metrics of one phase over all runs; a nil phase is one that its run did not
// have. It leaves out rows that are zero everywhere, and the times of a phase in which no run
// had anything to recover from.
func rowsOf(phases []*metrics.Phase, names []string) []Row {
	var rows []Row
	for _, name := range names {
		m, _ := metrics.PhaseMetric(name)
		if m.Time() && idle(phases) && name != "end_s" {
			continue
		}
		r := Row{Title: m.Title}
		if name == "end_s" {
			r.Title = "duration"
		}
		all := true // whether all values are zero
		for _, p := range phases {
			if p == nil {
				r.Values = append(r.Values, Missing)
				continue
			}
			v := m.Value(p)
			all = all && v == 0
			text := Value(m, v)
			if p.DeploymentS < 0 && (name == "deployment_s" || name == "recovery_s") {
				text = Deploying // whatever evaluations were pending
			}
			r.Values = append(r.Values, text)
		}
		if all {
			continue
		}
		if len(phases) == 2 && phases[0] != nil && phases[1] != nil && !slices.Contains(r.Values, Deploying) {
			r.compare(m, m.Value(phases[0]), m.Value(phases[1]))
		}
		rows = append(rows, r)
	}
	return rows
}

func (r *Row) compare(m metrics.Metric, older, newer float64) {
	d := metrics.NewDelta(m, older, newer)
	r.Delta, r.Ratio = signed(d), factor(d)
	// A time that never came counts as later than any other. If there was nothing to wait for, there is nothing to judge.
	if !slices.Contains(lessIsBetter, m.Name) || !m.Measured(older) || !m.Measured(newer) {
		return
	}
	late := func(v float64) float64 {
		if m.Time() && v < 0 {
			return math.Inf(1)
		}
		return v
	}
	r.judge(late(older), late(newer))
}

// latencyRows are the quantiles of how long evaluations waited in the broker, and of how long it
// took until they were acked, over whole runs.
func latencyRows(runs []*metrics.Result) []Row {
	var rows []Row
	for _, of := range []struct{ title, name string }{{"wait", metrics.LatencyWait}, {"response", metrics.LatencyResponse}} {
		for _, q := range []struct {
			name string
			get  func(*metrics.Latency) float64
		}{
			{"p50", func(l *metrics.Latency) float64 { return l.P50 }},
			{"p95", func(l *metrics.Latency) float64 { return l.P95 }},
			{"p99", func(l *metrics.Latency) float64 { return l.P99 }},
		} {
			row := Row{Title: of.title + " " + q.name}
			var values []float64
			for _, r := range runs {
				l := r.LatencyByName(of.name)
				if l == nil || l.Count == 0 || q.get(l) == 0 && l.P99 > 0 && q.name == "p95" {
					row.Values = append(row.Values, Missing) // older files have no p95
					continue
				}
				values = append(values, q.get(l))
				row.Values = append(row.Values, Duration(q.get(l)))
			}
			if len(values) == 0 {
				continue
			}
			if len(values) == 2 && len(runs) == 2 {
				row.compareDurations(values[0], values[1])
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func (r *Row) compareDurations(older, newer float64) {
	r.Delta, r.Ratio = signedText(newer-older, Duration), Missing
	switch {
	case older == newer:
		r.Ratio = same
	case older > 0 && newer > 0:
		r.Ratio = RatioText(newer / older)
	}
	r.judge(older, newer)
}

// judge sets Change for a figure of which less is better. A ratio that is shown as equal is no change.
func (r *Row) judge(older, newer float64) {
	if r.Ratio != same {
		r.Change = Change(cmp.Compare(newer, older))
	}
}

// judge counts the invariants and thresholds that hold and lists the others.
func (s *Summary) judge(runs []*metrics.Result) {
	invariants, thresholds := Row{Title: "invariants"}, Row{Title: "thresholds"}
	demanded := false
	for i, r := range runs {
		ok := 0
		for _, inv := range r.Invariants {
			if inv.OK {
				ok++
				continue
			}
			s.Failures = append(s.Failures, fmt.Sprintf("invariant %q failed in %s: %s", inv.Name, s.Labels[i], inv.Detail))
		}
		held := fmt.Sprintf("%d of %d ok", ok, len(r.Invariants))
		if r.Stopped != "" && len(r.Invariants) == 0 {
			held = "not checked"
		}
		invariants.Values = append(invariants.Values, held)
		ok = 0
		for _, v := range r.Thresholds {
			if v.OK {
				ok++
				continue
			}
			s.Failures = append(s.Failures, fmt.Sprintf("threshold failed in %s: %s is %s, demanded %s", s.Labels[i], v.Metric, Measured(v.Metric, v.Value), Demanded(v)))
		}
		held = Missing // of a run of which nothing is demanded
		if len(r.Thresholds) > 0 {
			held, demanded = fmt.Sprintf("%d of %d ok", ok, len(r.Thresholds)), true
		}
		thresholds.Values = append(thresholds.Values, held)
	}
	s.Verdicts.Rows = append(s.Verdicts.Rows, invariants)
	if demanded {
		s.Verdicts.Rows = append(s.Verdicts.Rows, thresholds)
	}
}
