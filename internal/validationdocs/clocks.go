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

The same simulation on virtual time and on the wall clock, where goroutines run as they happen to and timers are late. %d runs each, on the machine that writes this page.

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
