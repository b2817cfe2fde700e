package figure

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// drawing draws what a panel holds. It is the only plotter.
type drawing struct {
	figure *Figure
	panel  *Panel
	names  []label
	// The canvas, and the places of data on it, are there from Plot on.
	c    draw.Canvas
	x, y func(float64) vg.Length
}

// Plot implements plot.Plotter.
func (d drawing) Plot(c draw.Canvas, plt *plot.Plot) {
	d.c = c
	d.x, d.y = plt.Transforms(&c)
	d.bands(d.panel.Bands)
	if len(d.panel.Cells) == 0 {
		d.grid(plt)
	}
	for _, s := range d.panel.Spreads {
		d.fill(translucent(s.Color, 0.3), s.X, s.High, s.Low)
	}
	for _, a := range d.panel.Areas {
		d.area(a)
	}
	for i, ln := range d.panel.Lines {
		over := vg.Length(0)
		for _, later := range d.panel.Lines[i+1:] {
			if len(later.X) > 1 {
				over++
			}
		}
		d.line(ln, 1.8+min(1.4*over, 2.8*over/vg.Length(len(d.panel.Lines))))
	}
	d.bars(d.panel.Bars)
	d.cells(d.panel.Cells)
	d.edges(d.panel.Edges)
	d.limits(d.panel.Limits)
	for _, c := range d.panel.Crosses {
		d.cross(d.point(c.X, math.Min(c.Y, d.figure.Y.Max)), c.Color)
	}
	d.tags(d.panel.Tags)
	d.marks(d.panel.Marks, d.names)
	d.labels(d.names)
}

func (d drawing) box(x0, y0, x1, y1 vg.Length) {
	x0, x1 = max(x0, d.c.Min.X), min(x1, d.c.Max.X)
	if x1 <= x0 || y1 <= y0 {
		return
	}
	d.c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}

func (d drawing) bands(bands []Band) {
	for i, b := range bands {
		d.c.SetColor(RGB(0xf6, 0xf6, 0xf6))
		if i%2 == 1 {
			d.c.SetColor(RGB(0xee, 0xee, 0xee))
		}
		d.box(d.x(b.From), d.c.Min.Y, d.x(b.To), d.c.Max.Y)
	}
}

