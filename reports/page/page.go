package page

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/chart"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

// The page and everything in it: it is one file that loads nothing. uPlot draws the charts
// (assets/uPlot.LICENSE).
var (
	//go:embed assets/report.html.tmpl
	pageTemplate string
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

var report = template.Must(template.New("report").Funcs(template.FuncMap{
	"hex": figure.Hex, "exact": wording.Exact, "cost": costText,
}).Parse(pageTemplate))

// data is what the template shows.
type data struct {
	Title   string
	Summary wording.Summary
	Runs    []run
	Params  []param
	Beside  []chartView // beside the table: bars
	Charts  []chartView

	Style, UPlotStyle   template.CSS
	Script, UPlotScript template.JS
	UPlotLicense        string
	Data                template.JS
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
	figs := chart.Of(runs)
	drawn, err := json.Marshal(drawnFigures(figs))
	if err != nil {
		return fmt.Errorf("encoding the charts: %w", err)
	}
	s := wording.Summarise(runs)
	data := data{
		Title:        s.Headline,
		Summary:      s,
		Params:       paramsOf(runs),
		Style:        template.CSS(style),
		UPlotStyle:   template.CSS(uPlotStyle),
		Script:       template.JS(script),
		UPlotScript:  template.JS(uPlotScript),
		UPlotLicense: uPlotLicense,
		Data:         template.JS(drawn), // json.Marshal escapes <, > and &
	}
	if data.Title == "" {
		data.Title = wording.UpperFirst(runs[0].Run.Scenario)
		if len(runs) > 1 {
			data.Title += fmt.Sprintf(": %d runs", len(runs))
		}
	}
	for i, c := range figure.RunColors(wording.Brokers(runs)) {
		data.Runs = append(data.Runs, run{Label: s.Labels[i], Color: figure.Hex(c), Result: runs[i]}.withDigest())
	}
	for _, f := range figs {
		if c := chartOf(f); len(c.Panels[0].Groups) > 0 {
			data.Beside = append(data.Beside, c)
		} else {
			data.Charts = append(data.Charts, c)
		}
	}
	return report.Execute(w, data)
}

// withDigest adds the digest that repeats wherever the run is repeated: one that was stopped has
// none.
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

// Drawn reports whether the script has anything to draw.
func (p data) Drawn() bool {
	return slices.ContainsFunc(p.Charts, func(c chartView) bool {
		return slices.ContainsFunc(c.Panels, func(panel panelView) bool { return panel.Drawn })
	})
}
