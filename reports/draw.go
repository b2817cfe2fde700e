package reports

import (
	"image/color"
	"math"
	"strings"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Measures of a drawing, in points. A figure is drawn at two pixels a point, so that it is
// legible at half its size.
const (
	wide       vg.Length = 800
	margin     vg.Length = 14
	titleSize  vg.Length = 16
	textSize   vg.Length = 11
	smallSize  vg.Length = 10
	lineHeight           = 1.35
	rowHeight  vg.Length = 280 // of one row of panels, headings and axes included
	barHeight  vg.Length = 22  // of one row of horizontal bars
	swatch     vg.Length = 9
	widestKey  vg.Length = 220 // of a name in the legend
	widestName vg.Length = 170 // of a category
	between    vg.Length = 16  // between panels, and between keys
)

// style returns a text style; the zero alignments are left and bottom.
func style(size vg.Length, c color.Color, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = stdfont.WeightBold
	}
	return text.Style{Color: c, Font: f, Handler: plot.DefaultTextHandler}
}

// grid returns the rows and columns of panels.
func (f figure) grid() (rows, cols int) {
	n := len(f.panels)
	switch {
	case n <= 3:
		cols = n
	case n == 4:
		cols = 2
	default:
		cols = 3
	}
	return (n + cols - 1) / cols, cols
}

// size returns the size of the whole drawing.
func (f figure) size() (w, h vg.Length) {
	rows, _ := f.grid()
	body := vg.Length(rows) * rowHeight
	if len(f.y.names) > 0 && len(f.panels) > 0 && len(f.panels[0].cells) == 0 {
		body = vg.Length(rows) * (barHeight*vg.Length(len(f.y.names)) + 70)
	}
	return wide, f.headerHeight() + body + f.footerHeight() + 2*margin
}

func (f figure) headerHeight() vg.Length {
	h := (titleSize + textSize) * lineHeight
	if len(f.legend) > 0 {
		h += vg.Length(len(f.legendRows())) * textSize * lineHeight * 1.1
	}
	return h + 6
}

func (f figure) footerHeight() vg.Length {
	return vg.Length(len(f.noteLines())) * smallSize * lineHeight
}

// mostNoteLines bounds the height of a note; the page has all of it.
const mostNoteLines = 3

