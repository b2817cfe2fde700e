package main

import (
	"github.com/spf13/cobra"

	"github.com/simctl/simctl/scenarios"
)

// newRunOneCommand is what scenarios.RunAll starts: one run in a process of its own, told
// on stdin what to do and answering on stdout.
func newRunOneCommand() *cobra.Command {
	return &cobra.Command{
		Use:    scenarios.ChildCommand,
		Short:  "Run one simulation, described as JSON on stdin",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return scenarios.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
