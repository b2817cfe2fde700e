package chart

import (
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

func init() {
	register(chart{rank: 7, name: "nodes", title: "Client nodes by status", figure: nodesFigure})
}

// nodesFigure plots how many client nodes have which status.
func nodesFigure(v *view) figure.Figure {
	f := v.stacked("nodes", []part{
		{"ready", figure.Green, []string{metrics.SeriesNodesReady}},
		{"initializing", figure.Yellow, []string{metrics.SeriesNodesInit}},
		{"disconnected", figure.Purple, []string{metrics.SeriesNodesDisconnected}},
		{"down", figure.Grey, []string{metrics.SeriesNodesDown}},
	})
	for i := range f.Panels {
		if n := v.runs[i].Totals.NodesDown; n > 0 {
			f.Panels[i].Detail = wording.Grouped(float64(n)) + " went down"
		}
	}
	return f
}
