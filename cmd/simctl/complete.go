package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/closedform"
)

// addCompletions tells shells what the arguments and flags of a command, and of all below it, can
// be. Where nothing is added, shells complete the names of files.
func addCompletions(cmd *cobra.Command) {
	switch {
	case strings.HasPrefix(cmd.Use, "show "):
		cmd.ValidArgsFunction = oneArgument(cobra.ShellCompDirectiveNoFileComp)
	case strings.HasPrefix(cmd.Use, "releases "):
		cmd.ValidArgsFunction = cobra.FixedCompletions(scenarios.Releases(), cobra.ShellCompDirectiveNoFileComp)
	case slices.Contains([]string{"run FILE", "validate FILE", "gate [SCENARIO]", "sweep SCENARIO"}, cmd.Use):
		cmd.ValidArgsFunction = oneArgument(cobra.ShellCompDirectiveDefault)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if complete := flagCompletion(f); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // it fails for a second function only
		}
	})
	for _, c := range cmd.Commands() {
		addCompletions(c)
	}
}

// flagCompletion returns what completes a flag's value; nil for a number, a text or a file.
func flagCompletion(f *pflag.Flag) cobra.CompletionFunc {
	if known, ok := f.Value.(interface{ completions() []string }); ok && known.completions() != nil {
		return cobra.FixedCompletions(known.completions(), cobra.ShellCompDirectiveNoFileComp)
	}
	switch f.Name {
	case "broker", "policy":
		return listOf(broker.PolicyNames())
	case "format":
		return listOf(reports.Formats())
	case "release":
		return listOf(scenarios.Releases())
	case "behaviour":
		return cobra.FixedCompletions(scenarios.Names(), cobra.ShellCompDirectiveDefault)
	case "cost":
		return cobra.FixedCompletions(scenarios.CostNames(), cobra.ShellCompDirectiveDefault)
	case "clock":
		return cobra.FixedCompletions([]string{scenarios.ClockVirtual, scenarios.ClockWall}, cobra.ShellCompDirectiveNoFileComp)
	case "raft-store":
		return cobra.FixedCompletions([]string{scenarios.RaftStoreMemory, scenarios.RaftStoreBoltDB}, cobra.ShellCompDirectiveNoFileComp)
	case "var":
		return variablesOf()
	case "vary":
		return variablesOf("cost", "broker")
	case "until-knee":
		return axesOf
	case "slo", "metric":
		return figuresOf
	}
	return nil
}

func oneArgument(rest cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return scenarios.Names(), rest
	}
}

// listOf completes the last name of a comma-separated list.
func listOf(names []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var out []string
		for _, name := range names {
			if !slices.Contains(strings.Split(before, ","), name) {
				out = append(out, before+name)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// noStdin stands for stdin, which is the user's terminal while a word is completed.
var noStdin = strings.NewReader("")

// variablesOf completes NAME= for the variables of the scenario that the arguments name, and for
// more names.
func variablesOf(more ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		names := more
		if len(args) > 0 {
			if spec, err := specOf(noStdin, args[0]); err == nil {
				vars, _ := spec.Variables() // a file with an error has none
				for _, v := range vars {
					names = append(names, v.Name)
				}
			}
		}
		var out []string
		for _, name := range names {
			out = append(out, name+"=")
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// axesOf completes the names of the axes that --vary has given.
func axesOf(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	given, _ := cmd.Flags().GetStringArray("vary") // the flag stands beside --until-knee
	var out []string
	for _, axis := range given {
		name, _, _ := strings.Cut(axis, "=")
		if !slices.Contains(out, name) { // flags are parsed twice
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// figuresOf completes the names of figures, of the totals and of each phase of the scenario that
// the arguments name or, for a plan, of the one that has formulae.
func figuresOf(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	scenario := closedform.Scenario
	if len(args) > 0 {
		scenario = args[0]
	}
	prefixes := []string{""}
	if spec, err := specOf(noStdin, scenario); err == nil {
		if outline, err := scenarios.OutlineOf(spec); err == nil {
			for _, phase := range outline.PhaseNames() {
				prefixes = append(prefixes, phase+".")
			}
		}
	}
	var out []string
	for _, prefix := range prefixes {
		for _, m := range metrics.PhaseMetrics() {
			out = append(out, prefix+m.Name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
