package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/soak"
)

type soakFlags struct {
	seed      int64
	schedules int
	minutes   float64
	parallel  int
	drop      []int
	brokers   []string
	repeats   int
	spec      scenarios.Spec // has what work costs
	report    string
	print     bool
	noShrink  bool
	format    string
}

func newSoakCommand() *cobra.Command {
	f := &soakFlags{brokers: []string{"legacy", "shedding"}}
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Run random schedules of faults and check that nothing is lost",
		Long: `Run random schedules, one for each seed. A schedule is a small cluster with jobs of every
type whose servers take snapshots all the time, and random events: faults of servers,
disks and links, and what clients, users and operators do. Every schedule runs under every
broker, while clients read from all servers. It passes if each run recovers and keeps
every invariant, if no read goes back in time, if no call is carried out twice, if the
events explain every entry of the log, and if all brokers reach the same outcome.

The events are: ` + strings.Join(soak.Words(), ", ") + `.

Each line ends with a digest of every event of the schedule: each entry that each server
applied and each delivery of the broker, with their instants. It is the same for the
same seed, brokers, costs, repeats and --drop.

The first schedule that fails ends the command with exit code 3. The command prints what
went wrong, a minimal set of events that still fails, and the command that runs only
these. With --report it goes on to the end and leaves a page, and for each schedule that
failed a scenario file with these events.`,
		Example: `  simctl soak --schedules 100
  simctl soak --minutes 480 --report results/night
  simctl soak --seed 4711 --schedules 1 --drop 2,5
  simctl soak --seed 4711 --schedules 1 --print > soak-4711.hcl`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.Int64Var(&f.seed, "seed", 1, "seed of the first schedule; each later one adds 1")
	flags.IntVar(&f.schedules, "schedules", 20, "number of schedules")
	flags.Float64Var(&f.minutes, "minutes", 0, "begin schedules for so long instead of a number of them")
	flags.IntVar(&f.parallel, "parallel", 0, "schedules at a time (default: as many as give every processor work)")
	flags.IntSliceVar(&f.drop, "drop", nil, "events to leave out of every schedule, by number")
	bindBrokers(flags, &f.brokers, "brokers to run, the older one first")
	bindCost(flags, &f.spec)
	flags.Lookup("cost").Usage = "what work costs: " + strings.Join(scenarios.CostNames(), ", ") + " or a .hcl file (default " + scenarios.DefaultCost + ")"
	flags.IntVar(&f.repeats, "repeats", 1, "runs of each schedule and broker, whose results must be equal")
	flags.StringVar(&f.report, "report", "", "directory for a page about all schedules, and a scenario file of each that failed")
	flags.BoolVar(&f.print, "print", false, "print the schedules as scenario files instead of running them")
	flags.BoolVar(&f.noShrink, "no-shrink", false, "do not search for fewer events that still fail")
	bindFormat(flags, &f.format)
	return cmd
}

// check refuses flags that cannot be.
func (f *soakFlags) check(cmd *cobra.Command) error {
	for _, flag := range []string{"schedules", "repeats"} {
		if n, _ := cmd.Flags().GetInt(flag); n < 1 {
			return usageErrorf("--%s %d: it must be a whole number of at least 1", flag, n)
		}
	}
	if cmd.Flags().Changed("minutes") && !(f.minutes > 0) { // so that a NaN is refused
		return usageErrorf("--minutes %g: it must be a number above 0", f.minutes)
	}
	for _, other := range []string{"schedules", "print", "drop"} {
		if cmd.Flags().Changed("minutes") && cmd.Flags().Changed(other) {
			return usageErrorf("--minutes with --%s: give one of them", other)
		}
	}
	if f.seed > math.MaxInt64-int64(f.schedules-1) {
		return usageErrorf("--seed %d --schedules %d: the last seed would be above %d: begin with a smaller one", f.seed, f.schedules, math.MaxInt64)
	}
	if f.print && f.format == "json" {
		return usageErrorf("--print writes scenario files, not JSON: leave out --format json")
	}
	if f.print && f.report != "" {
		return usageErrorf("--report with --print: nothing runs that it could be about; leave one of them out")
	}
	if f.print && f.spec.Cost != "" {
		return usageErrorf("--cost with --print: a schedule does not say what work costs: give --cost to the command that runs it")
	}
	if f.parallel < 0 || f.parallel > 10_000 {
		return usageErrorf("--parallel %d: it must be a whole number from 1 to 10000, or 0 for the default", f.parallel)
	}
	for _, name := range f.brokers {
		if err := scenarios.CheckBroker(name); err != nil {
			return usageErrorf("--broker %q: %w", name, err)
		}
	}
	if _, err := scenarios.Compile(f.schedule(0).Spec(f.brokers[0])); err != nil {
		return inputError(err)
	}
	return f.checkDrop()
}

