package sweep

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

// curves draws a figure along an axis: for every broker a line through the medians in front of
// the spread over the seeds, and a panel for every combination of the other axes. If those are
// too many, one panel has lines and spreads over all of them.
func (v *view) curves(path string, axisIndex int) figure.Figure {
	a := v.s.Axes[axisIndex]
	f := v.figure(path, "")
	if len(v.s.Axes) > 1 {
		f = v.figure(path, "by-"+a.Name)
		f.Title += ", by " + a.Name
	}
	if len(v.s.Seeds) > 1 {
		f.Note = fmt.Sprintf("lines: median of %s; shade: lowest to highest", wording.Count(len(v.s.Seeds), "seed"))
	}
	rests := v.rests(axisIndex)
	switch {
	case len(v.s.Base) > 0:
		f.Panels = []figure.Panel{v.curvePanel(path, axisIndex, [][]string{v.s.Base})}
	case v.s.Design == "sample":
		f.Panels = []figure.Panel{v.cloud(path, axisIndex)}
		f.Note = "a point for every cell; the other axes differ from point to point"
	case len(rests) > figure.MaxMultiples:
		f.Panels = []figure.Panel{v.curvePanel(path, axisIndex, rests)}
		f.Note = fmt.Sprintf("lines: median over the %s of the other axes; shade: lowest to highest", wording.Count(len(rests), "combination"))
	default:
		for _, rest := range rests {
			p := v.curvePanel(path, axisIndex, [][]string{rest})
			p.Heading, p.Color = pointText(v.s, rest), figure.Ink
			f.Panels = append(f.Panels, p)
		}
	}
	for i, b := range v.s.Brokers {
		f.Legend = append(f.Legend, figure.Key{Name: b, Color: v.colors[i]})
	}
	if slices.ContainsFunc(f.Panels, func(p figure.Panel) bool { return len(p.Crosses) > 0 }) {
		f.Note = strings.TrimPrefix(f.Note+"; crosses: beyond a limit, at the upper edge never", "; ")
	}
	return v.scaled(f, path, axisIndex)
}

// curvePanel draws the lines over some combinations of the other axes.
func (v *view) curvePanel(path string, axisIndex int, rests [][]string) figure.Panel {
	a := v.s.Axes[axisIndex]
	p := figure.Panel{}
	for i, b := range v.s.Brokers {
		l := figure.Line{Name: b, Color: v.colors[i], Dotted: true}
		sp := figure.Spread{Color: v.colors[i]}
		for _, value := range a.Values {
			set := map[int]string{axisIndex: value}
			at, x := v.over(path, b, rests, set), a.Number(value)
			switch {
			case at.None:
				continue
			case at.Never:
				p.Crosses = append(p.Crosses, figure.Cross{X: x, Y: math.Inf(1), Color: v.colors[i]})
				continue
			case !v.within(path, b, rests, set):
				p.Crosses = append(p.Crosses, figure.Cross{X: x, Y: at.Median, Color: v.colors[i]})
			}
			l.X, l.Y = append(l.X, x), append(l.Y, at.Median)
			sp.X, sp.Low, sp.High = append(sp.X, x), append(sp.Low, at.Low), append(sp.High, at.High)
		}
		p.Lines = append(p.Lines, l)
		if !slices.Equal(sp.Low, sp.High) {
			p.Spreads = append(p.Spreads, sp)
		}
	}
	return p
}

// cloud draws a point for every cell.
func (v *view) cloud(path string, axisIndex int) figure.Panel {
	a := v.s.Axes[axisIndex]
	p := figure.Panel{}
	for i, b := range v.s.Brokers {
		l := figure.Line{Name: b, Color: v.colors[i], Dotted: true, Scattered: true}
		for _, c := range v.s.Cells() {
			if at := c.Spread(path); c.Broker == b && !at.None && !at.Never {
				l.X, l.Y = append(l.X, a.Number(c.Point[axisIndex])), append(l.Y, at.Median)
			}
		}
		p.Lines = append(p.Lines, l)
	}
	return p
}

// mostMarked is the largest number of values that an axis labels each.
const mostMarked = 12

