package reports

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/simctl/simctl/metrics"
)

// writers are the formats that are one text, by name.
var writers = map[string]func(io.Writer, []*metrics.Result) error{
	"account":  Account,
	"json":     JSON,
	"csv":      CSV,
	"markdown": Markdown,
	"prom":     Prometheus,
}

// fileNames are what the texts are called in a directory.
var fileNames = map[string]string{
	"account":  "account.txt",
	"json":     "summary.json",
	"csv":      "report.csv",
	"markdown": "report.md",
	"prom":     "report.prom",
}

// Formats returns the names of all formats that WriteTo or Write knows, sorted.
func Formats() []string {
	names := append([]string{"table", "html"}, chartFormats...)
	for name := range writers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// IsText reports whether a format is one text, which WriteTo can write to a terminal.
func IsText(format string) bool { return format == "table" || writers[format] != nil }

// WriteTo writes the runs in a format that IsText.
func WriteTo(w io.Writer, format string, runs []*metrics.Result, opts TableOptions) error {
	if format == "table" {
		return Table(w, runs, opts)
	}
	write := writers[format]
	if write == nil {
		return unknownFormat(format)
	}
	return write(w, runs)
}

// Write writes the runs in some formats into dir, which must exist, and returns the names
// of the files. Each file is written whole or not at all.
func Write(dir string, runs []*metrics.Result, formats ...string) ([]string, error) {
	var names []string
	for _, format := range formats {
		if slices.Contains(chartFormats, format) {
			charts, err := WriteCharts(dir, runs, format)
			names = append(names, charts...)
			if err != nil {
				return names, err
			}
			continue
		}
		name, write := fileNames[format], writers[format]
		switch format {
		case "html":
			name, write = "report.html", HTML
		case "table":
			name, write = "report.txt", func(w io.Writer, runs []*metrics.Result) error { return Table(w, runs, TableOptions{}) }
		}
		if write == nil {
			return names, unknownFormat(format)
		}
		var buf bytes.Buffer
		if err := write(&buf, runs); err != nil {
			return names, fmt.Errorf("writing %s: %w", name, err)
		}
		if err := renameio.WriteFile(filepath.Join(dir, name), buf.Bytes(), 0o644); err != nil {
			return names, fmt.Errorf("writing the report: %w", err)
		}
		names = append(names, name)
	}
	return names, nil
}

func unknownFormat(format string) error {
	return fmt.Errorf("unknown format %q: want one of %s", format, strings.Join(Formats(), ", "))
}
