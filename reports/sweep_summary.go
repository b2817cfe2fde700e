package reports

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/simctl/simctl/metrics"
)

// sweepSection is a part of a sweep's summary.
type sweepSection struct {
	title  string
	header []string
	rows   [][]string
	notes  []string
}

// sweepSections says what a sweep found out: where the limits are, what moves the figures
// most, every cell if they are few, and what went wrong.
func sweepSections(s *metrics.Sweep) []sweepSection {
	var out []sweepSection
	for _, sec := range []sweepSection{limitSection(s), kneeSection(s), effectSection(s), cellSection(s), failureSection(s)} {
		if len(sec.rows)+len(sec.notes) > 0 {
			out = append(out, sec)
		}
	}
	return out
}

// mostCells is how many cells a summary names one by one.
const mostCells = 6

// limitSection says how many cells pass, and which of them bear most.
func limitSection(s *metrics.Sweep) sweepSection {
	if len(s.Limits) == 0 {
		return sweepSection{}
	}
	var limits []string
	for _, l := range s.Limits {
		limits = append(limits, l.String())
	}
	sec := sweepSection{title: "Cells within " + strings.Join(limits, " and "), header: []string{"broker", "pass", "largest passing cells"}}
	cells := s.Cells()
	for _, b := range s.Brokers {
		all, pass := 0, 0
		for _, c := range cells {
			if c.Broker == b {
				all++
				if c.Passes(s.Limits) {
					pass++
				}
			}
		}
		text := largestText(s, cells, b)
		switch {
		case pass == 0:
			text = "none passes"
		case pass == all:
			text = "all pass: the limit lies beyond " + text
		}
		if below := s.FailBelow(b); len(below) > 0 {
			text += "; but with less load " + pointText(s, below[0].Point) + " fails"
			if len(below) > 1 {
				text += fmt.Sprintf(", and %d more", len(below)-1)
			}
		}
		sec.rows = append(sec.rows, []string{b, fmt.Sprintf("%d of %d", pass, all), text})
	}
	return sec
}

// largestText names the loads of the largest passing cells, and under which of the settings
// that vary besides they pass.
func largestText(s *metrics.Sweep, cells []metrics.Cell, broker string) string {
	load := func(c metrics.Cell, of bool) string {
		point := slices.Clone(c.Point)
		for i, a := range s.Axes {
			if a.Load != of {
				point[i] = ""
			}
		}
		return pointText(s, point)
	}
	var loads, parts []string
	passing := map[string][]string{} // settings by load
	for _, c := range s.Largest(broker) {
		l := load(c, true)
		if !slices.Contains(loads, l) {
			loads = append(loads, l)
		}
		passing[l] = append(passing[l], load(c, false))
	}
	for _, l := range loads {
		if len(parts) == mostCells {
			parts = append(parts, fmt.Sprintf("%d more", len(loads)-mostCells))
			break
		}
		all := 0
		for _, c := range cells {
			if c.Broker == broker && load(c, true) == l {
				all++
			}
		}
		with := passing[l]
		switch {
		case all == 1:
			parts = append(parts, strings.TrimSpace(l+" "+with[0]))
		case len(with) == all && l != "":
			parts = append(parts, l+" with every setting")
		case len(with) == all:
			parts = append(parts, "every setting")
		case len(with) <= mostCells:
			parts = append(parts, strings.TrimSpace(l+" with "+strings.Join(with, ", ")))
		default:
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s with %d of %d settings", l, len(with), all)))
		}
	}
	return strings.Join(parts, "; ")
}

func pointText(s *metrics.Sweep, point []string) string {
	var parts []string
	for i, a := range s.Axes {
		if point[i] != "" {
			parts = append(parts, a.Name+"="+point[i])
		}
	}
	return strings.Join(parts, " ")
}

func kneeSection(s *metrics.Sweep) sweepSection {
	sec := sweepSection{title: "Knees", header: []string{"broker", "at", "largest that passes", "smallest that fails"}}
	for _, k := range s.Knees {
		sec.title = "Knee of " + k.Axis
		at := pointText(s, k.Point)
		if at == "" {
			at = missing
		}
		passes, fails := k.Passes, k.Fails
		if passes == "" {
			passes = "none"
		}
		if fails == "" {
			fails = "none up to the end of the range"
		}
		sec.rows = append(sec.rows, []string{k.Broker, at, passes, fails})
	}
	return sec
}

