package chart

import (
	"fmt"
	"math"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

func init() {
	register(chart{
		rank: 8, name: "latency", title: "Scheduling latency",
		note:   "at p99, a line is as far right as 99% of the evaluations took at most; the scale is the logarithm of the share that took longer",
		figure: latencyFigure,
	})
}

// The end of the scale: at least p99, at most p99.999.
const (
	shortestTail = 1e-2
	longestTail  = 1e-5
)

// latencyFigure plots how long evaluations waited, how long workers held them, and both
// together: the share that took longer, on a logarithmic scale, which shows the tail.
func latencyFigure(v *view) figure.Figure {
	f := figure.Figure{
		Legend: v.runKeys(), X: figure.Axis{Label: "duration", Unit: figure.Durations},
		Y: figure.Axis{Label: "percentile", Unit: figure.Shares, Min: shortestTail, Max: 1, Log: true},
	}
	for _, l := range []struct{ name, heading string }{
		{metrics.LatencyWait, "wait in the broker"}, {metrics.LatencyProcess, "held by a worker"}, {metrics.LatencyResponse, "both together"},
	} {
		p := figure.Panel{Heading: l.heading, Color: figure.Ink}
		var details []string
		for i, r := range v.runs {
			if lat := r.LatencyByName(l.name); lat != nil && !lat.Distribution.IsZero() {
				line := tail(v.labels[i], v.colors[i], lat.Distribution, lat.Max)
				line.Summary = fmt.Sprintf("p50 %s, p90 %s, p99 %s", wording.Duration(lat.P50), wording.Duration(lat.P90), wording.Duration(lat.P99))
				p.Lines = append(p.Lines, line)
				details = append(details, wording.Duration(lat.P99))
				decades := math.Ceil(math.Log10(float64(lat.Count)))
				f.Y.Min = min(f.Y.Min, max(math.Pow(10, -decades), longestTail))
			}
		}
		if len(p.Lines) > 0 {
			p.Detail = "p99 " + strings.Join(details, ", ")
			f.Panels = append(f.Panels, p)
		}
	}
	return fitX(f, 0)
}
