package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/scenarios"
)

// gateFlags holds the flags of the gate, including those of every scenario.
type gateFlags struct {
	scenarioFlags
	update    bool
	tolerance float64
	junit     string
	github    bool
	all       bool
	// ofBaseline says that the spec is the baseline's, less what the command line gives.
	ofBaseline bool
}

func newGateCommand() *cobra.Command {
	f := &gateFlags{scenarioFlags: *newScenarioFlags(scenarios.Spec{}), tolerance: 0.05}
	cmd := &cobra.Command{
		Use:   "gate [SCENARIO]",
		Short: "Run a scenario and fail if its figures differ from a baseline",
		Long: `Repeat the runs of a baseline file and check every figure against the baseline and against
the thresholds of the scenario. Each check that fails prints a line with the figure, the
demand and the difference; --all prints the others, too, and --format json has all of them.
The exit code is 3 if a check fails. --out keeps the results and a report, whatever the
outcome.

With --update the runs become the new baseline, and the command prints which figures it
changes: commit that file. SCENARIO is a scenario
file or the name of a built-in scenario; the default of --baseline is
testdata/baselines/NAME.json. The baseline also holds what to run. A flag that
changes it needs --update. Without a baseline the command checks the scenario's thresholds
alone, and says so. A file that --baseline names must exist.`,
		Example: `  simctl gate heartbeat-storm --var nodes=200 --update
  simctl gate --baseline testdata/baselines/heartbeat-storm.json \
      --junit gate.xml`,
		Args: atMost(1, "one scenario"),
		RunE: f.run,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.base, "baseline", "", "baseline file (default testdata/baselines/NAME.json)")
	flags.BoolVar(&f.update, "update", false, "make the results of this run the baseline")
	flags.Var(newChecked(&f.tolerance, "share", parseShare), "tolerance", "with --update: how far a figure may differ from the baseline's, as a share of it")
	flags.Lookup("tolerance").DefValue = "5%"
	flags.BoolVarP(&f.all, "all", "v", false, "print every check, not only those that failed")
	flags.StringVar(&f.out, "out", "", "directory to write the results and the report to")
	flags.StringVar(&f.junit, "junit", "", "file to write the checks to as JUnit XML")
	flags.BoolVar(&f.github, "github", false, "annotate a GitHub Actions run, and append to $GITHUB_STEP_SUMMARY")
	f.byVar.bind(flags)
	flags.Int64Var(&f.spec.Seed, "seed", f.spec.Seed, "seed of every random draw")
	bindBrokers(flags, &f.brokers, "brokers to run (default legacy,shedding)")
	flags.StringVar(&f.spec.Cost, "cost", "", "what work costs (default: as the scenario says)")
	flags.BoolVar(&f.spec.Force, "force", false, "allow more than 1,000,000 clients")
	f.limits.bind(flags)
	bindFormat(flags, &f.format)
	flags.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return cmd
}

// shaping lists the flags that change what is run.
var shaping = []string{"var", "var-file", "seed", "broker", "release", "cost", "force"}

func (f *gateFlags) run(cmd *cobra.Command, args []string) (err error) {
	baseline, err := f.prepare(cmd, args)
	if err != nil {
		return err
	}
	one, runs, err := f.compile()
	if bad, ok := errors.AsType[*scenarios.InputError](err); ok && f.ofBaseline && !cmd.Flags().Changed(bad.Input) {
		return usageErrorf("what %s says to run: %w: write it again with simctl gate SCENARIO --update, and flags for what to run", f.base, err)
	}
	if err != nil {
		return err
	}
	held, err := f.demands(cmd, one, baseline)
	if err != nil {
		return err
	}
	if err := f.checkFiles(cmd); err != nil {
		return err
	}
	if baseline == nil && !f.update {
		cmd.PrintErrf("there is no baseline %s: only invariants and the scenario's thresholds are checked; --update writes one\n", f.base)
	}
	var out *outDir
	if cmd.Flags().Changed("out") {
		if out, err = newReportDir(f.out, false); err != nil {
			return err
		}
		defer func() { err = out.discard(err) }()
	}
	results, err := f.simulate(cmd, runs)
	if ctx := cmd.Context(); ctx.Err() != nil {
		return interruptedError(ctx)
	}
	if err == nil && !f.update {
		err = held.judge(results)
	}
	if err != nil {
		return err
	}
	var lacking error
	if out != nil {
		lacking = f.keep(out, results)
	}
	if stopped := reports.Stopped(results); stopped != "" {
		return errors.Join(fmt.Errorf("%s: a gate has no verdict on a part of its runs", stopped), lacking)
	}
	if f.update {
		return errors.Join(f.write(cmd, baseline, results), lacking)
	}
	lacking = errors.Join(lacking, f.report(cmd, results))
	held.tell(cmd)
	failed := gateVerdict(results, baseline, f.base)
	if failed != nil && lacking != nil {
		cmd.PrintErrf("%v\n", lacking) // the verdict decides on the exit code
		return failed
	}
	return cmp.Or(failed, lacking)
}

