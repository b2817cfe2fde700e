package figure

import (
	"image"
	"image/color"
	"testing"
)

// TestIndexed: a picture of few colours stays as it is; one of many has the frequent ones, and no pixel is far from
// what it was.
func TestIndexed(t *testing.T) {
	line := color.RGBA{0x12, 0x34, 0x56, 255}
	for shades, far := range map[int]int{1: 0, 255: 0, 4000: 20 * 20} {
		img := image.NewRGBA(image.Rect(0, 0, 100, 100))
		for i := range 100 * 100 {
			at := line
			if i < 4000 {
				n := i % shades // of the edges between a line and paper
				at = color.RGBA{byte(n), byte(255 - n), byte(n / 16), 255}
			}
			img.Set(i%100, i/100, at)
		}
		got := indexed(img)
		if len(got.Palette) > 256 || got.Rect != img.Rect {
			t.Fatalf("%d colours, of %v", len(got.Palette), got.Rect)
		}
		for i := range 100 * 100 {
			want, is := img.RGBAAt(i%100, i/100), color.RGBAModel.Convert(got.At(i%100, i/100)).(color.RGBA)
			d := apart(want, is)
			if d > far || want == line && d > 0 {
				t.Fatalf("of %d shades, %v became %v", shades, want, is)
			}
		}
	}
}

func apart(a, b color.RGBA) int {
	red, green, blue := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B)
	return red*red + green*green + blue*blue
}
