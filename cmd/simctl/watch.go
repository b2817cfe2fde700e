package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/scenarios"
)

// newWatchCommand groups commands that run the scenarios on the wall clock.
func newWatchCommand(needed func(string) bool) *cobra.Command {
	cmd := asGroup("scenario", &cobra.Command{
		Use:   "watch",
		Short: "Run a scenario on the wall clock and watch it live",
	})
	for _, name := range scenarios.Names() {
		cmd.AddCommand(watched(newBuiltinCommand(name, needed(name)), name))
	}
	cmd.AddCommand(watched(newScenarioRunCommand(), "run storm.hcl"))
	return cmd
}

// watched turns a command that runs a scenario into one that runs it on the wall clock.
// example is its arguments in the example.
func watched(run *cobra.Command, example string) *cobra.Command {
	run.GroupID = ""
	clock := run.Flags().Lookup("clock")
	clock.DefValue = scenarios.ClockWall
	if err := clock.Value.Set(clock.DefValue); err != nil {
		panic(fmt.Sprintf("simctl: the clock %q is refused: %v", clock.DefValue, err))
	}
	run.Long = strings.TrimSuffix(run.Short, ".") + `.

The same as "simctl scenario ` + run.Name() + `", but in real time. A terminal shows the depth of
the queue, the growth of the Raft log, the nodes by status and the phase. Any other stderr
gets a line of progress every few seconds. Several brokers run at the same time and share
the machine, which changes what they measure on the wall clock: watch one at a time if the
figures matter.`
	run.Example = fmt.Sprintf("  simctl watch %[1]s --broker shedding\n  simctl watch %[1]s --time-scale 0.1", example)
	return run
}
