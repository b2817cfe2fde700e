package main

import (
	"context"
	"fmt"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/metrics/agreement"
	"github.com/simctl/simctl/reports/wording"
	"github.com/simctl/simctl/scenarios"
)

// clockScale is how much of its length everything takes on the wall clock.
const clockScale = 0.25

// clocks writes what the two clocks make of a small scenario: on the wall clock, goroutines and
// timers race as they happen to.
func (p *page) clocks(ctx context.Context) error {
	fmt.Fprintf(p, `## Two clocks

The same simulation on virtual time and on the wall clock, where everything takes a quarter of its length and goroutines run as they happen to. %d runs each, one after the other, on the machine that writes this page.

`, seeds)
	for _, release := range []string{"1.4.2", "1.4.3"} {
		spec := scenarios.Spec{Scenario: "heartbeat-storm", Broker: release}
		spec.Set("nodes", 100)
		virtual, err := scenarios.RunAll(ctx, repeats(spec), nil)
		if err != nil {
			return err
		}
		spec.Clock, spec.TimeScale = scenarios.ClockWall, clockScale
		var wall []*metrics.Result
		for _, s := range repeats(spec) {
			r, err := scenarios.RunAll(ctx, []scenarios.Spec{s}, nil)
			if err != nil {
				return err
			}
			wall = append(wall, r...)
		}
		fmt.Fprintf(p, "`simctl scenario heartbeat-storm --nodes 100 --broker %s`, and with `--clock wall --time-scale %g`:\n\n", release, clockScale)
		p.counts(agreement.Of(wall, virtual))
	}
	return nil
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
