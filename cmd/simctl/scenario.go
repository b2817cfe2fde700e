package main

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/scenarios"
)

func newScenarioCommand() *cobra.Command {
	cmd := asGroup("scenario", &cobra.Command{
		Use:   "scenario",
		Short: "Run a scenario under one or more brokers and compare them",
	})
	for _, name := range scenarios.Names() {
		cmd.AddCommand(newScenarioRunCommand(name))
	}
	cmd.AddCommand(newScenarioListCommand())
	return cmd
}

func newScenarioListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the built-in scenarios",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range scenarios.Names() {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%-15s  %s\n", name, scenarios.Describe(name)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func newScenarioRunCommand(name string) *cobra.Command {
	f := &scenarioFlags{
		spec: scenarios.Spec{
			Scenario: name, Seed: 1, Clock: scenarios.ClockVirtual, Cost: scenarios.DefaultCost,
			Params: scenarios.DefaultParams(),
		},
		brokers: []string{"legacy", "shedding"},
		format:  "table",
	}
	title := sentence(scenarios.Describe(name))
	cmd := &cobra.Command{
		Use:   name,
		Short: title,
		Long: title + `.

Every broker runs the same scenario in a process of its own, side by side. The comparison
goes to stdout. The directory gets a result file of every broker, the charts and
report.html, all at once when everything is done; other files in it are left alone.`,
		Example: fmt.Sprintf(`  simctl scenario %[1]s --nodes 5000
  simctl scenario %[1]s --nodes 1000 --cost loopback --format json`, name),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.bind(cmd.Flags())
	return cmd
}

// sentence returns text with its first letter in upper case.
func sentence(text string) string {
	first, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[n:]
}
