package sweep

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
)

// Section is a part of a sweep's summary.
type Section struct {
	Title  string
	Header []string
	Rows   [][]string
	Notes  []string
}

// Sections returns what a sweep found out: where the limits are, what moves the figures most,
// every cell if they are few, and what went wrong.
func Sections(s *metrics.Sweep) []Section {
	var out []Section
	for _, sec := range []Section{missingSection(s), limitSection(s), kneeSection(s), effectSection(s), cellSection(s), failureSection(s)} {
		if len(sec.Rows)+len(sec.Notes) > 0 {
			out = append(out, sec)
		}
	}
	return out
}

// mostCells is the largest number of cells that a summary names one by one.
const mostCells = 6

// limitSection counts the cells that pass, and names those that bear most.
func limitSection(s *metrics.Sweep) Section {
	if len(s.Limits) == 0 {
		return Section{}
	}
	var limits []string
	for _, l := range s.Limits {
		limits = append(limits, l.String())
	}
	sec := Section{Title: "Cells within " + strings.Join(limits, " and "), Header: []string{"broker", "pass", "largest passing cells"}}
	for _, b := range s.Brokers {
		passing, failing := judge(s, b)
		text := largestText(s, b)
		switch {
		case len(passing)+len(failing) == 0:
			text = "none has run"
		case len(passing) == 0:
			text = "none passes"
		case len(failing) == 0 && len(s.Missing) > 0:
			text = "all that have run pass, up to " + text
		case len(failing) == 0:
			text = "all pass: the limit lies beyond " + text
		}
		if below := failBelow(s, b); len(below) > 0 {
			text += "; but with less load " + pointText(s, below[0].Point) + " fails"
			if len(below) > 1 {
				text += fmt.Sprintf(", and %d more", len(below)-1)
			}
		}
		sec.Rows = append(sec.Rows, []string{b, fmt.Sprintf("%d of %d", len(passing), len(passing)+len(failing)), text})
	}
	return sec
}

// largestText names the loads of the largest passing cells, and the settings under which they
// pass.
func largestText(s *metrics.Sweep, broker string) string {
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
	for _, c := range largest(s, broker) {
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
		for _, c := range s.Cells() {
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
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s with %d of %s", l, len(with), wording.Count(all, "setting"))))
		}
	}
	return strings.Join(parts, " or ")
}

func pointText(s *metrics.Sweep, point []string) string {
	var parts []string
	for i, a := range s.Axes {
		if point[i] != "" {
			parts = append(parts, a.Name+"="+point[i]+a.Unit)
		}
	}
	return strings.Join(parts, " ")
}

func kneeSection(s *metrics.Sweep) Section {
	sec := Section{Title: "Knees", Header: []string{"broker", "at", "largest that passes", "smallest that fails"}}
	for _, k := range s.Knees {
		sec.Title = "Knee of " + k.Axis
		at := cmp.Or(pointText(s, k.Point), wording.Missing)
		passes, fails := cmp.Or(k.Passes, "none"), cmp.Or(k.Fails, "none up to the end of the range")
		if k.Limit != "" {
			passes, fails = cmp.Or(k.Passes, "none yet"), cmp.Or(k.Fails, "none yet")+": stopped by "+k.Limit
		}
		sec.Rows = append(sec.Rows, []string{k.Broker, at, passes, fails})
	}
	return sec
}

// effectSection ranks the axes by how far they move each figure.
func effectSection(s *metrics.Sweep) Section {
	ranks := []string{"1st", "2nd", "3rd", "4th", "5th"}
	ranks = ranks[:min(len(s.Axes), len(ranks))]
	sec := Section{Title: "What moves a figure most, from its best to its worst value", Header: append([]string{"figure", "broker"}, ranks...)}
	for _, path := range Paths(s) {
		for _, b := range s.Brokers {
			row := append([]string{wording.FigureName(path), b}, make([]string, len(ranks))...)
			effects := effectsOn(s, path, b)
			for i, e := range effects {
				if i == len(ranks) {
					break
				}
				row[2+i] = e.String()
			}
			if len(effects) > 0 {
				sec.Rows = append(sec.Rows, row)
			}
		}
	}
	return sec
}

