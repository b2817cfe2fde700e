package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/reports/chart"
	"github.com/simctl/simctl/reports/figure"
)

// TestPixels is the one look a machine takes at a picture: the old run's colour on its left
// half, the new one's on its right, and not the other way round.
func TestPixels(t *testing.T) {
	dir := t.TempDir()
	names, err := Write(dir, published(t), "png")
	if err != nil {
		t.Fatal(err)
	}
	if names[0] != "pending.png" {
		t.Fatalf("the first chart is %s", names[0])
	}
	data, err := os.ReadFile(filepath.Join(dir, names[0]))
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	size := img.Bounds().Size()
	if size.X != 1600 || size.Y < 500 || size.Y > 900 {
		t.Errorf("the picture has %v pixels", size)
	}
	panels := image.Rect(0, size.Y/4, size.X, size.Y)
	left, right := panels, panels
	left.Max.X, right.Min.X = size.X/2, size.X/2
	for _, tt := range []struct {
		side  string
		area  image.Rectangle
		color color.NRGBA
		some  bool
	}{
		{"left", left, figure.Vermillion, true}, {"left", left, figure.Blue, false},
		{"right", right, figure.Blue, true}, {"right", right, figure.Vermillion, false},
	} {
		if n := pixels(img, tt.area, tt.color); tt.some != (n > 500) {
			t.Errorf("%d pixels of %s on the %s, want some: %v", n, figure.Hex(tt.color), tt.side, tt.some)
		}
	}
}

func pixels(img image.Image, area image.Rectangle, c color.NRGBA) int {
	n := 0
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			if color.NRGBAModel.Convert(img.At(x, y)) == c {
				n++
			}
		}
	}
	return n
}

// TestSVG checks that what the pictures say is text in well-formed XML, whatever runs are
// called.
func TestSVG(t *testing.T) {
	runs := published(t)
	runs[0].Run.Broker = `<old> & "odd"`
	for _, f := range chart.Of(runs) {
		var out bytes.Buffer
		if err := f.Encode(&out, "svg"); err != nil {
			t.Fatal(err)
		}
		if styles, fallbacks := bytes.Count(out.Bytes(), []byte("font-family")), bytes.Count(out.Bytes(), []byte("Arial,Helvetica,sans-serif;")); styles == 0 || styles != fallbacks {
			t.Errorf("%s: %d of %d texts name a font that every machine has", f.ID, fallbacks, styles)
		}
		var text []string
		dec := xml.NewDecoder(&out)
		for {
			token, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", f.ID, err)
			}
			if s, ok := token.(xml.CharData); ok {
				text = append(text, string(s))
			}
		}
		for _, want := range []string{f.Title, f.Legend[0].Name, f.Subtitle} {
			if !slices.Contains(text, want) {
				t.Errorf("%s does not say %q", f.ID, want)
			}
		}
	}
}

func TestWriteChartsErrors(t *testing.T) {
	runs := published(t)
	if _, err := figure.WriteFiles(t.TempDir(), chart.Of(runs), "gif"); err == nil || !strings.Contains(err.Error(), `"gif": want one of png, svg`) {
		t.Errorf("error %v", err)
	}
	if _, err := figure.WriteFiles(filepath.Join(t.TempDir(), "none"), chart.Of(runs), "svg"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("writing where no directory is: error %v", err)
	}
}

func TestWriteNamesItsFiles(t *testing.T) {
	dir := t.TempDir()
	names, err := Write(dir, published(t), Formats()...)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	slices.Sort(names)
	if !slices.Equal(names, found) {
		t.Errorf("named %v, wrote %v", names, found)
	}
}
