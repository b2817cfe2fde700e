package main

import (
	"github.com/spf13/cobra"

	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/sweep/nomad"
)

// newRunOneCommand returns the command that scenarios.RunAll starts for each run. It reads
// a Spec from stdin and answers on stdout. With --spec it runs a cell that a sweep has
// dispatched to a Nomad cluster, and reads it from a file.
func newRunOneCommand() *cobra.Command {
	spec, result := "", ""
	cmd := &cobra.Command{
		Use:    scenarios.ChildCommand,
		Short:  "Run one simulation, described as JSON on stdin",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if spec != "" {
				return nomad.ServeCell(cmd.Context(), spec, result, cmd.OutOrStdout())
			}
			return scenarios.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&spec, "spec", "", "file with a dispatched cell, instead of stdin")
	cmd.Flags().StringVar(&result, "result", "", "file to write the result of --spec to, instead of stdout")
	return cmd
}
