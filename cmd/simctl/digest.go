package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"
)

func newDigestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "digest RESULT...",
		Short: "Print a hash of what happened in a run",
		Long: `Print a hash of what happened in a run: of its result file without what the run cost the
machine, and without the few fields that came after the first digests. The layout of the file
does not matter. Two runs with the same digest behaved alike. The scenario's name and the
version of simctl count, so compare digests of one build and one command. A run that was
stopped at a limit is refused: where it ended says nothing about how it behaved.

RESULT is a result file, a directory of them, or - for stdin. The name of the file follows
the hash if there are several.`,
		Example: `  simctl digest results/run/shedding.json
  simctl digest results/run`,
		Args: takes(1, math.MaxInt, "one result or more, got %d"),
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, err := loadStored(cmd, args)
			if err != nil {
				return err
			}
			for _, r := range runs {
				switch {
				case r.Stopped != "":
					return usageErrorf("%s: %s stopped the run, at a point that depends on the machine: take the result of a whole run", r.path, r.Stopped)
				case r.OfBaseline:
					return usageErrorf("%s: it is a baseline, which keeps only a part of its runs: take the result of a run", r.path)
				}
			}
			for _, r := range runs {
				name := ""
				if len(runs) > 1 {
					name = "  " + r.path
				}
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), r.Digest()+name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
