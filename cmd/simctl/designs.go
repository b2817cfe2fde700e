package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/scenarios/designs"
)

// newDesignsCommand lists what can be tried in place of what Nomad does.
func newDesignsCommand() *cobra.Command {
	var brokers bool
	cmd := &cobra.Command{
		Use:   "designs",
		Short: "List what Nomad could do otherwise, to be tried in any scenario",
		Long: `List what Nomad could do otherwise. A design is a word that follows the name of a
broker after a plus sign; several may follow. Every command that takes brokers takes
designs. A design that replaces the broker, such as work-queue, is a broker by itself.`,
		Example: `  simctl designs
  simctl scenario heartbeat-storm --nodes 1000 \
      --broker shedding,shedding+reap-until-empty
  simctl scenario failover-mid-drain --nodes 500 \
      --broker shedding,shedding+restore-best+wake-at-index
  simctl scenario flapping --nodes 500 --broker $(simctl designs --brokers)`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if brokers {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.Join(designs.Brokers(), ","))
				return err
			}
			for _, d := range designs.All() {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s.\n  Nomad: %s.\n  Cost: %s.\n", d.Syntax(), d.Summary, d.Source, d.Cost); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&brokers, "brokers", false, "print the names of brokers, legacy, shedding and one for each design, to be compared")
	return cmd
}
