package reports

import (
	"fmt"
	"slices"

	"github.com/simctl/simctl/metrics"
)

// summary is the comparison as text, before it is laid out for a terminal, Markdown or the
// page.
type summary struct {
	headline string
	subtitle string
	labels   []string
	pair     bool // two runs, with their delta and ratio
	sections []section
	verdicts section // invariants and thresholds: how many hold, run by run
	failures []string
	warning  string // about runs that differ in more than their broker
}

type section struct {
	name string
	rows []row
}

type row struct {
	title  string
	values []string // one a run
	delta  string
	ratio  string
	change change
}

// change says whether the newer run did better.
type change int

const (
	neutral change = iota
	better
	worse
)

// rowMetrics are the figures the summary shows of a phase and of the totals. The rest is
// in the exports.
var (
	phaseRows = []string{
		"raft_entries", "evals_created", "evals_processed", "evals_canceled", "plans_submitted",
		"queue_empty_s", "recovery_s", "peak_pending", "peak_cancelable", "nodes_down", "missed_heartbeats",
	}
	totalRows = []string{"raft_entries", "evals_created", "evals_processed", "evals_canceled", "plans_submitted", "end_s"}
)

// lessIsBetter are the figures in which a broker is meant to be frugal.
var lessIsBetter = []string{"raft_entries", "evals_processed", "plans_submitted", "queue_empty_s", "recovery_s", "peak_pending", "end_s"}

func summarise(runs []*metrics.Result) summary {
	s := summary{subtitle: subtitle(runs), labels: labels(runs), pair: len(runs) == 2}
	if s.pair {
		s.headline = headline(runs[0], runs[1])
	}
	for _, name := range phaseNames(runs) {
		phases := make([]*metrics.Phase, len(runs))
		for i, r := range runs {
			phases[i] = r.Phase(name)
		}
		s.sections = append(s.sections, section{name, rowsOf(phases, phaseRows)})
	}
	if len(s.sections) > 1 {
		totals := make([]*metrics.Phase, len(runs))
		for i, r := range runs {
			totals[i] = &r.Totals
		}
		s.sections = append(s.sections, section{"total", rowsOf(totals, totalRows)})
	}
	s.judge(runs)
	if s.pair {
		if differ := varying(runs); len(differ) > 0 {
			s.warning = "the runs differ in more than the broker: "
			for i, name := range differ {
				if i > 0 {
					s.warning += ", "
				}
				s.warning += fmt.Sprintf("%s %s and %s", name, paramText(setting(runs[0], name)), paramText(setting(runs[1], name)))
			}
		}
	}
	return s
}

// rowsOf lays out some metrics of one phase over all runs; a nil phase is one the run did
// not have. Rows that are zero everywhere say nothing and are left out.
func rowsOf(phases []*metrics.Phase, names []string) []row {
	var rows []row
	for _, name := range names {
		m, _ := metrics.PhaseMetric(name)
		r := row{title: m.Title}
		if name == "end_s" {
			r.title = "duration"
		}
		all := true // zero, that is
		for _, p := range phases {
			if p == nil {
				r.values = append(r.values, missing)
				continue
			}
			v := m.Value(p)
			all = all && v == 0
			r.values = append(r.values, value(m, v))
		}
		if all {
			continue
		}
		if len(phases) == 2 && phases[0] != nil && phases[1] != nil {
			r.compare(m, m.Value(phases[0]), m.Value(phases[1]))
		}
		rows = append(rows, r)
	}
	return rows
}

func (r *row) compare(m metrics.Metric, older, newer float64) {
	d := metrics.NewDelta(m, older, newer)
	r.delta, r.ratio = signed(d), factor(d)
	if !slices.Contains(lessIsBetter, m.Name) {
		return
	}
	// A time that never came is later than any.
	if m.Time() && older != newer && (older < 0 || newer < 0) {
		r.change = worse
		if older < 0 {
			r.change = better
		}
		return
	}
	switch {
	case newer < older:
		r.change = better
	case newer > older:
		r.change = worse
	}
}

// judge counts the invariants and thresholds that hold and lists those that do not.
func (s *summary) judge(runs []*metrics.Result) {
	invariants, thresholds := row{title: "invariants"}, row{title: "thresholds"}
	any := false
	for i, r := range runs {
		ok := 0
		for _, inv := range r.Invariants {
			if inv.OK {
				ok++
				continue
			}
			s.failures = append(s.failures, fmt.Sprintf("invariant %q failed in %s: %s", inv.Name, s.labels[i], inv.Detail))
		}
		invariants.values = append(invariants.values, fmt.Sprintf("%d of %d ok", ok, len(r.Invariants)))
		ok = 0
		for _, v := range r.Thresholds {
			if v.OK {
				ok++
				continue
			}
			s.failures = append(s.failures, fmt.Sprintf("threshold failed in %s: %s is %s, demanded %s", s.labels[i], v.Metric, short(v.Value), v.Demand))
		}
		any = any || len(r.Thresholds) > 0
		thresholds.values = append(thresholds.values, fmt.Sprintf("%d of %d ok", ok, len(r.Thresholds)))
	}
	s.verdicts.rows = append(s.verdicts.rows, invariants)
	if any {
		s.verdicts.rows = append(s.verdicts.rows, thresholds)
	}
}
