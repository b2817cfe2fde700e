package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/language"
)

// run executes one command line and returns the exit code. Results go to stdout. Progress,
// and the one line that explains a failure, go to stderr.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), scenarios.EndingSignals()...)
	defer stop()
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	stdout, stderr = heard(stdout, gone), heard(stderr, gone)

	parsed := false
	root := newRootCommand(args)
	root.PersistentPreRun = func(*cobra.Command, []string) { parsed = true }
	root.SetArgs(twoDashes(args))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if errors.Is(context.Cause(ctx), syscall.EPIPE) {
		return exitUnread
	}
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*unreadError](err); ok {
		err = e.error // wherever it was read: no input is bad that nobody has read
	}
	fmt.Fprintf(stderr, "simctl: %s\n", language.Printable(err.Error()))
	if !parsed {
		// Cobra reports errors of the command line before it starts a command.
		return exitUsage
	}
	return exitCode(err)
}

// newRootCommand returns the commands for a command line. A built-in scenario's flags come from
// its file, which is read only if the command line may be about that scenario.
func newRootCommand(args []string) *cobra.Command {
	root := asGroup("command", &cobra.Command{
		Use:   "simctl",
		Short: "A wind tunnel for Nomad's evaluation broker",
		Long: `simctl runs a Nomad-like control plane (real Raft servers, evaluation broker,
schedulers, plan applier, heartbeats) and thousands of simulated clients in one
process, on virtual time, and compares evaluation brokers with each other.

    simctl scenario heartbeat-storm --nodes 5000

Results go to stdout, progress to stderr. Exit codes: 0 ok, 1 the run failed, was
interrupted or stopped, 2 bad usage or input, 3 an invariant or a threshold failed.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	root.SetFlagErrorFunc(flagError)
	fitHelp(root)
	root.AddCommand(
		newInitCommand(),
		newScenarioCommand(needed(args, "scenario")),
		newGateCommand(),
		newSweepCommand(),
		newPlanCommand(needed(args, "plan")),
		newWatchCommand(needed(args, "watch")),
		newNodesCommand(),
		newReportCommand(),
		newCompareCommand(),
		newValidateCommand(),
		newCalibrateCommand(),
		newDigestCommand(),
		newServeCommand(),
		newEventCommand(),
		newRecordCommand(),
		newSoakCommand(),
		newBrokerCommand(),
		newDesignsCommand(),
		newReleasesCommand(),
		newNomadCommand(),
		newManCommand(),
		newVersionCommand(),
		newRunOneCommand(),
	)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		addCompletions(root)
	}
	root.SetHelpCommand(newHelpCommand())
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			asGroup("shell", c)
		}
	}
	return root
}

// needed returns which built-in scenarios a command line may be about below one of the
// commands: the one that it names, all if it asks for help, and otherwise none.
func needed(args []string, command string) func(scenario string) bool {
	return func(scenario string) bool {
		switch {
		case len(args) == 0:
			return false
		case strings.HasPrefix(args[0], "-"), slices.Contains([]string{"help", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, args[0]):
			return true
		case args[0] != command:
			return false
		}
		return len(args) == 1 || args[1] == scenario || strings.HasPrefix(args[1], "-")
	}
}

// asGroup turns cmd into a command that only holds others, each called a noun. Without
// arguments it prints its help; any other argument is an error of one line that names it.
// Cobra's own error for a misspelt command differs from level to level and has several
// lines.
func asGroup(noun string, cmd *cobra.Command) *cobra.Command {
	cmd.DisableFlagParsing = true
	cmd.DisableFlagsInUseLine = true
	cmd.Args = cobra.ArbitraryArgs
	cmd.Annotations = map[string]string{"noun": noun}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0, args[0] == "-h", args[0] == "--help":
			return cmd.Help()
		case args[0] == "--version" && !cmd.HasParent():
			return printVersion(cmd)
		case strings.HasPrefix(args[0], "-"):
			return usageErrorf("unknown flag %s: %q takes a %s first (see %s --help)",
				args[0], cmd.CommandPath(), noun, cmd.CommandPath())
		}
		return unknownCommand(cmd, args[0])
	}
	return cmd
}

func unknownCommand(parent *cobra.Command, name string) error {
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if parent.Name() == "scenario" && isFile(name) {
		return usageErrorf("unknown scenario %q: a file is run by simctl scenario run %s (see %s --help)", name, scenarios.Quote(name), parent.CommandPath())
	}
	return usageErrorf("unknown %s %q: %s (see %s --help)",
		parent.Annotations["noun"], name, language.Instead(name, names), parent.CommandPath())
}

// newHelpCommand replaces cobra's, which exits with 0 on an unknown topic.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Print the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err != nil {
				return usageErrorf("%w", err)
			}
			if len(rest) > 0 && target.HasSubCommands() {
				return unknownCommand(target, rest[0])
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	}
}
