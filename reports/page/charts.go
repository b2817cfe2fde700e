package page

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strconv"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
)

// Bars and heat maps are laid out as text and boxes, which every browser prints and reads
// out well; the script draws only lines and areas.

// barGroup is a heading with bars under it.
type barGroup struct {
	Name string
	Bars []barView
}

// barView is one bar: stretches of colour, in percent of the width, and its value.
type barView struct {
	Name, Label, Detail string
	Stretches           []stretch
}

type stretch struct {
	From, Width float64
	Color       string
	Light       bool
}

// heat is a heat map as a table, its rows from the top down.
type heat struct {
	XName, YName string
	Columns      []string
	Rows         []heatRow
}

type heatRow struct {
	Name  string
	Cells []heatCell
}

type heatCell struct {
	Label, Detail, Background, Ink string
	Failed                         bool
}

func chartOf(f figure.Figure) chartView {
	c := chartView{ID: f.ID, Title: f.Title, Note: f.Note, Legend: f.Legend}
	for _, p := range f.Panels {
		out := panelView{Heading: p.Heading, Detail: p.Detail}
		if p.Heading != "" && p.Color != figure.Ink {
			out.Color = figure.Hex(p.Color)
		}
		switch {
		case len(p.Cells) > 0:
			out.Heat = heatTable(f, p)
		case len(p.Bars) > 0:
			out.Groups = barGroups(f, p)
		default:
			out.Drawn = true
		}
		c.Panels = append(c.Panels, out)
	}
	return c
}

// barGroups lays the bars of a panel out below each other, whichever way the drawing has them.
// Bars at the same place are one bar.
func barGroups(f figure.Figure, p figure.Panel) []barGroup {
	var groups []barGroup
	group, last := -1, math.NaN()
	for _, b := range p.Bars {
		names, place, across, from, to, full := f.X.Names, (b.X0+b.X1)/2, b.X0, b.Y0, b.Y1, f.Y.Max
		if b.Horizontal {
			names, place, across, from, to, full = f.Y.Names, (b.Y0+b.Y1)/2, b.Y0, b.X0, b.X1, f.X.Max
		}
		if n := int(math.Round(place)); n != group {
			group = n
			groups = append(groups, barGroup{Name: names[min(max(n, 0), len(names)-1)]})
			last = math.NaN()
		}
		g := &groups[len(groups)-1]
		if across != last {
			g.Bars = append(g.Bars, barView{})
			last = across
		}
		bar := &g.Bars[len(g.Bars)-1]
		if b.Label != "" {
			bar.Label, bar.Detail = b.Label, b.Detail
		}
		if to > from {
			bar.Stretches = append(bar.Stretches, stretch{100 * from / full, 100 * (to - from) / full, figure.Hex(b.Color), b.Light})
		}
		for _, k := range f.Legend {
			if k.Color == b.Color && !b.Horizontal {
				bar.Name = k.Name
			}
		}
	}
	return groups
}

func heatTable(f figure.Figure, p figure.Panel) *heat {
	h := &heat{XName: f.X.Label, YName: f.Y.Label, Columns: f.X.Names}
	for y := len(f.Y.Names) - 1; y >= 0; y-- {
		r := heatRow{Name: f.Y.Names[y], Cells: make([]heatCell, len(f.X.Names))}
		for _, c := range p.Cells {
			if c.Y != y {
				continue
			}
			r.Cells[c.X] = heatCell{c.Label, c.Detail, figure.Hex(c.Color), figure.Hex(figure.ReadableOn(c.Color)), c.Failed}
		}
		h.Rows = append(h.Rows, r)
	}
	return h
}

// drawnFigure is a figure for the script.
type drawnFigure struct {
	ID     string       `json:"id"`
	Link   string       `json:"link"` // figures with the same one zoom together
	X      drawnAxis    `json:"x"`
	Y      drawnAxis    `json:"y"`
	Panels []drawnPanel `json:"panels"`
}

