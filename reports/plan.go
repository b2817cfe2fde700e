package reports

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
)

// Plan is an estimate by formulae beside the simulations that check it.
type Plan struct {
	Title   string       `json:"title"`
	Inputs  []PlanInput  `json:"inputs"`
	Asked   []PlanColumn `json:"asked"`   // one for each broker
	Checked []PlanColumn `json:"checked"` // the same of a size that was simulated; empty if none was
	// CheckTitle says what was simulated.
	CheckTitle string      `json:"check_title,omitempty"`
	Limits     []PlanLimit `json:"limits,omitempty"`
}

// PlanLimit is whether runs keep a limit, and how far single settings can go until they do not.
type PlanLimit struct {
	Limit   string       `json:"limit"`
	Path    string       `json:"path"` // of its figure
	Brokers []PlanWithin `json:"brokers"`
}

// PlanWithin is whether the run under one broker keeps a limit, and how far settings can go.
type PlanWithin struct {
	Broker   string      `json:"broker"`
	Estimate float64     `json:"estimate"`
	OK       bool        `json:"ok"`
	Bounds   []PlanBound `json:"bounds"` // the same settings for each broker
}

// PlanBound is how far one setting can go while all others stay as they are.
type PlanBound struct {
	Setting string   `json:"setting"`
	Asked   float64  `json:"asked"`
	Least   bool     `json:"least"` // too low a value fails the limit; otherwise too high a value does
	Low     *float64 `json:"low"`   // the ends of the values that will do; null if none will
	High    *float64 `json:"high"`
	Min     float64  `json:"min"` // of the values that the setting can have beside the others
	Max     float64  `json:"max"`
	// Extreme is the highest figure if all values will do, or the lowest if none will; else nil.
	Extreme *PlanExtreme `json:"extreme,omitempty"`
}

// PlanExtreme is the figure of a limit at one value of a setting, and the largest part of it.
type PlanExtreme struct {
	At     float64 `json:"at"` // the setting
	Value  float64 `json:"value"`
	Figure string  `json:"figure"` // path of the phase's figure that has the part
	Part   float64 `json:"part"`
	For    string  `json:"for"`  // what the part goes into, as "of which 12 s" continues
	Same   bool    `json:"same"` // the part is the same at the value that was asked
}

// text says which values will do.
func (b PlanBound) text() string {
	switch {
	case b.Low == nil || b.High == nil:
		return "none will do"
	case *b.Low <= b.Min && *b.High >= b.Max:
		return "any"
	case b.Least && *b.High >= b.Max:
		return wording.Grouped(*b.Low)
	case !b.Least && *b.Low <= b.Min:
		return wording.Grouped(*b.High)
	}
	return wording.Grouped(*b.Low) + " to " + wording.Grouped(*b.High)
}

// why says in one sentence why all values will do, or why none will; nothing if only some will.
func (b PlanBound) why(path, broker string) string {
	x := b.Extreme
	if x == nil {
		return ""
	}
	setting := strings.ReplaceAll(b.Setting, "_", " ")
	among := fmt.Sprintf("number of %s from %s to %s", setting, wording.Grouped(b.Min), wording.Grouped(b.Max))
	value := wording.Figure(path, x.Value, false)
	if b.Low != nil {
		return fmt.Sprintf("Any %s will do under the %s broker: the worst, %s, gives %s.", among, broker, wording.Grouped(x.At), value)
	}
	why := fmt.Sprintf("No %s will do under the %s broker: the best, %s, gives %s", among, broker, wording.Grouped(x.At), value)
	if x.Part > 0 {
		_, phase, _ := strings.Cut(x.Figure, ".")
		phase, _, _ = strings.Cut(phase, ".")
		why += fmt.Sprintf(", of which %s in the phase %s %s", wording.Figure(x.Figure, x.Part, false), phase, x.For)
	}
	if x.Part > 0 && x.Same {
		why += ", whatever the number of " + setting
	}
	return why + "."
}

// PlanInput is a letter of the formulae and its value.
type PlanInput struct {
	Symbol string  `json:"symbol"`
	Title  string  `json:"title"`
	Unit   string  `json:"unit"`
	Value  float64 `json:"value"`
}

// PlanColumn is the figures under one broker.
type PlanColumn struct {
	Broker  string       `json:"broker"`
	Figures []PlanFigure `json:"figures"`
	// Simulated is the run that the figures are compared with; nil if there was none.
	Simulated *metrics.Result `json:"-"`
}

// PlanFigure is one estimate.
type PlanFigure struct {
	Path     string  `json:"path"` // as Result.Lookup takes it
	Formula  string  `json:"formula"`
	Estimate float64 `json:"estimate"`
	// Simulated is filled in by PlanJSON where there was a simulation.
	Simulated *float64 `json:"simulated,omitempty"`
}

// PlanTable writes the plan for a terminal: the estimates, the check beside its simulation,
// and every formula with its letters.
func PlanTable(w io.Writer, p Plan) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n\n", wrap(p.Title))
	if err := planRows(out, p.Asked); err != nil {
		return err
	}
	if len(p.Checked) > 0 {
		fmt.Fprintf(out, "\n%s\n\n", wrap(p.CheckTitle))
		if err := planRows(out, p.Checked); err != nil {
			return err
		}
	}
	for _, l := range p.Limits {
		planLimit(out, l)
	}
	fmt.Fprint(out, "\nFormulae\n\n")
	var rows [][3]string
	for _, path := range planPaths(p.Asked) {
		said := ""
		for _, c := range p.Asked {
			f, ok := c.figure(path)
			if !ok || f.Formula == said {
				continue
			}
			name, broker := "", c.Broker
			if said == "" {
				name = wording.FigureName(path)
			}
			if planSame(p.Asked, path) {
				broker = "all"
			}
			said = f.Formula
			rows = append(rows, [3]string{name, broker, f.Formula})
		}
	}
	planTexts(out, rows)
	fmt.Fprintln(out)
	rows = nil
	for _, in := range p.Inputs {
		rows = append(rows, [3]string{in.Symbol, strings.TrimSpace(planNumber(in.Value) + " " + in.Unit), in.Title})
	}
	planTexts(out, rows)
	return out.Flush()
}

