package reports

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/simctl/simctl/metrics"
)

// chartFormats are the formats that WriteCharts knows.
var chartFormats = []string{"png", "svg"}

// dpi makes two pixels of a point.
const dpi = 144

// WriteCharts draws every chart that the runs have data for into dir, which must exist,
// once in each of the formats ("png", "svg"). It returns the names of the files, the most
// telling chart first. Each file is written whole or not at all.
func WriteCharts(dir string, runs []*metrics.Result, formats ...string) ([]string, error) {
	if len(runs) == 0 {
		return nil, ErrNoRuns
	}
	for _, format := range formats {
		if !slices.Contains(chartFormats, format) {
			return nil, fmt.Errorf("unknown chart format %q: want one of %s", format, strings.Join(chartFormats, ", "))
		}
	}
	var names []string
	for _, f := range figures(runs) {
		for _, format := range formats {
			var buf bytes.Buffer
			if err := f.encode(&buf, format); err != nil {
				return names, fmt.Errorf("drawing the chart %s: %w", f.id, err)
			}
			name := f.id + "." + format
			if err := renameio.WriteFile(filepath.Join(dir, name), buf.Bytes(), 0o644); err != nil {
				return names, fmt.Errorf("writing the chart: %w", err)
			}
			names = append(names, name)
		}
	}
	return names, nil
}

// encode draws the figure in one of chartFormats.
func (f figure) encode(w io.Writer, format string) error {
	width, height := f.size()
	if format == "svg" {
		c := vgsvg.New(width, height)
		f.draw(draw.New(c))
		var text bytes.Buffer
		if _, err := c.WriteTo(&text); err != nil {
			return err
		}
		_, err := w.Write(withFallbackFonts(text.Bytes()))
		return err
	}
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
	f.draw(draw.New(c))
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// withFallbackFonts names fonts of the same widths beside the one the SVG was laid out
// with, which most machines lack. A quote is escaped in the text of a chart, so this
// changes nothing but styles.
func withFallbackFonts(svg []byte) []byte {
	return bytes.ReplaceAll(svg, []byte(`style="font-family:Liberation Sans;`),
		[]byte(`style="font-family:'Liberation Sans',Arial,Helvetica,sans-serif;`))
}
