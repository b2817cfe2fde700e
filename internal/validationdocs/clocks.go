package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/metrics/agreement"
	"github.com/simctl/simctl/reports/wording"
	"github.com/simctl/simctl/scenarios"
)

// clocks writes what the two clocks make of a small scenario: on the wall clock, goroutines and
// timers race as they happen to.
func (p *page) clocks(ctx context.Context) error {
	fmt.Fprintf(p, `## Two clocks

The same simulation on virtual time and on the wall clock, where goroutines run as they happen to and timers are late. %d runs each, on the machine
that writes this page.

On the wall clock a storm has fewer entries, since timers are late. A Go program that has nothing else to do waits for its next timer in whole
milliseconds: on the machine of the runs below, a sleep of 50 µs took 1.2 ms, one of 250 µs as long, and one of 1 ms 1.1. Calls, and most of what an
evaluation costs, are shorter. While an evaluation takes longer, more nodes go down, and the next one of the job stops the allocations of all of them by
one plan. The run's own processor time has little part in it: 2 s of 55. Where all durations are multiplied, the same lateness weighs less, and the
difference goes. Medians of three runs by `+"`"+`--time-scale`+"`"+`, on 2026-11-23:

| entries of the storm | wall clock | `+"`"+`--time-scale 4`+"`"+` | `+"`"+`--time-scale 20`+"`"+` | virtual time |
|---|---:|---:|---:|---:|
| 1.4.2 | 1,932 | 1,994 (1,897 to 2,000) | 2,083 (2,053 to 2,093) | 2,038 |
| 1.4.3 | 1,905 | 1,972 (1,914 to 1,984) | 2,048 (2,021 to 2,094) | 2,028 |

Why 1.4.2 is 2%% above virtual time at the last scale was not found. A task's turn on a core, 3 ms, is no part of what is multiplied.

`, seeds)
	var virtual, wall []scenarios.Spec
	for _, release := range []string{"1.4.2", "1.4.3"} {
		spec := scenarios.Spec{Scenario: "heartbeat-storm", Broker: release}
		spec.Set("nodes", 100)
		virtual = append(virtual, repeats(spec)...)
		spec.Clock = scenarios.ClockWall
		wall = append(wall, repeats(spec)...)
	}
	late, exact, err := both(ctx, wall, virtual)
	if err != nil {
		return err
	}
	for i, ran := range late {
		fmt.Fprintf(p, "`simctl scenario heartbeat-storm --nodes 100 --broker %s`, and with `--clock wall`:\n\n", ran[0].Run.Broker)
		p.counts(agreement.Of(ran, exact[i]))
	}
	return nil
}

// both runs two lists of specs and returns the runs of each, repeats together.
func both(ctx context.Context, one, other []scenarios.Spec) (_, _ [][]*metrics.Result, err error) {
	var groups [2][][]*metrics.Result
	for i, specs := range [][]scenarios.Spec{one, other} {
		runs, err := scenarios.RunAll(ctx, specs, nil)
		if err != nil {
			return nil, nil, err
		}
		groups[i] = slices.Collect(slices.Chunk(runs, seeds))
	}
	return groups[0], groups[1], nil
}

// counts writes the figures that are no times and are not the same in all runs.
func (p *page) counts(r *agreement.Report) {
	p.WriteString("| phase | figure | wall clock | virtual time | within the spread |\n|---|---|---:|---:|---|\n")
	alike := 0
	for _, phase := range r.Phases {
		for _, row := range phase.Rows {
			of := func(r agreement.Range) string { return ranged(wording.Grouped, r.Median, r.Low, r.High) }
			switch wall, virtual := of(row.Real), of(row.Simulated); {
			case row.Unit == "s":
			case wall == virtual:
				alike++
			default:
				within := map[bool]string{true: "yes", false: "no"}[row.Within]
				fmt.Fprintf(p, "| %s | %s | %s | %s | %s |\n", phase.Name, wording.PhaseFigure(row.Metric), wall, virtual, within)
			}
		}
	}
	fmt.Fprintf(p, "\n%d more counts are the same.\n\n", alike)
}