// effectSection ranks the axes by how far they move each figure.
func effectSection(s *metrics.Sweep) sweepSection {
	ranks := []string{"1st", "2nd", "3rd", "4th", "5th"}
	ranks = ranks[:min(len(s.Axes), len(ranks))]
	sec := sweepSection{title: "What moves a figure most, from its best to its worst value", header: append([]string{"figure", "broker"}, ranks...)}
	for _, path := range sweepPaths(s, nil) {
		for _, b := range s.Brokers {
			row := append([]string{figureName(path), b}, make([]string, len(ranks))...)
			effects := s.Effects(path, b)
			for i, e := range effects {
				if i == len(ranks) {
					break
				}
				row[2+i] = fmt.Sprintf("%s ×%s (%s → %s)", e.Axis, times(e.Factor), e.Low, e.High)
				if e.Factor < noEffect {
					row[2+i] = e.Axis + ": nothing"
				}
			}
			if len(effects) > 0 {
				sec.rows = append(sec.rows, row)
			}
		}
	}
	return sec
}

// mostListed is up to how many cells a summary lists all.
const mostListed = 40

func cellSection(s *metrics.Sweep) sweepSection {
	cells := s.Cells()
	if len(cells) > mostListed {
		return sweepSection{}
	}
	sec := sweepSection{title: "Cells"}
	if len(s.Seeds) > 1 {
		sec.title = fmt.Sprintf("Cells, medians over %d seeds", len(s.Seeds))
	}
	for _, a := range s.Axes {
		sec.header = append(sec.header, a.Name)
	}
	sec.header = append(sec.header, "broker")
	paths := sweepPaths(s, nil)
	for _, p := range paths {
		sec.header = append(sec.header, figureName(p))
	}
	if len(s.Limits) > 0 {
		sec.header = append(sec.header, "limits")
	}
	for _, c := range cells {
		row := append(append([]string{}, c.Point...), c.Broker)
		for _, p := range paths {
			row = append(row, sweepValue(p, c.Spread(p), false))
		}
		if len(s.Limits) > 0 {
			row = append(row, map[bool]string{true: "pass", false: "fail"}[c.Passes(s.Limits)])
		}
		sec.rows = append(sec.rows, row)
	}
	return sec
}

func failureSection(s *metrics.Sweep) sweepSection {
	sec := sweepSection{title: "What went wrong"}
	for _, r := range s.Runs {
		name := fmt.Sprintf("%s %s seed %d", pointText(s, r.Point), r.Broker, r.Seed)
		if r.Result == nil {
			sec.notes = append(sec.notes, fmt.Sprintf("%s failed %d times: %s", name, r.Attempts, r.Error))
			continue
		}
		for _, inv := range r.Result.Invariants {
			if !inv.OK {
				sec.notes = append(sec.notes, fmt.Sprintf("%s: invariant %q failed: %s", name, inv.Name, inv.Detail))
			}
		}
	}
	return sec
}

// sweepHeadline says in one line what was swept.
func sweepHeadline(s *metrics.Sweep) string {
	var names []string
	for _, a := range s.Axes {
		names = append(names, fmt.Sprintf("%s (%d)", a.Name, len(a.Values)))
	}
	return fmt.Sprintf("%s · %s over %s · %d runs", s.Scenario, s.Design, strings.Join(names, " × "), len(s.Runs))
}

// SweepSummary writes the summary for a terminal.
func SweepSummary(w io.Writer, s *metrics.Sweep) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, sweepHeadline(s))
	for _, sec := range sweepSections(s) {
		fmt.Fprintf(out, "\n%s\n", sec.title)
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, row := range append([][]string{sec.header}, sec.rows...) {
			if len(row) > 0 {
				fmt.Fprintf(table, "  %s\n", strings.TrimRight(strings.Join(row, "\t"), "\t"))
			}
		}
		if err := table.Flush(); err != nil {
			return err
		}
		for _, n := range sec.notes {
			fmt.Fprintf(out, "  %s\n", n)
		}
	}
	return out.Flush()
}

// SweepMarkdown writes the summary as Markdown.
func SweepMarkdown(w io.Writer, s *metrics.Sweep) error { return sweepPage(w, s, nil) }

// sweepPage writes the summary as Markdown, and the charts that lie beside it.
func sweepPage(w io.Writer, s *metrics.Sweep, charts []string) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# %s\n", cell(sweepHeadline(s)))
	if s.Command != "" {
		fmt.Fprintf(out, "\n```sh\n%s\n```\n", s.Command)
	}
	for _, sec := range sweepSections(s) {
		fmt.Fprintf(out, "\n## %s\n\n", cell(sec.title))
		for i, row := range append([][]string{sec.header}, sec.rows...) {
			if len(row) == 0 {
				continue
			}
			for _, text := range row {
				fmt.Fprintf(out, "| %s ", cell(text))
			}
			fmt.Fprintln(out, "|")
			if i == 0 {
				fmt.Fprintln(out, strings.Repeat("|:--", len(row))+"|")
			}
		}
		for _, n := range sec.notes {
			fmt.Fprintf(out, "- %s\n", cell(n))
		}
	}
	if len(charts) > 0 {
		fmt.Fprintln(out, "\n## Charts")
	}
	for _, name := range charts {
		fmt.Fprintf(out, "\n![%s](%s)\n", strings.TrimSuffix(name, ".png"), name)
	}
	return out.Flush()
}
