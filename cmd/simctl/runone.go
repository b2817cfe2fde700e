package main

import (
	"github.com/spf13/cobra"

	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/sweep/nomad"
)

// newRunOneCommand is what scenarios.RunAll starts: one run in a process of its own, told
// on stdin what to do and answering on stdout. With --spec it is what a job dispatched by a
// sweep runs: a cell, told by a file.
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
