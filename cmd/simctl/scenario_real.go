package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
)

// Targets of a scenario.
const (
	simulatedTarget = "simulated"
	nomadTarget     = "nomad"
)

// realFlags holds the flags of a scenario about real servers to run it on.
type realFlags struct {
	target string
	bins   []string
	at     elsewhereFlags
}

// elsewhereFlags holds the flags that reach a cluster of real servers which is there already.
type elsewhereFlags struct {
	scenarios.Elsewhere
	dir string
}

func (f *elsewhereFlags) bind(flags *pflag.FlagSet, when string) {
	flags.Var(names(&f.Addresses), "address", when+"HTTP address of each server of a running cluster (default: NOMAD_ADDR; NOMAD_TOKEN and the like count, too)")
	bindDir(flags, &f.dir, when)
}

func (f *realFlags) bind(flags *pflag.FlagSet) {
	f.target = simulatedTarget
	flags.Var(oneOf(&f.target, "target", []string{simulatedTarget, nomadTarget}), "target", "what it runs on: simulated, or nomad for real servers")
	flags.Var(names(&f.bins), "bin", "with --target nomad: Nomad programs to start servers from, one after the other, the older one first")
	f.at.bind(flags, "with --target nomad: ")
	flags.Var(names(&f.at.Servers), "server", "with --address: where these servers serve clients, HOST:PORT (default: as they say)")
	flags.StringVar(&f.at.IntroToken, "intro-token", "", "with --address: introduction token for the first registration of each client")
	flags.BoolVar(&f.at.AllowForeign, "allow-foreign-cluster", false, "with --address: allow a cluster that others use, whose schedulers the scenario stops")
}

// check puts the addresses of the cluster, those of the flag or of the environment, in order.
func (f *elsewhereFlags) check() error {
	if f.Addresses == nil {
		address, err := apiAddress("", false)
		f.Addresses = []string{address}
		return err
	}
	for i, a := range f.Addresses {
		address, err := apiAddress(a, true)
		if err != nil {
			return err
		}
		f.Addresses[i] = address
	}
	return nil
}

// clusters returns the real clusters to run on: none if the target is simulated.
func (f *realFlags) clusters(cmd *cobra.Command, run *scenarios.Compiled) ([]scenarios.Real, error) {
	switch {
	case f.target != nomadTarget:
		return nil, f.unneeded(cmd.Flags())
	case f.bins != nil && f.at.Addresses != nil:
		return nil, usageErrorf("--bin and --address: simctl starts servers or goes to those that are there: leave one of them out")
	case f.bins != nil && f.at.IntroToken != "":
		return nil, usageErrorf("--bin and --intro-token: servers that simctl starts want no token: leave it out")
	case f.bins == nil && f.at.Addresses == nil && os.Getenv("NOMAD_ADDR") == "":
		return nil, usageErrorf("--target nomad: it needs --bin with the path of a Nomad program, or of several; or --address with that of a cluster")
	}
	if f.bins == nil {
		if err := f.at.check(); err != nil {
			return nil, err
		}
	}
	dir, err := clusterDir(f.at.dir)
	if err != nil {
		return nil, err
	}
	var all []scenarios.Real
	if f.bins != nil {
		all, err = scenarios.Programs(cmd.Context(), f.bins, dir)
	} else {
		var one scenarios.Real
		one, err = scenarios.Reach(cmd.Context(), f.at.Elsewhere, dir, sayTo(cmd))
		all = []scenarios.Real{one}
	}
	for i := 0; i < len(all) && err == nil; i++ {
		err = run.CheckReal(all[i])
	}
	return all, realError(inputError(err))
}

// unneeded returns an error if there are flags that a simulation has no use for. It shows no token.
func (f *realFlags) unneeded(flags *pflag.FlagSet) error {
	for _, name := range []string{"bin", "address", "server", "dir", "intro-token", "allow-foreign-cluster"} {
		if !flags.Changed(name) {
			continue
		}
		said := "--" + name
		if name != "intro-token" && name != "allow-foreign-cluster" {
			said += fmt.Sprintf(" %q", flags.Lookup(name).Value)
		}
		return usageErrorf("%s: the target is %s: say --target nomad, too", said, f.target)
	}
	return nil
}

// realError makes errors about a cluster that will not do usage errors.
func realError(err error) error {
	if errors.Is(err, scenarios.ErrReal) {
		return usageErrorf("--target nomad: %w", err)
	}
	return err
}

// sayTo returns what tells the user of a command a line.
func sayTo(cmd *cobra.Command) func(string) {
	return func(text string) { cmd.PrintErrf("%s\n", text) }
}

// runReal runs the scenario in one cluster after the other and shows how far it is. The first is run number first.
// Left is what could not be cleaned up afterwards.
func (f *scenarioFlags) runReal(cmd *cobra.Command, run *scenarios.Compiled, clusters []scenarios.Real, first int) (results []*metrics.Result, left, err error) {
	var specs []scenarios.Spec
	for _, r := range clusters {
		specs = append(specs, scenarios.Spec{Broker: r.Name})
	}
	show := f.web.follow(newProgress(cmd.ErrOrStderr(), f.quiet, true, specs), first)
	defer show.close()
	for i, r := range clusters {
		r.Say = sayTo(cmd)
		res, err := scenarios.RunReal(cmd.Context(), run, r, func(p scenarios.Progress) { show.update(i, p) })
		f.web.ended(first+i, err)
		if kept, ok := errors.AsType[scenarios.LeftError](err); ok {
			left, err = errors.Join(left, kept), nil
		}
		if err != nil {
			return nil, nil, err
		}
		results = append(results, res)
	}
	return results, left, nil
}