type drawnAxis struct {
	Label string  `json:"label"`
	Unit  string  `json:"unit"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	Log   bool    `json:"log"`
	// Ticks are those of a logarithmic axis, and of one that labels certain values.
	Ticks []drawnTick `json:"ticks,omitempty"`
}

type drawnTick struct {
	At    float64 `json:"at"`
	Label string  `json:"label"`
}

type drawnPanel struct {
	X      []float64     `json:"x"`
	Layers []drawnLayer  `json:"layers"`
	Bands  []figure.Band `json:"bands"`
	Marks  []figure.Mark `json:"marks"`
	// Spreads are shades behind the layers, over instants of their own.
	Spreads []drawnSpread `json:"spreads,omitempty"`
	Limits  []drawnLimit  `json:"limits,omitempty"`
	Crosses []drawnCross  `json:"crosses,omitempty"`
}

type drawnLimit struct {
	Name string  `json:"name"`
	At   float64 `json:"at"`
}

// drawnCross is a point that fails; without Y at the upper edge.
type drawnCross struct {
	X     float64  `json:"x"`
	Y     *float64 `json:"y"`
	Color string   `json:"color"`
}

type drawnSpread struct {
	Color string    `json:"color"`
	X     []float64 `json:"x"`
	Low   []float64 `json:"low"`
	High  []float64 `json:"high"`
}

// drawnLayer is a line, or an area between Y and Base (nil is zero).
type drawnLayer struct {
	Name    string `json:"name"`
	Color   string `json:"color"`
	Area    bool   `json:"area"`
	Outline bool   `json:"outline"`
	Stacked bool   `json:"stacked"` // Y includes the layers below
	// Dotted marks the points of its own, Scattered leaves out the line between them.
	Dotted    bool       `json:"dotted,omitempty"`
	Scattered bool       `json:"scattered,omitempty"`
	Summary   string     `json:"summary,omitempty"`
	Y         []*float64 `json:"y"` // null where a dotted layer has no point
}

func drawnFigures(figs []figure.Figure) []drawnFigure {
	out := []drawnFigure{}
	for _, f := range figs {
		if len(f.Panels[0].Lines)+len(f.Panels[0].Areas) == 0 && len(f.Panels[0].Bars)+len(f.Panels[0].Cells) > 0 {
			continue
		}
		d := drawnFigure{ID: f.ID, Link: f.ID, X: drawnAxisOf(f.X), Y: drawnAxisOf(f.Y)}
		if f.X.Unit == figure.Instants {
			d.Link = "time"
		}
		for _, p := range f.Panels {
			d.Panels = append(d.Panels, drawnPanelOf(f, p))
		}
		out = append(out, d)
	}
	return out
}

func drawnAxisOf(a figure.Axis) drawnAxis {
	d := drawnAxis{Label: a.Label, Unit: a.Unit.String(), Min: a.Min, Max: a.Max, Log: a.Log}
	if a.Log || a.Marked != nil {
		for _, t := range a.Ticks(6) {
			if !t.IsMinor() {
				d.Ticks = append(d.Ticks, drawnTick{t.Value, t.Label})
			}
		}
	}
	return d
}

// perDrawnLayer bounds the points of a layer on the page, where it can be zoomed into.
const perDrawnLayer = 800

// drawnPanelOf brings all layers to the same instants, as uPlot needs them.
func drawnPanelOf(f figure.Figure, p figure.Panel) drawnPanel {
	d := drawnPanel{
		Bands: append([]figure.Band{}, p.Bands...), Marks: append([]figure.Mark{}, p.Marks...), Layers: []drawnLayer{},
	}
	for _, s := range p.Spreads {
		d.Spreads = append(d.Spreads, drawnSpread{figure.Hex(s.Color), rounded(s.X), rounded(s.Low), rounded(s.High)})
	}
	for _, l := range p.Limits {
		d.Limits = append(d.Limits, drawnLimit(l))
	}
	for _, c := range p.Crosses {
		drawn := drawnCross{X: c.X, Color: figure.Hex(c.Color)}
		if !math.IsInf(c.Y, 1) {
			drawn.Y = &c.Y
		}
		d.Crosses = append(d.Crosses, drawn)
	}
	var curves []metrics.Series
	add := func(name string, c color.NRGBA, x, y []float64) *drawnLayer {
		curves = append(curves, rising(x, y).Thin(perDrawnLayer))
		d.Layers = append(d.Layers, drawnLayer{Name: name, Color: figure.Hex(c)})
		return &d.Layers[len(d.Layers)-1]
	}
	for _, a := range p.Areas {
		l := add(a.Name, a.Color, a.X, a.Y)
		l.Area, l.Outline, l.Stacked = true, a.Outline, a.Base != nil
	}
	for _, l := range p.Lines {
		x, y := l.X, l.Y
		if l.Scattered {
			x, y = ascending(x, y)
		}
		drawn := add(l.Name, l.Color, x, y)
		drawn.Dotted, drawn.Scattered, drawn.Summary = l.Dotted, l.Scattered, l.Summary
	}
	d.X = metrics.Instants(append(curves, raster(f.X, metrics.Instants(curves...)))...)
	for i := range d.Layers {
		l := &d.Layers[i]
		l.Y = make([]*float64, len(d.X))
		for j, x := range d.X {
			if _, own := slices.BinarySearch(curves[i].AtS, x); l.Dotted && !own {
				continue
			}
			y := curves[i].At(x)
			if f.Y.Log {
				y = math.Max(y, f.Y.Min)
			}
			y = digits(y, 7)
			l.Y[j] = &y
		}
	}
	return d
}

// ascending returns points in the order of x.
func ascending(x, y []float64) (xs, ys []float64) {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	for _, i := range order {
		xs, ys = append(xs, x[i]), append(ys, y[i])
	}
	return xs, ys
}

// perRaster is the least number of instants along an axis of time.
const perRaster = 400

// raster returns evenly spaced instants between the first and the last one. A straight curve
// has few points of its own, but the mouse asks for its value everywhere.
func raster(a figure.Axis, x []float64) metrics.Series {
	var s metrics.Series
	if a.Unit != figure.Instants || len(x) < 2 {
		return s
	}
	from, to := x[0], x[len(x)-1]
	step := a.Max / perRaster
	for at := from + step; at < to; at += step {
		s.AtS = append(s.AtS, digits(at, 6))
	}
	return s
}

// rising moves points of the same x, which form a vertical line, closely behind each other.
func rising(x, y []float64) metrics.Series {
	s := metrics.Series{AtS: slices.Clone(x), Value: y}
	for i := len(x) - 2; i >= 0; i-- {
		if s.AtS[i] >= s.AtS[i+1] {
			s.AtS[i] = s.AtS[i+1] - math.Max(math.Abs(s.AtS[i+1])*1e-6, 1e-9)
		}
	}
	return s
}

func rounded(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = digits(v, 6)
	}
	return out
}

// digits rounds to n significant digits. More would only lengthen the page.
func digits(v float64, n int) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', n, 64), 64)
	return v
}
