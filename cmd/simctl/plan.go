package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/closedform"
	"github.com/simctl/simctl/scenarios/language"
)

type planFlags struct {
	spec   scenarios.Spec
	from   string // a scenario file
	miss   float64
	check  int
	slo    []string
	format string
	quiet  bool
}

// mostCheckNodes is the most nodes that a check simulates by default, to end within seconds.
const mostCheckNodes = 500

func newPlanCommand(needed func(string) bool) *cobra.Command {
	f := &planFlags{spec: scenarios.Spec{Scenario: closedform.Scenario, Seed: 1, Clock: scenarios.ClockVirtual, Force: true}, miss: 0.1, format: "table"}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Estimate a heartbeat storm by formulae, and check them by simulation",
		Long: `Estimate by formulae what a storm of missed heartbeats costs under the legacy and the
shedding broker: evaluations, Raft entries, and the time to recovery. The output shows
every formula and the value of every letter in it.

With --slo, the output also solves for a limit: the most nodes, silent nodes and system jobs,
and the fewest schedulers and servers, that keep a figure within it. Each is solved alone,
with the other settings as given.

The legacy broker is that of Nomad 1.4.2, the shedding broker that of 1.4.3. Other releases
have no formulae: run them by simctl scenario or simctl sweep with --release.

To show how far the formulae can be trusted, the command also simulates a smaller storm
with the same settings under both brokers, and compares it with what the formulae say
about it. --check-nodes sets its size; 0 leaves the check out.`,
		Example: `  simctl plan --nodes 8000 --system-jobs 40 --allocs-per-node 25 --miss 10%
  simctl plan --nodes 8000 --system-jobs 40 --schedulers 8 --check-nodes 0
  simctl plan --nodes 8000 --slo 'recovery_s<=300' --slo 'raft_entries<=100000'
  simctl plan --from recorded.hcl --miss 10%`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	if needed(closedform.Scenario) {
		mustBindVariables(flags, &f.spec)
		flags.Lookup("fraction").Hidden = true // --miss is the same
		flags.Lookup("service-jobs").Usage += " (default: one for each allocation per node)"
	}
	flags.StringVar(&f.from, "from", "", "scenario file, such as record writes, whose nodes, jobs and servers to take; other flags change single ones")
	flags.Var(newChecked(&f.miss, "share", parseShare), "miss", "share of the nodes that miss their heartbeats, such as 10% or 0.1")
	flags.Lookup("miss").DefValue = "10%"
	flags.StringArrayVar(&f.slo, "slo", nil, "limit on a figure, such as 'recovery_s<=300', to solve for nodes, jobs, schedulers and servers; may be given many times")
	bindCost(flags, &f.spec)
	flags.IntVar(&f.check, "check-nodes", 0, fmt.Sprintf("nodes of the simulated check; 0 for none (default: --nodes, up to %d)", mostCheckNodes))
	flags.Var(oneOf(&f.format, "format", []string{"table", "json"}), "format", "format of stdout: table, json")
	flags.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return cmd
}

// parseShare reads a share as 10% or 0.1.
func parseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, errors.New("it must be a share such as 10% or 0.1")
	}
	return v, nil
}

func (f *planFlags) run(cmd *cobra.Command) error {
	if f.from != "" {
		if err := f.takeFrom(cmd); err != nil {
			return err
		}
	}
	if !cmd.Flags().Changed("fraction") {
		f.spec.Set("fraction", f.miss)
	}
	if allocs := f.number("allocs_per_node"); allocs > 0 && f.from == "" && !cmd.Flags().Changed("service-jobs") {
		f.spec.Set("service_jobs", int(math.Ceil(allocs)))
	}
	if cmd.Flags().Changed("check-nodes") && f.check < 0 {
		return usageErrorf("--check-nodes %d: it must be a whole number of at least 1, or 0 for no check", f.check)
	}
	asked, inputs, err := planColumns(f.spec)
	if err != nil {
		return inputError(err)
	}
	plan := reports.Plan{Title: "On paper: " + describeStorm(f.spec), Inputs: inputs, Asked: asked}
	if plan.Limits, err = f.solve(); err != nil {
		return err
	}
	if !cmd.Flags().Changed("check-nodes") {
		f.check = min(int(f.number("nodes")), mostCheckNodes)
	}
	if f.check > 0 {
		if err := f.simulate(cmd, &plan); err != nil {
			return err
		}
	}
	if f.format == "json" {
		return reports.PlanJSON(cmd.OutOrStdout(), plan)
	}
	return reports.PlanTable(cmd.OutOrStdout(), plan)
}

