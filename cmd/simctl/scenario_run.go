package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/designs"
	"github.com/simctl/simctl/scenarios/forecast"
	"github.com/simctl/simctl/scenarios/language"
)

// scenarioFlags holds the flags of a scenario.
type scenarioFlags struct {
	spec    scenarios.Spec // of every run, less its broker
	brokers []string       // nil = the scenario's
	out     string
	base    string       // a baseline file
	byVar   *assignments // of --var and --var-file; empty if the command has no such flags
	limits  limitFlags
	real    realFlags // simulated if the command has no such flags
	web     webFlags  // no pages if the command has no such flags
	format  string
	quiet   bool
}

func newScenarioFlags(spec scenarios.Spec) *scenarioFlags {
	spec.Seed, spec.Clock = 1, scenarios.ClockVirtual
	return &scenarioFlags{spec: spec, byVar: &assignments{}, format: "table"}
}

// bind adds the flags that all scenarios share.
func (f *scenarioFlags) bind(flags *pflag.FlagSet) {
	flags.Int64Var(&f.spec.Seed, "seed", f.spec.Seed, "seed of every random draw")
	bindBrokers(flags, &f.brokers, "brokers to compare, the older one first (default legacy,shedding)")
	flags.StringVar(&f.spec.Clock, "clock", f.spec.Clock, "virtual (simulated time) or wall (real time)")
	flags.Var(newChecked(&f.spec.TimeScale, "factor", parseTimeScale), "time-scale", "factor on all durations, on the wall clock (default 1)")
	flags.Lookup("time-scale").DefValue = ""
	flags.StringVar(&f.spec.RaftStore, "raft-store", scenarios.RaftStoreMemory, "where servers keep their Raft logs: memory or, on the wall clock, boltdb")
	bindCost(flags, &f.spec)
	flags.BoolVar(&f.spec.Force, "force", f.spec.Force, "allow more than 1,000,000 clients")
	flags.BoolVar(&f.spec.Thorough, "thorough", false, "judge reads from all servers, too, and add a digest of every event, as simctl soak does")
	flags.StringVar(&f.out, "out", "", "directory to write (default results/NAME-TIMESTAMP)")
	flags.StringVar(&f.base, "baseline", "", "baseline file, for thresholds that compare with one (see simctl gate)")
	f.limits.bind(flags)
	flags.Var(textFormat(&f.format), "format", "format of stdout: "+strings.Join(textFormats(), ", "))
	flags.BoolVar(&f.quiet, "quiet", false, "print no progress")
}

// limitFlags are the flags that stop a run.
type limitFlags scenarios.Limits

func (l *limitFlags) bind(flags *pflag.FlagSet) {
	flags.Var(newChecked(&l.Time, "duration", parsePatience), "max-time", "wall time after which a run stops and reports what was, such as 2m (default: none)")
	flags.Var(newChecked((*size)(&l.Memory), "size", parseSize), "max-memory", "memory of a run's process at which it stops and reports what was, such as 4GiB (default: none)")
	for _, name := range []string{"max-time", "max-memory"} {
		flags.Lookup(name).DefValue = ""
	}
}

// parsePatience reads how long a run may take.
func parsePatience(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, errors.New("it must be a length of time such as 90s, 2m or 1h30m")
	}
	return d, nil
}

// parseTimeScale reads a factor on durations. Zero, which in a Spec stands for no factor, is none.
func parseTimeScale(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0 && v <= 1000) {
		return 0, errors.New("it must be a number above 0, up to 1000")
	}
	return v, nil
}

// bindCost adds the flag that chooses the class of machines.
func bindCost(flags *pflag.FlagSet, spec *scenarios.Spec) {
	flags.StringVar(&spec.Cost, "cost", spec.Cost, "what work costs: "+strings.Join(scenarios.CostNames(), ", ")+
		" or a .hcl file (default: as the scenario says, or "+scenarios.DefaultCost+")")
}

