package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/page"
	"github.com/simctl/simctl/reports/sweep"
)

// Names of the files of a sweep that other text refers to.
const (
	SweepSummaryName = "summary.md"
	sweepFileName    = "sweep.json"
	sweepPageName    = "report.html"
)

// sweepWriters are the texts that a sweep is written as, by format.
var sweepWriters = map[string]func(io.Writer, *metrics.Sweep) error{
	"summary":  sweep.Summary,
	"markdown": sweep.Markdown,
	"csv":      sweep.CSV,
	"bench":    sweep.Bench,
	"json":     sweepJSON,
}

// SweepFormats returns the formats that Sweep writes, the usual one first.
func SweepFormats() []string { return []string{"summary", "markdown", "csv", "bench", "json"} }

// Sweep writes a sweep in one of SweepFormats.
func Sweep(w io.Writer, format string, s *metrics.Sweep) error {
	write := sweepWriters[format]
	if write == nil {
		return fmt.Errorf("unknown format %q of a sweep: want one of %s", format, strings.Join(SweepFormats(), ", "))
	}
	return write(w, s)
}

// sweepJSON writes the sweep as it is stored: which runs there were, without their Results.
func sweepJSON(w io.Writer, s *metrics.Sweep) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(s)
}

// WriteSweep writes everything there is to say about a sweep into dir, which must exist:
// the tidy table, the summary as text and as a page, the text for benchstat and the charts, which are of the usual
// figures, those of the limits and those named, by their paths. It returns the names of the
// files. Each is written whole or not at all; charts of an earlier call that are not drawn
// any more are removed.
func WriteSweep(dir string, s *metrics.Sweep, named []string) ([]string, error) {
	if err := s.WriteFile(filepath.Join(dir, sweepFileName)); err != nil {
		return nil, err
	}
	names := []string{sweepFileName}
	charts, err := writeSweepCharts(dir, s, named)
	names = append(names, charts...)
	if err != nil {
		return names, err
	}
	for _, file := range []struct {
		name  string
		write func(io.Writer, *metrics.Sweep) error
	}{
		{"sweep.csv", sweep.CSV},
		{"bench.txt", sweep.Bench},
		{SweepSummaryName, func(w io.Writer, s *metrics.Sweep) error { return sweep.MarkdownPage(w, s, charts) }},
		{sweepPageName, func(w io.Writer, s *metrics.Sweep) error { return page.Sweep(w, s, dir, charts) }},
	} {
		var buf bytes.Buffer
		if err := file.write(&buf, s); err != nil {
			return names, fmt.Errorf("writing %s of the sweep: %w", file.name, err)
		}
		if err := renameio.WriteFile(filepath.Join(dir, file.name), buf.Bytes(), 0o644); err != nil {
			return names, fmt.Errorf("writing %s of the sweep: %w", file.name, err)
		}
		names = append(names, file.name)
	}
	return names, nil
}

// writeSweepCharts draws the charts into dir and removes those of an earlier call that are
// not among them.
func writeSweepCharts(dir string, s *metrics.Sweep, named []string) ([]string, error) {
	if len(s.Results()) == 0 {
		return nil, nil
	}
	names, err := figure.WriteFiles(dir, sweep.Figures(s, sweep.Paths(s, named)), "png")
	if err != nil {
		return names, err
	}
	old, err := filepath.Glob(filepath.Join(dir, "sweep-*.png"))
	if err != nil {
		return names, fmt.Errorf("looking for charts in %s: %w", dir, err)
	}
	for _, path := range old {
		if !slices.Contains(names, filepath.Base(path)) {
			if err := os.Remove(path); err != nil {
				return names, fmt.Errorf("removing an older chart: %w", err)
			}
		}
	}
	return names, nil
}
