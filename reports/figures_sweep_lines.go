package reports

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
)

// curves draws a figure along an axis: a line through the medians for every broker, the
// spread over the seeds behind it, and a panel for every combination of the other axes. If
// those are too many the lines are over all of them, and so is the spread.
func (v *sweepView) curves(path string, axisIndex int) figure {
	a := v.s.Axes[axisIndex]
	f := v.figure(path, "")
	if len(v.s.Axes) > 1 {
		f = v.figure(path, "by-"+a.Name)
	}
	if len(v.s.Seeds) > 1 {
		f.note = fmt.Sprintf("lines: median of %d seeds; shade: lowest to highest", len(v.s.Seeds))
	}
	rests := v.rests(axisIndex)
	switch {
	case len(v.s.Base) > 0:
		f.panels = []panel{v.curvePanel(path, axisIndex, [][]string{v.s.Base})}
	case v.s.Design == "sample":
		f.panels = []panel{v.cloud(path, axisIndex)}
		f.note = "a point for every cell; the other axes differ from point to point"
	case len(rests) > mostMultiples:
		f.panels = []panel{v.curvePanel(path, axisIndex, rests)}
		f.note = fmt.Sprintf("lines: median over the %d combinations of the other axes; shade: lowest to highest", len(rests))
	default:
		for _, rest := range rests {
			p := v.curvePanel(path, axisIndex, [][]string{rest})
			p.heading, p.color = pointText(v.s, rest), ink
			f.panels = append(f.panels, p)
		}
	}
	for i, b := range v.s.Brokers {
		f.legend = append(f.legend, key{b, v.colors[i]})
	}
	return v.scaled(f, path, axisIndex)
}

// curvePanel draws the lines over some combinations of the other axes.
func (v *sweepView) curvePanel(path string, axisIndex int, rests [][]string) panel {
	a := v.s.Axes[axisIndex]
	p := panel{}
	for i, b := range v.s.Brokers {
		l := line{name: b, color: v.colors[i], dotted: true}
		sp := spread{color: v.colors[i]}
		for _, value := range a.Values {
			at := v.over(path, b, rests, map[int]string{axisIndex: value})
			if at.None || at.Never {
				continue
			}
			x := a.Number(value)
			l.x, l.y = append(l.x, x), append(l.y, at.Median)
			sp.x, sp.low, sp.high = append(sp.x, x), append(sp.low, at.Low), append(sp.high, at.High)
		}
		p.lines = append(p.lines, l)
		if !slices.Equal(sp.low, sp.high) {
			p.spreads = append(p.spreads, sp)
		}
	}
	return p
}

// cloud draws a point for every cell.
func (v *sweepView) cloud(path string, axisIndex int) panel {
	a := v.s.Axes[axisIndex]
	p := panel{}
	for i, b := range v.s.Brokers {
		l := line{name: b, color: v.colors[i], dotted: true, scattered: true}
		for _, c := range v.s.Cells() {
			if at := c.Spread(path); c.Broker == b && !at.None && !at.Never {
				l.x, l.y = append(l.x, a.Number(c.Point[axisIndex])), append(l.y, at.Median)
			}
		}
		p.lines = append(p.lines, l)
	}
	return p
}

// mostMarked is up to how many values of an axis are its labels.
const mostMarked = 12

// scaled gives the axes of a line chart their ranges.
func (v *sweepView) scaled(f figure, path string, axisIndex int) figure {
	a := v.s.Axes[axisIndex]
	var xs, ys []float64
	for _, value := range a.Values {
		xs = append(xs, a.Number(value))
	}
	highest := 0.0
	limits := v.limitsOf(path)
	for i := range f.panels {
		f.panels[i].limits = limits
		for _, l := range f.panels[i].lines {
			ys = append(ys, l.y...)
		}
		for _, sp := range f.panels[i].spreads {
			for _, y := range sp.high {
				highest = math.Max(highest, y)
			}
		}
	}
	for _, l := range limits {
		ys = append(ys, l.at)
		highest = math.Max(highest, l.at)
	}
	f.x = axis{label: a.Name, min: xs[0], max: xs[len(xs)-1], log: xs[0] > 0 && xs[len(xs)-1] >= 8*xs[0]}
	if len(xs) <= mostMarked {
		f.x.marked = xs
	}
	m, _ := metricOf(path)
	f.y = axis{label: figureName(path), max: positive(math.Max(top(f.panels), highest))}
	if m.Name != "" {
		f.y.label = m.Title
		if m.Time() {
			f.y.unit = instants
			f.y.label += " " + clockFormat(f.y.max)
		}
	}
	f = f.logBars(ys)
	if f.y.log && m.Time() {
		f.y.label = m.Title // its ticks have units
	}
	return f
}

// effects draws how far each axis moves a figure: a bar for every axis from the figure's
// lowest to its highest value along it, the strongest first, a panel for every broker.
func (v *sweepView) effects(path string) figure {
	f := v.figure(path, "effects")
	f.title += ", and what moves it"
	if len(v.s.Axes) < 2 {
		return f
	}
	var all [][]metrics.Effect
	most := 0
	for _, b := range v.s.Brokers {
		effects := v.s.Effects(path, b)
		most = max(most, len(effects))
		// The first broker's strongest axis is on top; below are those that have values for
		// other brokers alone.
		for _, e := range effects {
			if !slices.Contains(f.y.names, e.Axis) {
				f.y.names = slices.Insert(f.y.names, 0, e.Axis)
			}
		}
		all = append(all, effects)
	}
	if most < 2 {
		return figure{}
	}
	highest := 1.0
	for i, effects := range all {
		p := panel{heading: v.s.Brokers[i], color: v.colors[i]}
		for _, e := range effects {
			at := float64(slices.Index(f.y.names, e.Axis))
			label := fmt.Sprintf("×%s  %s → %s", times(e.Factor), e.Low, e.High)
			if e.Factor < noEffect {
				label = "nothing"
			}
			p.bars = append(p.bars, effectBar(at, e.Factor, v.colors[i], label))
			highest = math.Max(highest, e.Factor)
		}
		for at, name := range f.y.names {
			if !slices.ContainsFunc(effects, func(e metrics.Effect) bool { return e.Axis == name }) {
				p.bars = append(p.bars, effectBar(float64(at), 1, v.colors[i], "not varied"))
			}
		}
		f.panels = append(f.panels, p)
	}
	f.x = axis{label: "highest by lowest value of the figure (×)", min: 1, max: math.Max(highest, 1.1), log: true}
	f.y.min, f.y.max = -0.5, float64(len(f.y.names))-0.5
	f.note = "best → worst value of the axis; geometric means over the other axes"
	if v.s.Design == "sample" {
		f.note = "best → worst end of the axis, from the best fit of all axes at once"
	}
	if len(v.s.Base) > 0 {
		f.note = "best → worst value of the axis; the other axes at " + strings.TrimSpace(pointText(v.s, v.s.Base))
	}
	return f
}

func effectBar(at, factor float64, c color.NRGBA, label string) bar {
	return bar{x0: 1, x1: math.Max(factor, 1.0001), y0: at - 0.35, y1: at + 0.35, color: c, horizontal: true, label: label}
}

// noEffect is the factor below which an axis is said to do nothing.
const noEffect = 1.005

// limit is a bound drawn across a panel.
type limit struct {
	name string
	at   float64
}
