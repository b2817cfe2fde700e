package reports

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// layers draws what a panel holds; it is the only plotter.
type layers struct {
	figure *figure
	panel  *panel
	labels []label
}

// Plot implements plot.Plotter.
func (l layers) Plot(c draw.Canvas, plt *plot.Plot) {
	d := drawing{c: c, figure: l.figure}
	d.x, d.y = plt.Transforms(&c)
	d.bands(l.panel.bands)
	if len(l.panel.cells) == 0 {
		d.grid(plt)
	}
	for _, s := range l.panel.spreads {
		d.spread(s)
	}
	for _, a := range l.panel.areas {
		d.area(a)
	}
	for i, ln := range l.panel.lines {
		over := vg.Length(len(l.panel.lines) - 1 - i)
		d.line(ln, 1.8+min(1.4*over, 2.8*over/vg.Length(len(l.panel.lines))))
	}
	d.bars(l.panel.bars)
	d.cells(l.panel.cells)
	d.edges(l.panel.edges)
	d.limits(l.panel.limits)
	d.marks(l.panel.marks, l.labels)
	d.labels(l.labels)
}

type drawing struct {
	c      draw.Canvas
	figure *figure
	x, y   func(float64) vg.Length
}

func (d drawing) box(x0, y0, x1, y1 vg.Length) {
	x0, x1 = max(x0, d.c.Min.X), min(x1, d.c.Max.X)
	if x1 <= x0 || y1 <= y0 {
		return
	}
	d.c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}

func (d drawing) bands(bands []band) {
	for i, b := range bands {
		d.c.SetColor(rgb(0xf6, 0xf6, 0xf6))
		if i%2 == 1 {
			d.c.SetColor(rgb(0xee, 0xee, 0xee))
		}
		d.box(d.x(b.from), d.c.Min.Y, d.x(b.to), d.c.Max.Y)
	}
}

func (d drawing) grid(plt *plot.Plot) {
	sty := draw.LineStyle{Color: rule, Width: 0.6}
	if len(d.figure.y.names) > 0 {
		for _, t := range plt.X.Tick.Marker.Ticks(plt.X.Min, plt.X.Max) {
			if x := d.x(t.Value); !t.IsMinor() {
				d.c.StrokeLine2(sty, x, d.c.Min.Y, x, d.c.Max.Y)
			}
		}
		return
	}
	for _, t := range plt.Y.Tick.Marker.Ticks(plt.Y.Min, plt.Y.Max) {
		if y := d.y(t.Value); !t.IsMinor() {
			d.c.StrokeLine2(sty, d.c.Min.X, y, d.c.Max.X, y)
		}
	}
}

// clamped keeps zeros, and what is outside of the axes, on the canvas.
func (d drawing) point(x, y float64) vg.Point {
	return vg.Point{
		X: min(max(d.x(x), d.c.Min.X), d.c.Max.X),
		Y: min(max(d.y(y), d.c.Min.Y), d.c.Max.Y),
	}
}

func (d drawing) area(a area) {
	if len(a.x) == 0 {
		return
	}
	upper := make([]vg.Point, len(a.x))
	for i := range a.x {
		upper[i] = d.point(a.x[i], a.y[i])
	}
	outline := upper[:len(upper):len(upper)]
	ring := outline
	for i := len(a.x) - 1; i >= 0; i-- {
		base := d.figure.y.min
		if a.base != nil {
			base = a.base[i]
		}
		ring = append(ring, d.point(a.x[i], base))
	}
	if a.outline {
		d.c.FillPolygon(translucent(a.color, 0.3), ring)
		d.c.StrokeLines(draw.LineStyle{Color: a.color, Width: 1.6}, outline)
		return
	}
	d.c.FillPolygon(tint(a.color, 0.8), ring)
}

func (d drawing) spread(s spread) {
	var ring []vg.Point
	for i := range s.x {
		ring = append(ring, d.point(s.x[i], s.high[i]))
	}
	for i := len(s.x) - 1; i >= 0; i-- {
		ring = append(ring, d.point(s.x[i], s.low[i]))
	}
	d.c.FillPolygon(translucent(s.color, 0.3), ring)
}

