package reports

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
)

// jsonSummary is the document that writeJSON writes.
type jsonSummary struct {
	Runs []metrics.Result `json:"runs"` // without their series
	// Comparison is there for two runs; Comparisons, each with the first run, for more.
	Comparison  *metrics.Comparison  `json:"comparison,omitempty"`
	Comparisons []metrics.Comparison `json:"comparisons,omitempty"`
}

// writeJSON writes the runs without their series, and how they compare, as one indented object.
func writeJSON(w io.Writer, runs []*metrics.Result) error {
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
	return encodeJSON(w, doc, "  ")
}

// encodeJSON writes v as JSON for people: indented, and with <, > and & as they are.
func encodeJSON(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

// writeCSV writes every figure of every run, one a line: the run, the figure's path as
// thresholds have it, its unit and its value. A time of -1 never came, and what has no line had nothing to measure.
func writeCSV(w io.Writer, runs []*metrics.Result) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"run", "scenario", "broker", "seed", "metric", "unit", "value"}}
	for i, label := range wording.Labels(runs) {
		r := runs[i]
		for _, f := range r.Figures() {
			rows = append(rows, []string{
				label, r.Run.Scenario, r.Run.Broker, strconv.FormatInt(r.Run.Seed, 10),
				f.Path, f.Unit, wording.Exact(f.Value),
			})
		}
	}
	return out.WriteAll(rows)
}

// writeMarkdown writes the comparison as a table for a design document or a pull request.
func writeMarkdown(w io.Writer, runs []*metrics.Result) error {
	s := wording.Summarise(runs)
	out := bufio.NewWriter(w)
	if s.Headline != "" {
		fmt.Fprintf(out, "**%s**\n\n", wording.MarkdownCell(s.Headline))
	}
	fmt.Fprintf(out, "%s\n\n", wording.MarkdownCell(s.Subtitle))
	columns := slices.Clone(s.Labels)
	if s.Pair {
		columns = append(columns, "delta", "ratio")
	}
	line := func(title string, cells []string) {
		fmt.Fprintf(out, "| %s |", wording.MarkdownCell(title))
		for _, c := range cells {
			fmt.Fprintf(out, " %s |", wording.MarkdownCell(c))
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
		fmt.Fprintf(out, "\n- %s\n", wording.MarkdownCell(f))
	}
	return out.Flush()
}
