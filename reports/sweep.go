package reports

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/page"
	"github.com/simctl/simctl/reports/sweep"
)

// Names of the files of a sweep that other text refers to. PageName is that of the page of any report.
const (
	SweepSummaryName = "summary.md"
	sweepFileName    = "sweep.json"
	PageName         = "report.html"
)

// sweepFormat is one way to write a sweep.
type sweepFormat struct {
	name  string
	write func(io.Writer, *metrics.Sweep) error
}

// sweepFormats are those of stdout, the usual one first.
var sweepFormats = []sweepFormat{
	{"summary", sweep.Summary},
	{"markdown", func(w io.Writer, s *metrics.Sweep) error { return sweep.Markdown(w, s) }},
	{"csv", sweep.CSV},
	{"bench", sweep.Bench},
	{"json", func(w io.Writer, s *metrics.Sweep) error { return encodeJSON(w, s, " ") }}, // as in its file
}

// SweepFormats returns the formats that Sweep writes, the usual one first.
func SweepFormats() []string {
	var names []string
	for _, f := range sweepFormats {
		names = append(names, f.name)
	}
	return names
}

// Sweep writes a sweep in one of SweepFormats. The options are those of the first one.
func Sweep(w io.Writer, format string, s *metrics.Sweep, opts TableOptions) error {
	for i, f := range sweepFormats {
		if f.name != format {
			continue
		}
		err := f.write(w, s)
		if err == nil && i == 0 && opts.Verdict {
			_, err = fmt.Fprintf(w, "\n%s\n", wrap(sweep.Answer(s)))
		}
		return err
	}
	return fmt.Errorf("unknown format %q of a sweep: want one of %s", format, strings.Join(SweepFormats(), ", "))
}

// SweepStopped says that cells are missing since the sweep reached a limit; "" if none are.
func SweepStopped(s *metrics.Sweep) string { return sweep.Stopped(s) }

// SweepFaults counts the runs that failed, and those in which an invariant did.
func SweepFaults(s *metrics.Sweep) (failed, broken int) { return sweep.Faults(s) }

// WriteSweep writes everything there is to say about a sweep into dir, which must exist: the
// tidy table, the summary as text and as a page, the text for benchstat, and charts of the
// figures that it is about. It returns the names of the files. It writes each file whole or
// not at all, and removes charts of an earlier call that it does not draw.
func WriteSweep(dir string, s *metrics.Sweep) ([]string, error) {
	if err := s.WriteFile(filepath.Join(dir, sweepFileName)); err != nil {
		return nil, err
	}
	names := []string{sweepFileName}
	var figs []figure.Figure
	if len(s.Results()) > 0 {
		figs = sweep.Figures(s, sweep.Paths(s))
	}
	charts, err := writeSweepCharts(dir, figs)
	names = append(names, charts...)
	if err != nil {
		return names, err
	}
	for _, file := range []sweepFormat{
		{"sweep.csv", sweep.CSV},
		{"bench.txt", sweep.Bench},
		{SweepSummaryName, func(w io.Writer, s *metrics.Sweep) error { return sweep.Markdown(w, s, charts...) }},
		{PageName, func(w io.Writer, s *metrics.Sweep) error { return page.Sweep(w, s, figs) }},
	} {
		if err := writeFile(dir, file.name, func(w io.Writer) error { return file.write(w, s) }); err != nil {
			return names, err
		}
		names = append(names, file.name)
	}
	return names, nil
}

// writeSweepCharts draws the charts into dir and removes charts of an earlier call that are
// not among them.
func writeSweepCharts(dir string, figs []figure.Figure) ([]string, error) {
	if len(figs) == 0 {
		return nil, nil
	}
	names, err := figure.WriteFiles(dir, figs, "png")
	if err != nil {
		return names, err
	}
	old, err := fs.Glob(os.DirFS(dir), "sweep-*.png")
	if err != nil {
		return names, fmt.Errorf("looking for charts in %s: %w", dir, err)
	}
	for _, name := range old {
		if !slices.Contains(names, name) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return names, fmt.Errorf("removing an older chart: %w", err)
			}
		}
	}
	return names, nil
}
