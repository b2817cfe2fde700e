package figure

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/simctl/simctl/internal/outfile"
)

// Formats are the formats of pictures: those that Encode and WriteFiles take.
var Formats = []string{"png", "svg"}

// dpi makes two pixels of a point.
const dpi = 144

// WriteFiles draws every figure into dir, which must exist, once in each of Formats that is
// named, on all processors. It returns the names of the files. It writes each file whole or not at all.
func WriteFiles(dir string, figs []Figure, formats ...string) ([]string, error) {
	for _, format := range formats {
		if !slices.Contains(Formats, format) {
			return nil, fmt.Errorf("unknown chart format %q: want one of %s", format, strings.Join(Formats, ", "))
		}
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	names := make([]string, len(figs)*len(formats)) // empty: not written
	for i, f := range figs {
		for at, format := range formats {
			group.Go(func() error {
				var buf bytes.Buffer
				if err := f.Encode(&buf, format); err != nil {
					return fmt.Errorf("drawing the chart %s: %w", f.ID, err)
				}
				name := f.ID + "." + format
				err := outfile.Write(filepath.Join(dir, name), buf.Bytes(), 0o644)
				if err == nil {
					names[i*len(formats)+at] = name
				}
				return err
			})
		}
	}
	err := group.Wait()
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), err
}

// Encode draws the figure in one of Formats.
func (f Figure) Encode(w io.Writer, format string) error {
	width, height := f.Size()
	if format == "svg" {
		c := vgsvg.New(width, height)
		d := draw.New(c)
		d.SetColor(paper)
		d.Fill(d.Rectangle.Path())
		f.Draw(d)
		var text bytes.Buffer
		if _, err := c.WriteTo(&text); err != nil {
			return err
		}
		_, err := w.Write(withFallbackFonts(text.Bytes()))
		return err
	}
	c := newCanvas(int(math.Round(width.Dots(dpi))), int(math.Round(height.Dots(dpi))))
	f.Draw(draw.New(c))
	// The default level takes half as long again, and saves 4%.
	return (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(w, indexed(c.img))
}

// withFallbackFonts names further fonts of the same widths, since most machines lack the one
// that the SVG was laid out with. The text of a chart has its quotes escaped, so this changes
// styles only.
func withFallbackFonts(svg []byte) []byte {
	return bytes.ReplaceAll(svg, []byte(`style="font-family:Liberation Sans;`),
		[]byte(`style="font-family:'Liberation Sans',Arial,Helvetica,sans-serif;`))
}