// run does what the flags say. It checks everything before it runs anything, and writes
// files only after all runs have succeeded.
func (f *scenarioFlags) run(cmd *cobra.Command) error {
	if err := f.web.check(cmd.Flags(), f.spec.Clock); err != nil {
		return err
	}
	one, runs, err := f.compile()
	if err != nil {
		return err
	}
	clusters, err := f.real.clusters(cmd, one)
	if err != nil {
		return err
	}
	if len(clusters) > 0 && !cmd.Flags().Changed("broker") {
		runs = nil // simulated ones beside real ones are for who asks for them
	}
	held := demands{thresholds: one.Thresholds()}
	if cmd.Flags().Changed("baseline") {
		base, err := metrics.LoadBaseline(f.base)
		switch {
		case f.base == "":
			return usageErrorf("--baseline \"\": want the name of a file")
		case errors.Is(err, fs.ErrNotExist):
			return usageErrorf("--baseline %q: there is no such file: simctl gate SCENARIO --update writes one", f.base)
		case err != nil:
			return usageErrorf("%w", err)
		case base.Runs[0].Run.Scenario != f.spec.Scenario:
			return usageErrorf("%s is a baseline of scenario %s, not of %s", f.base, base.Runs[0].Run.Scenario, f.spec.Scenario)
		}
		held.baseline = base.Runs
	}
	if err := f.web.open(cmd, f.spec.Scenario, runs, clusters); err != nil {
		return err
	}
	defer f.web.close()
	out, err := f.outDir(cmd)
	if err != nil {
		return err
	}
	if names := out.older(f.brokers); len(names) > 0 {
		cmd.PrintErrf("%s already holds %s: what is there stays, and is no part of the new report\n", f.out, english.WordSeries(names, "and"))
	}
	if !f.quiet && len(runs) > 0 {
		f.announce(cmd, runs)
	}
	results, left, err := f.play(cmd, one, runs, clusters)
	if err == nil {
		err = held.judge(results)
	}
	var lacking error
	if err == nil {
		lacking, err = writeFiles(out, results)
	}
	if ctx := cmd.Context(); ctx.Err() != nil {
		err = interruptedError(ctx)
	}
	if err == nil {
		err = out.commit()
	}
	if err != nil {
		return out.discard(err)
	}
	held.tell(cmd)
	return f.conclude(cmd, results, left, lacking)
}

// play runs the simulated runs, and then the scenario in each of the clusters. Left is what could not be
// cleaned up there.
func (f *scenarioFlags) play(cmd *cobra.Command, one *scenarios.Compiled, runs []*scenarios.Compiled, clusters []scenarios.Real) (results []*metrics.Result, left, err error) {
	if len(runs) > 0 {
		results, err = f.simulate(cmd, runs)
	}
	if err == nil && len(clusters) > 0 {
		var more []*metrics.Result
		more, left, err = f.runReal(cmd, one, clusters, len(runs))
		results = append(results, more...)
	}
	return results, left, err
}

// conclude prints the report. Its error says which run did not come to its end, which files the directory lacks,
// what is left in a cluster, or which check failed.
func (f *scenarioFlags) conclude(cmd *cobra.Command, results []*metrics.Result, left, lacking error) error {
	stopped := reports.Stopped(results)
	if stopped == "" && lacking == nil && !f.quiet {
		cmd.PrintErrf("results in %s\n", f.out) // before the report, whose last line on a terminal is its verdict
	}
	if err := printReport(cmd, f.format, results); err != nil {
		return fmt.Errorf("print the comparison: %w", err)
	}
	if lacking != nil {
		return fmt.Errorf("%w; the results are in %s: simctl report makes the rest of them later", lacking, f.out)
	}
	switch {
	case stopped != "" && left != nil:
		return fmt.Errorf("%s; what was until then is in %s; %w", stopped, f.out, left)
	case stopped != "":
		return fmt.Errorf("%s; what was until then is in %s", stopped, f.out)
	case left != nil:
		return fmt.Errorf("%w; the results are in %s", left, f.out)
	}
	return verdict(results)
}

// outDir opens the directory that --out names or, by default, a new one.
func (f *scenarioFlags) outDir(cmd *cobra.Command) (out *outDir, err error) {
	if cmd.Flags().Changed("out") {
		return newReportDir(f.out, false)
	}
	if out, err = newDatedDir(f.spec.Scenario); err == nil {
		f.out = out.target
	}
	return out, err
}

// patience is how long people wait without being told that it takes longer.
const patience = 30 * time.Second

// announce says what the runs will cost, if that is known and more than users may expect.
func (f *scenarioFlags) announce(cmd *cobra.Command, runs []*scenarios.Compiled) {
	took, memory, ok := forecast.SideBySide(runs)
	free := float64(forecast.FreeMemory())
	beyond, more, most := "", "", took
	for _, r := range runs {
		cost := forecast.Of(r.Spec())
		if !cost.Known() && more == "" {
			more = " or more" // work that follows from how a run goes is not in it
		}
		if busy := cost.Overload(); busy > 0 {
			most = took * forecast.Runaway
			more = fmt.Sprintf(" (up to %s if the leader, which heartbeats alone keep %.0f%% busy, falls behind)", roughly(most), 100*busy)
		}
	}
	if !ok || most <= patience && memory <= free {
		return
	}
	if memory > free {
		beyond = fmt.Sprintf(" (%.1f GiB are free)", free/(1<<30))
	}
	cmd.PrintErrf("this takes about %s%s and %.1f GiB of memory%s: fewer nodes or jobs take less, and --max-time or --max-memory stop it with what was until then\n",
		roughly(took), more, memory/(1<<30), beyond)
}

