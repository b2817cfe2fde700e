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
	return v.stacked("evaluations", []part{
		{"unacked", figure.Purple, metrics.SeriesUnacked},
		{"ready", figure.Green, metrics.SeriesReady},
		{"pending", figure.Orange, metrics.SeriesPending},
		{"waiting", figure.Yellow, metrics.SeriesWaiting},
		{"cancelable", figure.Grey, metrics.SeriesCancelable},
	}, func(t metrics.Phase) string {
		if t.PeakCancelable == 0 {
			return ""
		}
		return "at most " + wording.Grouped(float64(t.PeakCancelable)) + " cancelable"
	})
}
