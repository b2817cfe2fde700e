package reports

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"github.com/simctl/simctl/metrics"
)

// latencies is how long evaluations waited, were worked on, and both together.
func (v *view) latencies() figure {
	f := figure{
		id: "latency", title: "Scheduling latency", subtitle: v.subtitle, legend: v.runKeys(),
		note: "the share of evaluations that took at most as long",
		x:    axis{label: "duration", unit: lengths}, y: axis{label: "share of evaluations", unit: shares, max: 1},
	}
	for _, l := range []struct{ name, heading string }{
		{metrics.LatencyWait, "wait in the broker"}, {metrics.LatencyProcess, "held by a worker"}, {metrics.LatencyResponse, "both together"},
	} {
		p := panel{heading: l.heading, color: ink}
		for i, r := range v.runs {
			if lat := r.LatencyByName(l.name); lat != nil && !lat.Distribution.IsZero() {
				p.lines = append(p.lines, cumulative(v.labels[i], v.colors[i], lat.Distribution, bucketWidth))
			}
		}
		if len(p.lines) > 0 {
			f.panels = append(f.panels, p)
		}
	}
	return f.distributionX()
}

// fanIn is how many triggers one processed evaluation stood for.
func (v *view) fanIn() figure {
	f := figure{
		id: "fan-in", title: "Triggers that one processed evaluation stood for", subtitle: v.subtitle, legend: v.runKeys(),
		note: "the share of processed evaluations that stood for at most as many: themselves and those shed in their favour",
		x:    axis{label: "triggers"}, y: axis{label: "share of processed evaluations", unit: shares, max: 1},
	}
	var p panel
	var medians []string
	for i, r := range v.runs {
		if !r.FanIn.Distribution.IsZero() {
			p.lines = append(p.lines, cumulative(v.labels[i], v.colors[i], r.FanIn.Distribution, 1))
			medians = append(medians, fmt.Sprintf("%s median %s, greatest %s", v.labels[i], grouped(r.FanIn.P50), grouped(r.FanIn.Max)))
		}
	}
	if len(p.lines) > 0 {
		p.detail = strings.Join(medians, "; ")
		f.panels = []panel{p}
	}
	return f.distributionX()
}

// bucketWidth is the ratio of two neighbouring bounds of a distribution (metrics.Recorder).
var bucketWidth = math.Exp2(0.25)

// cumulative is the distribution as a line from 0 to 1, which rises over the width of each
// bucket that holds anything (1: at its upper bound); the lowest bound may hold but that
// one value.
func cumulative(name string, c color.NRGBA, d metrics.Distribution, width float64) line {
	l := line{name: name, color: c}
	total, before, lower := float64(d.Count[len(d.Count)-1]), 0.0, d.LE[0]
	for i, le := range d.LE {
		l.x = append(l.x, math.Max(lower, le/width), le)
		l.y = append(l.y, before, float64(d.Count[i])/total)
		before, lower = l.y[len(l.y)-1], le
	}
	return l
}

// distributionX fits the horizontal axis to the distributions, logarithmic where they
// spread wide, and draws every line on to the right end, where it is 1.
func (f figure) distributionX() figure {
	if len(f.panels) == 0 {
		return figure{}
	}
	var xs []float64
	for _, p := range f.panels {
		for _, l := range p.lines {
			xs = append(xs, l.x...)
		}
	}
	lowest := math.Inf(1)
	for _, x := range xs {
		f.x.max = math.Max(f.x.max, x)
		if x > 0 {
			lowest = math.Min(lowest, x)
		}
	}
	f.x.max = positive(f.x.max)
	if f.x.log = tooWide(xs); f.x.log {
		f.x.max *= 1.5
		f.x.min = lowEnd(lowest/1.5, f.x.max)
	} else {
		f.x.max *= 1.05
	}
	for _, p := range f.panels {
		for i := range p.lines {
			l := &p.lines[i]
			l.x, l.y = append(l.x, f.x.max), append(l.y, 1)
		}
	}
	return f
}
