package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/scenarios"
)

// newReleasesCommand lists what releases of Nomad differ in.
func newReleasesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "releases [RELEASE]",
		Short: "List the releases of Nomad that runs can be of, and what they differ in",
		Long: `List the releases of Nomad that runs can be of, and what they differ in: since when,
by which pull request, in which file, and what that does to counts. Given a release, list
what it differs in from 1.4.2. Runs take releases by --release and, as other brokers, by
--broker.`,
		Args: atMost(1, "one release"),
		RunE: func(cmd *cobra.Command, args []string) error {
			release := ""
			if len(args) > 0 {
				release = args[0]
			}
			text, err := scenarios.DescribeReleases(release)
			if err != nil {
				return usageErrorf("release %q: %w", release, err)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
}
