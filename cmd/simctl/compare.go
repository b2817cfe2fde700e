package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/simctl/simctl/reports"
)

func newCompareCommand() *cobra.Command {
	format := "table"
	var texts []string
	for _, f := range reports.Formats() {
		if reports.IsText(f) {
			texts = append(texts, f)
		}
	}
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Compare two stored results figure by figure",
		Long: `Print how the second result differs from the first, phase by phase: both values, the
difference, and what the old value was multiplied (×) or divided (÷) by. Nothing is run.`,
		Example: `  simctl compare results/run/legacy.json results/run/shedding.json
  simctl compare legacy.json shedding.json --format json`,
		Args: needResults(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, err := loadResults(args)
			if err != nil {
				return err
			}
			return printReport(cmd, format, runs)
		},
	}
	cmd.Flags().Var(newChecked(&format, "format", func(s string) (string, error) {
		if !slices.Contains(texts, s) {
			return "", fmt.Errorf("want one of %s%s", strings.Join(texts, ", "), didYouMean(s, texts))
		}
		return s, nil
	}), "format", "one of "+strings.Join(texts, ", "))
	return cmd
}

// useColor reports whether to write colours to w: only to a terminal that can show them,
// and never against the reader's will (https://no-color.org).
func useColor(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd()) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
