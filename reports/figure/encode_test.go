package figure

import (
	"bytes"
	"image/color"
	"image/png"
	"strings"
	"testing"
)

// TestPaper: a picture has its paper up to its edges, whatever the canvas was.
func TestPaper(t *testing.T) {
	var picture bytes.Buffer
	if err := (Figure{Title: "empty", Panels: []Panel{{}}}).Encode(&picture, "png"); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&picture)
	if err != nil {
		t.Fatal(err)
	}
	want := color.RGBAModel.Convert(paper)
	for _, at := range [][2]int{{0, 0}, {img.Bounds().Max.X - 1, img.Bounds().Max.Y - 1}} {
		if got := color.RGBAModel.Convert(img.At(at[0], at[1])); got != want {
			t.Errorf("the pixel at %v is %v, want %v", at, got, want)
		}
	}
}

// TestKeysAsLightAsPaper have an edge: the middle of a scale of ratios is nearly white.
func TestKeysAsLightAsPaper(t *testing.T) {
	f := Figure{Legend: []Key{{Name: "=", Color: paper}}, Panels: []Panel{{Cells: []Cell{{}}}}, X: Categories("", []float64{1}), Y: Categories("", []float64{1})}
	var svg strings.Builder
	if err := f.Encode(&svg, "svg"); err != nil {
		t.Fatal(err)
	}
	if want := "stroke:" + strings.ToUpper(Hex(Rule)); !strings.Contains(svg.String(), want) {
		t.Errorf("nothing is drawn around a key of the colour of paper: no %s in\n%s", want, svg.String())
	}
}

// TestKeysHaveSolidEdges though the line of a mark before them is dashed.
func TestKeysHaveSolidEdges(t *testing.T) {
	f := Figure{Panels: []Panel{{Heading: "a", Color: Blue, Marks: []Mark{{"m", 1}}, Lines: []Line{{X: []float64{0, 2}, Y: []float64{0, 2}}}}}}
	var svg strings.Builder
	if err := f.Encode(&svg, "svg"); err != nil {
		t.Fatal(err)
	}
	dashed := 0
	for line := range strings.Lines(svg.String()) {
		if strings.Contains(line, "stroke-dasharray") {
			dashed++
			if strings.Contains(line, "stroke:"+strings.ToUpper(Hex(Rule))) {
				t.Errorf("the edge of a key is dashed: %s", line)
			}
		}
	}
	if dashed == 0 {
		t.Error("no line is dashed")
	}
}