func (e effect) String() string {
	if e.factor < noEffect {
		return e.axis + ": nothing"
	}
	text := fmt.Sprintf("%s ×%s (%s → %s)", e.axis, wording.Times(e.factor), e.low, e.high)
	if e.power != 0 {
		text += fmt.Sprintf(", as %s^%.2f", e.axis, e.power)
	}
	return text
}

// mostListed is the largest number of cells that a summary lists.
const mostListed = 40

func cellSection(s *metrics.Sweep) Section {
	cells := s.Cells()
	if len(cells) > mostListed {
		return Section{}
	}
	sec := Section{Title: "Cells"}
	if len(s.Seeds) > 1 {
		sec.Title = "Cells, medians over " + wording.Count(len(s.Seeds), "seed")
	}
	for _, a := range s.Axes {
		sec.Header = append(sec.Header, axisTitle(a))
	}
	sec.Header = append(sec.Header, "broker")
	if len(s.Limits) > 0 {
		sec.Header = append(sec.Header, "limits") // before what may be too wide for a sheet
	}
	paths := Paths(s)
	for _, p := range paths {
		sec.Header = append(sec.Header, wording.FigureName(p))
	}
	for _, c := range cells {
		row := append(append([]string{}, c.Point...), c.Broker)
		if len(s.Limits) > 0 {
			row = append(row, verdictText(c, s.Limits))
		}
		for _, p := range paths {
			row = append(row, cellText(p, c.Spread(p), false))
		}
		sec.Rows = append(sec.Rows, row)
	}
	return sec
}

// verdictText says whether a cell is within limits. If it is not, it tells the figure that fails, with more
// digits if rounding would make it look like the limit.
func verdictText(c metrics.Cell, limits []metrics.Threshold) string {
	for _, l := range limits {
		if c.Passes([]metrics.Threshold{l}) {
			continue
		}
		text := "fail"
		if at := c.Spread(l.Metric); !at.None && !at.Never {
			bound, worst := l.Max, at.High
			if l.Min != nil {
				bound, worst = l.Min, at.Low
			}
			told := wording.Figure(l.Metric, worst, false)
			if bound != nil && told == wording.Figure(l.Metric, *bound, false) {
				told = wording.Precisely(l.Metric, worst)
			}
			text += ": " + told
		}
		return text
	}
	return "pass"
}

func failureSection(s *metrics.Sweep) Section {
	sec := Section{Title: "What went wrong"}
	for _, r := range s.Runs {
		name := fmt.Sprintf("%s %s seed %d", pointText(s, r.Point), r.Broker, r.Seed)
		if r.Result == nil {
			sec.Notes = append(sec.Notes, fmt.Sprintf("%s failed %s: %s", name, wording.Counted(float64(r.Attempts), "times"), r.Error))
			continue
		}
		for _, inv := range r.Result.Invariants {
			if !inv.OK {
				sec.Notes = append(sec.Notes, fmt.Sprintf("%s: invariant %q failed: %s", name, inv.Name, inv.Detail))
			}
		}
	}
	return sec
}

// Answer says what a sweep found out. First come caveats, such as failed runs. Then it says how far each
// broker keeps the limits. Without limits, it compares recovery under the newest broker with that under the
// oldest, or else says which axis moves it most. It is the headline if nothing ran and nothing failed.
func Answer(s *metrics.Sweep) string {
	parts := caveats(s)
	if found := finding(s); len(parts) == 0 || found != headline(s) {
		parts = append(parts, found)
	}
	return strings.Join(parts, ". ")
}

// Opening returns what a summary begins with: the answer and, if that is another line, the
// headline.
func Opening(s *metrics.Sweep) []string {
	return slices.Compact([]string{Answer(s), headline(s)})
}

