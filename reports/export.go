package reports

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/simctl/simctl/metrics"
)

// jsonSummary is the document that JSON writes.
type jsonSummary struct {
	Runs []metrics.Result `json:"runs"` // without their series
	// Comparison is there for two runs; Comparisons, each with the first run, for more.
	Comparison  *metrics.Comparison  `json:"comparison,omitempty"`
	Comparisons []metrics.Comparison `json:"comparisons,omitempty"`
}

// JSON writes the runs without their series, and how they compare, as one indented object.
func JSON(w io.Writer, runs []*metrics.Result) error {
	if len(runs) == 0 {
		return ErrNoRuns
	}
	var doc jsonSummary
	for _, r := range runs {
		c := *r
		c.Series = nil
		doc.Runs = append(doc.Runs, c)
	}
	switch {
	case len(runs) == 2:
		c := metrics.Compare(runs[0], runs[1])
		doc.Comparison = &c
	case len(runs) > 2:
		for _, r := range runs[1:] {
			doc.Comparisons = append(doc.Comparisons, metrics.Compare(runs[0], r))
		}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

// CSV writes every figure of every run, one a line: the run, what it was, the metric as
// Result.Lookup and thresholds name it, its unit and its value. A time of -1 never came.
func CSV(w io.Writer, runs []*metrics.Result) error {
	if len(runs) == 0 {
		return ErrNoRuns
	}
	out := csv.NewWriter(w)
	rows := [][]string{{"run", "scenario", "broker", "seed", "metric", "unit", "value"}}
	for i, label := range labels(runs) {
		r := runs[i]
		for _, f := range figuresOf(r) {
			rows = append(rows, []string{
				label, r.Run.Scenario, r.Run.Broker, strconv.FormatInt(r.Run.Seed, 10),
				f.path, f.unit, exact(f.value),
			})
		}
	}
	return out.WriteAll(rows)
}

// flatFigure is one number of a run under its path.
type flatFigure struct {
	path, unit string
	value      float64
}

func figuresOf(r *metrics.Result) []flatFigure {
	var out []flatFigure
	phase := func(prefix string, p *metrics.Phase) {
		for _, m := range metrics.PhaseMetrics() {
			out = append(out, flatFigure{prefix + m.Name, m.Unit, m.Value(p)})
		}
		counts := func(name, unit string, of map[string]uint64) {
			for _, key := range slices.Sorted(maps.Keys(of)) {
				out = append(out, flatFigure{prefix + name + "." + key, unit, float64(of[key])})
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
			flatFigure{prefix + "count", "", float64(l.Count)}, flatFigure{prefix + "p50", l.Unit, l.P50},
			flatFigure{prefix + "p90", l.Unit, l.P90}, flatFigure{prefix + "p99", l.Unit, l.P99}, flatFigure{prefix + "max", l.Unit, l.Max})
	}
	return append(out,
		flatFigure{"fan_in.p50", "triggers", r.FanIn.P50}, flatFigure{"fan_in.p99", "triggers", r.FanIn.P99},
		flatFigure{"fan_in.max", "triggers", r.FanIn.Max},
		flatFigure{"host.wall_s", "s", r.Host.WallS}, flatFigure{"host.cpu_s", "s", r.Host.CPUS},
		flatFigure{"host.peak_rss_bytes", "B", float64(r.Host.PeakRSSBytes)})
}

// Markdown writes the comparison as a table for a design document or a pull request.
func Markdown(w io.Writer, runs []*metrics.Result) error {
	if len(runs) == 0 {
		return ErrNoRuns
	}
	s := summarise(runs)
	out := bufio.NewWriter(w)
	if s.Headline != "" {
		fmt.Fprintf(out, "**%s**\n\n", cell(s.Headline))
	}
	fmt.Fprintf(out, "%s\n\n", cell(s.Subtitle))
	columns := slices.Clone(s.Labels)
	if s.Pair {
		columns = append(columns, "delta", "ratio")
	}
	line := func(title string, cells []string) {
		fmt.Fprintf(out, "| %s |", cell(title))
		for _, c := range cells {
			fmt.Fprintf(out, " %s |", cell(c))
		}
		fmt.Fprintln(out)
	}
	line("", columns)
	fmt.Fprintf(out, "|:--|%s\n", strings.Repeat("--:|", len(columns)))
	for _, sec := range append(slices.Clone(s.Sections), s.Verdicts) {
		if sec.Name != "" {
			line("**"+sec.Name+"**", make([]string, len(columns)))
		}
		for _, r := range sec.Rows {
			cells := slices.Clone(r.Values)
			if s.Pair {
				cells = append(cells, r.Delta, r.Ratio)
			}
			line(r.Title, cells)
		}
	}
	for _, f := range s.Failures {
		fmt.Fprintf(out, "\n- %s\n", cell(f))
	}
	if s.Warning != "" {
		fmt.Fprintf(out, "\nNote: %s\n", cell(s.Warning))
	}
	return out.Flush()
}

// cell keeps a text from ending its cell, or its line.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}
