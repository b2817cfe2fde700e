package figure

import (
	"image/color"
	"math"
	"slices"
	"sort"
	"strings"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Measures of a drawing, in points. A point has two pixels, so that a picture is legible at
// half its size.
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
	widestName vg.Length = 210 // of a category
	between    vg.Length = 16  // between panels, and between keys
)

// style returns the style of text of a size; its zero alignments are left and bottom.
func style(size vg.Length, c color.Color, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = stdfont.WeightBold
	}
	return text.Style{Color: c, Font: f, Handler: plot.DefaultTextHandler}
}

// grid returns the rows and columns of panels.
func (f Figure) grid() (rows, cols int) {
	n := len(f.Panels)
	if cols = min(n, 3); n == 4 {
		cols = 2
	}
	return (n + cols - 1) / cols, cols
}

// Size returns the size of the whole drawing.
func (f Figure) Size() (w, h vg.Length) {
	rows, _ := f.grid()
	body := vg.Length(rows) * rowHeight
	if len(f.Y.Names) > 0 && len(f.Panels) > 0 && len(f.Panels[0].Cells) == 0 {
		body = vg.Length(rows) * (barHeight*vg.Length(len(f.Y.Names)) + 70)
	}
	return wide, f.headerHeight() + body + f.footerHeight() + 2*margin
}

func (f Figure) headerHeight() vg.Length {
	h := (titleSize + textSize) * lineHeight
	if len(f.Legend) > 0 {
		h += vg.Length(len(f.legendRows())) * textSize * lineHeight * 1.1
	}
	return h + 6
}

func (f Figure) footerHeight() vg.Length {
	return vg.Length(len(f.noteLines())) * smallSize * lineHeight
}

// mostNoteLines bounds the height of a note. The page shows all of it.
const mostNoteLines = 3

