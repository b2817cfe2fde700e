package chart

import (
	"image/color"
	"math"
	"slices"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
)

// bucketWidth is the ratio of two neighbouring bounds of a metrics.Distribution.
var bucketWidth = math.Exp2(0.25)

// cumulative returns the distribution as a line from 0 to 1. Width is the ratio of a bucket's bounds.
// The line rises evenly over each bucket, or at its upper bound if width is 1. The first bucket has
// no width, since it holds only the value of its bound. The last one ends at the greatest value.
func cumulative(name string, c color.NRGBA, d metrics.Distribution, greatest, width float64) figure.Line {
	l := figure.Line{Name: name, Color: c}
	total, before, lower := float64(d.Count[len(d.Count)-1]), 0.0, d.LE[0]
	for i, le := range d.LE {
		le = math.Max(lower, math.Min(le, greatest))
		l.X = append(l.X, math.Max(lower, le/width), le)
		l.Y = append(l.Y, before, float64(d.Count[i])/total)
		before, lower = l.Y[len(l.Y)-1], le
	}
	return l
}

// tail returns the share of the distribution beyond each value, as a line from 1 to 0.
func tail(name string, c color.NRGBA, d metrics.Distribution, greatest float64) figure.Line {
	l := cumulative(name, c, d, greatest, bucketWidth)
	for i, y := range l.Y {
		l.Y[i] = 1 - y
	}
	return l
}

// fitX fits the horizontal axis to distributions: a logarithmic one where they spread wide. It
// extends every line to the right end, where it is at end.
func fitX(f figure.Figure, end float64) figure.Figure {
	if len(f.Panels) == 0 {
		return figure.Figure{}
	}
	var xs []float64
	for _, p := range f.Panels {
		for _, l := range p.Lines {
			xs = append(xs, l.X...)
		}
	}
	f.X.Max = figure.Positive(slices.Max(xs))
	if f.X.Log = figure.TooWide(xs); f.X.Log {
		f.X.Max *= 1.5
		f.X.Min = figure.LowEnd(figure.LeastPositive(xs)/1.5, f.X.Max)
	} else {
		f.X.Max *= 1.05
	}
	for _, p := range f.Panels {
		for i := range p.Lines {
			l := &p.Lines[i]
			l.X, l.Y = append(l.X, f.X.Max), append(l.Y, end)
		}
	}
	return f
}