// demands returns what the runs are held to: the scenario's thresholds and, unless the runs become the next baseline, those
// of the present one.
func (f *gateFlags) demands(cmd *cobra.Command, run *scenarios.Compiled, baseline *metrics.Baseline) (demands, error) {
	held := demands{thresholds: run.Thresholds()}
	if f.update {
		return held, nil
	}
	if baseline != nil {
		if err := f.compare(cmd, baseline, run.PhaseNames()); err != nil {
			return demands{}, err
		}
		for _, r := range baseline.Runs {
			if name, now, was := run.Unlike(r.Run); name != "" {
				return demands{}, usageErrorf("%s contradicts itself: by its spec, %s is %s, and its run of %s has %s: write it again with simctl gate SCENARIO --update",
					f.base, name, now, r.Run.Broker, was)
			}
		}
		held.thresholds = append(held.thresholds, baseline.Thresholds()...)
		held.baseline = baseline.Runs
	}
	if len(held.thresholds) == 0 {
		return demands{}, usageErrorf("there is no baseline %s and the scenario has no thresholds: write a baseline with --update", f.base)
	}
	return held, nil
}

// keep writes the results and the report. The error says what a full disk left out, which is no
// reason to lose the verdict.
func (f *gateFlags) keep(out *outDir, results []*metrics.Result) error {
	lacking, err := writeFiles(out, results)
	if err == nil {
		err = out.commit()
	}
	err = out.named(err)
	if err == nil && lacking != nil {
		return fmt.Errorf("%w; the results are in %s: simctl report makes the rest of them later", lacking, f.out)
	}
	return err
}

// checkFiles refuses files that could not be written in the end, and what would not be written.
func (f *gateFlags) checkFiles(cmd *cobra.Command) error {
	for _, name := range []string{"junit", "github", "all"} {
		if f.update && cmd.Flags().Changed(name) {
			return usageErrorf("--%s: it is for checks, which --update does not make: leave one of them out", name)
		}
	}
	if f.github && f.format == "json" {
		return usageErrorf("--github annotates on stdout, which --format json keeps for JSON: leave one of them out")
	}
	if cmd.Flags().Changed("junit") {
		if err := checkFile("--junit", f.junit); err != nil {
			return err
		}
		for _, input := range []string{f.base, f.spec.File} {
			if sameFile(f.junit, input) {
				return usageErrorf("--junit %q: the gate reads this file; want one of its own", f.junit)
			}
		}
	}
	if path := os.Getenv(stepSummary); f.github && path != "" {
		if err := checkFile("$"+stepSummary, path); err != nil {
			return err
		}
	}
	if f.update {
		return checkFile("--baseline", f.base)
	}
	return nil
}

// sameFile reports whether two names are of one file that is there.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

// stepSummary is the variable of the environment that names the file of a step's summary.
const stepSummary = "GITHUB_STEP_SUMMARY"

// compare compares the phases of the baseline with those that the scenario has now. A phase that only the baseline has is
// an error, since it cannot be checked. For a phase that only the scenario has, compare says that the baseline
// demands nothing of it.
func (f *gateFlags) compare(cmd *cobra.Command, b *metrics.Baseline, phases []string) error {
	gone, fresh := b.Unlike(phases)
	if len(gone) > 0 {
		return usageErrorf("the baseline %s has the %s %s, and the scenario has %s: write the baseline again with --update", f.base,
			english.PluralWord(len(gone), "phase", ""), english.WordSeries(gone, "and"), english.WordSeries(phases, "and"))
	}
	if len(fresh) > 0 {
		cmd.PrintErrf("the baseline %s does not have the %s %s, of which only invariants and the scenario's thresholds are checked: --update takes it in\n", f.base,
			english.PluralWord(len(fresh), "phase", ""), english.WordSeries(fresh, "and"))
	}
	return nil
}

// gateVerdict returns an error that counts the failed checks, or nil. The lines of the
// report name them.
func gateVerdict(results []*metrics.Result, b *metrics.Baseline, path string) error {
	checks := reports.Checks(results)
	failed := reports.Failed(checks)
	if failed == 0 {
		return nil
	}
	versions := ""
	if b != nil && len(b.Runs) > 0 && b.Runs[0].Run.Version != results[0].Run.Version {
		versions = fmt.Sprintf(" (simctl %s wrote the baseline, this is %s, which may simulate differently)", b.Runs[0].Run.Version, results[0].Run.Version)
	}
	remedy := ": invariants or thresholds of the scenario, which no baseline changes"
	if slices.ContainsFunc(checks, func(c reports.Check) bool { return !c.OK && c.Baseline != nil }) {
		remedy = fmt.Sprintf("; if the change is intended, update the baseline: simctl gate --baseline %s --update", path)
	}
	return verdictErrorf("%d of %s failed%s%s", failed, english.Plural(len(checks), "check", ""), versions, remedy)
}