func (f *soakFlags) run(cmd *cobra.Command) (err error) {
	if err := f.check(cmd); err != nil {
		return err
	}
	if f.print {
		for i := range f.schedules {
			if _, err := fmt.Fprint(cmd.OutOrStdout(), f.schedule(i).Text()); err != nil {
				return err
			}
		}
		return nil
	}
	r := &soakRun{soakFlags: f, cmd: cmd, out: cmd.OutOrStdout(), began: time.Now()}
	if f.format == "json" {
		r.out = io.Discard
	}
	if cmd.Flags().Changed("report") {
		if r.dir, err = newDirOf(fmt.Sprintf("--report %q", f.report), f.report); err != nil {
			return err
		}
		defer func() { err = r.dir.discard(err) }()
	}
	return r.all()
}

// schedule returns the schedule of the command that has a number, from 0.
func (f *soakFlags) schedule(i int) soak.Schedule {
	return soak.NewSchedule(f.seed + int64(i)).Under(f.brokers).Costing(f.spec.Cost).Without(f.drop...)
}

// soakRun is the command under way.
type soakRun struct {
	*soakFlags
	cmd   *cobra.Command
	out   io.Writer // of text
	began time.Time
	dir   *outDir // nil without --report
	found []metrics.SoakSchedule
	bad   []int64 // seeds
	err   error   // of telling what was found
}

// all runs the schedules and says how they went.
func (r *soakRun) all() error {
	begun := 0
	next := func() (soak.Schedule, bool) {
		if r.minutes == 0 && begun == r.schedules || r.minutes > 0 && time.Since(r.began).Minutes() >= r.minutes {
			return soak.Schedule{}, false
		}
		begun++
		return r.schedule(begun - 1), true
	}
	side := r.parallel
	if side == 0 {
		side = soak.Side(len(r.brokers) * r.repeats)
	}
	err := soak.Each(r.cmd.Context(), side, next, r.one, r.tell)
	if err = errors.Join(r.err, err); err != nil {
		err = fmt.Errorf("interrupted (%w) after %s", err, english.Plural(len(r.found), "schedule", ""))
	}
	if r.dir != nil {
		// What was found by then is worth a night, whatever ended it.
		if werr := r.write(); werr != nil {
			return errors.Join(err, werr)
		}
	}
	if err == nil && r.format == "json" {
		err = printJSON(r.cmd, r.document())
	}
	if err != nil {
		return err
	}
	took := time.Since(r.began).Round(time.Second)
	if len(r.bad) > 0 && r.dir != nil {
		fmt.Fprintf(r.out, "%d of %s failed in %v; %s says how\n", len(r.bad), english.Plural(len(r.found), "schedule", ""), took, r.report)
	}
	if len(r.bad) > 0 {
		return verdictErrorf("the %s of %s %s failed", plural(len(r.bad), "schedule"), plural(len(r.bad), "seed"), seeds(r.bad))
	}
	_, err = fmt.Fprintf(r.out, "%s passed under %s in %v\n",
		english.Plural(len(r.found), "schedule", ""), strings.Join(r.brokers, " and "), took)
	return err
}

func plural(n int, what string) string { return english.PluralWord(n, what, "") }

func seeds(all []int64) string {
	var out []string
	for _, seed := range all {
		out = append(out, strconv.FormatInt(seed, 10))
	}
	return english.WordSeries(out, "and")
}

// one runs one schedule.
func (r *soakRun) one(ctx context.Context, s soak.Schedule) (soak.Finding, error) {
	return soak.Run(ctx, s, r.brokers, r.repeats)
}