// scaled fits the axes of a line chart.
func (v *view) scaled(f figure.Figure, path string, axisIndex int) figure.Figure {
	a := v.s.Axes[axisIndex]
	var xs, ys []float64
	for _, value := range a.Values {
		xs = append(xs, a.Number(value))
	}
	highest := 0.0
	limits := v.limitsOf(path, "")
	for i := range f.Panels {
		f.Panels[i].Limits = limits
		for _, l := range f.Panels[i].Lines {
			ys = append(ys, l.Y...)
		}
		for _, sp := range f.Panels[i].Spreads {
			for _, y := range sp.High {
				highest = math.Max(highest, y)
			}
		}
	}
	for _, l := range limits {
		ys = append(ys, l.At)
		highest = math.Max(highest, l.At)
	}
	f.X = figure.Axis{Label: axisTitle(a), Min: xs[0], Max: xs[len(xs)-1], Log: xs[0] > 0 && xs[len(xs)-1] >= 8*xs[0]}
	if len(xs) <= mostMarked {
		f.X.Marked = xs
	}
	m, _ := wording.MetricOf(path)
	f.Y = figure.Axis{Label: wording.FigureName(path), Max: figure.Positive(math.Max(f.Top(), highest))}
	if wording.LengthOfTime(path) {
		f.Y.Unit = figure.Durations
	}
	if m.Name != "" {
		f.Y.Label = m.Title
		if m.Time() {
			f.Y.Unit = figure.Instants
			f.Y.Label += " " + wording.ClockFormat(f.Y.Max)
		}
	}
	f = f.LogBars(ys)
	if f.Y.Log && m.Time() {
		f.Y.Label = m.Title // its ticks have units
	}
	return f
}

// effects draws how far each axis moves a figure: a panel for every broker, and a bar for
// every axis from the figure's lowest to its highest value along it, the strongest first.
func (v *view) effects(path string) figure.Figure {
	f := v.figure(path, "effects")
	f.Title += ", and what moves it"
	if len(v.s.Axes) < 2 {
		return f
	}
	var all [][]effect
	most := 0
	for _, b := range v.s.Brokers {
		effects := effectsOn(v.s, path, b)
		most = max(most, len(effects))
		// The first broker's strongest axis is on top; below are those that have values for
		// other brokers alone.
		for _, e := range effects {
			if !slices.Contains(f.Y.Names, e.axis) {
				f.Y.Names = slices.Insert(f.Y.Names, 0, e.axis)
			}
		}
		all = append(all, effects)
	}
	if most < 2 {
		return figure.Figure{}
	}
	highest := 1.0
	for i, effects := range all {
		p := figure.Panel{Heading: v.s.Brokers[i], Color: v.colors[i]}
		for _, e := range effects {
			at := float64(slices.Index(f.Y.Names, e.axis))
			label := fmt.Sprintf("×%s  %s → %s", wording.Times(e.factor), e.low, e.high)
			if e.factor < noEffect {
				label = "nothing"
			}
			p.Bars = append(p.Bars, effectBar(at, e.factor, v.colors[i], label))
			highest = math.Max(highest, e.factor)
		}
		for at, name := range f.Y.Names {
			if !slices.ContainsFunc(effects, func(e effect) bool { return e.axis == name }) {
				p.Bars = append(p.Bars, effectBar(float64(at), 1, v.colors[i], "not varied"))
			}
		}
		f.Panels = append(f.Panels, p)
	}
	f.X = figure.Axis{Label: "highest by lowest value of the figure (×)", Min: 1, Max: math.Max(highest, 1.1), Log: true}
	f.Y.Min, f.Y.Max = -0.5, float64(len(f.Y.Names))-0.5
	f.Note = "best → worst value of the axis; geometric means over the other axes"
	if v.s.Design == "knee" || slices.ContainsFunc(v.s.Runs, func(r metrics.SweepRun) bool { return r.Result == nil }) {
		f.Note += "; where cells are missing, the best fit of all axes at once"
	}
	if v.s.Design == "sample" {
		f.Note = "best → worst end of the axis, from the best fit of all axes at once"
	}
	if len(v.s.Base) > 0 {
		f.Note = "best → worst value of the axis; the other axes at " + strings.TrimSpace(pointText(v.s, v.s.Base))
	}
	return f
}

func effectBar(at, factor float64, c color.NRGBA, label string) figure.Bar {
	return figure.Bar{X0: 1, X1: math.Max(factor, 1.0001), Y0: at - 0.35, Y1: at + 0.35, Color: c, Horizontal: true, Label: label}
}

// noEffect is the factor below which an axis counts as doing nothing.
const noEffect = 1.005
