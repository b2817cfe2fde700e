package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/metrics/agreement"
	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/scenarios"
)

// mostSeeds bounds the runs of a validation.
const mostSeeds = 100

type validateFlags struct {
	realResults
	seeds  int
	format string
	out    string
	quiet  bool
}

// realResults holds the flags about how results of real servers are simulated.
type realResults struct {
	spec     scenarios.Spec // of every simulation, less what the results say
	scenario string
}

func (f *realResults) bind(flags *pflag.FlagSet) {
	bindCost(flags, &f.spec)
	flags.Lookup("cost").Usage = "what work costs: " + strings.Join(scenarios.CostNames(), ", ") + " or a .hcl file (default: loopback, or that of the release)"
	flags.StringVar(&f.scenario, "scenario", "", "file of the scenario, if it is no built-in one")
}

// load reads results and puts repeats together, each with its simulation.
func (f *realResults) load(cmd *cobra.Command, args []string) (groups [][]*metrics.Result, specs []scenarios.Spec, err error) {
	stored, err := loadStored(cmd, args)
	if err != nil {
		return nil, nil, err
	}
	if f.scenario != "" {
		found, err := specOf(stdin(cmd), f.scenario)
		if err != nil {
			return nil, nil, err
		}
		found.Cost = f.spec.Cost
		f.spec = found
	}
	groups = agreement.Repeats(resultsOf(stored))
	for _, g := range groups {
		spec, err := scenarios.SpecOf(g[0], f.spec)
		if err == nil {
			_, err = scenarios.Compile(spec)
		}
		if err != nil {
			return nil, nil, inputError(err)
		}
		specs = append(specs, spec)
	}
	return groups, specs, nil
}

func newValidateCommand() *cobra.Command {
	f := &validateFlags{seeds: 3, format: reports.ValidationFormats()[0]}
	cmd := &cobra.Command{
		Use:   "validate REAL...",
		Short: "Hold the simulation against runs on real servers",
		Long: `Simulate what ran on real servers, with the same parameters and under the same release, and
compare figure by figure. Each line has the real value, the simulated median and range, and
the deviation. It also says whether the ranges of both meet: repeats can tell no more.

REAL is a result file of a scenario with --target nomad, or a directory of them. Results of
the same release and parameters are repeats: their spread counts, too. Others are compared
one after the other. The first simulation has the seed of the first real run.

The built-in costs of loopback are those of one machine. Yours is slower or faster: simctl
calibrate finds by how much. Results of 2.0.5 have those of loopback-2.0.5.

Figures that real servers cannot tell are left out. If simctl started the servers on Linux,
memory read says how long reading their machine's memory took, which can differ by the hour,
and cores stolen how much processor time its host took away. --out also writes the simulated
results, and charts in which the runs lie on top of each other.`,
		Example: `  simctl validate results/real/nomad-1.4.3.json
  simctl validate run-1.json run-2.json run-3.json --seeds 5 --out validation`,
		Args: takes(1, math.MaxInt, "one result or more, got %d"),
		RunE: f.run,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&f.seeds, "seeds", f.seeds, "number of simulations, each with a seed of its own")
	f.realResults.bind(flags)
	flags.Var(oneOf(&f.format, "format", reports.ValidationFormats()), "format", "format of stdout: "+strings.Join(reports.ValidationFormats(), ", "))
	flags.StringVar(&f.out, "out", "", "directory for charts, tables and simulated results (default: none)")
	flags.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return cmd
}

func (f *validateFlags) run(cmd *cobra.Command, args []string) (err error) {
	if f.seeds < 1 || f.seeds > mostSeeds {
		return usageErrorf("--seeds %d: it must be 1 to %d", f.seeds, mostSeeds)
	}
	groups, simulations, err := f.load(cmd, args)
	if err != nil {
		return err
	}
	var specs []scenarios.Spec
	for i, spec := range simulations {
		if spec.Seed > math.MaxInt64-int64(f.seeds-1) {
			return usageErrorf("--seeds %d: the run of %s has seed %d, and the last simulation would have one above %d: give --seeds %d at most",
				f.seeds, groups[i][0].Run.Broker, spec.Seed, math.MaxInt64, math.MaxInt64-spec.Seed+1)
		}
		for range f.seeds {
			specs = append(specs, spec)
			spec.Seed++
		}
	}
	var out *outDir
	if f.out != "" {
		if out, err = newOutDir(f.out); err != nil {
			return err
		}
		defer func() { err = out.discard(err) }()
	}
	show := newProgress(cmd.ErrOrStderr(), f.quiet, false, specs)
	simulated, err := scenarios.RunAll(cmd.Context(), specs, show.update)
	show.close()
	if cmd.Context().Err() != nil {
		return interruptedError(cmd.Context())
	}
	if err != nil {
		return fmt.Errorf("simulate the real runs: %w", err)
	}
	var all []*agreement.Report
	for i, g := range groups {
		all = append(all, agreement.Of(g, simulated[i*f.seeds:(i+1)*f.seeds]))
	}
	if out != nil {
		if err := writeValidation(out, all, simulated); err != nil {
			return err
		}
	}
	var text bytes.Buffer
	if err := reports.Validation(&text, f.format, all); err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(text.Bytes())
	return err
}

// writeValidation fills the directory.
func writeValidation(out *outDir, all []*agreement.Report, simulated []*metrics.Result) error {
	for i, r := range simulated {
		if err := r.WriteFile(out.path(fmt.Sprintf("simulated-%d.json", i+1))); err != nil {
			return err
		}
	}
	if _, err := reports.WriteValidation(out.path(""), all); err != nil {
		return err
	}
	return out.commit()
}