// takeFrom sets the variables that no flag sets to what the file says.
func (f *planFlags) takeFrom(cmd *cobra.Command) error {
	var like scenarios.Spec
	if err := (&assignments{}).load(stdin(cmd), &like, f.from); err != nil {
		return err
	}
	vars, err := closedform.Like(like)
	if err != nil {
		return inputError(err)
	}
	for name, value := range vars {
		if !cmd.Flags().Changed(scenarios.Flag(name)) {
			f.spec.Set(name, value)
		}
	}
	return nil
}

// planBrokers lists the brokers that the formulae describe.
var planBrokers = []string{"legacy", "shedding"}

// planColumns evaluates the formulae for both brokers.
func planColumns(spec scenarios.Spec) (columns []reports.PlanColumn, inputs []reports.PlanInput, err error) {
	for _, b := range planBrokers {
		spec.Broker = b
		e, err := closedform.Of(spec)
		if err != nil {
			return nil, nil, err
		}
		c := reports.PlanColumn{Broker: b}
		for _, fig := range e.Figures {
			c.Figures = append(c.Figures, reports.PlanFigure{Path: fig.Path, Formula: fig.Formula, Estimate: fig.Value})
		}
		columns = append(columns, c)
		inputs = inputs[:0]
		for _, in := range e.Inputs {
			inputs = append(inputs, reports.PlanInput(in))
		}
	}
	return columns, inputs, nil
}

// solve finds what keeps the limits.
func (f *planFlags) solve() ([]reports.PlanLimit, error) {
	var out []reports.PlanLimit
	for _, text := range f.slo {
		outline, err := scenarios.OutlineOf(f.spec)
		if err != nil {
			return nil, inputError(err)
		}
		limit, err := outline.FigureVocabulary().ParseLimit(text)
		if err != nil {
			return nil, badFigure("slo", text, err)
		}
		one := reports.PlanLimit{Limit: limit.String(), Path: limit.Metric}
		for _, b := range planBrokers {
			if limit.Broker != "" && limit.Broker != b {
				continue
			}
			spec := f.spec
			spec.Broker = b
			within, err := closedform.Solve(spec, limit)
			if err != nil {
				return nil, usageErrorf("--slo %q: %w", text, err)
			}
			one.Brokers = append(one.Brokers, planWithin(b, within))
		}
		if len(one.Brokers) == 0 {
			return nil, usageErrorf("--slo %q: there are no formulae for the broker %q: %s", text, limit.Broker, language.Instead(limit.Broker, planBrokers))
		}
		out = append(out, one)
	}
	return out, nil
}

func planWithin(broker string, w *closedform.Within) reports.PlanWithin {
	out := reports.PlanWithin{Broker: broker, Estimate: w.Estimate, OK: w.OK}
	for _, b := range w.Bounds {
		bound := reports.PlanBound{Setting: b.Setting, Asked: b.Asked, Least: b.Least, Min: b.Min, Max: b.Max}
		if !math.IsNaN(b.Low) {
			bound.Low, bound.High = &b.Low, &b.High
		}
		if x := b.Extreme; x != nil {
			bound.Extreme = &reports.PlanExtreme{At: x.At, Value: x.Value, Figure: x.Figure, Part: x.Part.Value, For: x.Part.For, Same: x.Same}
		}
		out.Bounds = append(out.Bounds, bound)
	}
	return out
}

// simulate runs the check and adds it to the plan.
func (f *planFlags) simulate(cmd *cobra.Command, plan *reports.Plan) error {
	spec := f.spec
	closedform.Shrink(&spec, f.check)
	columns, _, err := planColumns(spec)
	if err != nil {
		return inputError(err)
	}
	var specs []scenarios.Spec
	for _, b := range planBrokers {
		spec.Broker = b
		specs = append(specs, spec)
	}
	show := newProgress(cmd.ErrOrStderr(), f.quiet, false, specs)
	results, err := scenarios.RunAll(cmd.Context(), specs, show.update)
	show.close()
	if cmd.Context().Err() != nil {
		return interruptedError(cmd.Context())
	}
	if err != nil {
		return fmt.Errorf("simulate the check: %w", err)
	}
	for i := range columns {
		columns[i].Simulated = results[i]
	}
	plan.CheckTitle = "Checked by simulation: " + describeStorm(spec)
	plan.Checked = columns
	return nil
}

// number returns a variable of the storm; zero if the storm has a wrong value.
func (f *planFlags) number(name string) float64 {
	vars, _ := f.spec.Variables()
	for _, v := range vars {
		if v.Name == name {
			x, _ := strconv.ParseFloat(v.Text(), 64) // null is zero
			return x
		}
	}
	return 0
}

// describeStorm describes a storm, whose variables have been checked, in one line.
func describeStorm(spec scenarios.Spec) string {
	vars, _ := spec.Variables()
	var parts []string
	for i, v := range vars {
		if i == 0 || !v.IsDefault() {
			parts = append(parts, v.Name+"="+v.Text())
		}
	}
	return spec.Scenario + " with " + strings.Join(parts, ", ")
}
