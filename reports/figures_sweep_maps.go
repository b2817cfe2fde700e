package reports

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"github.com/simctl/simctl/metrics"
)

// heatMap draws a figure over two axes, a panel for every broker and combination of the
// other axes, on one scale of colours. A heavy line parts the cells within the limits from
// those beyond.
func (v *sweepView) heatMap(path string, x, y int) figure {
	f := v.mapFigure(path, x, y, "")
	groups, note := v.groups(x, y)
	f.note = "darker is more; the same colours in all panels" + note
	var all []float64
	for _, b := range v.s.Brokers {
		for _, rests := range groups {
			v.each(path, b, rests, x, y, func(_, _ int, at metrics.Spread) {
				if !at.None && !at.Never {
					all = append(all, at.Median)
				}
			})
		}
	}
	scale := heatScale(all)
	limited := false
	for _, rests := range groups {
		for i, b := range v.s.Brokers {
			p := panel{heading: v.groupHeading(b, groups, rests), color: v.colors[i]}
			v.each(path, b, rests, x, y, func(xi, yi int, at metrics.Spread) {
				c := heatCell{x: xi, y: yi, label: sweepValue(path, at, true)}
				switch {
				case at.None:
					return
				case at.Never:
					c.color = rule
				default:
					c.color = scale(at.Median)
				}
				p.cells = append(p.cells, c)
			})
			p.edges = v.boundary(path, b, rests, x, y)
			limited = limited || len(p.edges) > 0
			f.panels = append(f.panels, p)
		}
	}
	if limited {
		f.note += "; heavy line: " + v.limitText(path)
	}
	return f
}

// ratioMap draws a figure of the newer brokers by that of the oldest: blue is less, red is
// more.
func (v *sweepView) ratioMap(path string, x, y int) figure {
	f := v.mapFigure(path, x, y, "ratio")
	f.title += fmt.Sprintf(", by that of %s", v.s.Brokers[0])
	groups, note := v.groups(x, y)
	f.note = "blue is less, red is more" + note
	type ratios struct {
		panel panel
		at    []float64
	}
	var drawn []ratios
	var all []float64
	for _, rests := range groups {
		for i, b := range v.s.Brokers[1:] {
			r := ratios{panel: panel{heading: v.groupHeading(b, groups, rests), color: v.colors[i+1]}}
			v.each(path, b, rests, x, y, func(xi, yi int, newer metrics.Spread) {
				older := v.over(path, v.s.Brokers[0], rests, map[int]string{x: v.s.Axes[x].Values[xi], y: v.s.Axes[y].Values[yi]})
				if newer.None || older.None {
					return
				}
				c, ratio := heatCell{x: xi, y: yi, label: missing, color: rule}, math.NaN()
				if !newer.Never && !older.Never && older.Median > 0 && newer.Median > 0 {
					ratio = newer.Median / older.Median
					c.label = ratioText(ratio)
					all = append(all, ratio)
				}
				r.panel.cells, r.at = append(r.panel.cells, c), append(r.at, ratio)
			})
			drawn = append(drawn, r)
		}
	}
	scale := ratioScale(all)
	for _, r := range drawn {
		for i, ratio := range r.at {
			if !math.IsNaN(ratio) {
				r.panel.cells[i].color = scale(ratio)
			}
		}
		f.panels = append(f.panels, r.panel)
	}
	return f
}

// ratioText formats a ratio as what the old value is multiplied or divided by.
func ratioText(ratio float64) string {
	switch {
	case math.Abs(ratio-1) < 0.005:
		return "="
	case ratio < 1:
		return "÷" + times(1/ratio)
	}
	return "×" + times(ratio)
}

func (v *sweepView) mapFigure(path string, x, y int, what string) figure {
	if len(v.s.Axes) > 2 {
		if what != "" {
			what = "-" + what
		}
		what = v.s.Axes[x].Name + "-" + v.s.Axes[y].Name + what
	}
	f := v.figure(path, what)
	f.x, f.y = categories(v.s.Axes[x].Name, numbersOf(v.s.Axes[x])), categories(v.s.Axes[y].Name, numbersOf(v.s.Axes[y]))
	return f
}

func numbersOf(a metrics.Axis) []float64 {
	var out []float64
	for _, value := range a.Values {
		out = append(out, a.Number(value))
	}
	return out
}

