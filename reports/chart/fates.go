package chart

import (
	"fmt"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

func init() {
	register(chart{rank: 3, name: "fates", title: "What became of the evaluations", figure: fatesFigure})
}

// fatesFigure plots what became of the evaluations.
func fatesFigure(v *view) figure.Figure {
	return v.stacked("evaluations so far", []part{
		{"complete", figure.Green, metrics.SeriesCompleted},
		{"canceled", figure.Grey, metrics.SeriesCanceled},
		{"failed", figure.Purple, metrics.SeriesFailed},
	}, func(t metrics.Phase) string {
		return fmt.Sprintf("%s processed, %s canceled", wording.Grouped(float64(t.EvalsProcessed)), wording.Grouped(float64(t.EvalsCanceled)))
	})
}
