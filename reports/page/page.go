package page

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/chart"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

// The page and everything in it: it is one file that loads nothing. uPlot draws the charts
// (assets/uPlot.LICENSE).
var (
	//go:embed assets/*.tmpl
	templates embed.FS
	//go:embed assets/report.css
	style string
	//go:embed assets/report.js
	script string
	//go:embed assets/uPlot.iife.min.js
	uPlotScript string
	//go:embed assets/uPlot.min.css
	uPlotStyle string
	//go:embed assets/uPlot.LICENSE
	uPlotLicense string
)

// pages parses the templates when the first page is written, since most commands write none.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"hex": figure.Hex, "measured": wording.Measured, "demanded": wording.Demanded, "cost": costText,
	}).ParseFS(templates, "assets/*.tmpl"))
})

// frame is what all pages have: the answer in the title, the charts, and what draws them.
type frame struct {
	Title, Subtitle string
	Date            string // of the first run
	Charts          []chartView

	Style, UPlotStyle   template.CSS
	Script, UPlotScript template.JS
	UPlotLicense        string
	Data                template.JS
}

// newFrame returns a frame around figures.
func newFrame(title, subtitle string, runs []*metrics.Result, figs []figure.Figure) (frame, error) {
	drawn, err := json.Marshal(drawnFigures(figs))
	if err != nil {
		return frame{}, fmt.Errorf("encoding the charts: %w", err)
	}
	f := frame{
		Title:        title,
		Subtitle:     subtitle,
		Style:        template.CSS(style),
		UPlotStyle:   template.CSS(uPlotStyle),
		Script:       template.JS(script),
		UPlotScript:  template.JS(uPlotScript),
		UPlotLicense: uPlotLicense,
		Data:         template.JS(drawn), // json.Marshal escapes <, > and &
	}
	for _, r := range runs {
		if at := r.Host.Started; !at.IsZero() {
			f.Date = at.UTC().Format("2 January 2006, 15:04 UTC")
			break
		}
	}
	for _, fig := range figs {
		f.Charts = append(f.Charts, chartOf(fig))
	}
	return f, nil
}

// Drawn reports whether the script has anything to draw.
func (f frame) Drawn() bool {
	return slices.ContainsFunc(f.Charts, func(c chartView) bool {
		return slices.ContainsFunc(c.Panels, func(panel panelView) bool { return panel.Drawn })
	})
}

// data is what the template of a report shows.
type data struct {
	frame
	Summary wording.Summary
	Runs    []run
	Params  []param
	Beside  []chartView // beside the table: bars
}

type run struct {
	Label, Color, Digest string
	*metrics.Result
}

// param is a setting in every run.
type param struct {
	Name    string
	Values  []string
	Differs bool
}

// chartView is a figure on the page: panels that the script draws, or bars and cells that are
// laid out as text.
type chartView struct {
	ID, Title, Note string
	Legend          []figure.Key
	Panels          []panelView
}

type panelView struct {
	Heading, Detail string
	Color           string // of the run; "" when the panel is not about one
	Drawn           bool   // by the script
	Groups          []barGroup
	Heat            *heat
}

// HTML writes one self-contained page about the runs, of which there is at least one. It
// opens from disk and needs no network.
func HTML(w io.Writer, runs []*metrics.Result) error {
	s := wording.Summarise(runs)
	title := s.Headline
	if title == "" {
		title = wording.UpperFirst(runs[0].Run.Scenario)
		if len(runs) > 1 {
			title += ": " + wording.Count(len(runs), "run")
		}
	}
	f, err := newFrame(title, s.Subtitle, runs, chart.Of(runs))
	if err != nil {
		return err
	}
	data := data{frame: f, Summary: s, Params: paramsOf(runs)}
	for i, c := range figure.RunColors(wording.Brokers(runs)) {
		data.Runs = append(data.Runs, run{Label: s.Labels[i], Color: figure.Hex(c), Result: runs[i]}.withDigest())
	}
	bars := func(c chartView) bool { return len(c.Panels[0].Groups) > 0 }
	for _, c := range f.Charts {
		if bars(c) {
			data.Beside = append(data.Beside, c)
		}
	}
	data.Charts = slices.DeleteFunc(f.Charts, bars)
	return pages().ExecuteTemplate(w, "report.html.tmpl", data)
}

// withDigest adds the digest, which is the same wherever the run is repeated. A run that was stopped gets none,
// since where it was stopped depends on the machine.
func (r run) withDigest() run {
	if r.Stopped == "" {
		r.Digest = r.Result.Digest()
	}
	return r
}

// paramsOf lists the settings of all runs, those that differ first.
func paramsOf(runs []*metrics.Result) []param {
	var same, differ []param
	for _, name := range wording.SettingNames(runs) {
		p := param{Name: strings.ReplaceAll(name, "_", " ")}
		for _, r := range runs {
			text := wording.ParamText(wording.Setting(r, name))
			p.Differs = p.Differs || len(p.Values) > 0 && text != p.Values[0]
			p.Values = append(p.Values, text)
		}
		if p.Differs {
			differ = append(differ, p)
		} else {
			same = append(same, p)
		}
	}
	return append(differ, same...)
}

// HostText says in one line what the run cost the machine.
func (r run) HostText() string {
	return fmt.Sprintf("%s of wall time, %s of CPU time, %s at most", wording.Duration(r.Host.WallS), wording.Duration(r.Host.CPUS), wording.BytesSI(r.Host.PeakRSSBytes))
}

// costModel is a cost model and the runs that were charged by it.
type costModel struct {
	Runs  []run
	Model *metrics.CostModel // nil when the results name none
}

// CostModels returns the cost models of the runs, each once.
func (p data) CostModels() []costModel {
	var out []costModel
	for _, r := range p.Runs {
		i := slices.IndexFunc(out, func(c costModel) bool { return reflect.DeepEqual(c.Model, r.Run.CostModel) })
		if i < 0 {
			i = len(out)
			out = append(out, costModel{Model: r.Run.CostModel})
		}
		out[i].Runs = append(out[i].Runs, r)
	}
	return out
}

// costText formats the value of a cost.
func costText(c metrics.Cost) string {
	if c.Unit == "s" {
		return wording.Duration(c.Value)
	}
	return strings.TrimSpace(wording.Short(c.Value) + " " + c.Unit)
}

// Many reports whether there are so many runs that charts say more than the table.
func (p data) Many() bool { return len(p.Runs) > wording.MaxColumns }
