package reports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/simctl/simctl/internal/outfile"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/chart"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/page"
)

// ErrNoRuns is returned when there is nothing to report on.
var ErrNoRuns = errors.New("no results to report on")

// format is one way to write runs into one file.
type format struct {
	name  string
	file  string // its name in a directory
	write func(io.Writer, []*metrics.Result) error
	page  bool // for a browser; any other is text that a terminal shows
}

var formats = []format{
	{name: "account", file: "account.txt", write: writeAccount},
	{name: "csv", file: "report.csv", write: writeCSV},
	{name: "html", file: PageName, write: page.HTML, page: true},
	{name: "json", file: "summary.json", write: writeJSON},
	{name: "markdown", file: "report.md", write: writeMarkdown},
	{name: "prom", file: "report.prom", write: writePrometheus},
	{name: tableFormat, file: "report.txt", write: func(w io.Writer, runs []*metrics.Result) error { return writeTable(w, runs, TableOptions{}) }},
}

// tableFormat is the one format that has options.
const tableFormat = "table"

// Formats returns the names of all formats that Write knows, sorted: those of formats, and
// those of charts.
func Formats() []string {
	names := slices.Clone(figure.Formats)
	for _, f := range formats {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names
}

// formatNamed returns the format of that name; nil if there is none.
func formatNamed(name string) *format {
	if i := slices.IndexFunc(formats, func(f format) bool { return f.name == name }); i >= 0 {
		return &formats[i]
	}
	return nil
}

func unknownFormat(name string) error {
	return fmt.Errorf("unknown format %q: want one of %s", name, strings.Join(Formats(), ", "))
}

// IsText reports whether a format is one text, which WriteTo can write to a terminal.
func IsText(name string) bool {
	f := formatNamed(name)
	return f != nil && !f.page
}

// WriteTo writes the runs in a format that IsText.
func WriteTo(w io.Writer, name string, runs []*metrics.Result, opts TableOptions) error {
	switch {
	case len(runs) == 0:
		return ErrNoRuns
	case name == tableFormat:
		return writeTable(w, runs, opts)
	case !IsText(name):
		return unknownFormat(name)
	}
	return formatNamed(name).write(w, runs)
}

// Write writes the runs in the formats named into dir, which must exist, and returns the
// names of the files. It writes each file whole or not at all.
func Write(dir string, runs []*metrics.Result, names ...string) ([]string, error) {
	if len(runs) == 0 {
		return nil, ErrNoRuns
	}
	var files []string
	for _, name := range names {
		if slices.Contains(figure.Formats, name) {
			charts, err := figure.WriteFiles(dir, chart.Of(runs), name)
			files = append(files, charts...)
			if err != nil {
				return files, err
			}
			continue
		}
		f := formatNamed(name)
		if f == nil {
			return files, unknownFormat(name)
		}
		if err := writeFile(dir, f.file, func(w io.Writer) error { return f.write(w, runs) }); err != nil {
			return files, err
		}
		files = append(files, f.file)
	}
	return files, nil
}

// writeFile writes a file into dir, whole or not at all.
func writeFile(dir, name string, write func(io.Writer) error) error {
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := outfile.Write(filepath.Join(dir, name), buf.Bytes(), 0o644); err != nil {
		return err
	}
	return nil
}
