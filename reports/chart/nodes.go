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
	return v.stacked("nodes", []part{
		{"ready", figure.Green, metrics.SeriesNodesReady},
		{"initializing", figure.Yellow, metrics.SeriesNodesInit},
		{"disconnected", figure.Purple, metrics.SeriesNodesDisconnected},
		{"down", figure.Grey, metrics.SeriesNodesDown},
	}, func(t metrics.Phase) string {
		if t.NodesDown == 0 {
			return ""
		}
		return wording.Grouped(float64(t.NodesDown)) + " went down"
	})
}