// groups returns the combinations of the other axes that panels are about: each by itself,
// or all in one if they are too many.
func (v *sweepView) groups(x, y int) (groups [][][]string, note string) {
	rests := v.rests(x, y)
	if len(rests)*len(v.s.Brokers) > mostMultiples {
		return [][][]string{rests}, fmt.Sprintf("; medians over the %d combinations of the other axes", len(rests))
	}
	for _, rest := range rests {
		groups = append(groups, [][]string{rest})
	}
	return groups, ""
}

func (v *sweepView) groupHeading(broker string, groups [][][]string, rests [][]string) string {
	if len(groups) == 1 {
		return broker
	}
	return broker + " · " + pointText(v.s, rests[0])
}

// each calls fn for every cell of two axes with a figure over some combinations of the rest.
func (v *sweepView) each(path, broker string, rests [][]string, x, y int, fn func(xi, yi int, at metrics.Spread)) {
	for xi, xv := range v.s.Axes[x].Values {
		for yi, yv := range v.s.Axes[y].Values {
			fn(xi, yi, v.over(path, broker, rests, map[int]string{x: xv, y: yv}))
		}
	}
}

// edge is a stretch of a line between cells, in the coordinates of the axes.
type edge struct{ x0, y0, x1, y1 float64 }

// boundary returns the line between cells that meet the limits on a figure and those that do
// not; nothing if there is no such limit.
func (v *sweepView) boundary(path, broker string, rests [][]string, x, y int) []edge {
	var limits []metrics.Threshold
	for _, t := range v.s.Limits {
		if t.Metric == path && (t.Broker == "" || t.Broker == broker) {
			limits = append(limits, t)
		}
	}
	if len(limits) == 0 {
		return nil
	}
	state := map[[2]int]bool{}
	v.each(path, broker, rests, x, y, func(xi, yi int, at metrics.Spread) {
		if at.None {
			return
		}
		state[[2]int{xi, yi}] = !at.Never && !slices.ContainsFunc(limits, func(t metrics.Threshold) bool {
			return t.Max != nil && at.Median > *t.Max || t.Min != nil && at.Median < *t.Min
		})
	})
	var out []edge
	for xi := range v.s.Axes[x].Values {
		for yi := range v.s.Axes[y].Values {
			here, ok := state[[2]int{xi, yi}]
			if right, also := state[[2]int{xi + 1, yi}]; ok && also && here != right {
				out = append(out, edge{float64(xi) + 0.5, float64(yi) - 0.5, float64(xi) + 0.5, float64(yi) + 0.5})
			}
			if above, also := state[[2]int{xi, yi + 1}]; ok && also && here != above {
				out = append(out, edge{float64(xi) - 0.5, float64(yi) + 0.5, float64(xi) + 0.5, float64(yi) + 0.5})
			}
		}
	}
	return out
}

func (v *sweepView) limitText(path string) string {
	text := ""
	for _, l := range v.limitsOf(path) {
		if text != "" {
			text += ", "
		}
		text += l.name
	}
	return text
}

// heatScale returns a map from values to colours, light to dark, logarithmic when the
// values spread wide.
func heatScale(values []float64) func(float64) color.NRGBA {
	if len(values) == 0 {
		return func(float64) color.NRGBA { return rule }
	}
	transform := func(v float64) float64 { return v }
	if tooWide(values) {
		lowest := math.Inf(1)
		for _, v := range values {
			if v > 0 {
				lowest = math.Min(lowest, v)
			}
		}
		transform = func(v float64) float64 { return math.Log(math.Max(v, lowest)) }
	}
	low, high := transform(slices.Min(values)), transform(slices.Max(values))
	return func(v float64) color.NRGBA {
		share := 0.0
		if high > low {
			share = (transform(v) - low) / (high - low)
		}
		return blend(rgb(0xf7, 0xf3, 0xe3), rgb(0x3b, 0x27, 0x54), share)
	}
}

// ratioScale returns a map from ratios to colours: white at one, blue below and red above,
// by how many times.
func ratioScale(ratios []float64) func(float64) color.NRGBA {
	most := math.Log(1.1)
	for _, r := range ratios {
		most = math.Max(most, math.Abs(math.Log(r)))
	}
	return func(r float64) color.NRGBA {
		if share := math.Log(r) / most; share < 0 {
			return blend(rgb(0xfa, 0xfa, 0xfa), blue, -share)
		} else {
			return blend(rgb(0xfa, 0xfa, 0xfa), vermillion, share)
		}
	}
}

// blend mixes two colours: the first at a share of 0, the second at 1.
func blend(a, b color.NRGBA, share float64) color.NRGBA {
	mix := func(p, q uint8) uint8 { return uint8(float64(p) + share*(float64(q)-float64(p)) + 0.5) }
	return rgb(mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B))
}
