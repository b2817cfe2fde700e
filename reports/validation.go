package reports

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/simctl/simctl/metrics/agreement"
	"github.com/simctl/simctl/reports/chart"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

// validationFormats are those in which Validation writes, the usual one first.
var validationFormats = []struct {
	name, file string
	write      func(io.Writer, []*agreement.Report) error
}{
	{"table", "validation.txt", validationTable},
	{"markdown", "validation.md", validationMarkdown},
	{"json", "validation.json", func(w io.Writer, all []*agreement.Report) error { return encodeJSON(w, all, "  ") }},
}

// ValidationFormats returns the formats that Validation writes, the usual one first.
func ValidationFormats() []string {
	var names []string
	for _, f := range validationFormats {
		names = append(names, f.name)
	}
	return names
}

// Validation writes how far simulated runs agree with real ones, in one of ValidationFormats.
func Validation(w io.Writer, format string, all []*agreement.Report) error {
	for _, f := range validationFormats {
		if f.name == format {
			return f.write(w, all)
		}
	}
	return fmt.Errorf("unknown format %q of a validation: want one of %s", format, strings.Join(ValidationFormats(), ", "))
}

// WriteValidation writes it in every format into dir, which must exist, with charts in which the
// runs lie on top of each other. It returns the names of the files.
func WriteValidation(dir string, all []*agreement.Report) ([]string, error) {
	var names []string
	for _, f := range validationFormats {
		if err := writeFile(dir, f.file, func(w io.Writer) error { return f.write(w, all) }); err != nil {
			return names, err
		}
		names = append(names, f.file)
	}
	for i, r := range all {
		figs := chart.Overlay(r.Real, r.Simulated)
		if len(all) > 1 {
			for j := range figs {
				figs[j].ID += "-" + strconv.Itoa(i+1)
			}
		}
		charts, err := figure.WriteFiles(dir, figs, "png")
		names = append(names, charts...)
		if err != nil {
			return names, err
		}
	}
	return names, nil
}

// reporting says how the clients of a run report their allocations, if they do.
func reporting(params map[string]any) string {
	if params["report_allocations"] != true {
		return ""
	}
	if n, shared := params["client_connections"]; shared {
		return fmt.Sprintf(" · clients report over %v connections a server", n)
	}
	return " · clients report"
}

// validationTitle says what was compared with what.
func validationTitle(r *agreement.Report) string {
	return fmt.Sprintf("%s%s: %s, %s (%s)", wording.Subtitle(r.Real[:1]), reporting(r.Real[0].Run.Params),
		counted(len(r.Real), "real run"), counted(len(r.Simulated), "simulated"), r.Cost)
}

func counted(n int, what string) string {
	if n > 1 && !strings.HasSuffix(what, "ed") {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// validationVerdict counts what agrees.
func validationVerdict(r *agreement.Report) string {
	within, rows := 0, 0
	var off []float64
	for _, p := range r.Phases {
		for _, row := range p.Rows {
			rows++
			if row.Within {
				within++
			}
			if row.Deviation != nil {
				off = append(off, math.Abs(*row.Deviation))
			}
		}
	}
	text := fmt.Sprintf("%d of %s within the spread of repeats", within, wording.Count(rows, "figure"))
	if len(off) > 0 {
		slices.Sort(off)
		text += fmt.Sprintf("; half deviate by at most %s, the worst by %s", wording.Percent(off[(len(off)-1)/2]), wording.Percent(off[len(off)-1]))
	}
	return text
}

var validationHeader = []string{"real", "simulated", "deviation", "within spread"}

// ValidationCells returns the cells of a figure's row except the first: real, simulated, deviation, and whether the
// ranges of both sides meet.
func ValidationCells(r agreement.Row) []string {
	deviation, within := wording.Missing, "no"
	if r.Deviation != nil {
		deviation = fmt.Sprintf("%+.1f%%", 100**r.Deviation)
	}
	if r.Within {
		within = "yes"
	}
	return []string{validationRange(r.Unit, r.Real), validationRange(r.Unit, r.Simulated), deviation, within}
}

// validationRange words a median, and the range if the values differ.
func validationRange(unit string, r agreement.Range) string {
	format := wording.Grouped
	switch unit {
	case "s":
		format = func(v float64) string {
			if v < 0 {
				return wording.Never
			}
			return strconv.FormatFloat(v, 'f', 1, 64) + " s"
		}
	case "ns":
		format = func(v float64) string { return wording.Grouped(v) + " ns" }
	}
	median, low, high := format(r.Median), format(r.Low), format(r.High)
	switch {
	case unit == "s" && r.Low < 0 && r.High >= 0:
		return wording.Never + " to " + high
	case low == high:
		return median
	}
	return fmt.Sprintf("%s (%s to %s)", median, low, high)
}

// ofMachine returns rows of a name and a value for what is known of the real servers' machine in a phase.
func ofMachine(p agreement.Phase) (rows [][2]string) {
	if p.MemoryRead != nil {
		rows = append(rows, [2]string{"memory read", validationRange("ns", *p.MemoryRead)})
	}
	if p.Stolen != nil {
		rows = append(rows, [2]string{"cores stolen", validationRange("s", *p.Stolen)})
	}
	return rows
}

func validationTable(w io.Writer, all []*agreement.Report) error {
	out := bufio.NewWriter(w)
	for i, r := range all {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s\n", wrap(validationTitle(r)))
		for _, p := range r.Phases {
			fmt.Fprintln(out)
			table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			fmt.Fprintf(table, "%s\t%s\n", p.Name, strings.Join(validationHeader, "\t"))
			for _, row := range p.Rows {
				fmt.Fprintf(table, "  %s\t%s\n", wording.PhaseFigure(row.Metric), strings.Join(ValidationCells(row), "\t"))
			}
			for _, row := range ofMachine(p) {
				fmt.Fprintf(table, "  %s\t%s\n", row[0], row[1])
			}
			_ = table.Flush() // an error stays with out
		}
		fmt.Fprintf(out, "\n%s\n", wrap(validationVerdict(r)))
	}
	return out.Flush()
}

func validationMarkdown(w io.Writer, all []*agreement.Report) error {
	out := bufio.NewWriter(w)
	for i, r := range all {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s\n\n%s.\n", wording.MarkdownCell(validationTitle(r)), validationVerdict(r))
		for _, p := range r.Phases {
			fmt.Fprintf(out, "\n| %s | %s |\n|---|%s\n", wording.MarkdownCell(p.Name), strings.Join(validationHeader, " | "), strings.Repeat("---:|", len(validationHeader)))
			for _, row := range p.Rows {
				fmt.Fprintf(out, "| %s | %s |\n", wording.MarkdownCell(wording.PhaseFigure(row.Metric)), strings.Join(ValidationCells(row), " | "))
			}
			for _, row := range ofMachine(p) {
				fmt.Fprintf(out, "| %s | %s |%s\n", row[0], row[1], strings.Repeat(" |", len(validationHeader)-1))
			}
		}
	}
	return out.Flush()
}
