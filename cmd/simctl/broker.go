package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/broker/explore"
	"github.com/simctl/simctl/scenarios/language"
)

// newBrokerCommand groups the commands that work on the broker alone, without a cluster.
func newBrokerCommand() *cobra.Command {
	cmd := asGroup("command", &cobra.Command{
		Use:   "broker",
		Short: "Examine evaluation brokers on their own",
	})
	cmd.AddCommand(newBrokerExploreCommand())
	return cmd
}

type exploreFlags struct {
	policies []string
	bounds   explore.Bounds
	format   string
	quiet    bool
}

func newBrokerExploreCommand() *cobra.Command {
	f := &exploreFlags{policies: []string{"legacy", "shedding"}, bounds: explore.DefaultBounds()}
	cmd := &cobra.Command{
		Use:   "explore",
		Short: "Search every interleaving of a small system for lost evaluations",
		Long: `Search every interleaving of a small system around the real broker: triggers, workers
with snapshots, nack timeouts, late acks, reapers, failing Raft writes, and the loss of
leadership with the restore that follows. The search checks every state: no evaluation
is lost or held twice, no two workers hold the same job, and every trigger has had, or
will get, a scheduling run that sees it.

A policy is legacy or shedding, optionally changed by words after plus signs:

  oldest-first, newest-first, priority-first      which pending evaluation is the best
  ack-keeps-all, ack-keeps-best, ack-keeps-none   which of them an ack keeps
  enqueue-keeps-best, enqueue-keeps-none          which of them an enqueue keeps
                                                  while the job is busy
  last-slot-peek, dedup-leak, silent-timings      known defects of Nomad's broker

The policy work-queue is the design of that name: a queue of jobs, which has no reaper and
no priorities.

A violation is printed as a shortest history and as a script for the broker's tests, and
the exit code is 3. The exit code is 1 if the search stopped at --max-states.`,
		Example: `  simctl broker explore
  simctl broker explore --policy shedding+oldest-first
  simctl broker explore --policy legacy+ack-keeps-none --jobs 1 --snapshot job`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *exploreFlags) bind(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.Var(names(&f.policies), "policy", "policies to search, each by itself")
	b := &f.bounds
	flags.IntVar(&b.Jobs, "jobs", b.Jobs, "number of jobs, 1 to 4")
	flags.IntVar(&b.Evals, "evals", b.Evals, "triggers of each job, 1 to 8")
	flags.IntVar(&b.Workers, "workers", b.Workers, "number of workers, 1 to 4")
	flags.IntVar(&b.Batch, "batch", b.Batch, "maximum evaluations that the reaper takes at a time, 1 to 100")
	flags.IntVar(&b.Timeouts, "timeouts", b.Timeouts, "maximum nack timeouts in a history, 0 to 10")
	flags.IntVar(&b.Failovers, "failovers", b.Failovers, "maximum failovers in a history, 0 to 10")
	flags.IntVar(&b.WriteFailures, "write-failures", b.WriteFailures, "maximum failed writes of the reaper in a history, 0 to 10")
	flags.IntVar(&b.DeliveryLimit, "delivery-limit", b.DeliveryLimit, "deliveries before an evaluation fails, 1 to 3")
	flags.IntVar(&b.Priorities, "priorities", b.Priorities, "number of priorities: 1, or 2 (then shedding needs --snapshot job)")
	flags.StringVar((*string)(&b.Snapshot), "snapshot", string(b.Snapshot), "how new a worker's snapshot is: eval (as its evaluation) or job (as any evaluation of the job, as in Nomad)")
	flags.IntVar(&b.MaxStates, "max-states", b.MaxStates, "stop the search, unfinished, at this many states")
	bindFormat(flags, &f.format)
	flags.BoolVar(&f.quiet, "quiet", false, "print no progress")
}

func (f *exploreFlags) run(cmd *cobra.Command) error {
	var policies []broker.Policy
	jobs := false
	for _, name := range f.policies {
		if name == explore.Jobs {
			jobs = true
			continue
		}
		p, err := broker.PolicyByName(name)
		if err != nil {
			if near := language.Suggest(name, broker.PolicyNames()); near != "" {
				return usageErrorf("--policy %q: did you mean %q?", name, near)
			}
			return usageErrorf("--policy: %w", err)
		}
		policies = append(policies, p)
	}
	if e, ok := errors.AsType[*explore.BoundError](f.bounds.Check()); ok {
		return usageErrorf("--%s \"%v\": it must be %s", e.Bound, e.Value, e.Want)
	}
	progress := func(int, int) {}
	if stderr := cmd.ErrOrStderr(); !f.quiet && isTerminal(stderr) {
		line := &exploreProgress{w: stderr, states: make([]int, len(policies)+1)}
		defer line.clear()
		progress = line.update
	}
	reports, err := explore.RunAll(cmd.Context(), policies, f.bounds, progress)
	if jobs && err == nil {
		var r *explore.Report
		r, err = explore.RunJobs(cmd.Context(), f.bounds, func(states int) { progress(len(policies), states) })
		reports = append(reports, r)
	}
	if ctx := cmd.Context(); ctx.Err() != nil {
		return fmt.Errorf("interrupted (%w): the search proves nothing", context.Cause(ctx))
	}
	if err != nil {
		return err
	}
	if err := f.write(cmd.OutOrStdout(), reports); err != nil {
		return err
	}
	return exploreVerdict(reports)
}

func (f *exploreFlags) write(w io.Writer, reports []*explore.Report) error {
	if f.format == "text" {
		return explore.WriteText(w, reports)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Reports []*explore.Report `json:"reports"`
	}{reports})
}

// exploreVerdict returns an error for a violation, and for a search that proves nothing.
func exploreVerdict(reports []*explore.Report) error {
	var bad, unfinished []string
	for _, r := range reports {
		switch {
		case r.Violation != nil:
			bad = append(bad, r.Policy)
		case !r.Complete:
			unfinished = append(unfinished, r.Policy)
		}
	}
	switch {
	case len(bad) > 0:
		return verdictErrorf("unsound: %s", strings.Join(bad, ", "))
	case len(unfinished) > 0:
		return fmt.Errorf("search unfinished: %s (raise --max-states or lower the bounds)", strings.Join(unfinished, ", "))
	}
	return nil
}

// exploreProgress updates one line of a terminal in place.
type exploreProgress struct {
	mu     sync.Mutex
	w      io.Writer
	states []int // of each search
	total  int
}

func (p *exploreProgress) update(i, states int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total += states - p.states[i]
	p.states[i] = states
	fmt.Fprintf(p.w, "\r%s", english.Plural(p.total, "state", ""))
}

func (p *exploreProgress) clear() { fmt.Fprint(p.w, "\r\x1b[K") }