// noteLines breaks the note into lines that fit, the last of which may be cut.
func (f figure) noteLines() []string {
	sty := style(smallSize, faint, false)
	var lines []string
	note := f.note
	if f.unnamed != "" {
		note = strings.TrimPrefix(note+"; "+f.unnamed, "; ")
	}
	for word := range strings.FieldsSeq(note) {
		n := len(lines)
		if n > 0 && (n == mostNoteLines || sty.Width(lines[n-1]+" "+word) <= wide-2*margin) {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

// draw draws the figure on a canvas of its size.
func (f figure) draw(c draw.Canvas) {
	c.SetColor(paper)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	f.drawHeader(c)
	lines := f.noteLines()
	for i, text := range lines {
		at := vg.Point{X: c.Min.X, Y: c.Min.Y + vg.Length(len(lines)-1-i)*smallSize*lineHeight}
		write(c, style(smallSize, faint, false), at, c.Max.X-c.Min.X, text)
	}
	f.drawPanels(draw.Crop(c, 0, 0, f.footerHeight(), -f.headerHeight()))
}

func (f figure) drawHeader(c draw.Canvas) {
	y := c.Max.Y - titleSize*lineHeight
	width := c.Max.X - c.Min.X
	write(c, style(titleSize, ink, true), vg.Point{X: c.Min.X, Y: y + titleSize*0.3}, width, f.title)
	y -= textSize * lineHeight
	write(c, style(textSize, faint, false), vg.Point{X: c.Min.X, Y: y + textSize*0.35}, width, f.subtitle)
	sty := style(textSize, ink, false)
	for _, row := range f.legendRows() {
		y -= textSize * lineHeight * 1.1
		x := c.Min.X
		for _, k := range row {
			box := vg.Rectangle{Min: vg.Point{X: x, Y: y + textSize*0.3}, Max: vg.Point{X: x + swatch, Y: y + textSize*0.3 + swatch}}
			c.SetColor(k.color)
			c.Fill(box.Path())
			write(c, sty, vg.Point{X: x + swatch + 4, Y: y + textSize*0.35}, widestKey, k.name)
			x += keyWidth(k)
		}
	}
}

// legendRows breaks the legend into rows that fit.
func (f figure) legendRows() [][]key {
	var rows [][]key
	var width vg.Length
	for _, k := range f.legend {
		w := keyWidth(k)
		if len(rows) == 0 || width+w > wide-2*margin {
			rows, width = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
		width += w
	}
	return rows
}

func keyWidth(k key) vg.Length {
	return swatch + 4 + min(style(textSize, ink, false).Width(k.name), widestKey) + between
}

// write writes a text that takes at most some width: a longer one is cut.
func write(c draw.Canvas, sty text.Style, at vg.Point, width vg.Length, text string) {
	c.FillText(sty, at, cut(sty, text, width))
}

func cut(sty text.Style, text string, width vg.Length) string {
	if sty.Width(text) <= width {
		return text
	}
	letters := []rune(text)
	for n := len(letters) - 1; n > 0; n-- {
		if short := string(letters[:n]) + "…"; sty.Width(short) <= width {
			return short
		}
	}
	return ""
}

func (f figure) drawPanels(c draw.Canvas) {
	rows, cols := f.grid()
	heading := textSize*lineHeight + 4
	axisName := smallSize * lineHeight
	tiles := draw.Tiles{
		Rows: rows, Cols: cols, PadTop: heading, PadX: between, PadY: heading + 6, PadLeft: axisName, PadRight: 4, PadBottom: 4,
	}
	if f.x.label != "" {
		tiles.PadBottom = axisName + 3
	}
	if f.panels[0].heading+f.panels[0].detail == "" {
		tiles.PadTop = 4
	}
	plots := make([][]*plot.Plot, rows)
	for j := range plots {
		plots[j] = make([]*plot.Plot, cols)
		for i := range cols {
			if n := j*cols + i; n < len(f.panels) {
				plots[j][i] = f.plot(i == 0)
			}
		}
	}
	canvases := plot.Align(plots, tiles, c)
	at := func(n int) (*plot.Plot, draw.Canvas) { return plots[n/cols][n%cols], canvases[n/cols][n%cols] }
	// How many labels the axes have room for is known only now.
	plt, canvas := at(0)
	data := plt.DataCanvas(canvas)
	for n := range f.panels {
		plt, _ := at(n)
		f.makeRoom(plt, data, 0)
		f.thinAxes(plt, data.Max.X-data.Min.X, data.Max.Y-data.Min.Y)
	}
	canvases = plot.Align(plots, tiles, c)

	room := vg.Length(0)
	labels := make([][]label, len(f.panels))
	for n, p := range f.panels {
		plt, canvas := at(n)
		data := plt.DataCanvas(canvas)
		labels[n] = p.place(f.x, data.Max.X-data.Min.X)
		room = max(room, headroomFor(labels[n], p, f.x, data.Max.X-data.Min.X))
	}
	for n := range f.panels {
		plt, canvas := at(n)
		data := plt.DataCanvas(canvas)
		f.makeRoom(plt, data, room)
		plt.Add(layers{&f, &f.panels[n], labels[n]})
		plt.Draw(canvas)
		f.panels[n].drawHeading(canvas, data)
		f.nameAxes(canvas, data, n%cols == 0, n+cols >= len(f.panels))
	}
}

// nameAxes writes the labels of the axes, on the outer panels only. Gonum would put that
// of a logarithmic axis off its middle, and make room for it there.
func (f figure) nameAxes(c, data draw.Canvas, left, bottom bool) {
	sty := style(smallSize, ink, false)
	sty.XAlign = draw.XCenter
	if bottom {
		write(c, sty, vg.Point{X: data.Center().X, Y: c.Min.Y - smallSize*lineHeight}, data.Max.X-data.Min.X, f.x.label)
	}
	if left {
		sty.Rotation = math.Pi / 2
		upright := style(smallSize, ink, false)
		c.FillText(sty, vg.Point{X: c.Min.X - 4, Y: data.Center().Y}, cut(upright, f.y.label, data.Max.Y-data.Min.Y))
	}
}

// makeRoom extends the axes so that labels above, or right of, the data have room.
func (f figure) makeRoom(plt *plot.Plot, data draw.Canvas, above vg.Length) {
	if len(f.y.names) == 0 {
		plt.Y.Max = f.y.headroom(min(float64(above/(data.Max.Y-data.Min.Y)), 0.5))
	}
	widest := vg.Length(0)
	for _, p := range f.panels {
		for _, b := range p.bars {
			if b.horizontal {
				widest = max(widest, style(smallSize, ink, false).Width(b.label)+8)
			}
		}
	}
	if widest > 0 {
		plt.X.Max = f.x.headroom(min(float64(widest/(data.Max.X-data.Min.X)), 0.5))
	}
}

func (p panel) drawHeading(c, data draw.Canvas) {
	at := vg.Point{X: data.Min.X, Y: c.Max.Y + 5}
	if p.heading != "" {
		if p.color != ink {
			box := vg.Rectangle{Min: at, Max: vg.Point{X: at.X + swatch, Y: at.Y + swatch}}
			c.SetColor(p.color)
			c.Fill(box.Path())
			at.X += swatch + 4
		}
		bold := style(textSize, ink, true)
		heading := cut(bold, p.heading, data.Max.X-at.X)
		c.FillText(bold, at, heading)
		at.X += bold.Width(heading) + 8
	}
	// Of a detail that is too long only the first parts are written.
	sty := style(smallSize, faint, false)
	parts := strings.Split(p.detail, "; ")
	for n := len(parts); n > 0; n-- {
		if detail := strings.Join(parts[:n], "; "); at.X+sty.Width(detail) <= data.Max.X {
			c.FillText(sty, at, detail)
			return
		}
	}
}

// plot returns a panel's plot with its axes.
func (f figure) plot(left bool) *plot.Plot {
	plt := plot.New()
	plt.BackgroundColor = nil
	plt.X.Tick.Marker = plot.ConstantTicks(shortened(f.x.ticks(6)))
	plt.Y.Tick.Marker = plot.ConstantTicks(shortened(f.y.ticks(6)))
	if len(f.y.names) > 0 && !left {
		plt.Y.Tick.Marker = plot.ConstantTicks(nil)
	}
	for _, side := range []struct {
		to *plot.Axis
		of axis
	}{{&plt.X, f.x}, {&plt.Y, f.y}} {
		a := side.to
		a.Min, a.Max = side.of.min, side.of.max
		a.Padding = 0
		a.LineStyle.Color, a.Tick.LineStyle.Color = faint, faint
		a.Tick.Length = 3
		alignX, alignY := a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Tick.Label = style(smallSize, faint, false)
		a.Tick.Label.XAlign, a.Tick.Label.YAlign = alignX, alignY
		if side.of.log {
			a.Scale = clampedLog{}
		}
		if side.of.names != nil {
			a.Tick.LineStyle.Color = color.Transparent
		}
	}
	plt.Y.LineStyle.Width = 0
	// What gonum calls the centre of a line of text is the centre of its box, descenders
	// and all; the eye wants that of its letters.
	plt.Y.Tick.Label.YAlign = -0.62
	// Gonum sets the labels of the horizontal axis so close that its first touches the
	// first of the vertical one.
	plt.X.Tick.Label.YAlign = -1.3
	return plt
}

// thinAxes leaves only as many labels at the axes, of these lengths, as have room.
func (f figure) thinAxes(plt *plot.Plot, width, height vg.Length) {
	sty := style(smallSize, faint, false)
	ticks := shortened(f.x.ticks(max(int(width/60), 2)))
	thinLabels(ticks, func(v float64) float64 { return plt.X.Norm(v) * float64(width) },
		func(text string) float64 { return float64(sty.Width(text)) }, 8)
	plt.X.Tick.Marker = plot.ConstantTicks(ticks)

	ticks = plt.Y.Tick.Marker.Ticks(0, 0)
	if f.y.names == nil {
		height /= 2 // the names above the data take no more than the other half
	}
	thinLabels(ticks, func(v float64) float64 { return plt.Y.Norm(v) * float64(height) },
		func(string) float64 { return float64(smallSize) }, 1)
}

// shortened cuts the names of categories that would leave no room for the data.
func shortened(ticks []plot.Tick) []plot.Tick {
	sty := style(smallSize, faint, false)
	for i := range ticks {
		ticks[i].Label = cut(sty, ticks[i].Label, widestName)
	}
	return ticks
}
