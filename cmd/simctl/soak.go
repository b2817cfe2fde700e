package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/soak"
)

type soakFlags struct {
	seed      int64
	schedules int
	drop      []int
	brokers   []string
	repeats   int
	print     bool
	noShrink  bool
	format    string
}

// soakReport is what --format json prints.
type soakReport struct {
	OK      bool         `json:"ok"`
	Brokers []string     `json:"brokers"`
	Passed  []soakPass   `json:"passed"`
	Failed  *soakFailure `json:"failed,omitempty"`
}

// soakPass is a schedule that passed.
type soakPass struct {
	Seed     int64   `json:"seed"`
	Events   int     `json:"events"`
	VirtualS float64 `json:"virtual_s"` // of its longest run
}

// soakFailure is the schedule that failed.
type soakFailure struct {
	Seed     int64    `json:"seed"`
	Events   int      `json:"events"`
	Problems []string `json:"problems"`
	// Fewest is the same with the fewest events that still fail, if any can be left out.
	Fewest *soakFailure `json:"fewest,omitempty"`
	Again  string       `json:"again,omitempty"` // the command that runs it again
}

func newSoakCommand() *cobra.Command {
	f := &soakFlags{brokers: []string{"legacy", "shedding"}, format: "text"}
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Run random schedules of faults and check that nothing is lost",
		Long: `Run random schedules, one for each seed. A schedule is a small cluster with jobs of every
type, and random events: servers are killed, paused and cut off, disks and links are slow
or lossy, clients stop, flap, are replaced or have wrong clocks, nodes drain, users
change, scale and stop jobs, allocations fail, and the broker is paused. Every schedule
runs under every broker. It passes if each run recovers and keeps every invariant, and if
all brokers reach the same outcome.

The first schedule that fails ends the command with exit code 3. The command prints what
went wrong, a minimal set of events that still fails, and the command that runs only
these.`,
		Example: `  simctl soak --schedules 100
  simctl soak --seed 4711 --schedules 1 --drop 2,5
  simctl soak --seed 4711 --schedules 1 --print > soak-4711.hcl`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.Int64Var(&f.seed, "seed", 1, "seed of the first schedule; each later one adds 1")
	flags.IntVar(&f.schedules, "schedules", 20, "number of schedules")
	flags.IntSliceVar(&f.drop, "drop", nil, "events to leave out of every schedule, by number")
	bindBrokers(flags, &f.brokers, "brokers to run, the older one first")
	flags.IntVar(&f.repeats, "repeats", 1, "runs of each schedule and broker, whose results must be equal")
	flags.BoolVar(&f.print, "print", false, "print the schedules as scenario files instead of running them")
	flags.BoolVar(&f.noShrink, "no-shrink", false, "do not search for fewer events that still fail")
	bindFormat(flags, &f.format)
	return cmd
}

func (f *soakFlags) run(cmd *cobra.Command) error {
	for _, flag := range []string{"schedules", "repeats"} {
		if n, _ := cmd.Flags().GetInt(flag); n < 1 {
			return usageErrorf("--%s %d: it must be a whole number of at least 1", flag, n)
		}
	}
	for _, name := range f.brokers {
		if err := scenarios.CheckBroker(name); err != nil {
			return usageErrorf("--broker %q: %w", name, err)
		}
	}
	if f.print && f.format == "json" {
		return usageErrorf("--print writes scenario files, not JSON: leave out --format json")
	}
	if err := f.checkDrop(); err != nil {
		return err
	}
	if f.print {
		return f.printSchedules(cmd.OutOrStdout())
	}
	return f.soak(cmd)
}

// schedule returns one of the schedules, less the events that --drop names.
func (f *soakFlags) schedule(i int) soak.Schedule {
	return soak.NewSchedule(f.seed + int64(i)).Without(f.drop...)
}

func (f *soakFlags) printSchedules(out io.Writer) error {
	for i := range f.schedules {
		if _, err := fmt.Fprint(out, f.schedule(i).Text()); err != nil {
			return err
		}
	}
	return nil
}

// soak runs the schedules until one fails.
func (f *soakFlags) soak(cmd *cobra.Command) error {
	began, report := time.Now(), soakReport{OK: true, Brokers: f.brokers, Passed: []soakPass{}}
	for i := range f.schedules {
		found, err := soak.Run(cmd.Context(), f.schedule(i), f.brokers, f.repeats)
		if err != nil {
			return fmt.Errorf("interrupted (%w) after %s", err, english.Plural(i, "schedule", ""))
		}
		if len(found.Problems) > 0 {
			return f.fail(cmd, found, &report)
		}
		passed := soakPass{found.Schedule.Seed, found.Schedule.Events(), found.VirtualS}
		cmd.PrintErrf("seed %d: ok, %s, %.0f s\n", passed.Seed, english.Plural(passed.Events, "event", ""), passed.VirtualS)
		report.Passed = append(report.Passed, passed)
	}
	if f.format == "json" {
		return printJSON(cmd, report)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s passed under %s in %v\n",
		english.Plural(f.schedules, "schedule", ""), strings.Join(f.brokers, " and "), time.Since(began).Round(time.Second))
	return err
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

// fail tells what went wrong, shrinks the schedule and says how to run it again.
func (f *soakFlags) fail(cmd *cobra.Command, found soak.Finding, report *soakReport) error {
	out := cmd.OutOrStdout()
	if f.format == "json" {
		out = io.Discard
	}
	seed := found.Schedule.Seed
	report.OK, report.Failed = false, failureOf(found)
	fmt.Fprintf(out, "seed %d failed:\n", seed)
	printProblems(out, found)
	if !f.noShrink {
		cmd.PrintErrf("searching for fewer than %s that still fail\n", english.Plural(found.Schedule.Events(), "event", ""))
		shrunk, err := soak.Shrink(found, func(s soak.Schedule) (soak.Finding, error) {
			return soak.Run(cmd.Context(), s, f.brokers, f.repeats)
		})
		if err != nil {
			return err
		}
		if shrunk.Schedule.Events() < found.Schedule.Events() {
			fmt.Fprintf(out, "with %s:\n", english.Plural(shrunk.Schedule.Events(), "event", ""))
			printProblems(out, shrunk)
			report.Failed.Fewest = failureOf(shrunk)
		}
		found = shrunk
	}
	report.Failed.Again = f.again(found.Schedule)
	fmt.Fprintf(out, "again: %s\n", report.Failed.Again)
	if f.format == "json" {
		if err := printJSON(cmd, report); err != nil {
			return err
		}
	}
	return verdictErrorf("the schedule of seed %d failed", seed)
}

func failureOf(found soak.Finding) *soakFailure {
	return &soakFailure{Seed: found.Schedule.Seed, Events: found.Schedule.Events(), Problems: found.Problems}
}

func printProblems(out io.Writer, found soak.Finding) {
	for _, p := range found.Problems {
		fmt.Fprintf(out, "  %s\n", p)
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
	if f.repeats > 1 {
		line += fmt.Sprintf(" --repeats %d", f.repeats)
	}
	return line
}
