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
layout of the file does not matter. Two runs with the same digest behaved alike.`,
		Example: `  simctl digest results/run/shedding.json`,
		Args:    takes(1, 1, "one result file, got %d"),
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, err := loadResults(args)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), runs[0].Digest())
			return err
		},
	}
}
