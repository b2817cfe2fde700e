package chart

import (
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

func init() {
	register(chart{rank: 6, name: "queues", title: "Evaluations in the broker, by queue", figure: queuesFigure})
}

// queuesFigure plots in which queue of the broker the evaluations are.
func queuesFigure(v *view) figure.Figure {
	f := v.stacked("evaluations", []part{
		{"unacked", figure.Purple, []string{metrics.SeriesUnacked}},
		{"ready", figure.Green, []string{metrics.SeriesReady}},
		{"pending", figure.Orange, []string{metrics.SeriesPending}},
		{"waiting", figure.Yellow, []string{metrics.SeriesWaiting}},
		{"cancelable", figure.Grey, []string{metrics.SeriesCancelable}},
	})
	for i := range f.Panels {
		if n := v.runs[i].Totals.PeakCancelable; n > 0 {
			f.Panels[i].Detail = "at most " + wording.Grouped(float64(n)) + " cancelable"
		}
	}
	return f
}
