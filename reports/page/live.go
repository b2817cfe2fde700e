package page

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"sync"

	"github.com/simctl/simctl/reports/figure"
)

var (
	//go:embed assets/live.html.tmpl
	liveTemplate string
	//go:embed assets/live.js
	liveScript string
)

var live = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("live").Parse(liveTemplate))
})

// liveSeries is a figure of each sample of a running cluster.
type liveSeries struct {
	Key   string `json:"key"` // in the samples
	Name  string `json:"name"`
	Color string `json:"color"`
}

// liveChart shows figures of the latest samples.
type liveChart struct {
	Title  string       `json:"title"`
	Series []liveSeries `json:"series"`
}

// liveCharts are what the page shows.
func liveCharts() []liveChart {
	hex := figure.Hex
	return []liveChart{
		{"Evaluations in the broker", []liveSeries{
			{"pending", "pending", hex(figure.Orange)}, {"ready", "ready", hex(figure.Sky)},
			{"unacked", "unacked", hex(figure.Green)}, {"cancelable", "cancelable", hex(figure.Purple)},
		}},
		{"Raft log, entries a second", []liveSeries{{"entries", "entries", hex(figure.Sky)}}},
		{"Nodes", []liveSeries{
			{"nodes_ready", "ready", hex(figure.Green)}, {"nodes_down", "down", hex(figure.Orange)},
			{"nodes_initializing", "initializing", hex(figure.Purple)}, {"nodes_disconnected", "disconnected", hex(figure.Sky)},
		}},
	}
}

// Live writes a page that shows a running cluster. Source is the path of the stream of its
// samples on the same server, of which it shows the latest keep.
func Live(w io.Writer, title, source string, keep int) error {
	charts := liveCharts()
	data, err := json.Marshal(map[string]any{"source": source, "charts": charts, "keep": keep})
	if err != nil {
		return err
	}
	return live().Execute(w, map[string]any{
		"Title": title, "Charts": charts, "Data": template.JS(data),
		"Style": template.CSS(style), "UPlotStyle": template.CSS(uPlotStyle), "Script": template.JS(liveScript), "UPlotScript": template.JS(uPlotScript),
		"UPlotLicense": uPlotLicense,
	})
}
