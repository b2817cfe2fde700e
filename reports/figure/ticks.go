package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"

	"github.com/simctl/simctl/reports/wording"
)

// Ticks returns the ticks of an axis, of which about most are labelled.
func (a Axis) Ticks(most int) []plot.Tick {
	if a.Names != nil {
		var out []plot.Tick
		for i, name := range a.Names {
			out = append(out, plot.Tick{Value: float64(i), Label: name})
		}
		return out
	}
	if a.Marked != nil {
		var out []plot.Tick
		for _, v := range a.Marked {
			t := plot.Tick{Value: v, Label: wording.SI(v)}
			if v == math.Trunc(v) {
				t.Label = wording.Grouped(v) // all of its digits
			}
			out = append(out, t)
		}
		return out
	}
	switch {
	case a.Log && a.Unit == Count && a.Max >= narrow*a.Min:
		return logTicks(a.Min, a.Max)
	case a.Log && a.Unit == Count: // at even distances: few of its numbers are round
	case a.Log && a.Unit == Shares:
		return ticksWithin(percentiles, a.Min, a.Max)
	case a.Log:
		return ticksWithin(durationSteps, a.Min, a.Max)
	}
	step := niceStep((a.Max-a.Min)/float64(max(most, 1)), a.Unit)
	first := math.Ceil(a.Min/step - 1e-9)
	var out []plot.Tick
	for i := range 2*most + 2 { // at most: a range too fine for its numbers has no last tick
		v := (first+float64(i))*step + 0 // adding zero makes a zero of -0
		if v > a.Max+1e-9*step {
			break
		}
		out = append(out, plot.Tick{Value: v, Label: a.format(v, step)})
	}
	return out
}

// format writes a tick's value as finely as the step between ticks needs.
func (a Axis) format(v, step float64) string {
	switch a.Unit {
	case Instants:
		return clockTick(v, step, a.Max)
	case Durations:
		return wording.Duration(v)
	case Shares:
		return wording.Percent(v)
	}
	return wording.SI(v)
}

// clockTick writes an instant as mm:ss, or as h:mm when the axis goes beyond an hour.
func clockTick(s, step, highest float64) string {
	switch {
	case highest >= wording.MaxClock:
		return wording.SI(s) + " s"
	case step < 1:
		return fmt.Sprintf("%d:%04.1f", int64(s)/60, math.Mod(s, 60))
	case highest < 3600:
		n := int64(math.Round(s))
		return fmt.Sprintf("%d:%02d", n/60, n%60)
	}
	n := int64(math.Round(s / 60))
	return fmt.Sprintf("%d:%02d", n/60, n%60)
}

// timeSteps are the distances between ticks that people read on clocks.
var timeSteps = []float64{
	0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 3 * 3600, 6 * 3600, 12 * 3600,
}

// niceStep returns the smallest round step of at least the given one.
func niceStep(least float64, u Unit) float64 {
	if u == Instants {
		for _, s := range timeSteps {
			if s >= least*(1-1e-9) {
				return s
			}
		}
		return 86400 * math.Ceil(least/86400)
	}
	if least <= 0 || math.IsInf(least, 0) || math.IsNaN(least) {
		return 1
	}
	decade := math.Pow10(int(math.Floor(math.Log10(least))))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*decade >= least*(1-1e-9) {
			return m * decade
		}
	}
	return 10 * decade
}

// narrow is the ratio of the ends of a logarithmic axis below which logTicks may label just one
// value, or two.
const narrow = 6

// logTicks labels the powers of ten, and twice and five times them if they are few. Both ends
// are above zero.
func logTicks(low, high float64) []plot.Tick {
	few := math.Log10(high/low) < 2.5
	var out []plot.Tick
	last := int(math.Floor(math.Log10(high)))
	for e := int(math.Floor(math.Log10(low))); e <= last; e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow10(e)
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || few && (m == 2 || m == 5) {
				t.Label = wording.SI(v)
			}
			out = append(out, t)
		}
	}
	return out
}

// durationSteps are the durations that a logarithmic axis labels.
var durationSteps = []plot.Tick{
	{Value: 1e-6, Label: "1 µs"}, {Value: 1e-5, Label: "10 µs"}, {Value: 1e-4, Label: "100 µs"},
	{Value: 1e-3, Label: "1 ms"}, {Value: 1e-2, Label: "10 ms"}, {Value: 1e-1, Label: "100 ms"},
	{Value: 1, Label: "1 s"}, {Value: 10, Label: "10 s"}, {Value: 60, Label: "1 min"}, {Value: 600, Label: "10 min"},
	{Value: 3600, Label: "1 h"}, {Value: 36000, Label: "10 h"}, {Value: 360000, Label: "100 h"},
}

// percentiles are the shares that a logarithmic axis labels: each is what lies beyond its
// percentile.
var percentiles = []plot.Tick{
	{Value: 1e-5, Label: "p99.999"}, {Value: 1e-4, Label: "p99.99"}, {Value: 1e-3, Label: "p99.9"}, {Value: 1e-2, Label: "p99"},
	{Value: 0.1, Label: "p90"}, {Value: 0.5, Label: "p50"},
}

func ticksWithin(steps []plot.Tick, low, high float64) []plot.Tick {
	var out []plot.Tick
	for _, t := range steps {
		if t.Value >= low*(1-1e-9) && t.Value <= high*(1+1e-9) {
			out = append(out, t)
		}
	}
	return out
}

// thinLabels removes labels that would come closer to each other than gap. at returns the
// place of a value on the axis, width the width of a label.
func thinLabels(ticks []plot.Tick, at func(float64) float64, width func(string) float64, gap float64) {
	end := math.Inf(-1)
	for i := range ticks {
		if ticks[i].IsMinor() {
			continue
		}
		centre, half := at(ticks[i].Value), width(ticks[i].Label)/2
		if centre-half < end+gap {
			ticks[i].Label = ""
			continue
		}
		end = centre + half
	}
}

// clampedLog is a logarithmic scale. Everything below its minimum, zero included, lies at the
// minimum.
type clampedLog struct{}

// Normalize implements plot.Normalizer.
func (clampedLog) Normalize(low, high, v float64) float64 {
	if low <= 0 || high <= low {
		return 0
	}
	return math.Log(math.Max(v, low)/low) / math.Log(high/low)
}

// headroom returns the maximum of an axis that keeps a share (below 1) of its length free
// above the present maximum.
func (a Axis) headroom(share float64) float64 {
	if a.Log {
		return a.Min * math.Pow(a.Max/a.Min, 1/(1-share))
	}
	return a.Min + (a.Max-a.Min)/(1-share)
}