func finding(s *metrics.Sweep) string {
	paths := Paths(s)
	if len(s.Results()) == 0 || len(paths) == 0 {
		return headline(s)
	}
	if len(s.Limits) > 0 {
		var limits, parts []string
		for _, l := range s.Limits {
			limits = append(limits, l.String())
		}
		for _, b := range s.Brokers {
			passing, failing := judge(s, b)
			text := fmt.Sprintf("%s in %d of %s", b, len(passing), wording.Counted(float64(len(passing)+len(failing)), "cells"))
			if len(passing) > 0 {
				text += ", up to " + largestText(s, b)
			}
			parts = append(parts, text)
		}
		return strings.Join(limits, " and ") + " holds: " + strings.Join(parts, "; ")
	}
	path := paths[0]
	for _, p := range paths { // of the last phase that recovered, which comes last
		if strings.HasSuffix(p, ".recovery_s") {
			path = p
		}
	}
	oldest, newest := s.Brokers[0], s.Brokers[len(s.Brokers)-1]
	if low, high, ok := ratios(s, path, newest, oldest); ok && oldest != newest {
		span := wording.RatioText(low)
		if high := wording.RatioText(high); high != span {
			span += " to " + high
		} else if span == wording.RatioText(1) {
			span = "no difference"
		}
		return fmt.Sprintf("%s of %s, by that of %s: %s", wording.FigureName(path), newest, oldest, span)
	}
	if effects := effectsOn(s, path, newest); len(effects) > 0 {
		return fmt.Sprintf("%s: %s", wording.FigureName(path), effects[0])
	}
	return headline(s)
}

// ratios returns the least and the greatest ratio of a figure under two brokers over all cells
// that both have.
func ratios(s *metrics.Sweep, path, newer, older string) (low, high float64, ok bool) {
	v := newView(s)
	for _, c := range s.Cells() {
		a, b := c.Spread(path), v.byKey[cellKey(older, c.Point)].Spread(path)
		if c.Broker != newer || a.None || b.None || a.Never || b.Never || a.Median <= 0 || b.Median <= 0 {
			continue
		}
		r := a.Median / b.Median
		if !ok {
			low, high, ok = r, r, true
		}
		low, high = min(low, r), max(high, r)
	}
	return low, high, ok
}

// headline says in one line what was swept.
func headline(s *metrics.Sweep) string {
	var names []string
	for _, a := range s.Axes {
		names = append(names, fmt.Sprintf("%s (%d)", a.Name, len(a.Values)))
	}
	return fmt.Sprintf("%s · %s over %s · %s", s.Scenario, s.Design, strings.Join(names, " × "), wording.Counted(float64(len(s.Runs)), "runs"))
}

// Summary writes the summary for a terminal.
func Summary(w io.Writer, s *metrics.Sweep) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, strings.Join(Opening(s), "\n"))
	for _, sec := range Sections(s) {
		fmt.Fprintf(out, "\n%s\n", sec.Title)
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, row := range append([][]string{sec.Header}, sec.Rows...) {
			if len(row) > 0 {
				fmt.Fprintf(table, "  %s\n", strings.TrimRight(strings.Join(row, "\t"), "\t"))
			}
		}
		_ = table.Flush() // an error stays with out
		for _, n := range sec.Notes {
			fmt.Fprintf(out, "  %s\n", n)
		}
	}
	return out.Flush()
}

// Markdown writes the summary as Markdown, with the charts that lie beside it, by the names
// of their files.
func Markdown(w io.Writer, s *metrics.Sweep, charts ...string) error {
	out := bufio.NewWriter(w)
	for i, line := range Opening(s) {
		fmt.Fprintf(out, "%s%s\n", []string{"# ", "\n"}[i], wording.MarkdownCell(line))
	}
	if s.Command != "" {
		fmt.Fprintf(out, "\n```sh\n%s\n```\n", s.Command)
	}
	for _, sec := range Sections(s) {
		fmt.Fprintf(out, "\n## %s\n\n", wording.MarkdownCell(sec.Title))
		for i, row := range append([][]string{sec.Header}, sec.Rows...) {
			if len(row) == 0 {
				continue
			}
			for _, text := range row {
				fmt.Fprintf(out, "| %s ", wording.MarkdownCell(text))
			}
			fmt.Fprintln(out, "|")
			if i == 0 {
				fmt.Fprintln(out, strings.Repeat("|:--", len(row))+"|")
			}
		}
		for _, n := range sec.Notes {
			fmt.Fprintf(out, "- %s\n", wording.MarkdownCell(n))
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