// noteLines breaks the note into lines that fit. It may cut the last one.
func (f Figure) noteLines() []string {
	sty := style(smallSize, faint, false)
	var lines []string
	note := f.Note
	if f.Unnamed != "" {
		note = strings.TrimPrefix(note+"; "+f.Unnamed, "; ")
	}
	for word := range strings.FieldsSeq(note) {
		n := len(lines)
		if n > 0 && (n == mostNoteLines || sty.Width(lines[n-1]+" "+word) <= wide-2*margin) {
			lines[n-1] += " " + word
			if sty.Width(lines[n-1]) > wide-2*margin { // the last one, which is cut
				break
			}
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

// Draw draws the figure on a canvas of its Size that has its paper.
func (f Figure) Draw(c draw.Canvas) {
	c = draw.Crop(c, margin, -margin, margin, -margin)
	f.drawHeader(c)
	lines := f.noteLines()
	for i, text := range lines {
		at := vg.Point{X: c.Min.X, Y: c.Min.Y + vg.Length(len(lines)-1-i)*smallSize*lineHeight}
		write(c, style(smallSize, faint, false), at, c.Max.X-c.Min.X, text)
	}
	f.drawPanels(draw.Crop(c, 0, 0, f.footerHeight(), -f.headerHeight()))
}

func (f Figure) drawHeader(c draw.Canvas) {
	y := c.Max.Y - titleSize*lineHeight
	width := c.Max.X - c.Min.X
	write(c, style(titleSize, Ink, true), vg.Point{X: c.Min.X, Y: y + titleSize*0.3}, width, f.Title)
	y -= textSize * lineHeight
	write(c, style(textSize, faint, false), vg.Point{X: c.Min.X, Y: y + textSize*0.35}, width, f.Subtitle)
	sty := style(textSize, Ink, false)
	for _, row := range f.legendRows() {
		y -= textSize * lineHeight * 1.1
		x := c.Min.X
		for _, k := range row {
			drawSwatch(c, vg.Point{X: x, Y: y + textSize*0.3}, k.Color)
			write(c, sty, vg.Point{X: x + swatch + 4, Y: y + textSize*0.35}, widestKey, k.Name)
			x += keyWidth(k)
		}
	}
}

func drawSwatch(c draw.Canvas, at vg.Point, col color.Color) {
	c.SetColor(col)
	box := vg.Rectangle{Min: at, Max: vg.Point{X: at.X + swatch, Y: at.Y + swatch}}.Path()
	c.Fill(box)
	c.SetLineStyle(draw.LineStyle{Color: Rule, Width: 0.6}) // shows one as light as paper; no dashes of a mark before
	c.Stroke(box)
}

// legendRows breaks the legend into rows that fit.
func (f Figure) legendRows() [][]Key {
	var rows [][]Key
	var width vg.Length
	for _, k := range f.Legend {
		w := keyWidth(k)
		if len(rows) == 0 || width+w > wide-2*margin {
			rows, width = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
		width += w
	}
	return rows
}

func keyWidth(k Key) vg.Length {
	return swatch + 4 + min(style(textSize, Ink, false).Width(k.Name), widestKey) + between
}

// write writes a text, cut to a width.
func write(c draw.Canvas, sty text.Style, at vg.Point, width vg.Length, text string) {
	c.FillText(sty, at, cut(sty, text, width))
}

func cut(sty text.Style, text string, width vg.Length) string {
	if sty.Width(text) <= width {
		return text
	}
	letters := []rune(text)
	short := func(n int) string { return string(letters[:n]) + "…" }
	n := sort.Search(len(letters)-1, func(n int) bool { return sty.Width(short(n+1)) > width })
	if n == 0 {
		return ""
	}
	return short(n)
}

func (f Figure) drawPanels(c draw.Canvas) {
	rows, cols := f.grid()
	heading := textSize*lineHeight + 4
	axisName := smallSize * lineHeight
	tiles := draw.Tiles{
		Rows: rows, Cols: cols, PadTop: heading, PadX: between, PadY: heading + 6, PadLeft: axisName, PadRight: 4, PadBottom: 4,
	}
	if f.X.Label != "" {
		tiles.PadBottom = axisName + 3
	}
	if f.Panels[0].Heading+f.Panels[0].Detail == "" {
		tiles.PadTop = 4
	}
	flat := make([]*plot.Plot, rows*cols)
	for n := range f.Panels {
		flat[n] = f.plot(n%cols == 0)
	}
	plots := slices.Collect(slices.Chunk(flat, cols))
	canvases := plot.Align(plots, tiles, c)
	at := func(n int) (*plot.Plot, draw.Canvas) { return plots[n/cols][n%cols], canvases[n/cols][n%cols] }
	// The first alignment tells how many labels the axes have room for.
	plt, canvas := at(0)
	data := plt.DataCanvas(canvas)
	for n := range f.Panels {
		plt, _ := at(n)
		f.makeRoom(plt, data, 0)
		f.thinAxes(plt, data.Max.X-data.Min.X, data.Max.Y-data.Min.Y)
	}
	canvases = plot.Align(plots, tiles, c)

	room := vg.Length(0)
	labels := make([][]label, len(f.Panels))
	for n, p := range f.Panels {
		plt, canvas := at(n)
		data := plt.DataCanvas(canvas)
		labels[n] = p.place(f.X, data.Max.X-data.Min.X)
		room = max(room, headroomFor(labels[n], p, f.X, data.Max.X-data.Min.X))
	}
	for n := range f.Panels {
		plt, canvas := at(n)
		data := plt.DataCanvas(canvas)
		f.makeRoom(plt, data, room)
		plt.Add(drawing{figure: &f, panel: &f.Panels[n], names: labels[n]})
		plt.Draw(canvas)
		f.Panels[n].drawHeading(canvas, data)
		f.nameAxes(canvas, data, n%cols == 0, n+cols >= len(f.Panels))
	}
}

// nameAxes writes the labels of the axes on the outer panels only. Gonum would place the label
// of a logarithmic axis off its middle and make room for it there.
func (f Figure) nameAxes(c, data draw.Canvas, left, bottom bool) {
	sty := style(smallSize, Ink, false)
	sty.XAlign = draw.XCenter
	if bottom {
		write(c, sty, vg.Point{X: data.Center().X, Y: c.Min.Y - smallSize*lineHeight}, data.Max.X-data.Min.X, f.X.Label)
	}
	if left {
		sty.Rotation = math.Pi / 2
		upright := style(smallSize, Ink, false)
		c.FillText(sty, vg.Point{X: c.Min.X - 4, Y: data.Center().Y}, cut(upright, f.Y.Label, data.Max.Y-data.Min.Y))
	}
}

// makeRoom extends the axes to make room for labels above the data, or right of it.
func (f Figure) makeRoom(plt *plot.Plot, data draw.Canvas, above vg.Length) {
	if len(f.Y.Names) == 0 {
		plt.Y.Max = f.Y.headroom(min(float64(above/(data.Max.Y-data.Min.Y)), 0.5))
	}
	widest := vg.Length(0)
	for _, p := range f.Panels {
		for _, b := range p.Bars {
			if b.Horizontal {
				widest = max(widest, style(smallSize, Ink, false).Width(b.Label)+8)
			}
		}
	}
	if widest > 0 {
		plt.X.Max = f.X.headroom(min(float64(widest/(data.Max.X-data.Min.X)), 0.5))
	}
}

func (p Panel) drawHeading(c, data draw.Canvas) {
	at := vg.Point{X: data.Min.X, Y: c.Max.Y + 5}
	if p.Heading != "" {
		if p.Color != Ink {
			drawSwatch(c, at, p.Color)
			at.X += swatch + 4
		}
		bold := style(textSize, Ink, true)
		heading := cut(bold, p.Heading, data.Max.X-at.X)
		c.FillText(bold, at, heading)
		at.X += bold.Width(heading) + 8
	}
	// A detail that is too long loses its last parts.
	sty := style(smallSize, faint, false)
	parts := strings.Split(p.Detail, "; ")
	for n := len(parts); n > 0; n-- {
		if detail := strings.Join(parts[:n], "; "); at.X+sty.Width(detail) <= data.Max.X {
			c.FillText(sty, at, detail)
			return
		}
	}
}

// plot returns a panel's plot with its axes.
func (f Figure) plot(left bool) *plot.Plot {
	plt := plot.New()
	plt.BackgroundColor = nil
	plt.X.Tick.Marker = plot.ConstantTicks(shortened(f.X.Ticks(6)))
	plt.Y.Tick.Marker = plot.ConstantTicks(shortened(f.Y.Ticks(6)))
	if len(f.Y.Names) > 0 && !left {
		plt.Y.Tick.Marker = plot.ConstantTicks(nil)
	}
	for _, side := range []struct {
		to *plot.Axis
		of Axis
	}{{&plt.X, f.X}, {&plt.Y, f.Y}} {
		a := side.to
		a.Min, a.Max = side.of.Min, side.of.Max
		a.Padding = 0
		a.LineStyle.Color, a.Tick.LineStyle.Color = faint, faint
		a.Tick.Length = 3
		alignX, alignY := a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Tick.Label = style(smallSize, faint, false)
		a.Tick.Label.XAlign, a.Tick.Label.YAlign = alignX, alignY
		if side.of.Log {
			a.Scale = clampedLog{}
		}
		if side.of.Names != nil {
			a.Tick.LineStyle.Color = color.Transparent
		}
	}
	plt.Y.LineStyle.Width = 0
	// Gonum centres the box of a line of text, descenders included. The eye expects the
	// letters to be centred.
	plt.Y.Tick.Label.YAlign = -0.62
	// Gonum sets the labels of the horizontal axis so close that the first one touches the
	// first of the vertical axis.
	plt.X.Tick.Label.YAlign = -1.3
	return plt
}

// thinAxes leaves only as many labels at the axes as fit into the given lengths.
func (f Figure) thinAxes(plt *plot.Plot, width, height vg.Length) {
	sty := style(smallSize, faint, false)
	ticks := shortened(f.X.Ticks(max(int(width/60), 2)))
	thinLabels(ticks, func(v float64) float64 { return plt.X.Norm(v) * float64(width) },
		func(text string) float64 { return float64(sty.Width(text)) }, 8)
	plt.X.Tick.Marker = plot.ConstantTicks(ticks)

	ticks = plt.Y.Tick.Marker.Ticks(0, 0)
	if f.Y.Names == nil {
		height /= 2 // the names above the data take no more than the other half
	}
	thinLabels(ticks, func(v float64) float64 { return plt.Y.Norm(v) * float64(height) },
		func(string) float64 { return float64(smallSize) }, 1)
}

// shortened cuts names of categories that would leave no room for the data.
func shortened(ticks []plot.Tick) []plot.Tick {
	sty := style(smallSize, faint, false)
	for i := range ticks {
		ticks[i].Label = cut(sty, ticks[i].Label, widestName)
	}
	return ticks
}
