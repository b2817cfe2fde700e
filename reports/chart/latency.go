package chart

import (
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
)

func init() {
	register(chart{
		rank: 8, name: "latency", title: "Scheduling latency",
		note:   "the share of evaluations that took at most as long",
		figure: latencyFigure,
	})
}

// latencyFigure plots how long evaluations waited, how long workers held them, and both
// together.
func latencyFigure(v *view) figure.Figure {
	f := figure.Figure{
		Legend: v.runKeys(), X: figure.Axis{Label: "duration", Unit: figure.Durations}, Y: figure.Axis{Label: "share of evaluations", Unit: figure.Shares, Max: 1},
	}
	for _, l := range []struct{ name, heading string }{
		{metrics.LatencyWait, "wait in the broker"}, {metrics.LatencyProcess, "held by a worker"}, {metrics.LatencyResponse, "both together"},
	} {
		p := figure.Panel{Heading: l.heading, Color: figure.Ink}
		for i, r := range v.runs {
			if lat := r.LatencyByName(l.name); lat != nil && !lat.Distribution.IsZero() {
				p.Lines = append(p.Lines, cumulative(v.labels[i], v.colors[i], lat.Distribution, bucketWidth))
			}
		}
		if len(p.Lines) > 0 {
			f.Panels = append(f.Panels, p)
		}
	}
	return cumulativeX(f)
}
