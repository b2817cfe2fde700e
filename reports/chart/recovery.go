package chart

import (
	"math"

	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

func init() {
	register(chart{
		rank: 4, name: "recovery", title: "Recovery time per phase",
		note:   "solid: until ready, unacked and pending are empty; light: until broker and state hold no pending evaluation",
		figure: recoveryFigure,
	})
}

// recoveryFigure plots a group of bars for each phase, with a bar for each run: solid until
// the queue was empty, light until the run had recovered.
func recoveryFigure(v *view) figure.Figure {
	f := figure.Figure{Legend: v.runKeys(), Y: figure.Axis{Label: "time from the start of the phase", Unit: figure.Instants}}
	p := figure.Panel{}
	var heights []float64
	for _, name := range wording.RecoveringPhases(v.runs) {
		group := float64(len(f.X.Names))
		f.X.Names = append(f.X.Names, name)
		width := 0.8 / float64(len(v.runs))
		for i, r := range v.runs {
			ph := r.Phase(name)
			if ph == nil {
				continue
			}
			x := group - 0.4 + width*float64(i)
			gap := width * 0.06
			box := figure.Bar{X0: x + gap, X1: x + width - gap, Color: v.colors[i]}
			if ph.RecoveryS < 0 || ph.DeploymentS < 0 {
				box.Label = wording.Never
				if ph.DeploymentS < 0 {
					box.Label = wording.Deploying
				}
				p.Bars = append(p.Bars, box)
				continue
			}
			heights = append(heights, ph.RecoveryS)
			solid, light := box, box
			solid.Y1 = math.Max(ph.QueueEmptyS, 0)
			light.Light = true
			light.Y0, light.Y1, light.Label = solid.Y1, ph.RecoveryS, wording.Clock(ph.RecoveryS)
			if ph.QueueEmptyS >= 0 && ph.QueueEmptyS < 0.95*ph.RecoveryS {
				light.Detail = "queue empty " + wording.Clock(ph.QueueEmptyS)
			}
			p.Bars = append(p.Bars, solid, light)
		}
	}
	if len(p.Bars) == 0 {
		return figure.Figure{}
	}
	f.Panels = []figure.Panel{p}
	f.X.Min, f.X.Max = -0.5, float64(len(f.X.Names))-0.5
	f.Y.Max = figure.Positive(f.Top())
	f.Y.Label += " " + wording.ClockFormat(f.Y.Max)
	return f.LogBars(heights)
}
