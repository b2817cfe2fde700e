package main

import (
	"context"
	"errors"

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
	dir    string
}

func (f *realFlags) bind(flags *pflag.FlagSet) {
	f.target = simulatedTarget
	flags.Var(oneOf(&f.target, "target", []string{simulatedTarget, nomadTarget}), "target", "what it runs on: simulated, or nomad for real servers")
	flags.Var(names(&f.bins), "bin", "with --target nomad: Nomad programs to start servers from, one after the other, the older one first")
	bindDir(flags, &f.dir)
}

// clusters returns the real clusters to run on: none if the target is simulated.
func (f *realFlags) clusters(ctx context.Context, run *scenarios.Compiled) ([]scenarios.Real, error) {
	switch {
	case f.target != nomadTarget && f.bins != nil:
		return nil, usageErrorf("--bin %q: the target is %s: say --target nomad, too", commaList(f.bins).String(), f.target)
	case f.target != nomadTarget:
		return nil, nil
	case f.bins == nil:
		return nil, usageErrorf("--target nomad: it needs --bin with the path of a Nomad program, or of several")
	}
	dir, err := clusterDir(f.dir)
	if err != nil {
		return nil, err
	}
	all, err := scenarios.Programs(ctx, f.bins, dir)
	for i := 0; i < len(all) && err == nil; i++ {
		err = run.CheckReal(all[i])
	}
	if errors.Is(err, scenarios.ErrReal) {
		return nil, usageErrorf("--target nomad: %w", err)
	}
	return all, inputError(err)
}

// runReal runs the scenario in one cluster after the other and shows how far it is.
func (f *scenarioFlags) runReal(cmd *cobra.Command, run *scenarios.Compiled, clusters []scenarios.Real) ([]*metrics.Result, error) {
	var specs []scenarios.Spec
	for _, r := range clusters {
		specs = append(specs, scenarios.Spec{Broker: r.Name})
	}
	show := newProgress(cmd.ErrOrStderr(), f.quiet, true, specs)
	defer show.close()
	var results []*metrics.Result
	for i, r := range clusters {
		res, err := scenarios.RunReal(cmd.Context(), run, r, func(p scenarios.Progress) { show.update(i, p) })
		if err != nil {
			return nil, err
		}
		results = append(results, res)
	}
	return results, nil
}