// tell says what was found, and reports whether to go on.
func (r *soakRun) tell(found soak.Finding) (goOn bool) {
	s := found.Schedule
	row := metrics.SoakSchedule{
		Seed: s.Seed, Events: s.Drawn(), VirtualS: found.VirtualS, Digest: found.Digest, Reached: found.Reached, Problems: found.Problems,
	}
	if len(found.Problems) == 0 {
		r.cmd.PrintErrf("seed %d: ok, %s, %.0f s, digest %s\n", s.Seed, english.Plural(s.Events(), "event", ""), found.VirtualS, found.Digest)
		r.found = append(r.found, row)
		return true
	}
	r.bad = append(r.bad, s.Seed)
	fewest, err := r.fail(found)
	r.err, row.Needed, row.Again = err, fewest.Schedule.Events(), r.again(fewest.Schedule)
	if err == nil && r.dir != nil {
		row.File = fmt.Sprintf("seed-%d.hcl", s.Seed)
		r.err = writeFile(r.dir.path(row.File), []byte(fewest.Text()))
		fmt.Fprintf(r.out, "or: %s\n", fewest.Command(filepath.Join(r.report, row.File), r.brokers))
	}
	r.found = append(r.found, row)
	return r.dir != nil && r.err == nil
}

// document is what the page and --format json are made of.
func (r *soakRun) document() *metrics.Soak {
	return &metrics.Soak{
		Schema: metrics.Schema, Command: commandLine(r.cmd), Version: metrics.Version(), Began: r.began.UTC().Truncate(time.Second),
		WallS: time.Since(r.began).Seconds(), Brokers: r.brokers, Words: soak.Words(), Schedules: r.found,
	}
}

// write leaves the report.
func (r *soakRun) write() error {
	if _, err := reports.WriteSoak(r.dir.stage, r.document()); err != nil {
		return err
	}
	return r.dir.commit()
}

// checkDrop refuses numbers that no schedule has an event of.
func (f *soakFlags) checkDrop() error {
	most := 0
	for i := 0; i < f.schedules && len(f.drop) > 0; i++ {
		most = max(most, soak.NewSchedule(f.seed+int64(i)).Events())
	}
	for _, n := range f.drop {
		if n < 1 || n > most {
			return usageErrorf("--drop %d: there is no such event: the numbers are 1 to %d", n, most)
		}
	}
	return nil
}

// fail tells what went wrong, shrinks the schedule and says how to run it again. It returns the
// finding with the fewest events.
func (r *soakRun) fail(found soak.Finding) (soak.Finding, error) {
	fmt.Fprintf(r.out, "seed %d failed:\n", found.Schedule.Seed)
	r.problems(found)
	if !r.noShrink {
		r.cmd.PrintErrf("searching for fewer than %s that still fail\n", english.Plural(found.Schedule.Events(), "event", ""))
		shrunk, err := soak.Shrink(found, func(s soak.Schedule) (soak.Finding, error) { return r.one(r.cmd.Context(), s) })
		if err != nil {
			return found, err
		}
		if shrunk.Schedule.Events() < found.Schedule.Events() {
			fmt.Fprintf(r.out, "with %s:\n", english.Plural(shrunk.Schedule.Events(), "event", ""))
			r.problems(shrunk)
		}
		found = shrunk
	}
	fmt.Fprintf(r.out, "again: %s\n", r.again(found.Schedule))
	return found, nil
}

func (r *soakRun) problems(found soak.Finding) {
	for _, p := range found.Problems {
		fmt.Fprintf(r.out, "  %s\n", p)
	}
}

// again is the command that runs one schedule again.
func (f *soakFlags) again(s soak.Schedule) string {
	line := fmt.Sprintf("simctl soak --seed %d --schedules 1", s.Seed)
	if left := s.Left(); len(left) > 0 {
		var numbers []string
		for _, n := range left {
			numbers = append(numbers, strconv.Itoa(n))
		}
		line += " --drop " + strings.Join(numbers, ",")
	}
	if !slices.Equal(f.brokers, []string{"legacy", "shedding"}) {
		line += " --broker " + strings.Join(f.brokers, ",")
	}
	if f.spec.Cost != "" {
		line += " --cost " + scenarios.Quote(f.spec.Cost)
	}
	if f.repeats > 1 {
		line += fmt.Sprintf(" --repeats %d", f.repeats)
	}
	return line
}
