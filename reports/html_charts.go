package reports

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"github.com/simctl/simctl/metrics"
)

// Bars and heat maps are laid out as text and boxes, which every browser prints and reads
// out well; the script draws only lines and areas.

// pageGroup is a heading with bars under it.
type pageGroup struct {
	Name string
	Bars []pageBar
}

// pageBar is one bar: stretches of colour, in percent of the width, and its value.
type pageBar struct {
	Name, Label, Detail string
	Stretches           []pageStretch
}

type pageStretch struct {
	From, Width float64
	Color       string
	Light       bool
}

// pageHeat is a heat map as a table, its rows from the top down.
type pageHeat struct {
	XName, YName string
	Columns      []string
	Rows         []pageHeatRow
}

type pageHeatRow struct {
	Name  string
	Cells []pageHeatCell
}

type pageHeatCell struct{ Label, Background, Ink string }

func chartOf(f figure) pageChart {
	c := pageChart{ID: f.id, Title: f.title, Note: f.note}
	for _, k := range f.legend {
		c.Legend = append(c.Legend, pageKey{k.name, hex(k.color)})
	}
	for _, p := range f.panels {
		out := pagePanel{Heading: p.heading, Detail: p.detail}
		if p.heading != "" && p.color != ink {
			out.Color = hex(p.color)
		}
		switch {
		case len(p.cells) > 0:
			out.Heat = f.heatTable(p)
		case len(p.bars) > 0:
			out.Groups = f.barGroups(p)
		default:
			out.Drawn = true
		}
		c.Panels = append(c.Panels, out)
	}
	return c
}

// barGroups lays the bars of a panel out one below the other, whichever way they stand in
// the drawing: those at the same place are one bar.
func (f figure) barGroups(p panel) []pageGroup {
	var groups []pageGroup
	group, last := -1, math.NaN()
	bars := p.bars
	for _, b := range bars {
		names, place, across, from, to, full := f.x.names, (b.x0+b.x1)/2, b.x0, b.y0, b.y1, f.y.max
		if b.horizontal {
			names, place, across, from, to, full = f.y.names, (b.y0+b.y1)/2, b.y0, b.x0, b.x1, f.x.max
		}
		if n := int(math.Round(place)); n != group {
			group = n
			groups = append(groups, pageGroup{Name: names[min(max(n, 0), len(names)-1)]})
			last = math.NaN()
		}
		g := &groups[len(groups)-1]
		if across != last {
			g.Bars = append(g.Bars, pageBar{})
			last = across
		}
		bar := &g.Bars[len(g.Bars)-1]
		if b.label != "" {
			bar.Label, bar.Detail = b.label, b.detail
		}
		if to > from {
			bar.Stretches = append(bar.Stretches, pageStretch{100 * from / full, 100 * (to - from) / full, hex(b.color), b.light})
		}
		for _, k := range f.legend {
			if k.color == b.color && !b.horizontal {
				bar.Name = k.name
			}
		}
	}
	return groups
}