// line draws a line. Lines are the wider the more are drawn over them: where they run
// together each can still be seen.
func (d drawing) line(l line, width vg.Length) {
	points := make([]vg.Point, len(l.x))
	for i := range l.x {
		points[i] = d.point(l.x[i], l.y[i])
	}
	if !l.scattered {
		d.c.StrokeLines(draw.LineStyle{Color: l.color, Width: width}, points)
	}
	if len(points) == 1 || l.dotted {
		for _, p := range points {
			d.c.DrawGlyph(draw.GlyphStyle{Color: l.color, Radius: 2.5, Shape: draw.CircleGlyph{}}, p)
		}
	}
}

// bars draws boxes and their labels, which stand upright when they do not fit above.
func (d drawing) bars(bars []bar) {
	sty := style(smallSize, ink, false)
	upright := false
	for _, b := range bars {
		upright = upright || !b.horizontal && sty.Width(b.label) > d.x(b.x1)-d.x(b.x0)+2
	}
	for _, b := range bars {
		lower := max(b.y0, d.figure.y.min)
		d.c.SetColor(b.color)
		if b.light {
			d.c.SetColor(tint(b.color, 0.4))
		}
		d.box(d.x(b.x0), d.y(lower), d.x(b.x1), d.y(b.y1))
	}
	for _, b := range bars {
		if b.label == "" {
			continue
		}
		s := sty
		middle := (d.x(b.x0) + d.x(b.x1)) / 2
		end := d.y(max(b.y1, d.figure.y.min)) + 4
		switch {
		case b.horizontal:
			d.c.FillText(s, vg.Point{X: d.x(b.x1) + 4, Y: (d.y(b.y0)+d.y(b.y1))/2 - smallSize*0.36}, b.label)
		case upright:
			s.Rotation, s.YAlign = math.Pi/2, draw.YCenter
			d.c.FillText(s, vg.Point{X: middle, Y: end}, b.label)
		default:
			s.XAlign = draw.XCenter
			d.c.FillText(s, vg.Point{X: middle, Y: end}, b.label)
			if s.Color = faint; s.Width(b.detail) <= d.x(b.x1)-d.x(b.x0)+2 {
				d.c.FillText(s, vg.Point{X: middle, Y: end + smallSize*lineHeight}, b.detail)
			}
		}
	}
}

func (d drawing) cells(cells []heatCell) {
	for _, cell := range cells {
		x, y := float64(cell.x), float64(cell.y)
		x0, x1, y0, y1 := d.x(x-0.5), d.x(x+0.5), d.y(y-0.5), d.y(y+0.5)
		d.c.SetColor(cell.color)
		d.box(x0+0.5, y0+0.5, x1-0.5, y1-0.5)
		sty := style(smallSize, readableOn(cell.color), false)
		sty.XAlign, sty.YAlign = draw.XCenter, draw.YCenter
		if sty.Width(cell.label) < x1-x0 && smallSize < y1-y0 {
			d.c.FillText(sty, vg.Point{X: (x0 + x1) / 2, Y: (y0 + y1) / 2}, cell.label)
		}
	}
}

// marks draws a line for every mark, from the height of its name down; from below all
// names where it has none.
func (d drawing) marks(marks []mark, labels []label) {
	sty := draw.LineStyle{Color: faint, Width: 0.8, Dashes: []vg.Length{2, 2}}
	rows := 0
	for _, l := range labels {
		rows = max(rows, l.row+1)
	}
	for _, m := range marks {
		x, row := d.x(m.at), rows
		for _, l := range labels {
			if off := x - d.c.Min.X - l.line; l.mark && off > -0.01 && off < sameMark {
				row = l.row
			}
		}
		d.c.StrokeLine2(sty, x, d.c.Min.Y, x, d.c.Max.Y-vg.Length(row)*labelRow-2)
	}
}

func (d drawing) labels(labels []label) {
	for _, l := range labels {
		sty := style(labelSize, faint, l.bold)
		y := d.c.Max.Y - vg.Length(l.row+1)*labelRow + labelSize*0.25
		d.c.FillText(sty, vg.Point{X: d.c.Min.X + l.from, Y: y}, l.text)
	}
}
