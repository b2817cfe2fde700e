package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newDigestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "digest RESULT",
		Short: "Print a hash of what happened in a run",
		Long: `Print a hash of everything in a result file except what the run cost the machine. The
layout of the file does not matter. Two runs with the same digest behaved alike. A run that
was stopped at a limit is refused: where it ended says nothing about how it behaved.`,
		Example: `  simctl digest results/run/shedding.json`,
		Args:    takes(1, 1, "one result file, got %d"),
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, err := loadResults(args)
			if err != nil {
				return err
			}
			if r := runs[0]; r.Stopped != "" {
				return usageErrorf("%s: %s stopped the run, at a point that depends on the machine: take the result of a whole run", args[0], r.Stopped)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), runs[0].Digest())
			return err
		},
	}
}
