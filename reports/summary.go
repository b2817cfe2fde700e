package reports

import (
	"fmt"
	"slices"

	"github.com/simctl/simctl/metrics"
)

// summary is the comparison as text, before it is laid out for a terminal, Markdown or the
// page.
type summary struct {
	Headline string
	Subtitle string
	Labels   []string
	Pair     bool // two runs, with their delta and ratio
	Sections []section
	Verdicts section // invariants and thresholds: how many hold, run by run
	Failures []string
	Warning  string // about runs that differ in more than their broker
}

type section struct {
	Name string
	Rows []row
}

type row struct {
	Title  string
	Values []string // one a run
	Delta  string
	Ratio  string
	Change change
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
		"queue_empty_s", "recovery_s", "allocs_replaced_s", "peak_pending", "peak_cancelable", "nodes_down", "missed_heartbeats",
	}
	totalRows = []string{"raft_entries", "evals_created", "evals_processed", "evals_canceled", "plans_submitted", "end_s"}
)

// lessIsBetter are the figures in which a broker is meant to be frugal.
var lessIsBetter = []string{"raft_entries", "evals_processed", "plans_submitted", "queue_empty_s", "recovery_s", "allocs_replaced_s", "peak_pending", "end_s"}

func summarise(runs []*metrics.Result) summary {
	s := summary{Subtitle: subtitle(runs), Labels: labels(runs), Pair: len(runs) == 2}
	switch len(runs) {
	case 1:
		s.Headline = headlineOfOne(runs[0])
	case 2:
		s.Headline = headline(runs[0], runs[1])
	}
	for _, name := range phaseNames(runs) {
		s.Sections = append(s.Sections, section{name, rowsOf(phasesOf(runs, name), phaseRows)})
	}
	if len(s.Sections) > 1 {
		totals := make([]*metrics.Phase, len(runs))
		for i, r := range runs {
			totals[i] = &r.Totals
		}
		s.Sections = append(s.Sections, section{"total", rowsOf(totals, totalRows)})
	}
	s.judge(runs)
	if s.Pair {
		if differ := varying(runs); len(differ) > 0 {
			s.Warning = "the runs differ in more than the broker: "
			for i, name := range differ {
				if i > 0 {
					s.Warning += ", "
				}
				s.Warning += fmt.Sprintf("%s %s and %s", name, paramText(setting(runs[0], name)), paramText(setting(runs[1], name)))
			}
		}
	}
	return s
}

// rowsOf lays out some metrics of one phase over all runs; a nil phase is one the run did
// not have. Rows that are zero everywhere say nothing and are left out, as are the times of
// a phase in which no run had anything to recover from.
func rowsOf(phases []*metrics.Phase, names []string) []row {
	var rows []row
	for _, name := range names {
		m, _ := metrics.PhaseMetric(name)
		if m.Time() && idle(phases) && name != "end_s" {
			continue
		}
		r := row{Title: m.Title}
		if name == "end_s" {
			r.Title = "duration"
		}
		all := true // zero, that is
		for _, p := range phases {
			if p == nil {
				r.Values = append(r.Values, missing)
				continue
			}
			v := m.Value(p)
			all = all && v == 0
			r.Values = append(r.Values, value(m, v))
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

// idle reports whether no run processed an evaluation in the phase or recovered from
// anything: the schedulers may have been off.
func idle(phases []*metrics.Phase) bool {
	return !slices.ContainsFunc(phases, func(p *metrics.Phase) bool {
		return p != nil && (p.EvalsProcessed > 0 || p.QueueEmptyS > 0 || p.RecoveryS > 0)
	})
}

func (r *row) compare(m metrics.Metric, older, newer float64) {
	d := metrics.NewDelta(m, older, newer)
	r.Delta, r.Ratio = signed(d), factor(d)
	if !slices.Contains(lessIsBetter, m.Name) {
		return
	}
	if !m.Came(older) || !m.Came(newer) {
		// A time that never came is later than any; nothing to wait for is no time at all.
		switch {
		case newer < 0 && m.Came(older):
			r.Change = worse
		case older < 0 && m.Came(newer):
			r.Change = better
		}
		return
	}
	switch {
	case newer < older:
		r.Change = better
	case newer > older:
		r.Change = worse
	}
}

// judge counts the invariants and thresholds that hold and lists those that do not.
func (s *summary) judge(runs []*metrics.Result) {
	invariants, thresholds := row{Title: "invariants"}, row{Title: "thresholds"}
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
		invariants.Values = append(invariants.Values, fmt.Sprintf("%d of %d ok", ok, len(r.Invariants)))
		ok = 0
		for _, v := range r.Thresholds {
			if v.OK {
				ok++
				continue
			}
			s.Failures = append(s.Failures, fmt.Sprintf("threshold failed in %s: %s is %s, demanded %s", s.Labels[i], v.Metric, exact(v.Value), v.Demand))
		}
		demanded = demanded || len(r.Thresholds) > 0
		thresholds.Values = append(thresholds.Values, fmt.Sprintf("%d of %d ok", ok, len(r.Thresholds)))
	}
	s.Verdicts.Rows = append(s.Verdicts.Rows, invariants)
	if demanded {
		s.Verdicts.Rows = append(s.Verdicts.Rows, thresholds)
	}
}
