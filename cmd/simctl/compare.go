package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func newCompareCommand() *cobra.Command {
	format, broker := "table", ""
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Compare stored results figure by figure",
		Long: `Print how the second result differs from the first, phase by phase: both values, their
difference, and the factor by which the old value grew (×) or shrank (÷). The command runs
no scenario.

OLD and NEW are result files, or hold several results: directories of a run, and baselines
of simctl gate. Then the command compares the runs of each broker in turn, or only those of
--broker. - is stdin.`,
		Example: `  simctl compare results/run/legacy.json results/run/shedding.json
  simctl compare results/before results/after
  simctl compare testdata/baselines/heartbeat-storm.json results/after \
      --broker shedding
  simctl compare legacy.json shedding.json --format json`,
		Args: takes(2, 2, "2 results, got %d"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if broker == "" && cmd.Flags().Changed("broker") {
				return usageErrorf("--broker \"\": want the name of a broker")
			}
			if err := stdinOnce(args); err != nil {
				return err
			}
			older, err := loadStored(cmd, args[:1])
			if err != nil {
				return err
			}
			newer, err := loadStored(cmd, args[1:])
			if err != nil {
				return err
			}
			found, err := pairs(resultsOf(older), resultsOf(newer), broker)
			if err != nil {
				return err
			}
			if len(found) > 1 && !slices.Contains([]string{"table", "markdown"}, format) {
				return usageErrorf("--format %s holds one comparison: choose one of %s by --broker", format, brokersOf(resultsOf(older)))
			}
			for i, pair := range found {
				if i > 0 {
					fmt.Fprintln(cmd.OutOrStdout())
				}
				if err := printReport(cmd, format, pair); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&broker, "broker", "", "compare only the runs of this broker")
	cmd.Flags().Var(textFormat(&format), "format", "one of "+strings.Join(textFormats(), ", "))
	return cmd
}
