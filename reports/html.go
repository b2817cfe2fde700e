package reports

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/simctl/simctl/metrics"
)

// The page and everything in it: it is one file that loads nothing. uPlot draws the charts
// (assets/uPlot.LICENSE).
var (
	//go:embed assets/report.html.tmpl
	pageTemplate string
	//go:embed assets/report.css
	pageStyle string
	//go:embed assets/report.js
	pageScript string
	//go:embed assets/uPlot.iife.min.js
	uPlotScript string
	//go:embed assets/uPlot.min.css
	uPlotStyle string
	//go:embed assets/uPlot.LICENSE
	uPlotLicense string
)

var page = template.Must(template.New("report").Parse(pageTemplate))

// pageData is what the template shows.
type pageData struct {
	Title   string
	Summary summary
	Runs    []pageRun
	Params  []pageParam
	Beside  []pageChart // beside the table: bars
	Charts  []pageChart

	Style, UPlotStyle   template.CSS
	Script, UPlotScript template.JS
	UPlotLicense        string
	Data                template.JS
}

type pageRun struct {
	Label, Color, Digest string
	*metrics.Result
}

// pageParam is a setting in every run.
type pageParam struct {
	Name    string
	Values  []string
	Differs bool
}

// pageChart is a figure on the page: panels that the script draws, or bars and cells that
// are laid out as text.
type pageChart struct {
	ID, Title, Note string
	Legend          []pageKey
	Panels          []pagePanel
}

type pageKey struct{ Name, Color string }

type pagePanel struct {
	Heading, Detail string
	Color           string // of the run; "" when the panel is not about one
	Drawn           bool   // by the script
	Groups          []pageGroup
	Heat            *pageHeat
}

// HTML writes one self-contained page about the runs, which opens from disk and needs no
// network.
func HTML(w io.Writer, runs []*metrics.Result) error {
	if len(runs) == 0 {
		return ErrNoRuns
	}
	figs := figures(runs)
	drawn, err := json.Marshal(drawnFigures(figs))
	if err != nil {
		return fmt.Errorf("encoding the charts: %w", err)
	}
	s := summarise(runs)
	data := pageData{
		Title:        s.Headline,
		Summary:      s,
		Params:       pageParams(runs),
		Style:        template.CSS(pageStyle),
		UPlotStyle:   template.CSS(uPlotStyle),
		Script:       template.JS(pageScript),
		UPlotScript:  template.JS(uPlotScript),
		UPlotLicense: uPlotLicense,
		Data:         template.JS(drawn), // json.Marshal escapes <, > and &
	}
	if data.Title == "" {
		data.Title = upperFirst(runs[0].Run.Scenario)
		if len(runs) > 1 {
			data.Title += fmt.Sprintf(": %d runs", len(runs))
		}
	}
	for i, c := range runColors(runs) {
		data.Runs = append(data.Runs, pageRun{Label: s.Labels[i], Color: hex(c), Digest: runs[i].Digest(), Result: runs[i]})
	}
	for _, f := range figs {
		if c := chartOf(f); len(c.Panels[0].Groups) > 0 {
			data.Beside = append(data.Beside, c)
		} else {
			data.Charts = append(data.Charts, c)
		}
	}
	return page.Execute(w, data)
}

// WriteHTML writes the page to a file, whole or not at all.
func WriteHTML(path string, runs []*metrics.Result) error {
	var buf bytes.Buffer
	if err := HTML(&buf, runs); err != nil {
		return err
	}
	if err := renameio.WriteFile(path, buf.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// pageParams lists the settings of all runs, those that differ first.
func pageParams(runs []*metrics.Result) []pageParam {
	var same, differ []pageParam
	for _, name := range settingNames(runs) {
		p := pageParam{Name: strings.ReplaceAll(name, "_", " ")}
		for _, r := range runs {
			text := paramText(setting(r, name))
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

// Host says in one line what the run cost the machine.
func (r pageRun) HostText() string {
	return fmt.Sprintf("%s of wall time, %s of CPU time, %s at most", duration(r.Host.WallS), duration(r.Host.CPUS), bytesSI(r.Host.PeakRSSBytes))
}

// pageCosts is a cost model and the runs that were charged by it.
type pageCosts struct {
	Runs  []pageRun
	Model *metrics.CostModel // nil when the results name none
}

// pageCost is one cost, its value written out.
type pageCost struct{ Name, Value string }

// CostModels returns the cost models of the runs, each once.
func (p pageData) CostModels() []pageCosts {
	var out []pageCosts
	for _, r := range p.Runs {
		i := slices.IndexFunc(out, func(c pageCosts) bool { return reflect.DeepEqual(c.Model, r.Run.CostModel) })
		if i < 0 {
			i = len(out)
			out = append(out, pageCosts{Model: r.Run.CostModel})
		}
		out[i].Runs = append(out[i].Runs, r)
	}
	return out
}

// Costs returns the costs of the model.
func (c pageCosts) Costs() []pageCost {
	if c.Model == nil {
		return nil
	}
	var out []pageCost
	for _, cost := range c.Model.Costs {
		text := strings.TrimSpace(short(cost.Value) + " " + cost.Unit)
		if cost.Unit == "s" {
			text = duration(cost.Value)
		}
		out = append(out, pageCost{cost.Name, text})
	}
	return out
}

// Class names the style of a row's ratio.
func (r row) Class() string {
	switch r.Change {
	case better:
		return "better"
	case worse:
		return "worse"
	}
	return ""
}

// Many reports whether there are so many runs that charts say more than the table.
func (p pageData) Many() bool { return len(p.Runs) > fourColumns }

// Drawn reports whether the script has anything to draw.
func (p pageData) Drawn() bool {
	return slices.ContainsFunc(p.Charts, func(c pageChart) bool {
		return slices.ContainsFunc(c.Panels, func(panel pagePanel) bool { return panel.Drawn })
	})
}

// ValueText writes the value of a threshold's metric.
func (p pageData) ValueText(v float64) string { return exact(v) }
