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
// axes, on one scale of colours. A heavy line parts cells within the limits from those beyond,
// which are crossed out.
func (v *view) heatMap(path string, x, y int) figure.Figure {
	f := v.mapFigure(path, x, y, "")
	groups, note := v.groups(x, y)
	f.Note = "darker is more; the same colours in all panels" + note
	scale := heatScale
	f.Panels, f.Legend = v.cells(path, v.s.Brokers, groups, x, y, &scale, func(_ [][]string, _, _ int, at metrics.Spread) (string, float64) {
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
		v.judged(&f.Panels[i], path, v.s.Brokers[i%n], groups[i/n], x, y)
		limited = limited || slices.ContainsFunc(f.Panels[i].Cells, func(c figure.Cell) bool { return c.Failed })
	}
	if limited {
		var names []string
		for _, l := range v.limitsOf(path, "") {
			names = append(names, l.Name)
		}
		f.Note += "; crossed out: beyond the " + strings.Join(names, ", ")
	}
	return f
}

// ratioMap draws a figure of the newer brokers divided by that of the oldest: blue is less,
// red is more.
func (v *view) ratioMap(path string, x, y int) figure.Figure {
	f := v.mapFigure(path, x, y, "ratio")
	f.Title += fmt.Sprintf(", by that of %s", v.s.Brokers[0])
	groups, note := v.groups(x, y)
	f.Note = "blue is less, red is more, white as much" + note
	scale := ratioScale
	f.Panels, f.Legend = v.cells(path, v.s.Brokers[1:], groups, x, y, &scale, func(rests [][]string, xi, yi int, newer metrics.Spread) (string, float64) {
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
// sweep's, and what their colours mean. look returns the label of a cell, "" if there is none,
// and the value to be coloured, NaN for a cell without one.
func (v *view) cells(path string, brokers []string, groups [][][]string, x, y int, scale *scale,
	look func(rests [][]string, xi, yi int, at metrics.Spread) (string, float64),
) ([]figure.Panel, []figure.Key) {
	var panels []figure.Panel
	var values [][]float64 // of the cells, by panel
	colors := v.colors[len(v.s.Brokers)-len(brokers):]
	for _, rests := range groups {
		for i, b := range brokers {
			p := figure.Panel{Heading: v.groupHeading(b, groups, rests), Color: colors[i]}
			var at []float64
			v.each(path, b, rests, x, y, func(xi, yi int, sp metrics.Spread) {
				if label, value := look(rests, xi, yi, sp); label != "" {
					ax, ay := v.s.Axes[x], v.s.Axes[y]
					where := fmt.Sprintf("%s, %s=%s%s %s=%s%s", p.Heading, ax.Name, ax.Values[xi], ax.Unit, ay.Name, ay.Values[yi], ay.Unit)
					within := v.within(path, b, rests, v.at(x, y, xi, yi))
					p.Cells = append(p.Cells, figure.Cell{X: xi, Y: yi, Label: label, Detail: v.detail(path, b, where, sp, within), Color: figure.Rule})
					at = append(at, value)
				}
			})
			panels, values = append(panels, p), append(values, at)
		}
	}
	all := slices.DeleteFunc(slices.Concat(values...), math.IsNaN)
	colorOf := scale.colors(all)
	for i, at := range values {
		for j, value := range at {
			if !math.IsNaN(value) {
				panels[i].Cells[j].Color = colorOf(value)
			}
		}
	}
	var keys []figure.Key
	for _, stop := range scale.stops(all) {
		text := wording.Figure(path, stop, true)
		if scale.ratios {
			text = wording.RatioText(stop)
		}
		keys = append(keys, figure.Key{Name: text, Color: colorOf(stop)})
	}
	return panels, keys
}

// at returns the values of two axes at a cell.
func (v *view) at(x, y, xi, yi int) map[int]string {
	return map[int]string{x: v.s.Axes[x].Values[xi], y: v.s.Axes[y].Values[yi]}
}

func (v *view) mapFigure(path string, x, y int, what string) figure.Figure {
	if len(v.s.Axes) > 2 {
		if what != "" {
			what = "-" + what
		}
		what = v.s.Axes[x].Name + "-" + v.s.Axes[y].Name + what
	}
	f := v.figure(path, what)
	if len(v.s.Axes) > 2 { // there is a map for each pair of axes
		f.Title += fmt.Sprintf(", %s × %s", v.s.Axes[x].Name, v.s.Axes[y].Name)
	}
	f.X, f.Y = figure.Categories(axisTitle(v.s.Axes[x]), numbersOf(v.s.Axes[x])), figure.Categories(axisTitle(v.s.Axes[y]), numbersOf(v.s.Axes[y]))
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
		return [][][]string{rests}, fmt.Sprintf("; medians over the %s of the other axes", wording.Count(len(rests), "combination"))
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

// judged crosses out the cells of a panel that do not meet the limits on a figure, and draws the
// line between them and those that do.
func (v *view) judged(p *figure.Panel, path, broker string, rests [][]string, x, y int) {
	fails := map[[2]int]bool{}
	for i := range p.Cells {
		c := &p.Cells[i]
		set := v.at(x, y, c.X, c.Y)
		c.Failed = !v.within(path, broker, rests, set)
		if c.Failed && slices.ContainsFunc(v.limitsOf(path, broker), func(l figure.Limit) bool { return wording.Figure(path, l.At, true) == c.Label }) {
			c.Label = wording.Precisely(path, v.over(path, broker, rests, set).Median)
		}
		fails[[2]int{c.X, c.Y}] = c.Failed
	}
	for _, c := range p.Cells {
		xi, yi := float64(c.X), float64(c.Y)
		if right, ok := fails[[2]int{c.X + 1, c.Y}]; ok && c.Failed != right {
			p.Edges = append(p.Edges, figure.Edge{X0: xi + 0.5, Y0: yi - 0.5, X1: xi + 0.5, Y1: yi + 0.5})
		}
		if above, ok := fails[[2]int{c.X, c.Y + 1}]; ok && c.Failed != above {
			p.Edges = append(p.Edges, figure.Edge{X0: xi - 0.5, Y0: yi + 0.5, X1: xi + 0.5, Y1: yi + 0.5})
		}
	}
}

// scale gives values colours.
type scale struct {
	ratios bool
	colors func(all []float64) func(float64) color.NRGBA
	// stops are the values that a legend names.
	stops func(all []float64) []float64
}

// heatScale goes from light to dark. It is logarithmic unless zeros are among values that do not
// spread wide: one long time would leave all others the same tint.
var heatScale = scale{
	colors: func(values []float64) func(float64) color.NRGBA {
		if len(values) == 0 {
			return func(float64) color.NRGBA { return figure.Rule }
		}
		transform, _ := heatTransform(values)
		low, high := transform(slices.Min(values)), transform(slices.Max(values))
		return func(v float64) color.NRGBA {
			share := 0.0
			if high > low {
				share = (transform(v) - low) / (high - low)
			}
			return figure.Blend(figure.RGB(0xf7, 0xf3, 0xe3), figure.RGB(0x3b, 0x27, 0x54), share)
		}
	},
	stops: func(values []float64) []float64 {
		if len(values) == 0 {
			return nil
		}
		transform, inverse := heatTransform(values)
		low, high := transform(slices.Min(values)), transform(slices.Max(values))
		return slices.Compact([]float64{slices.Min(values), inverse((low + high) / 2), slices.Max(values)})
	},
}

// heatTransform returns the transformation of values that colours are proportional to, and its
// inverse.
func heatTransform(values []float64) (transform, inverse func(float64) float64) {
	if slices.Min(values) <= 0 && !figure.TooWide(values) {
		same := func(v float64) float64 { return v }
		return same, same
	}
	lowest := figure.LeastPositive(values)
	return func(v float64) float64 { return math.Log(math.Max(v, lowest)) }, math.Exp
}

// ratioScale is white at one, its middle, ever bluer below and redder above, and as long on
// both sides.
var ratioScale = scale{
	ratios: true,
	colors: func(ratios []float64) func(float64) color.NRGBA {
		most := math.Log(farthest(ratios))
		return func(r float64) color.NRGBA {
			if share := math.Log(r) / most; share < 0 {
				return figure.Blend(figure.RGB(0xfa, 0xfa, 0xfa), figure.Blue, -share)
			} else {
				return figure.Blend(figure.RGB(0xfa, 0xfa, 0xfa), figure.Vermillion, share)
			}
		}
	},
	stops: func(ratios []float64) []float64 {
		if len(ratios) == 0 {
			return nil
		}
		most := farthest(ratios)
		return []float64{1 / most, 1 / math.Sqrt(most), 1, math.Sqrt(most), most}
	},
}

// farthest returns the ratio that is farthest from one, or its reciprocal: 1.1 at least.
func farthest(ratios []float64) float64 {
	most := 1.1
	for _, r := range ratios {
		most = max(most, r, 1/r)
	}
	return most
}

// mostMaps is the largest number of pairs of axes that have heat maps.
const mostMaps = 6
