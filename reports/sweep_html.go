package reports

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/simctl/simctl/metrics"
)

//go:embed assets/sweep.html.tmpl
var sweepTemplate string

var sweepHTML = template.Must(template.New("sweep").Parse(sweepTemplate))

// sweepHTMLName is the page about a sweep.
const sweepHTMLName = "report.html"

// sweepPageChart is a picture within the page.
type sweepPageChart struct {
	ID, Name string
	Data     template.URL
}

// sweepPageSection is a part of the summary.
type sweepPageSection struct {
	Title  string
	Header []string
	Rows   [][]string
	Notes  []string
}

// writeSweepHTML writes the summary and the charts, which lie in dir, as one page that loads
// nothing.
func writeSweepHTML(w io.Writer, s *metrics.Sweep, dir string, charts []string) error {
	data := struct {
		Title, Subtitle, Command string
		Sections                 []sweepPageSection
		Charts                   []sweepPageChart
		Style                    template.CSS
	}{Title: sweepHeadline(s), Command: s.Command, Style: template.CSS(pageStyle)}
	if runs := s.Results(); len(runs) > 0 {
		data.Subtitle = subtitle(runs)
	}
	for _, sec := range sweepSections(s) {
		data.Sections = append(data.Sections, sweepPageSection{sec.title, sec.header, sec.rows, sec.notes})
	}
	for _, name := range charts {
		png, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("read a chart for the page: %w", err)
		}
		id := strings.TrimSuffix(name, ".png")
		data.Charts = append(data.Charts, sweepPageChart{
			ID: id, Name: id, Data: template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(png)),
		})
	}
	return sweepHTML.Execute(w, data)
}
