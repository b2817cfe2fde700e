package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/language"
)

func newScenarioCommand(needed func(string) bool) *cobra.Command {
	cmd := asGroup("scenario", &cobra.Command{
		Use:   "scenario",
		Short: "Run a scenario under one or more brokers and compare them",
	})
	cmd.AddGroup(&cobra.Group{ID: "builtin", Title: "Built-in scenarios:"}, &cobra.Group{ID: "files", Title: "Scenarios as files:"})
	for _, name := range scenarios.Names() {
		cmd.AddCommand(newBuiltinCommand(name, needed(name)))
	}
	for _, c := range []*cobra.Command{
		newScenarioRunCommand(), newScenarioValidateCommand(), newScenarioShowCommand(), newScenarioFormatCommand(), newScenarioListCommand(),
	} {
		c.GroupID = "files"
		cmd.AddCommand(c)
	}
	return cmd
}

func newScenarioListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the built-in scenarios",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			width := longest(scenarios.Names())
			for _, name := range scenarios.Names() {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%-*s  %s\n", width, name, scenarios.Describe(name)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// outputs describes what every run writes.
const outputs = `The brokers run the same scenario side by side, each in a process of its own. The
comparison goes to stdout. The directory gets a result file of every broker, the charts
and report.html, all at once when everything is done; other files in it stay.`

// newBuiltinCommand returns the command of a built-in scenario: its variables are flags. One
// that is not needed has its name and the flags of every scenario alone.
func newBuiltinCommand(name string, needed bool) *cobra.Command {
	f := newScenarioFlags(scenarios.Spec{Scenario: name})
	title := name
	if needed {
		about := scenarios.Describe(name)
		title = strings.ToUpper(about[:1]) + about[1:]
	}
	cmd := &cobra.Command{
		Use:     name,
		GroupID: "builtin",
		Short:   title,
		Long:    title + ".\n\n" + outputs,
		Example: fmt.Sprintf(`  simctl scenario %[1]s
  simctl scenario %[1]s --cost loopback --format json`, name),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().SortFlags = false
	if needed {
		mustBindVariables(cmd.Flags(), &f.spec)
	}
	f.bind(cmd.Flags())
	f.real.bind(cmd.Flags())
	return cmd
}

func newScenarioRunCommand() *cobra.Command {
	f, vars := newScenarioFlags(scenarios.Spec{}), &assignments{}
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a scenario file",
		Long: `Run a scenario file, or a built-in scenario by its name. If the file has an error, the
command shows it with its line, runs nothing and exits with 2.

` + outputs,
		Example: `  simctl scenario run storm.hcl --var nodes=500
  simctl scenario show heartbeat-storm > mine.hcl`,
		Args: oneScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.load(args[0], vars); err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	cmd.Flags().SortFlags = false
	vars.bind(cmd.Flags())
	f.bind(cmd.Flags())
	f.real.bind(cmd.Flags())
	return cmd
}

// load takes the scenario, given by file or by name, into the flags.
func (f *scenarioFlags) load(scenario string, vars *assignments) error {
	f.byVar = vars
	return vars.load(&f.spec, scenario)
}

// specOf finds a scenario: a built-in one by its name, any other by its file.
func specOf(scenario string) (scenarios.Spec, error) {
	if _, ok := scenarios.Text(scenario); ok {
		return scenarios.Spec{Scenario: scenario}, nil
	}
	spec, err := scenarios.FromFile(scenario)
	if err != nil && !strings.ContainsAny(scenario, "./") {
		return spec, usageErrorf("%q is neither a built-in scenario nor a file%s (see simctl scenario list)", scenario, language.DidYouMean(scenario, scenarios.Names()))
	}
	if err != nil {
		return spec, usageErrorf("%w", err)
	}
	return spec, nil
}

// oneScenario requires one argument, the file or the name of a scenario.
var oneScenario = takes(1, 1, "one scenario, got %d arguments")

func newScenarioShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME",
		Short:   "Print the file of a built-in scenario, as a start for one of your own",
		Example: `  simctl scenario show heartbeat-storm > mine.hcl`,
		Args:    oneScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, ok := scenarios.Text(args[0])
			if !ok {
				return usageErrorf("no built-in scenario is called %q%s (see simctl scenario list)", args[0], language.DidYouMean(args[0], scenarios.Names()))
			}
			_, err := cmd.OutOrStdout().Write(text)
			return err
		},
	}
}

func newScenarioValidateCommand() *cobra.Command {
	f, vars := newScenarioFlags(scenarios.Spec{}), &assignments{}
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a scenario file without running it",
		Args:  oneScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.load(args[0], vars); err != nil {
				return err
			}
			_, runs, err := f.compile()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: ok: %s\n", args[0], runs[0].Summary())
			return err
		},
	}
	vars.bind(cmd.Flags())
	cmd.Flags().BoolVar(&f.spec.Force, "force", false, "allow more than 1,000,000 clients")
	return cmd
}

func newScenarioFormatCommand() *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use:   "fmt FILE...",
		Short: "Rewrite scenario files in the canonical layout",
		Long: `Rewrite scenario files in the canonical layout and print the names of those that changed.
The file "-" is stdin; its canonical form goes to stdout.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageErrorf("no files: %q takes the files to format, or - (see %s --help)", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return formatFiles(cmd, args, check) },
	}
	cmd.Flags().BoolVar(&check, "check", false, "change nothing; exit with 3 if a file would change")
	return cmd
}
