package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/language"
	"github.com/simctl/simctl/scenarios/sweep"
	"github.com/simctl/simctl/scenarios/sweep/nomad"
)

type sweepFlags struct {
	study    sweep.Study
	vars     assignments
	vary     []string
	slo      []string
	strict   bool
	seeds    int
	sample   int
	alone    bool
	knee     string
	within   float64
	metrics  []string
	executor string
	parallel int
	memory   int64
	most     int64 // memory of a run's process
	nomad    nomadFlags
	printJob bool
	dryRun   bool
	out      string
	format   string
	quiet    bool
}

func newSweepCommand() *cobra.Command {
	f := &sweepFlags{
		study: sweep.Study{Base: scenarios.Spec{Seed: 1, Clock: scenarios.ClockVirtual}},
		seeds: 1, within: 0.1, executor: localExecutor, format: reports.SweepFormats()[0],
	}
	cmd := &cobra.Command{
		Use:   "sweep SCENARIO",
		Short: "Run a scenario at many settings and find its limits",
		Long: `Run a scenario at every combination of some settings, under every broker and with every
seed. Each run is a process of its own; as many run side by side as processors and memory
allow. --sample runs a Latin hypercube instead of the full grid, --one-at-a-time varies
each axis alone, and --until-knee bisects an axis to where a limit (--slo) starts to fail.

An axis is NAME=VALUES. NAME is a variable of the scenario, cost or broker. VALUES are
numbers, names, or ranges such as 1..100:log5 (five values in equal factors),
1000..5000:lin3 (equal steps) or 1000..5000:+500. A broker before the name limits the
values to that broker: shedding:reaper_batch=91,2912.

The command estimates how long it will take before it starts. It tries a failed run once
more and then records it as failed. Finished runs stay in the directory: after Ctrl-C or a
crash the same command continues, and with more values it runs only what is new. With
--max-time it starts with the shortest runs, and reports the cells that it then has. A cell
beyond a limit is an answer and no failure, unless --strict says so.

The directory gets sweep.csv (a line for every run, with every total), sweep.json, a result
file for every run, heat maps and line charts, summary.md, report.html (everything on one
page) and bench.txt for benchstat.`,
		Example: `  simctl sweep heartbeat-storm --vary nodes=500,1000,2000 \
      --vary system_jobs=1..30:log4
  simctl sweep heartbeat-storm --vary nodes=100..20000 --until-knee nodes \
      --slo 'recovery_s<=300'
  simctl sweep heartbeat-storm --var nodes=1000 --one-at-a-time \
      --vary schedulers=1,2,4 --vary reaper_batch=182,728,2912`,
		Args: oneScenario,
		RunE: f.run,
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *sweepFlags) bind(flags *pflag.FlagSet) {
	flags.SortFlags = false
	base := &f.study.Base
	flags.StringArrayVar(&f.vary, "vary", nil, "axis to vary, such as nodes=1000,2000; may be given many times")
	flags.IntVar(&f.seeds, "seeds", f.seeds, "runs of each cell, with seeds from --seed on")
	flags.StringArrayVar(&f.slo, "slo", nil, "limit on a figure, such as 'recovery_s<=300' or 'legacy:drain.raft_entries<=5000'; may be given many times")
	flags.BoolVar(&f.strict, "strict", false, "exit with 3 if a cell is beyond a limit (--slo)")
	flags.IntVar(&f.sample, "sample", 0, "run a Latin hypercube of this many cells instead of the grid")
	flags.BoolVar(&f.alone, "one-at-a-time", false, "vary each axis alone; the others stay as --var and the scenario say")
	flags.StringVar(&f.knee, "until-knee", "", "bisect this axis to where a limit starts to fail")
	flags.Float64Var(&f.within, "within", f.within, "how close the bisection gets, as a share of the value")
	flags.StringArrayVar(&f.metrics, "metric", nil, "additional figure to draw and to rank, such as drain.plans_submitted or host.cpu_s")
	f.vars.bind(flags)
	flags.Int64Var(&base.Seed, "seed", base.Seed, "first seed, and the seed of --sample")
	bindBrokers(flags, &f.study.Brokers, "brokers to run, the older one first (default: the scenario's)")
	bindCost(flags, base)
	flags.BoolVar(&base.Force, "force", base.Force, "allow more than 1,000,000 clients")
	flags.Var(oneOf(&f.executor, "where", []string{localExecutor, nomadExecutor}), "executor", "where runs go: local (processes of this machine) or nomad (a Nomad cluster, see docs/sweeps.md)")
	flags.IntVar(&f.parallel, "parallel", 0, "runs at a time (default: one per processor, 16 on a Nomad cluster)")
	flags.Var(newChecked((*size)(&f.memory), "size", parseSize), "memory", "memory for all local runs together, such as 6GiB (default: 4/5 of the free memory)")
	flags.Lookup("memory").DefValue = ""
	flags.Var(newChecked(&f.study.MaxTime, "duration", parsePatience), "max-time", "wall time after which the sweep stops and reports the cells that it has, such as 30m (default: none)")
	flags.Var(newChecked((*size)(&f.most), "size", parseSize), "max-memory", "memory of a local run's process at which it is ended, and its cell is missing, such as 4GiB (default: none)")
	for _, name := range []string{"max-time", "max-memory"} {
		flags.Lookup(name).DefValue = ""
	}
	f.nomad.bind(flags)
	flags.BoolVar(&f.printJob, "print-job", false, "print the job that --executor nomad dispatches cells to, without running anything")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would run and how long it would take, with --format json run by run, without running anything")
	flags.StringVar(&f.out, "out", "", "directory to write (default results/sweep-NAME-HASH, the same for the same sweep)")
	flags.Var(oneOf(&f.format, "format", reports.SweepFormats()), "format", "format of stdout: "+strings.Join(reports.SweepFormats(), ", "))
	flags.BoolVar(&f.quiet, "quiet", false, "print no progress")
}

// run does what the flags say. It checks everything before it runs or writes anything.
func (f *sweepFlags) run(cmd *cobra.Command, args []string) (err error) {
	if err := f.vars.load(stdin(cmd), &f.study.Base, args[0]); err != nil {
		return err
	}
	runs, most, err := f.check(cmd)
	if err != nil {
		return err
	}
	if f.printJob {
		f.nomad.job.Memory = nomad.Memory(runs)
		return f.nomad.job.Print(cmd.OutOrStdout())
	}
	if !cmd.Flags().Changed("out") {
		f.out = filepath.Join("results", "sweep-"+f.study.Base.Scenario+"-"+f.study.ID())
	}
	var show *sweepProgress
	executor, err := f.newExecutor(cmd.Context(), func(why string) { show.waits(why) })
	if err != nil {
		return err
	}
	show = newSweepProgress(cmd.ErrOrStderr(), f, executor)
	if f.dryRun {
		show.preview(runs, most)
		if f.format == "json" {
			return printJSON(cmd, show.document(runs))
		}
		return nil
	}
	// It refuses a directory that cannot be written to, and keeps other processes out of it.
	hold, err := newReportDir(f.out, true)
	if err != nil {
		return err
	}
	defer func() { err = hold.discard(err) }()
	s, err := f.execute(cmd.Context(), executor, show)
	if err != nil {
		return err
	}
	s.Command, s.Metrics = commandLine(cmd), f.metrics
	if _, err := reports.WriteSweep(f.out, s); err != nil {
		return f.goesOn(err, show.done)
	}
	if !f.quiet {
		if n := sweep.Others(f.out, s); n > 0 {
			cmd.PrintErrf("%s also holds %s of other cells: what is there stays, and is no part of the report\n", filepath.Join(f.out, sweep.RunsName), english.Plural(n, "run", ""))
		}
		cmd.PrintErrf("results in %s\n", f.out)
	}
	if err := reports.Sweep(cmd.OutOrStdout(), f.format, s, reports.TableOptions{Verdict: isTerminal(cmd.OutOrStdout())}); err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	return cmp.Or(sweepVerdict(s, f.out), f.beyond(s))
}

// beyond returns an error for the cells that are beyond a limit, if that is an error.
func (f *sweepFlags) beyond(s *metrics.Sweep) error {
	var missed []string
	for _, broker := range s.Brokers {
		cells, beyond := 0, 0
		for _, c := range s.Cells() {
			if c.Broker != broker {
				continue
			}
			cells++
			if !c.Passes(s.Limits) {
				beyond++
			}
		}
		if beyond > 0 {
			missed = append(missed, fmt.Sprintf("%s in %d of %s", broker, beyond, english.Plural(cells, "cell", "")))
		}
	}
	if len(missed) == 0 || !f.strict {
		return nil
	}
	return verdictErrorf("beyond the limits: %s: %s names them", strings.Join(missed, ", "), filepath.Join(f.out, reports.SweepSummaryName))
}

// check turns the flags into a study. It returns the runs that the study begins with and
// the most runs it can have.
func (f *sweepFlags) check(cmd *cobra.Command) ([]sweep.Run, int, error) {
	st := &f.study
	base, err := scenarios.OutlineOf(st.Base)
	if err != nil {
		return nil, 0, badSweep(err)
	}
	byFlag := cmd.Flags().Changed("broker") || cmd.Flags().Changed("release")
	given := slices.Clone(st.Brokers)
	if !byFlag {
		st.Brokers = base.Brokers()
	}
	if err := st.Parse(f.vary); err != nil {
		return nil, 0, badSweep(err)
	}
	if byFlag && !slices.Equal(given, st.Brokers) {
		return nil, 0, usageErrorf("--broker and --vary broker=… contradict each other: give one of them")
	}
	if f.seeds < 1 || f.seeds > 1000 {
		return nil, 0, usageErrorf("--seeds %d: it must be a whole number from 1 to 1000", f.seeds)
	}
	if st.Base.Seed > math.MaxInt64-int64(f.seeds-1) {
		return nil, 0, usageErrorf("--seed %d --seeds %d: the last seed would be above %d: begin with a smaller one", st.Base.Seed, f.seeds, math.MaxInt64)
	}
	for i := range f.seeds {
		st.Seeds = append(st.Seeds, st.Base.Seed+int64(i))
	}
	if err := f.checkFigures(base.FigureVocabulary()); err != nil {
		return nil, 0, err
	}
	if err := cmp.Or(f.nomad.unneeded(cmd.Flags(), f.executor, f.printJob), f.design(cmd.Flags())); err != nil {
		return nil, 0, err
	}
	if err := f.checkAxes(cmd.Flags()); err != nil {
		return nil, 0, err
	}
	runs, most, err := st.Plan()
	if err != nil {
		return nil, 0, badSweep(err)
	}
	return runs, most, nil
}

// checkFigures reads the limits and the figures to draw.
func (f *sweepFlags) checkFigures(vocabulary *metrics.Vocabulary) error {
	for _, text := range f.slo {
		limit, err := vocabulary.ParseLimit(text)
		if err != nil {
			return badFigure("slo", text, err)
		}
		if limit.Broker != "" && !slices.Contains(f.study.Brokers, limit.Broker) {
			return usageErrorf("--slo %q: no run uses the broker %q: %s", text, limit.Broker, language.Instead(limit.Broker, f.study.Brokers))
		}
		f.study.Limits = append(f.study.Limits, limit)
	}
	for i, name := range f.metrics {
		if name == "" {
			return usageErrorf("--metric %q: it must name a figure, such as drain.plans_submitted", name)
		}
		path, err := vocabulary.FullPath(name)
		if err != nil {
			return badFigure("metric", name, err)
		}
		f.metrics[i] = path
	}
	return nil
}

// badFigure returns a usage error about a figure that no run has. A name that is close stands
// instead of the list of all.
func badFigure(flag, value string, err error) error {
	if e, ok := errors.AsType[*metrics.PathError](err); ok {
		remedy := "there is " + strings.Join(e.Known, ", ")
		if near := language.Suggest(e.Name, e.Known); near != "" {
			remedy = fmt.Sprintf("did you mean %q?", near)
		} else if len(e.Known) == 0 {
			remedy = "there is none"
		}
		return usageErrorf("--%s %q: unknown %s %q: %s", flag, value, e.What, e.Name, remedy)
	}
	return usageErrorf("--%s %q: %w", flag, value, err)
}

// checkAxes refuses values of what an axis varies in every run.
func (f *sweepFlags) checkAxes(flags *pflag.FlagSet) error {
	for _, a := range f.study.Axes {
		if len(a.Only) > 0 || f.alone {
			continue
		}
		if a.Name == "cost" && flags.Changed("cost") {
			return usageErrorf("--cost %s: --vary varies cost in every run: leave one of them out", flags.Lookup("cost").Value)
		}
		if value, given := f.vars.values[a.Name]; given && f.vars.files[a.Name] == nil {
			return usageErrorf("--var %s=%v: --vary varies %s in every run: leave one of them out", a.Name, value, a.Name)
		}
	}
	return nil
}

// design sets how cells are chosen. The flags may ask for at most one way.
func (f *sweepFlags) design(flags *pflag.FlagSet) error {
	d := &f.study.Design
	asked := 0
	if flags.Changed("sample") {
		asked++
		*d = sweep.Design{Kind: sweep.Sample, Cells: f.sample}
	}
	if f.alone {
		asked++
		*d = sweep.Design{Kind: sweep.OneAtATime}
	}
	if flags.Changed("until-knee") {
		asked++
		if !(f.within > 0 && f.within < 1) {
			return usageErrorf("--within %g: it must be a number above 0 and below 1", f.within)
		}
		if name, _, ok := strings.Cut(f.knee, "="); ok {
			return usageErrorf("--until-knee %q: it names an axis: --vary %s --until-knee %s", f.knee, f.knee, name)
		}
		*d = sweep.Design{Kind: sweep.Knee, Axis: strings.ReplaceAll(f.knee, "-", "_"), Within: f.within}
	} else if flags.Changed("within") {
		return usageErrorf("--within %g: it is how close --until-knee gets: say --until-knee AXIS, too", f.within)
	}
	if f.strict && (len(f.slo) == 0 || d.Kind == sweep.Knee) {
		return usageErrorf("--strict demands that every cell keeps the limits of --slo: give one, and no --until-knee, which looks for cells that do not")
	}
	if asked > 1 {
		return usageErrorf("--sample, --one-at-a-time and --until-knee exclude each other: give one of them")
	}
	return nil
}

// badSweep turns an error of a study into a usage error, with a suggestion if a known name
// is close.
func badSweep(err error) error {
	if e, ok := errors.AsType[*sweep.UnknownError](err); ok {
		if near := language.Suggest(e.Name, e.Known); near != "" {
			return usageErrorf("unknown %s %q: did you mean %q?", e.What, e.Name, near)
		}
		return usageErrorf("%w", err)
	}
	if _, ok := errors.AsType[*scenarios.InputError](err); ok {
		return inputError(err)
	}
	return usageErrorf("%w", err)
}

func (f *sweepFlags) newExecutor(ctx context.Context, waits func(why string)) (sweep.Executor, error) {
	if f.parallel < 0 || f.parallel > 10_000 {
		return nil, usageErrorf("--parallel %d: it must be a whole number from 1 to 10000, or 0 for the default", f.parallel)
	}
	if f.executor == nomadExecutor && f.most > 0 {
		return nil, usageErrorf("--max-memory is about processes of this machine: on a Nomad cluster the job's memory is their limit (--print-job prints it)")
	}
	if f.executor == nomadExecutor {
		return f.nomad.newExecutor(ctx, f.parallel, waits)
	}
	local := sweep.NewLocal(f.parallel, f.memory)
	local.MaxMemory = f.most
	return local, nil
}

// execute runs the study. Runs that finish before an interrupt stay on disk.
func (f *sweepFlags) execute(ctx context.Context, executor sweep.Executor, show *sweepProgress) (*metrics.Sweep, error) {
	journal, err := sweep.OpenJournal(f.out)
	if err != nil {
		return nil, err
	}
	s, err := f.study.Do(ctx, executor, journal, show)
	show.close()
	if ctx.Err() != nil && show.done == 0 {
		return nil, errors.Join(interruptedError(ctx), journal.Abandon())
	}
	err = errors.Join(err, journal.Close())
	if ctx.Err() != nil {
		err = fmt.Errorf("interrupted (%w)", context.Cause(ctx))
	}
	return s, f.goesOn(err, show.done)
}

// goesOn adds to an error that ends a sweep how many runs it keeps.
func (f *sweepFlags) goesOn(err error, done int) error {
	if err == nil || done == 0 {
		return err
	}
	return fmt.Errorf("%w: %s kept in %s; the same command continues from there", err, english.Plural(done, "run is", "runs are"), f.out)
}
