package chart

import (
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

func init() {
	register(chart{rank: 1, name: "pending", title: "Pending evaluations in the broker", figure: pendingFigure})
}

// pendingFigure plots how many evaluations wait behind another one of their job.
func pendingFigure(v *view) figure.Figure {
	f := figure.Figure{Legend: v.runKeys(), X: v.timeAxis(), Y: figure.Axis{Label: "pending evaluations"}}
	for i, r := range v.runs {
		p := v.timePanel(i)
		if s := r.SeriesByName(metrics.SeriesPending); s != nil && len(s.AtS) > 0 {
			p.Areas = []figure.Area{{Name: "pending", Color: v.colors[i], X: s.AtS, Y: s.Value, Outline: true}}
			p.Detail = "peak " + wording.Grouped(float64(r.Totals.PeakPending)) + v.emptied(r)
		}
		f.Panels = append(f.Panels, p)
	}
	return f.FitY()
}

// emptied says how long each phase took to empty the queue.
func (v *view) emptied(r *metrics.Result) string {
	var times, never []string
	for _, name := range wording.RecoveringPhases(v.runs) {
		switch p := r.Phase(name); {
		case p == nil:
		case p.QueueEmptyS < 0:
			never = append(never, name)
		default:
			times = append(times, wording.Clock(p.QueueEmptyS)+" in "+name)
		}
	}
	text := ""
	if len(times) > 0 {
		text += "; empty after " + strings.Join(times, ", ")
	}
	if len(never) > 0 {
		text += "; never empty in " + strings.Join(never, ", ")
	}
	return text
}
