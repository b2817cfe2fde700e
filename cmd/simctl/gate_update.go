package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports"
)

// write makes the runs the baseline, and says how they differ from those of the old one, if any.
func (f *gateFlags) write(cmd *cobra.Command, old *metrics.Baseline, results []*metrics.Result) error {
	if err := verdict(results); err != nil {
		return fmt.Errorf("the baseline is unchanged: %w", err)
	}
	spec := f.spec
	spec.Broker, spec.Source = "", ""
	if spec.File != "" {
		path, err := relative(filepath.Dir(f.base), spec.File)
		if err != nil {
			return err
		}
		spec.File = path
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("write the baseline: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(f.base), 0o777); err != nil {
		return err
	}
	next := metrics.NewBaseline(text, f.tolerance, results)
	if err := next.WriteFile(f.base); err != nil {
		return err
	}
	how := ""
	var changes []string
	var differences []metrics.Verdict
	if old != nil {
		changes, differences = old.Changes(next), old.Differences(results)
	}
	if f.format == "json" {
		return reports.DifferencesJSON(cmd.OutOrStdout(), f.base, changes, differences)
	}
	if old != nil {
		if err := reports.DifferenceLines(cmd.OutOrStdout(), changes, differences); err != nil {
			return err
		}
		how = fmt.Sprintf(": %s", english.Plural(len(differences), "figure differs", "figures differ"))
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "baseline in %s%s\n", f.base, how)
	return err
}

// relative returns the path of file as seen from dir.
func relative(dir, file string) (string, error) {
	from, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	return filepath.Rel(from, to)
}
