package sweep

import (
	"math"
	"slices"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
)

// Of returns the runs as a sweep over the one or two numbers, besides the broker, that they
// differ in, or nil if they differ otherwise. Runs that differ in their seeds alone are
// repetitions.
func Of(runs []*metrics.Result) *metrics.Sweep {
	if len(runs) < 3 {
		return nil
	}
	s := &metrics.Sweep{Schema: metrics.Schema, Scenario: runs[0].Run.Scenario, Design: "grid"}
	for _, name := range wording.Varying(runs) {
		if name != "seed" {
			s.Axes = append(s.Axes, metrics.Axis{Name: name, Numeric: true})
		}
	}
	if n := len(s.Axes); n < 1 || n > 2 {
		return nil
	}
	for _, r := range runs {
		run := metrics.SweepRun{Broker: r.Run.Broker, Seed: r.Run.Seed, Attempts: 1, Result: r}
		for _, a := range s.Axes {
			v, ok := wording.Number(wording.Setting(r, a.Name))
			if !ok {
				return nil
			}
			run.Point = append(run.Point, wording.Exact(v))
		}
		if !slices.Contains(s.Brokers, run.Broker) {
			s.Brokers = append(s.Brokers, run.Broker)
		}
		s.Runs = append(s.Runs, run)
	}
	for i := range s.Axes {
		a := &s.Axes[i]
		for _, r := range s.Runs {
			a.Values = append(a.Values, r.Point[i])
		}
		slices.SortFunc(a.Values, func(p, q string) int { return int(math.Copysign(1, a.Number(p)-a.Number(q))) })
		a.Values = slices.Compact(a.Values)
	}
	return s
}
