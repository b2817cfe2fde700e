package reports

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// edges draws the heavy line between cells of a heat map.
func (d drawing) edges(edges []edge) {
	halo := draw.LineStyle{Color: paper, Width: 4.5}
	sty := draw.LineStyle{Color: ink, Width: 2.2}
	for _, s := range []draw.LineStyle{halo, sty} {
		for _, e := range edges {
			d.c.StrokeLine2(s, d.x(e.x0), d.y(e.y0), d.x(e.x1), d.y(e.y1))
		}
	}
}

// limits draws each bound as a dashed line, its name above its right end, or below where
// it lies at the top.
func (d drawing) limits(limits []limit) {
	sty := draw.LineStyle{Color: ink, Width: 1.1, Dashes: []vg.Length{5, 3}}
	for _, l := range limits {
		y := d.point(0, l.at).Y
		d.c.StrokeLine2(sty, d.c.Min.X, y, d.c.Max.X, y)
		text := style(labelSize, ink, false)
		text.XAlign = draw.XRight
		at := vg.Point{X: d.c.Max.X - 2, Y: y + 2.5}
		if at.Y+labelSize > d.c.Max.Y {
			at.Y = y - labelSize - 1
		}
		d.c.SetColor(translucent(paper, 0.75)) // a line may run behind it
		d.box(at.X-text.Width(l.name)-2, at.Y-1, at.X+2, at.Y+labelSize)
		d.c.FillText(text, at, l.name)
	}
}
