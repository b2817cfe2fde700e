package chart

import (
	"math"
	"slices"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

func init() {
	register(chart{
		rank: 5, name: "waterfall", title: "Steps of the recovery",
		note:   "full colour: the time since the step before",
		figure: waterfallFigure,
	})
}

// milestone is a step of the recovery.
type milestone struct {
	name string
	at   func(*metrics.Phase) float64
}

var milestones = []milestone{
	{"queue empty", func(p *metrics.Phase) float64 { return p.QueueEmptyS }},
	{"cancels written", func(p *metrics.Phase) float64 { return p.CancelsWrittenS }},
	{"allocs replaced", func(p *metrics.Phase) float64 { return p.AllocsReplacedS }},
	{"recovered", func(p *metrics.Phase) float64 { return p.RecoveryS }},
}

// waterfallFigure plots a row for each phase and milestone: the time from the start of the
// phase, its part since the milestone before in full colour.
func waterfallFigure(v *view) figure.Figure {
	f := figure.Figure{Legend: v.runKeys()}
	type step struct {
		phase string
		milestone
	}
	var steps []step
	for _, phase := range wording.RecoveringPhases(v.runs) {
		for _, m := range milestones {
			for _, r := range v.runs {
				if p := r.Phase(phase); p != nil && m.at(p) != 0 {
					steps = append(steps, step{phase, m})
					f.Y.Names = append(f.Y.Names, phase+": "+m.name)
					break
				}
			}
		}
	}
	if len(steps) == 0 {
		return figure.Figure{}
	}
	// Rows are counted from the bottom, but read from the top.
	row := func(i int) float64 { return float64(len(steps) - 1 - i) }
	for i, r := range v.runs {
		p := figure.Panel{Heading: v.labels[i], Color: v.colors[i]}
		phase, before := "", 0.0
		for j, s := range steps {
			if s.phase != phase {
				phase, before = s.phase, 0
			}
			ph := r.Phase(s.phase)
			if ph == nil {
				continue
			}
			box := figure.Bar{Y0: row(j) - 0.3, Y1: row(j) + 0.3, Color: v.colors[i], Horizontal: true}
			at := s.at(ph)
			if at <= 0 {
				box.Label = wording.Never
				if at == 0 {
					box.Label = "none"
				}
				p.Bars = append(p.Bars, box)
				continue
			}
			light := box
			light.Light, light.X1, light.Label = true, at, wording.Clock(at)
			p.Bars = append(p.Bars, light)
			if at > before {
				box.X0, box.X1 = before, at
				p.Bars = append(p.Bars, box)
				before = at
			}
			f.X.Max = math.Max(f.X.Max, at)
		}
		f.Panels = append(f.Panels, p)
	}
	slices.Reverse(f.Y.Names)
	f.Y.Min, f.Y.Max = -0.6, float64(len(steps))-0.4
	f.X.Max = figure.Positive(f.X.Max)
	f.X.Label, f.X.Unit = "time from the start of the phase "+wording.ClockFormat(f.X.Max), figure.Instants
	return f
}
