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

// heatMap draws a figure over two axes: a panel for every broker and combination of the other
// axes, on one scale of colours. A heavy line parts cells within the limits from those beyond.
func (v *view) heatMap(path string, x, y int) figure.Figure {
	f := v.mapFigure(path, x, y, "")
	groups, note := v.groups(x, y)
	f.Note = "darker is more; the same colours in all panels" + note
	f.Panels = v.cells(path, v.s.Brokers, groups, x, y, heatScale, func(_ [][]string, _, _ int, at metrics.Spread) (string, float64) {
		switch {
		case at.None:
			return "", 0
		case at.Never:
			return wording.Never, math.NaN()
		}
		return cellText(path, at, true), at.Median
	})
	limited := false
	for i := range f.Panels {
		n := len(v.s.Brokers)
		f.Panels[i].Edges = v.boundary(path, v.s.Brokers[i%n], groups[i/n], x, y)
		limited = limited || len(f.Panels[i].Edges) > 0
	}
	if limited {
		var names []string
		for _, l := range v.limitsOf(path) {
			names = append(names, l.Name)
		}
		f.Note += "; heavy line: " + strings.Join(names, ", ")
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
	f.Panels = v.cells(path, v.s.Brokers[1:], groups, x, y, ratioScale, func(rests [][]string, xi, yi int, newer metrics.Spread) (string, float64) {
		older := v.over(path, v.s.Brokers[0], rests, map[int]string{x: v.s.Axes[x].Values[xi], y: v.s.Axes[y].Values[yi]})
		switch {
		case newer.None || older.None:
			return "", 0
		case newer.Never || older.Never || older.Median <= 0 || newer.Median <= 0:
			return wording.Missing, math.NaN()
		}
		return wording.RatioText(newer.Median / older.Median), newer.Median / older.Median
	})
	return f
}

// cells returns a panel of cells for every group and broker, the brokers being the last of the
// sweep's. look returns the label of a cell, "" if there is none, and the value to be coloured,
// NaN for a cell without one. scale returns the colours for all values.
func (v *view) cells(path string, brokers []string, groups [][][]string, x, y int, scale func([]float64) func(float64) color.NRGBA,
	look func(rests [][]string, xi, yi int, at metrics.Spread) (string, float64),
) []figure.Panel {
	var panels []figure.Panel
	var values [][]float64 // of the cells, by panel
	colors := v.colors[len(v.s.Brokers)-len(brokers):]
	for _, rests := range groups {
		for i, b := range brokers {
			p := figure.Panel{Heading: v.groupHeading(b, groups, rests), Color: colors[i]}
			var at []float64
			v.each(path, b, rests, x, y, func(xi, yi int, sp metrics.Spread) {
				if label, value := look(rests, xi, yi, sp); label != "" {
					p.Cells, at = append(p.Cells, figure.Cell{X: xi, Y: yi, Label: label, Color: figure.Rule}), append(at, value)
				}
			})
			panels, values = append(panels, p), append(values, at)
		}
	}
	colorOf := scale(slices.DeleteFunc(slices.Concat(values...), math.IsNaN))
	for i, at := range values {
		for j, value := range at {
			if !math.IsNaN(value) {
				panels[i].Cells[j].Color = colorOf(value)
			}
		}
	}
	return panels
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

// heatScale returns a map from values to colours, light to dark. It is logarithmic if the
// values spread wide.
func heatScale(values []float64) func(float64) color.NRGBA {
	if len(values) == 0 {
		return func(float64) color.NRGBA { return figure.Rule }
	}
	transform := func(v float64) float64 { return v }
	if figure.TooWide(values) {
		lowest := figure.LeastPositive(values)
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