// compile returns the run without a broker and the runs, one for each broker, or says which flag
// keeps them from running.
func (f *scenarioFlags) compile() (one *scenarios.Compiled, runs []*scenarios.Compiled, err error) {
	if one, err = scenarios.Compile(f.spec); err != nil {
		return nil, nil, f.inputError(err, nil)
	}
	if len(f.brokers) == 0 {
		f.brokers = one.Brokers()
	}
	one = one.Within(scenarios.Limits(f.limits))
	for _, name := range f.brokers {
		run, err := one.Under(name)
		if err != nil {
			return nil, nil, f.inputError(err, one.Brokers())
		}
		runs = append(runs, run.Expecting(forecast.Of(run.Spec()).Data()))
	}
	return one, runs, nil
}

// inputError is inputError for a command line that may have given variables by --var.
func (f *scenarioFlags) inputError(err error, brokers []string) error {
	if e, ok := errors.AsType[*scenarios.InputError](err); ok {
		if err := f.byVar.explain(e); err != nil {
			return usageErrorf("%w", err)
		}
	}
	return inputError(err, brokers...)
}

// inputError turns an error of the input into a usage error with a suggestion, which may also
// be one of the scenario's brokers.
func inputError(err error, brokers ...string) error {
	candidates := map[string][]string{
		scenarios.InputBroker:    slices.Concat(brokers, scenarios.BrokerNames(), designs.Brokers()),
		scenarios.InputClock:     {scenarios.ClockVirtual, scenarios.ClockWall},
		scenarios.InputCost:      scenarios.CostNames(),
		scenarios.InputRaftStore: {scenarios.RaftStoreMemory, scenarios.RaftStoreBoltDB},
		scenarios.InputScenario:  scenarios.Names(),
	}
	if e, ok := errors.AsType[*scenarios.InputError](err); ok {
		near := ""
		if at := strings.LastIndex(e.Value, "+") + 1; at > 0 && e.Input == scenarios.InputBroker {
			if word := language.Suggest(e.Value[at:], designs.Words()); word != "" {
				near = e.Value[:at] + word
			}
			words := strings.Split(e.Value, "+")
			wrong := slices.ContainsFunc(words[1:], func(word string) bool { return scenarios.CheckBroker(words[0]+"+"+word) != nil })
			candidates[e.Input] = slices.DeleteFunc(candidates[e.Input], func(name string) bool { // it would ignore a word, or replace a right one
				return at == len(e.Value) || strings.Count(name, "+") != strings.Count(e.Value, "+") || !wrong
			})
		}
		if near := cmp.Or(near, language.Suggest(e.Value, candidates[e.Input])); near != "" {
			return usageErrorf("%w", &scenarios.InputError{Input: e.Input, Value: e.Value, Allowed: fmt.Sprintf("did you mean %q?", near)})
		}
		return usageErrorf("%w", err)
	}
	if _, ok := errors.AsType[*language.Error](err); ok {
		return usageErrorf("%w", err)
	}
	return err
}

// simulate runs them side by side and shows how far they are.
func (f *scenarioFlags) simulate(cmd *cobra.Command, runs []*scenarios.Compiled) ([]*metrics.Result, error) {
	var specs []scenarios.Spec
	for _, r := range runs {
		specs = append(specs, r.Spec())
	}
	show := f.web.follow(newProgress(cmd.ErrOrStderr(), f.quiet, f.spec.Clock == scenarios.ClockWall, specs), 0)
	defer show.close()
	results, err := scenarios.Run(cmd.Context(), runs, show.update)
	for i := range runs {
		f.web.ended(i, err)
	}
	return results, err
}

// writeFiles fills the directory: the result files, the charts and the page. Lacking is why
// charts or the page could not be written, such as a full disk: the results are there all the same.
func writeFiles(out *outDir, results []*metrics.Result) (lacking, err error) {
	for _, r := range results {
		if err := r.WriteFile(out.path(r.Run.Broker + ".json")); err != nil {
			return nil, err
		}
	}
	_, lacking = reports.Write(out.stage, results, "png", "html")
	return out.named(lacking), nil
}
