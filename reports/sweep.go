package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/simctl/simctl/metrics"
)

// Names of the files of a sweep that other text refers to.
const (
	SweepSummaryName = "summary.md"
	sweepFileName    = "sweep.json"
)

// sweepWriters are the texts that a sweep is written as, by format.
var sweepWriters = map[string]func(io.Writer, *metrics.Sweep) error{
	"summary":  SweepSummary,
	"markdown": SweepMarkdown,
	"csv":      SweepCSV,
	"bench":    SweepBench,
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
	charts, err := writeSweepCharts(dir, s, sweepPaths(s, named))
	names = append(names, charts...)
	if err != nil {
		return names, err
	}
	for _, file := range []struct {
		name  string
		write func(io.Writer, *metrics.Sweep) error
	}{
		{"sweep.csv", SweepCSV},
		{"bench.txt", SweepBench},
		{SweepSummaryName, func(w io.Writer, s *metrics.Sweep) error { return sweepPage(w, s, charts) }},
		{sweepHTMLName, func(w io.Writer, s *metrics.Sweep) error { return writeSweepHTML(w, s, dir, charts) }},
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

// sweepPaths returns the figures that a sweep is about: of each phase in which anything
// recovered, then those of limits and those named.
func sweepPaths(s *metrics.Sweep, named []string) []string {
	var paths []string
	for _, phase := range recoveringPhases(s.Results()) {
		for _, name := range sweepMetrics {
			paths = append(paths, "phases."+phase+"."+name)
		}
	}
	for _, l := range s.Limits {
		paths = append(paths, l.Metric)
	}
	var distinct []string
	for _, p := range append(paths, named...) {
		if !slices.Contains(distinct, p) {
			distinct = append(distinct, p)
		}
	}
	return distinct
}

// figureName is how people call the figure of a path: Drain: recovery.
func figureName(path string) string {
	m, where := metricOf(path)
	switch {
	case m.Name == "":
		return path
	case where == "":
		where = "all phases"
	}
	return upperFirst(where) + ": " + m.Title
}

// metricOf returns the metric that a path of a phase or of the totals names, and the phase;
// a metric without a name for any other path.
func metricOf(path string) (m metrics.Metric, phase string) {
	parts := strings.Split(path, ".")
	switch {
	case len(parts) == 3 && parts[0] == "phases":
		phase = parts[1]
	case len(parts) == 2 && parts[0] == "totals":
	default:
		return metrics.Metric{}, ""
	}
	m, ok := metrics.PhaseMetric(parts[len(parts)-1])
	if !ok {
		return metrics.Metric{}, ""
	}
	return m, phase
}

// sweepValue formats a figure of a cell for people; briefly says a count with a prefix.
func sweepValue(path string, v metrics.Spread, briefly bool) string {
	m, _ := metricOf(path)
	switch {
	case v.None:
		return missing
	case v.Never:
		return never
	case m.Name != "" && m.Time():
		return clock(v.Median)
	case briefly:
		return si(v.Median)
	case v.Median < 10:
		return short(v.Median)
	}
	return grouped(v.Median)
}
