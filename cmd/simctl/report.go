package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/scenarios/language"
)

func newReportCommand() *cobra.Command {
	formats, out := commaList{"html"}, ""
	cmd := &cobra.Command{
		Use:   "report RESULT...",
		Short: "Turn stored results into a page, charts, tables or data",
		Long: `Make reports from result files alone. RESULT is a result file, a directory of them, a
baseline, or - for stdin. Two results stand side by side, the first on the
left. More become small multiples, and charts over the parameter in which they differ.

html is one self-contained page, png and svg are charts, markdown is a table to paste,
csv has every figure under the name that thresholds use, prom is OpenMetrics text for
promtool, and account says which event cost which entries of the Raft log. A single text
format without --out goes to stdout. Everything else goes to files, and the command prints
their names.`,
		Example: `  simctl report results/run/legacy.json results/run/shedding.json
  simctl report legacy.json shedding.json --format png,svg --out charts
  simctl report shedding.json --format csv`,
		Args: takes(1, math.MaxInt, "one result or more, got %d"),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := loadStored(cmd, args)
			if err != nil {
				return err
			}
			runs := resultsOf(found)
			if out == "" && len(formats) == 1 && reports.IsText(formats[0]) {
				return printReport(cmd, formats[0], runs)
			}
			target := out
			if !cmd.Flags().Changed("out") {
				target = filepath.Dir(found[0].path)
			}
			return writeReports(cmd, target, runs, formats)
		},
	}
	cmd.Flags().Var(newChecked(&formats, "formats", parseFormats), "format",
		"comma-separated: "+strings.Join(reports.Formats(), ", "))
	cmd.Flags().StringVar(&out, "out", "", "directory to write to (default: the directory of the first RESULT)")
	return cmd
}

// writeReports writes all files or, if one fails, none.
func writeReports(cmd *cobra.Command, target string, runs []*metrics.Result, formats []string) error {
	dir, err := newOutDir(target)
	if err != nil {
		return err
	}
	names, err := reports.Write(dir.path(""), runs, formats...)
	if err == nil {
		err = dir.commit()
	}
	if err = dir.discard(err); err != nil {
		return err
	}
	for _, name := range names {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(target, name)); err != nil {
			return err
		}
	}
	return nil
}

// printReport writes a text to stdout, as a whole or not at all.
func printReport(cmd *cobra.Command, format string, runs []*metrics.Result) error {
	var text bytes.Buffer
	opts := reports.TableOptions{Color: useColor(cmd.OutOrStdout()), Verdict: isTerminal(cmd.OutOrStdout())}
	if err := reports.WriteTo(&text, format, runs, opts); err != nil {
		return err
	}
	_, err := cmd.OutOrStdout().Write(text.Bytes())
	return err
}

func parseFormats(s string) (commaList, error) {
	known, list := reports.Formats(), strings.Split(s, ",")
	for i, f := range list {
		if !slices.Contains(known, f) {
			if len(list) == 1 {
				return nil, errors.New(language.Instead(f, known))
			}
			return nil, fmt.Errorf("unknown format %q: %s", f, language.Instead(f, known))
		}
		if slices.Contains(list[:i], f) {
			return nil, fmt.Errorf("format %q is named twice", f)
		}
	}
	return list, nil
}
