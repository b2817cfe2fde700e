package chart

import (
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

func init() {
	register(chart{rank: 2, name: "raft", title: "Growth of the Raft log", figure: raftFigure})
}

// raftFigure plots the growth of the log, by type of entry where the run recorded that.
func raftFigure(v *view) figure.Figure {
	f := figure.Figure{X: v.timeAxis(), Y: figure.Axis{Label: "last log index"}}
	var heights []float64
	for i, r := range v.runs {
		p := v.timePanel(i)
		if s := r.SeriesByName(metrics.SeriesRaftIndex); s != nil && len(s.AtS) > 0 {
			p.Lines = []figure.Line{{Name: "last index", Color: v.colors[i], X: s.AtS, Y: s.Value}}
			heights = append(heights, figure.Figure{Panels: []figure.Panel{p}}.Top())
			p.Detail = "+" + wording.Counted(float64(r.Totals.RaftEntries), "entries")
		}
		f.Panels = append(f.Panels, p)
	}
	f.Legend = v.runKeys()
	if f.Y.Log = figure.TooWide(heights); !f.Y.Log {
		// Stacked areas mean nothing on a logarithmic axis.
		const p = metrics.SeriesEntriesPrefix
		for i, areas := range v.stack([]part{
			{"node register", figure.Sky, p + metrics.EntryNodeRegister},
			{"node status", figure.Purple, p + metrics.EntryNodeUpdateStatus},
			{"eval update", figure.Orange, p + metrics.EntryEvalUpdate},
			{"plan result", figure.Green, p + metrics.EntryApplyPlanResults},
			{"other", figure.Grey, p + "*"},
		}) {
			f.Panels[i].Areas = areas
		}
		f.Legend = append(f.Legend, figure.KeysOf(f.Panels)...)
	}
	return f.FitY()
}
