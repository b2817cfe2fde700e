package page

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
	"github.com/simctl/simctl/reports/sweep"
	"github.com/simctl/simctl/reports/wording"
)

//go:embed assets/sweep.html.tmpl
var sweepTemplate string

var sweepPage = template.Must(template.New("sweep").Parse(sweepTemplate))

// picture is a chart within the page.
type picture struct {
	ID   string
	Data template.URL
}

// Sweep writes the summary of a sweep and its charts, which lie in dir, as one page that loads
// nothing.
func Sweep(w io.Writer, s *metrics.Sweep, dir string, charts []string) error {
	data := struct {
		Title, Subtitle, Command string
		Sections                 []sweep.Section
		Charts                   []picture
		Style                    template.CSS
	}{Title: sweep.Headline(s), Command: s.Command, Sections: sweep.Sections(s), Style: template.CSS(style)}
	if runs := s.Results(); len(runs) > 0 {
		data.Subtitle = wording.Subtitle(runs)
	}
	for _, name := range charts {
		png, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("read a chart for the page: %w", err)
		}
		data.Charts = append(data.Charts, picture{
			ID: strings.TrimSuffix(name, ".png"), Data: template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(png)),
		})
	}
	return sweepPage.Execute(w, data)
}
