package figure

import (
	"image"
	"image/color"
	"math"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// TestCanvas: what the canvas draws by itself looks like what vgimg draws, in the colours of Push and Pop.
func TestCanvas(t *testing.T) {
	face := plot.DefaultTextHandler.Cache().Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, 12)
	square := vg.Rectangle{Max: vg.Point{X: 40, Y: 20.3}}.Path()
	turned := vg.Path{{Type: vg.MoveComp}, {Type: vg.LineComp, Pos: vg.Point{Y: 20.3}}, {Type: vg.LineComp, Pos: vg.Point{X: 40, Y: 20.3}},
		{Type: vg.LineComp, Pos: vg.Point{X: 40}}, {Type: vg.CloseComp}}
	slanted := vg.Path{{Type: vg.MoveComp}, {Type: vg.LineComp, Pos: vg.Point{X: 40}}, {Type: vg.LineComp, Pos: vg.Point{X: 50, Y: 20}},
		{Type: vg.LineComp, Pos: vg.Point{X: 10, Y: 20}}, {Type: vg.CloseComp}}
	for name, c := range map[string]struct {
		draw func(vg.Canvas)
		off  float64 // of the ink
	}{
		"a rectangle":          {func(c vg.Canvas) { c.Fill(square) }, 0.05},
		"from the other side":  {func(c vg.Canvas) { c.Fill(turned) }, 0.05},
		"a slanted rectangle":  {func(c vg.Canvas) { c.Fill(slanted) }, 0},
		"a small rectangle":    {func(c vg.Canvas) { c.Fill(vg.Rectangle{Max: vg.Point{X: 40, Y: 1.1}}.Path()) }, 0},
		"what is scaled":       {func(c vg.Canvas) { c.Scale(1.5, 1); c.Fill(square); c.FillString(face, vg.Point{}, "wide") }, 0},
		"a triangle":           {func(c vg.Canvas) { c.Fill(append(slanted[:3:3], slanted[4])) }, 0},
		"a rotated rectangle":  {func(c vg.Canvas) { c.Rotate(math.Pi / 6); c.Fill(square) }, 0},
		"text":                 {func(c vg.Canvas) { c.FillString(face, vg.Point{X: 3.2, Y: 5.1}, "Taxes AVAIL") }, 0.3},
		"rotated text":         {func(c vg.Canvas) { c.Rotate(math.Pi / 2); c.FillString(face, vg.Point{}, "up") }, 0},
		"a transparent colour": {func(c vg.Canvas) { c.SetColor(color.NRGBA{R: 200, A: 100}); c.Fill(square) }, 0.05},
		"a colour that is over": {func(c vg.Canvas) {
			c.Push()
			c.SetColor(color.NRGBA{G: 200, A: 255})
			c.Fill(slanted)
			c.Pop()
			c.Fill(square)
		}, 0.05},
	} {
		own, theirs := newCanvas(200, 150), newCanvas(200, 150)
		for _, on := range []vg.Canvas{own, theirs.Canvas} {
			on.SetColor(color.NRGBA{B: 180, A: 255})
			on.Translate(vg.Point{X: 30, Y: 20})
			c.draw(on)
		}
		if ink, off := compare(own.img, theirs.img); ink == 0 || off > c.off*ink || c.off > 0 && off == 0 {
			t.Errorf("%s: %.0f of %.0f are off", name, off, ink)
		}
	}
}

// compare returns how much darker than paper the second picture is, and by how much they differ.
func compare(a, b *image.RGBA) (ink, off float64) {
	for i := range a.Pix {
		ink += 255 - float64(b.Pix[i])
		off += math.Abs(float64(a.Pix[i]) - float64(b.Pix[i]))
	}
	return ink, off
}