// planTexts writes rows of two words and a text, which takes several lines if it is long. Errors stay
// with w.
func planTexts(w *bufio.Writer, rows [][3]string) {
	const between = 2
	var wide [2]int
	for _, r := range rows {
		for i := range wide {
			wide[i] = max(wide[i], utf8.RuneCountInString(r[i]))
		}
	}
	before := between + wide[0] + between + wide[1] + between
	for _, r := range rows {
		text := strings.ReplaceAll(wrapTo(r[2], tableWidth-before), "\n", "\n"+strings.Repeat(" ", before))
		fmt.Fprintf(w, "  %-*s  %-*s  %s\n", wide[0], r[0], wide[1], r[1], text)
	}
}

// planLimit writes what keeps a limit: a row for the runs as they are, then one a setting. Errors
// stay with w.
func planLimit(w *bufio.Writer, l PlanLimit) {
	fmt.Fprintf(w, "\nWithin %s, if one setting changes and all others stay\n\n", l.Limit)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	header, asked := "\tasked\t", fmt.Sprintf("%-24s\t\t", wording.FigureName(l.Path))
	for _, b := range l.Brokers {
		header += b.Broker + "\t"
		asked += wording.Figure(l.Path, b.Estimate, false) + " " + mark(b.OK) + "\t"
	}
	fmt.Fprintf(table, "%s\n%s\n", header, asked)
	for i, bound := range l.Brokers[0].Bounds {
		word := "at most"
		if bound.Least {
			word = "at least"
		}
		fmt.Fprintf(table, "%-24s\t%s\t", strings.ReplaceAll(bound.Setting, "_", " ")+", "+word, wording.Grouped(bound.Asked))
		for _, b := range l.Brokers {
			fmt.Fprintf(table, "%s\t", b.Bounds[i].text())
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush()
	for i := range l.Brokers[0].Bounds {
		for _, b := range l.Brokers {
			if why := b.Bounds[i].why(l.Path, b.Broker); why != "" {
				fmt.Fprintf(w, "\n  %s", strings.ReplaceAll(wrapTo(why, tableWidth-2), "\n", "\n  "))
			}
		}
	}
	fmt.Fprintln(w)
}

// planRows writes the figures, a row each, and the simulated value beside every estimate.
func planRows(w io.Writer, columns []PlanColumn) error {
	padding := 2
	if columns[0].Simulated != nil {
		padding = 1 // three columns a broker fit a terminal
	}
	table := tabwriter.NewWriter(w, 0, 0, padding, ' ', tabwriter.AlignRight)
	header := "\t"
	for _, c := range columns {
		header += c.Broker + "\t"
		if c.Simulated != nil {
			header += "simulated\t\t"
		}
	}
	fmt.Fprintln(table, header)
	for _, path := range planPaths(columns) {
		fmt.Fprintf(table, "%-24s\t", wording.FigureName(path))
		m, _ := wording.MetricOf(path)
		for _, c := range columns {
			f, ok := c.figure(path)
			text := wording.Missing
			if ok {
				text = wording.Value(m, f.Estimate)
			}
			fmt.Fprintf(table, "%s\t", text)
			if c.Simulated == nil {
				continue
			}
			simulated, _, err := c.Simulated.Lookup(path)
			if err != nil {
				return fmt.Errorf("the simulated run has no %s: %w", path, err)
			}
			ratio := wording.Missing
			if ok && simulated > 0 && f.Estimate > 0 {
				ratio = wording.RatioText(f.Estimate / simulated)
			}
			fmt.Fprintf(table, "%s\t%s\t", wording.Value(m, simulated), ratio)
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

// PlanJSON writes the plan as one indented object.
func PlanJSON(w io.Writer, p Plan) error {
	for i, c := range p.Checked {
		if c.Simulated == nil {
			continue
		}
		for j, f := range c.Figures {
			v, _, err := c.Simulated.Lookup(f.Path)
			if err != nil {
				return fmt.Errorf("the simulated run has no %s: %w", f.Path, err)
			}
			p.Checked[i].Figures[j].Simulated = &v
		}
	}
	return encodeJSON(w, p, " ")
}

func (c PlanColumn) figure(path string) (PlanFigure, bool) {
	i := slices.IndexFunc(c.Figures, func(f PlanFigure) bool { return f.Path == path })
	if i < 0 {
		return PlanFigure{}, false
	}
	return c.Figures[i], true
}

// planPaths returns the paths of the figures of all columns, in their order.
func planPaths(columns []PlanColumn) []string {
	var paths []string
	for _, c := range columns {
		for _, f := range c.Figures {
			if !slices.Contains(paths, f.Path) {
				paths = append(paths, f.Path)
			}
		}
	}
	return paths
}

// planSame reports whether all brokers have the same formula for a figure.
func planSame(columns []PlanColumn, path string) bool {
	first, _ := columns[0].figure(path)
	for _, c := range columns[1:] {
		if f, _ := c.figure(path); f.Formula != first.Formula {
			return false
		}
	}
	return len(columns) > 1
}

// planNumber formats the value of a letter.
func planNumber(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return wording.Grouped(v)
	}
	return wording.Short(v)
}