func (d drawing) grid(plt *plot.Plot) {
	sty := draw.LineStyle{Color: Rule, Width: 0.6}
	if len(d.figure.Y.Names) > 0 {
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

// point places data on the canvas. Zeros and what is outside of the axes lie at its edge.
func (d drawing) point(x, y float64) vg.Point {
	return vg.Point{
		X: min(max(d.x(x), d.c.Min.X), d.c.Max.X),
		Y: min(max(d.y(y), d.c.Min.Y), d.c.Max.Y),
	}
}

// points places a curve on the canvas.
func (d drawing) points(x, y []float64) []vg.Point {
	points := make([]vg.Point, len(x))
	for i := range x {
		points[i] = d.point(x[i], y[i])
	}
	return points
}

// fill fills the space between two curves over the same points.
func (d drawing) fill(c color.NRGBA, x, upper, lower []float64) {
	ring := d.points(x, lower)
	slices.Reverse(ring)
	d.c.FillPolygon(c, append(d.points(x, upper), ring...))
}

func (d drawing) area(a Area) {
	if len(a.X) == 0 {
		return
	}
	base := a.Base
	if base == nil {
		base = slices.Repeat([]float64{d.figure.Y.Min}, len(a.X))
	}
	if a.Outline {
		d.fill(translucent(a.Color, 0.3), a.X, a.Y, base)
		d.c.StrokeLines(draw.LineStyle{Color: a.Color, Width: 1.6}, d.points(a.X, a.Y))
		return
	}
	d.fill(tint(a.Color, 0.8), a.X, a.Y, base)
}

// line draws a line. A line is wider the more lines are drawn over it, so that each shows
// where they run together.
func (d drawing) line(l Line, width vg.Length) {
	points := d.points(l.X, l.Y)
	if !l.Scattered {
		d.c.StrokeLines(draw.LineStyle{Color: l.Color, Width: width}, points)
	}
	if len(points) == 1 || l.Dotted {
		for _, p := range points {
			d.c.DrawGlyph(draw.GlyphStyle{Color: l.Color, Radius: 2.5, Shape: draw.CircleGlyph{}}, p)
		}
	}
}

// bars draws boxes and their labels, which stand upright if they do not fit above.
func (d drawing) bars(bars []Bar) {
	sty := style(smallSize, Ink, false)
	upright := false
	for _, b := range bars {
		upright = upright || !b.Horizontal && sty.Width(b.Label) > d.x(b.X1)-d.x(b.X0)+2
	}
	for _, b := range bars {
		lower := max(b.Y0, d.figure.Y.Min)
		d.c.SetColor(b.Color)
		if b.Light {
			d.c.SetColor(tint(b.Color, 0.4))
		}
		d.box(d.x(b.X0), d.y(lower), d.x(b.X1), d.y(b.Y1))
	}
	for _, b := range bars {
		if b.Label == "" {
			continue
		}
		s := sty
		middle := (d.x(b.X0) + d.x(b.X1)) / 2
		end := d.y(max(b.Y1, d.figure.Y.Min)) + 4
		switch {
		case b.Horizontal:
			d.c.FillText(s, vg.Point{X: d.x(b.X1) + 4, Y: (d.y(b.Y0)+d.y(b.Y1))/2 - smallSize*0.36}, b.Label)
		case upright:
			s.Rotation, s.YAlign = math.Pi/2, draw.YCenter
			d.c.FillText(s, vg.Point{X: middle, Y: end}, b.Label)
		default:
			s.XAlign = draw.XCenter
			d.c.FillText(s, vg.Point{X: middle, Y: end}, b.Label)
			if s.Color = faint; s.Width(b.Detail) <= d.x(b.X1)-d.x(b.X0)+2 {
				d.c.FillText(s, vg.Point{X: middle, Y: end + smallSize*lineHeight}, b.Detail)
			}
		}
	}
}

func (d drawing) cells(cells []Cell) {
	for _, cell := range cells {
		x, y := float64(cell.X), float64(cell.Y)
		x0, x1, y0, y1 := d.x(x-0.5), d.x(x+0.5), d.y(y-0.5), d.y(y+0.5)
		d.c.SetColor(cell.Color)
		d.box(x0+0.5, y0+0.5, x1-0.5, y1-0.5)
		sty := style(smallSize, ReadableOn(cell.Color), false)
		sty.XAlign, sty.YAlign = draw.XCenter, draw.YCenter
		if cell.Failed {
			d.cross(vg.Point{X: x1 - 8, Y: y1 - 8}, ReadableOn(cell.Color))
		}
		if sty.Width(cell.Label) < x1-x0 && smallSize < y1-y0 {
			d.c.FillText(sty, vg.Point{X: (x0 + x1) / 2, Y: (y0 + y1) / 2}, cell.Label)
		}
	}
}

// cross draws two strokes across a point.
func (d drawing) cross(at vg.Point, c color.NRGBA) {
	const arm = 4
	for _, s := range []draw.LineStyle{{Color: paper, Width: 3.6}, {Color: c, Width: 1.8}} {
		if c == paper {
			s.Color = c
		}
		d.c.StrokeLine2(s, at.X-arm, at.Y-arm, at.X+arm, at.Y+arm)
		d.c.StrokeLine2(s, at.X-arm, at.Y+arm, at.X+arm, at.Y-arm)
	}
}

// marks draws a line for every mark: from the height of its name down, or from below all names
// if it has none.
func (d drawing) marks(marks []Mark, labels []label) {
	sty := draw.LineStyle{Color: faint, Width: 0.8, Dashes: []vg.Length{2, 2}}
	rows := 0
	for _, l := range labels {
		rows = max(rows, l.row+1)
	}
	for _, m := range marks {
		x, row := d.x(m.At), rows
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

// edges draws the heavy line between cells of a heat map.
func (d drawing) edges(edges []Edge) {
	halo := draw.LineStyle{Color: paper, Width: 4.5}
	sty := draw.LineStyle{Color: Ink, Width: 2.2}
	for _, s := range []draw.LineStyle{halo, sty} {
		for _, e := range edges {
			d.c.StrokeLine2(s, d.x(e.X0), d.y(e.Y0), d.x(e.X1), d.y(e.Y1))
		}
	}
}

// limits draws each bound as a dashed line. Its name is above the right end, or below a line
// at the top.
func (d drawing) limits(limits []Limit) {
	sty := draw.LineStyle{Color: Ink, Width: 1.1, Dashes: []vg.Length{5, 3}}
	for _, l := range limits {
		y := d.point(0, l.At).Y
		d.c.StrokeLine2(sty, d.c.Min.X, y, d.c.Max.X, y)
		text := style(labelSize, Ink, false)
		text.XAlign = draw.XRight
		at := vg.Point{X: d.c.Max.X - 2, Y: y + 2.5}
		if at.Y+labelSize > d.c.Max.Y {
			at.Y = y - labelSize - 1
		}
		d.c.SetColor(translucent(paper, 0.75)) // a line may run behind it
		d.box(at.X-text.Width(l.Name)-2, at.Y-1, at.X+2, at.Y+labelSize)
		d.c.FillText(text, at, l.Name)
	}
}
