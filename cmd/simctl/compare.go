package main

import (
	"strings"

	"github.com/spf13/cobra"
)

func newCompareCommand() *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Compare two stored results figure by figure",
		Long: `Print how the second result differs from the first, phase by phase: both values, their
difference, and the factor by which the old value grew (×) or shrank (÷). The command runs
no scenario.`,
		Example: `  simctl compare results/run/legacy.json results/run/shedding.json
  simctl compare legacy.json shedding.json --format json`,
		Args: takes(2, 2, "2 result files, got %d"),
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, err := loadResults(args)
			if err != nil {
				return err
			}
			return printReport(cmd, format, runs)
		},
	}
	cmd.Flags().Var(textFormat(&format), "format", "one of "+strings.Join(textFormats(), ", "))
	return cmd
}
