package figure

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"slices"

	"git.sr.ht/~sbinet/gg"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// canvas is a vgimg.Canvas that draws upright text and large rectangles straight onto the image: vgimg transforms each
// letter as if it were a picture, and blends each pixel of a rectangle by itself, half of the time of a chart.
type canvas struct {
	*vgimg.Canvas
	img     *image.RGBA
	context *gg.Context
	colors  []color.Color // of Push, and the present one
	faces   map[font.Font]xfont.Face
}

func newCanvas(width, height int) *canvas {
	// Left to itself, vgimg draws on a copy of an empty image.
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	context := gg.NewContextForRGBA(img)
	context.SetLineCapButt()
	context.InvertY()
	c := vgimg.NewWith(vgimg.UseImageWithContext(img, context), vgimg.UseDPI(dpi)) // white, as paper is
	return &canvas{Canvas: c, img: img, context: context, colors: []color.Color{color.Black}, faces: map[font.Font]xfont.Face{}}
}

func (c *canvas) Push() {
	c.colors = append(c.colors, c.colors[len(c.colors)-1])
	c.Canvas.Push()
}

func (c *canvas) Pop() {
	c.colors = c.colors[:len(c.colors)-1]
	c.Canvas.Pop()
}

func (c *canvas) SetColor(of color.Color) {
	c.colors[len(c.colors)-1] = of
	c.Canvas.SetColor(of)
}

func (c *canvas) source() image.Image { return image.NewUniform(c.colors[len(c.colors)-1]) }

// at returns where a point is on the image.
func (c *canvas) at(p vg.Point) (x, y float64) {
	return c.context.TransformPoint(p.X.Dots(dpi), p.Y.Dots(dpi))
}

// upright reports whether what is drawn now is neither rotated nor scaled.
func (c *canvas) upright() bool {
	x, y := c.at(vg.Point{})
	right, level := c.at(vg.Point{X: vg.Inch})
	return level == y && math.Abs(right-x-dpi) < 1e-6
}

func (c *canvas) FillString(face font.Face, p vg.Point, text string) {
	if !c.upright() {
		c.Canvas.FillString(face, p, text)
		return
	}
	if c.faces[face.Font] == nil {
		c.faces[face.Font] = face.FontFace(dpi)
	}
	x, y := c.at(p)
	drawer := xfont.Drawer{Dst: c.img, Src: c.source(), Face: c.faces[face.Font], Dot: fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(y * 64)}}
	drawer.DrawString(text)
}

// Fill puts the edges of large rectangles between two pixels.
func (c *canvas) Fill(p vg.Path) {
	r, ok := c.rectangle(p)
	if !ok || r.Dx() < 8 || r.Dy() < 8 {
		c.Canvas.Fill(p)
		return
	}
	draw.Draw(c.img, r, c.source(), image.Point{}, draw.Over)
}

// rectangle returns which pixels a path is around, if it is around a rectangle.
func (c *canvas) rectangle(p vg.Path) (r image.Rectangle, ok bool) {
	sides := []int{vg.MoveComp, vg.LineComp, vg.LineComp, vg.LineComp, vg.CloseComp}
	if !c.upright() || !slices.EqualFunc(p, sides, func(at vg.PathComp, side int) bool { return at.Type == side }) {
		return r, false
	}
	a, b, opposite, d := p[0].Pos, p[1].Pos, p[2].Pos, p[3].Pos
	if b.Y != a.Y { // the first side goes up or down
		b, d = d, b
	}
	if b != (vg.Point{X: opposite.X, Y: a.Y}) || d != (vg.Point{X: a.X, Y: opposite.Y}) {
		return r, false
	}
	x0, y0 := c.at(a)
	x1, y1 := c.at(opposite)
	between := func(v float64) int { return int(math.Round(v)) }
	return image.Rect(between(x0), between(y0), between(x1), between(y1)), true
}