func (f figure) heatTable(p panel) *pageHeat {
	h := &pageHeat{XName: f.x.label, YName: f.y.label, Columns: f.x.names}
	for y := len(f.y.names) - 1; y >= 0; y-- {
		r := pageHeatRow{Name: f.y.names[y], Cells: make([]pageHeatCell, len(f.x.names))}
		for _, c := range p.cells {
			if c.y != y {
				continue
			}
			text := readableOn(c.color)
			r.Cells[c.x] = pageHeatCell{c.label, hex(c.color), hex(text)}
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
	// Ticks are those of a logarithmic axis.
	Ticks []drawnTick `json:"ticks,omitempty"`
}

type drawnTick struct {
	At    float64 `json:"at"`
	Label string  `json:"label"`
}

type drawnPanel struct {
	X      []float64    `json:"x"`
	Layers []drawnLayer `json:"layers"`
	Bands  []drawnBand  `json:"bands"`
	Marks  []drawnMark  `json:"marks"`
	// Spreads are shades behind the layers, over instants of their own.
	Spreads []drawnSpread `json:"spreads,omitempty"`
}

type drawnSpread struct {
	Color string    `json:"color"`
	X     []float64 `json:"x"`
	Low   []float64 `json:"low"`
	High  []float64 `json:"high"`
}

// drawnLayer is a line, or an area between Y and Base (nil is zero).
type drawnLayer struct {
	Name    string    `json:"name"`
	Color   string    `json:"color"`
	Area    bool      `json:"area"`
	Outline bool      `json:"outline"`
	Stacked bool      `json:"stacked"` // Y includes the layers below
	Y       []float64 `json:"y"`
}

type drawnBand struct {
	Name string  `json:"name"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

type drawnMark struct {
	Name string  `json:"name"`
	At   float64 `json:"at"`
}

var unitNames = map[unit]string{count: "count", instants: "instants", lengths: "lengths", shares: "shares"}

func drawnFigures(figs []figure) []drawnFigure {
	out := []drawnFigure{}
	for _, f := range figs {
		if len(f.panels[0].lines)+len(f.panels[0].areas) == 0 && len(f.panels[0].bars)+len(f.panels[0].cells) > 0 {
			continue
		}
		d := drawnFigure{ID: f.id, Link: f.id, X: f.x.drawn(), Y: f.y.drawn()}
		if f.x.unit == instants {
			d.Link = "time"
		}
		for _, p := range f.panels {
			d.Panels = append(d.Panels, f.drawnPanel(p))
		}
		out = append(out, d)
	}
	return out
}

func (a axis) drawn() drawnAxis {
	d := drawnAxis{Label: a.label, Unit: unitNames[a.unit], Min: a.min, Max: a.max, Log: a.log}
	if a.log {
		for _, t := range a.ticks(6) {
			if !t.IsMinor() {
				d.Ticks = append(d.Ticks, drawnTick{t.Value, t.Label})
			}
		}
	}
	return d
}

// perDrawnLayer bounds the points of a layer on the page, where it can be zoomed into.
const perDrawnLayer = 800

// drawnPanel brings all layers to the same instants, as uPlot wants them.
func (f figure) drawnPanel(p panel) drawnPanel {
	d := drawnPanel{Bands: []drawnBand{}, Marks: []drawnMark{}, Layers: []drawnLayer{}}
	for _, b := range p.bands {
		d.Bands = append(d.Bands, drawnBand{b.name, b.from, b.to})
	}
	for _, m := range p.marks {
		d.Marks = append(d.Marks, drawnMark{m.name, m.at})
	}
	for _, s := range p.spreads {
		d.Spreads = append(d.Spreads, drawnSpread{hex(s.color), rounded(s.x), rounded(s.low), rounded(s.high)})
	}
	var curves []metrics.Series
	add := func(name string, c color.NRGBA, x, y []float64) *drawnLayer {
		curves = append(curves, rising(x, y).Thin(perDrawnLayer))
		d.Layers = append(d.Layers, drawnLayer{Name: name, Color: hex(c)})
		return &d.Layers[len(d.Layers)-1]
	}
	for _, a := range p.areas {
		l := add(a.name, a.color, a.x, a.y)
		l.Area, l.Outline, l.Stacked = true, a.outline, a.base != nil
	}
	for _, l := range p.lines {
		add(l.name, l.color, l.x, l.y)
	}
	d.X = instantsOf(append(curves, f.raster(instantsOf(curves))))
	for i := range d.Layers {
		d.Layers[i].Y = make([]float64, len(d.X))
		for j, x := range d.X {
			y := valueAt(curves[i], x)
			if f.y.log {
				y = math.Max(y, f.y.min)
			}
			d.Layers[i].Y[j] = digits(y, 7)
		}
	}
	return d
}

// perRaster is how many instants there are at least along an axis of time.
const perRaster = 400

// raster returns evenly spaced instants between the first and the last one: where a curve
// is straight it has few points of its own, but the mouse asks for its value everywhere.
func (f figure) raster(x []float64) metrics.Series {
	var s metrics.Series
	if f.x.unit != instants || len(x) < 2 {
		return s
	}
	from, to := x[0], x[len(x)-1]
	step := f.x.max / perRaster
	for at := from + step; at < to; at += step {
		s.AtS = append(s.AtS, digits(at, 6))
	}
	return s
}

// rising turns points at the same x, a vertical line, into ones that follow each other
// closely.
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

// digits rounds to significant digits: more would only lengthen the page.
func digits(v float64, n int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', n, 64), 64)
	if err != nil {
		return v
	}
	return r
}
