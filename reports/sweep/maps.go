package sweep

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

// heatMap draws a figure over two axes: a panel for every broker and combination of the other
// axes, on one scale of colours. A heavy line parts cells within the limits from those beyond.
func (v *view) heatMap(path string, x, y int) figure.Figure {
	f := v.mapFigure(path, x, y, "")
	groups, note := v.groups(x, y)
	f.Note = "darker is more; the same colours in all panels" + note
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
			p := figure.Panel{Heading: v.groupHeading(b, groups, rests), Color: v.colors[i]}
			v.each(path, b, rests, x, y, func(xi, yi int, at metrics.Spread) {
				c := figure.Cell{X: xi, Y: yi, Label: cellText(path, at, true)}
				switch {
				case at.None:
					return
				case at.Never:
					c.Color = figure.Rule
				default:
					c.Color = scale(at.Median)
				}
				p.Cells = append(p.Cells, c)
			})
			p.Edges = v.boundary(path, b, rests, x, y)
			limited = limited || len(p.Edges) > 0
			f.Panels = append(f.Panels, p)
		}
	}
	if limited {
		f.Note += "; heavy line: " + v.limitText(path)
	}
	return f
}

// ratioMap draws a figure of the newer brokers divided by that of the oldest: blue is less,
// red is more.
func (v *view) ratioMap(path string, x, y int) figure.Figure {
	f := v.mapFigure(path, x, y, "ratio")
	f.Title += fmt.Sprintf(", by that of %s", v.s.Brokers[0])
	groups, note := v.groups(x, y)
	f.Note = "blue is less, red is more" + note
	type ratios struct {
		panel figure.Panel
		at    []float64
	}
	var drawn []ratios
	var all []float64
	for _, rests := range groups {
		for i, b := range v.s.Brokers[1:] {
			r := ratios{panel: figure.Panel{Heading: v.groupHeading(b, groups, rests), Color: v.colors[i+1]}}
			v.each(path, b, rests, x, y, func(xi, yi int, newer metrics.Spread) {
				older := v.over(path, v.s.Brokers[0], rests, map[int]string{x: v.s.Axes[x].Values[xi], y: v.s.Axes[y].Values[yi]})
				if newer.None || older.None {
					return
				}
				c, ratio := figure.Cell{X: xi, Y: yi, Label: wording.Missing, Color: figure.Rule}, math.NaN()
				if !newer.Never && !older.Never && older.Median > 0 && newer.Median > 0 {
					ratio = newer.Median / older.Median
					c.Label = wording.RatioText(ratio)
					all = append(all, ratio)
				}
				r.panel.Cells, r.at = append(r.panel.Cells, c), append(r.at, ratio)
			})
			drawn = append(drawn, r)
		}
	}
	scale := ratioScale(all)
	for _, r := range drawn {
		for i, ratio := range r.at {
			if !math.IsNaN(ratio) {
				r.panel.Cells[i].Color = scale(ratio)
			}
		}
		f.Panels = append(f.Panels, r.panel)
	}
	return f
}

func (v *view) mapFigure(path string, x, y int, what string) figure.Figure {
	if len(v.s.Axes) > 2 {
		if what != "" {
			what = "-" + what
		}
		what = v.s.Axes[x].Name + "-" + v.s.Axes[y].Name + what
	}
	f := v.figure(path, what)
	f.X, f.Y = figure.Categories(v.s.Axes[x].Name, numbersOf(v.s.Axes[x])), figure.Categories(v.s.Axes[y].Name, numbersOf(v.s.Axes[y]))
	return f
}

func numbersOf(a metrics.Axis) []float64 {
	var out []float64
	for _, value := range a.Values {
		out = append(out, a.Number(value))
	}
	return out
}

// groups returns the combinations of the other axes that panels are about: one each, or all in
// one if they are too many.
func (v *view) groups(x, y int) (groups [][][]string, note string) {
	rests := v.rests(x, y)
	if len(rests)*len(v.s.Brokers) > figure.MaxMultiples {
		return [][][]string{rests}, fmt.Sprintf("; medians over the %d combinations of the other axes", len(rests))
	}
	for _, rest := range rests {
		groups = append(groups, [][]string{rest})
	}
	return groups, ""
}

func (v *view) groupHeading(broker string, groups [][][]string, rests [][]string) string {
	if len(groups) == 1 {
		return broker
	}
	return broker + " · " + pointText(v.s, rests[0])
}

// each calls fn for every cell of two axes with the figure over some combinations of the
// others.
func (v *view) each(path, broker string, rests [][]string, x, y int, fn func(xi, yi int, at metrics.Spread)) {
	for xi, xv := range v.s.Axes[x].Values {
		for yi, yv := range v.s.Axes[y].Values {
			fn(xi, yi, v.over(path, broker, rests, map[int]string{x: xv, y: yv}))
		}
	}
}

// boundary returns the line between cells that meet the limits on a figure and cells that do
// not.
func (v *view) boundary(path, broker string, rests [][]string, x, y int) []figure.Edge {
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
	var out []figure.Edge
	for xi := range v.s.Axes[x].Values {
		for yi := range v.s.Axes[y].Values {
			here, ok := state[[2]int{xi, yi}]
			if right, also := state[[2]int{xi + 1, yi}]; ok && also && here != right {
				out = append(out, figure.Edge{X0: float64(xi) + 0.5, Y0: float64(yi) - 0.5, X1: float64(xi) + 0.5, Y1: float64(yi) + 0.5})
			}
			if above, also := state[[2]int{xi, yi + 1}]; ok && also && here != above {
				out = append(out, figure.Edge{X0: float64(xi) - 0.5, Y0: float64(yi) + 0.5, X1: float64(xi) + 0.5, Y1: float64(yi) + 0.5})
			}
		}
	}
	return out
}

func (v *view) limitText(path string) string {
	text := ""
	for _, l := range v.limitsOf(path) {
		if text != "" {
			text += ", "
		}
		text += l.Name
	}
	return text
}

// heatScale returns a map from values to colours, light to dark. It is logarithmic if the
// values spread wide.
func heatScale(values []float64) func(float64) color.NRGBA {
	if len(values) == 0 {
		return func(float64) color.NRGBA { return figure.Rule }
	}
	transform := func(v float64) float64 { return v }
	if figure.TooWide(values) {
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
		return figure.Blend(figure.RGB(0xf7, 0xf3, 0xe3), figure.RGB(0x3b, 0x27, 0x54), share)
	}
}

// ratioScale returns a map from ratios to colours: white at one, ever bluer below and redder
// above.
func ratioScale(ratios []float64) func(float64) color.NRGBA {
	most := math.Log(1.1)
	for _, r := range ratios {
		most = math.Max(most, math.Abs(math.Log(r)))
	}
	return func(r float64) color.NRGBA {
		if share := math.Log(r) / most; share < 0 {
			return figure.Blend(figure.RGB(0xfa, 0xfa, 0xfa), figure.Blue, -share)
		} else {
			return figure.Blend(figure.RGB(0xfa, 0xfa, 0xfa), figure.Vermillion, share)
		}
	}
}

// mostMaps is the largest number of pairs of axes that have heat maps.
const mostMaps = 6
