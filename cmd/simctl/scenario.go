package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/internal/infile"
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
		run, _ := newBuiltinCommand(name, needed(name))
		cmd.AddCommand(run)
	}
	run, _ := newScenarioRunCommand()
	for _, c := range []*cobra.Command{
		run, newScenarioValidateCommand(), newScenarioShowCommand(), newScenarioFormatCommand(), newScenarioListCommand(),
	} {
		c.GroupID = "files"
		cmd.AddCommand(c)
	}
	return cmd
}

func newScenarioListCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the built-in scenarios",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			scenarios.ReadAll()
			if format == "json" {
				return printScenarios(cmd)
			}
			width := longest(scenarios.Names())
			for _, name := range scenarios.Names() {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%-*s  %s\n", width, name, scenarios.Describe(name)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	bindFormat(cmd.Flags(), &format)
	return cmd
}

// printScenarios writes what the built-in scenarios are called and what their variables are.
func printScenarios(cmd *cobra.Command) error {
	type variable struct {
		Name        string `json:"name"`
		Type        string `json:"type"`
		Default     any    `json:"default"`
		Description string `json:"description"`
	}
	type scenario struct {
		Name      string     `json:"name"`
		Title     string     `json:"title"`
		Variables []variable `json:"variables"`
	}
	var all []scenario
	for _, name := range scenarios.Names() {
		vars, err := scenarios.Spec{Scenario: name}.Variables()
		if err != nil {
			return err
		}
		one := scenario{Name: name, Title: scenarios.Describe(name)}
		for _, v := range vars {
			one.Variables = append(one.Variables, variable{v.Name, v.Type, v.Default, v.Description})
		}
		all = append(all, one)
	}
	return printJSON(cmd, all)
}

// outputs describes what every run writes.
const outputs = `The brokers run the same scenario side by side, each in a process of its own. The
comparison goes to stdout. The directory gets a result file of every broker, the charts
and report.html, all at once when everything is done; other files in it stay.`

// newBuiltinCommand returns the command of a built-in scenario: its variables are flags. One
// that is not needed has its name and the flags of every scenario alone.
func newBuiltinCommand(name string, needed bool) (*cobra.Command, *scenarioFlags) {
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
	return cmd, f
}

func newScenarioRunCommand() (*cobra.Command, *scenarioFlags) {
	f, vars := newScenarioFlags(scenarios.Spec{}), &assignments{}
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a scenario file",
		Long: `Run a scenario file, or a built-in scenario by its name. FILE may be a directory that holds
one, or - for stdin. If the file has an error, the command shows it with its line, runs
nothing and exits with 2.

` + outputs,
		Example: `  simctl scenario run storm.hcl --var nodes=500
  simctl scenario show heartbeat-storm > mine.hcl`,
		Args: oneScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.load(cmd, args[0], vars); err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	cmd.Flags().SortFlags = false
	vars.bind(cmd.Flags())
	f.bind(cmd.Flags())
	f.real.bind(cmd.Flags())
	return cmd, f
}

// load takes the scenario, given by file or by name, into the flags.
func (f *scenarioFlags) load(cmd *cobra.Command, scenario string, vars *assignments) error {
	f.byVar = vars
	return vars.load(stdin(cmd), &f.spec, scenario)
}

// specOf finds a scenario: a built-in one by its name, any other by its file, or on stdin.
func specOf(stdin io.Reader, scenario string) (scenarios.Spec, error) {
	if scenario == "-" {
		text, err := infile.ReadFrom(stdin, infile.MostText)
		if err != nil {
			return scenarios.Spec{}, usageErrorf("stdin: it cannot be read: %w", err)
		}
		spec, err := scenarios.FromText(scenarios.Stdin, text)
		if err != nil {
			return spec, usageErrorf("%w", err)
		}
		return spec, nil
	}
	if info, err := os.Stat(scenario); err == nil && info.IsDir() {
		if scenario, err = onlyScenario(scenario); err != nil {
			return scenarios.Spec{}, err
		}
	}
	if _, ok := scenarios.Text(scenario); ok {
		return scenarios.Spec{Scenario: scenario}, nil
	}
	spec, err := scenarios.FromFile(scenario)
	if err != nil && !strings.ContainsAny(scenario, "./") {
		known := scenarios.Names()
		if file := scenario + ".hcl"; isFile(file) {
			known = append(known, file)
		}
		return spec, usageErrorf("%q is neither a built-in scenario nor a file%s (see simctl scenario list)", scenario, language.DidYouMean(scenario, known))
	}
	if err != nil {
		return spec, usageErrorf("%w", err)
	}
	return spec, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// onlyScenario returns the scenario file of a directory that holds one.
func onlyScenario(dir string) (string, error) {
	names, err := fs.Glob(os.DirFS(dir), "*.hcl")
	if err != nil || len(names) == 0 {
		return "", usageErrorf("%s: the directory holds no scenario file (*.hcl): name a file", dir)
	}
	if len(names) > 1 {
		return "", usageErrorf("%s: the directory holds %d scenario files: name one of them, such as %s", dir, len(names), filepath.Join(dir, names[0]))
	}
	return filepath.Join(dir, names[0]), nil
}

// oneScenario requires one argument, the file or the name of a scenario.
var oneScenario = takes(1, 1, "one scenario, got %d")

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
	f, vars, format := newScenarioFlags(scenarios.Spec{}), &assignments{}, "text"
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a scenario file without running it",
		Long: `Check a scenario file without running it. FILE is a scenario file, - for stdin, or the name
of a built-in scenario. The exit code is 2 if the file has an error; --format json has its
line, too.`,
		Args: oneScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := f.validate(cmd, args[0], vars)
			if format == "json" {
				return errors.Join(printJSON(cmd, v), err)
			}
			for _, w := range v.Warnings {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", w)
			}
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: ok: %s\n", v.File, v.Summary)
			}
			return err
		},
	}
	bindFormat(cmd.Flags(), &format)
	vars.bind(cmd.Flags())
	cmd.Flags().BoolVar(&f.spec.Force, "force", false, "allow more than 1,000,000 clients")
	return cmd
}

// validation is what scenario validate prints as JSON.
type validation struct {
	File     string             `json:"file"`
	OK       bool               `json:"ok"`
	Summary  string             `json:"summary,omitempty"`
	Warnings []string           `json:"warnings,omitempty"`
	Problems []language.Problem `json:"problems,omitempty"`
}

// validate says what a file and the flags stand for, or what is wrong with them.
func (f *scenarioFlags) validate(cmd *cobra.Command, file string, vars *assignments) (validation, error) {
	v := validation{File: file}
	err := f.load(cmd, file, vars)
	if err == nil {
		var runs []*scenarios.Compiled
		if _, runs, err = f.compile(); err == nil {
			v.OK, v.Summary, v.Warnings = true, runs[0].Summary(), runs[0].Warnings()
		}
	}
	if e, ok := errors.AsType[*language.Error](err); ok {
		v.Problems = e.Problems()
	} else if err != nil {
		v.Problems = []language.Problem{{Summary: err.Error()}}
	}
	return v, err
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