// prepare decides what to run: what the baseline holds or, with --update, what the command
// line says. It returns a nil baseline if there is none.
func (f *gateFlags) prepare(cmd *cobra.Command, args []string) (*metrics.Baseline, error) {
	if cmd.Flags().Changed("baseline") && f.base == "" {
		return nil, usageErrorf("--baseline \"\": want the name of a file")
	}
	shaped := ""
	for _, name := range shaping {
		if cmd.Flags().Changed(name) {
			shaped = name
		}
	}
	if len(args) == 1 {
		if args[0] == "-" {
			return nil, usageErrorf("a gate runs a file that its baseline can name, not stdin")
		}
		if err := f.load(cmd, args[0], f.byVar); err != nil {
			return nil, err
		}
		if f.base == "" {
			f.base = filepath.Join("testdata", "baselines", f.spec.Scenario+".json")
		}
	} else if f.base == "" {
		return nil, usageErrorf("nothing to run: name a scenario or a --baseline (see %s --help)", cmd.CommandPath())
	}
	if cmd.Flags().Changed("tolerance") && !f.update {
		return nil, usageErrorf("--tolerance is written into the baseline: add --update to write it again")
	}
	baseline, err := metrics.LoadBaseline(f.base)
	if baseline != nil && !cmd.Flags().Changed("tolerance") {
		f.tolerance = baseline.Tolerance
	}
	spoilt, _ := errors.AsType[*metrics.SpoiltError](err)
	switch {
	case errors.Is(err, os.ErrNotExist) && len(args) == 1 && (f.update || !cmd.Flags().Changed("baseline")):
		return nil, nil
	case errors.Is(err, os.ErrNotExist):
		return nil, usageErrorf("--baseline %q: there is no such file: --update writes one, with a scenario", f.base)
	case spoilt != nil && len(args) == 1 && f.update:
		cmd.PrintErrf("%s: %v: it is written again, and cannot say what changes\n", f.base, spoilt.Unwrap())
		return nil, nil
	case err != nil:
		return nil, usageErrorf("%w", err)
	case len(args) == 1 && baseline.Runs[0].Run.Scenario != f.spec.Scenario:
		return nil, usageErrorf("%s is a baseline of scenario %s, not of %s", f.base, baseline.Runs[0].Run.Scenario, f.spec.Scenario)
	case shaped != "" && !f.update:
		return nil, usageErrorf("--%s: the baseline %s says what runs: leave it out, or add --update to write it again", shaped, f.base)
	case shaped != "" && len(args) == 1:
		return baseline, nil // the command line decides what is run
	}
	return baseline, f.fromBaseline(cmd, baseline, args)
}

// fromBaseline takes the spec of the baseline's runs, less what the command line gives.
func (f *gateFlags) fromBaseline(cmd *cobra.Command, b *metrics.Baseline, args []string) error {
	var spec scenarios.Spec
	dec := json.NewDecoder(bytes.NewReader(b.Spec))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&spec); err != nil {
		return usageErrorf("%s: its spec cannot be read: %w", f.base, metrics.JSONError(err))
	}
	if spec.Scenario == "" {
		return usageErrorf("%s: its spec names no scenario: write it again with simctl gate SCENARIO --update", f.base)
	}
	if spec.File != "" {
		path := filepath.Join(filepath.Dir(f.base), spec.File)
		if len(args) == 1 {
			path = f.spec.File
		}
		file, err := scenarios.FromFile(path)
		if err != nil {
			return usageErrorf("the scenario of %s: %w", f.base, err)
		}
		spec.File, spec.Source = file.File, file.Source
	}
	if cmd.Flags().Changed("seed") {
		spec.Seed = f.spec.Seed
	}
	if cmd.Flags().Changed("cost") {
		spec.Cost = f.spec.Cost
	}
	spec.Force = spec.Force || f.spec.Force
	f.spec, f.ofBaseline = spec, true
	for name, value := range f.byVar.values {
		f.spec.Set(name, value)
	}
	if f.brokers == nil {
		for _, r := range b.Runs {
			f.brokers = append(f.brokers, r.Run.Broker)
		}
	}
	return nil
}

// report writes the checks to stdout, and to JUnit and GitHub if the flags ask for it.
func (f *gateFlags) report(cmd *cobra.Command, results []*metrics.Result) error {
	write := func(w io.Writer, runs []*metrics.Result) error { return reports.CheckLines(w, runs, f.all) }
	if f.format == "json" {
		write = reports.ChecksJSON
	}
	if err := write(cmd.OutOrStdout(), results); err != nil {
		return err
	}
	if f.junit != "" {
		var text bytes.Buffer
		if err := reports.JUnit(&text, results); err != nil {
			return err
		}
		if err := writeFile(f.junit, text.Bytes()); err != nil {
			return fmt.Errorf("write the JUnit file: %w", err)
		}
	}
	if !f.github {
		return nil
	}
	if err := reports.GitHubAnnotations(cmd.OutOrStdout(), results); err != nil {
		return err
	}
	path := os.Getenv(stepSummary)
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("append to $%s: %w", stepSummary, err)
	}
	return errors.Join(reports.StepSummary(file, results), file.Close())
}
