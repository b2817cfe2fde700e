package page

import (
	"io"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/sweep"
	"github.com/simctl/simctl/reports/wording"
)

// Sweep writes one self-contained page about a sweep, with its answer as the title and the
// figures as charts.
func Sweep(w io.Writer, s *metrics.Sweep, figs []figure.Figure) error {
	opening := sweep.Opening(s)
	f, err := newFrame(opening[0], strings.Join(opening[1:], ""), s.Results(), figs)
	if err != nil {
		return err
	}
	data := struct {
		frame
		What, Command string
		Sections      []sweep.Section
	}{frame: f, Command: s.Command, Sections: sweep.Sections(s)}
	if runs := s.Results(); len(runs) > 0 {
		data.What = wording.Subtitle(runs)
	}
	return pages().ExecuteTemplate(w, "sweep.html.tmpl", data)
}
