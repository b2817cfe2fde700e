package chart

import (
	"cmp"
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

// step is a row of the chart: a milestone of one phase.
type step struct {
	phase string
	milestone
}

// steps returns, phase by phase, the milestones that at least one run waited for. Within a phase, two
// milestones are in the order in which they came in the last run that waited for both.
func (v *view) steps() []step {
	var steps []step
	for _, phase := range wording.RecoveringPhases(v.runs) {
		var of []step
		for _, m := range milestones {
			if slices.ContainsFunc(v.runs, func(r *metrics.Result) bool { p := r.Phase(phase); return p != nil && m.at(p) != 0 }) {
				of = append(of, step{phase, m})
			}
		}
		slices.SortStableFunc(of, func(a, b step) int {
			for _, r := range slices.Backward(v.runs) {
				if p := r.Phase(phase); p != nil && a.at(p) != 0 && b.at(p) != 0 {
					return cmp.Compare(came(a.at(p)), came(b.at(p)))
				}
			}
			return 0
		})
		steps = append(steps, of...)
	}
	return steps
}

// came returns a time for comparison: a time that never came is infinite.
func came(s float64) float64 {
	if s < 0 {
		return math.Inf(1)
	}
	return s
}

// before returns when the last milestone of a phase came before an instant; zero if none did.
func before(p *metrics.Phase, at float64) float64 {
	last := 0.0
	for _, m := range milestones {
		if t := m.at(p); t < at {
			last = max(last, t)
		}
	}
	return last
}

// waterfallFigure plots a row for each phase and milestone. A bar shows the time from the start of the
// phase, with the part since the milestone before in full colour.
func waterfallFigure(v *view) figure.Figure {
	steps := v.steps()
	if len(steps) == 0 {
		return figure.Figure{}
	}
	f := figure.Figure{Legend: v.runKeys()}
	for _, s := range slices.Backward(steps) {
		f.Y.Names = append(f.Y.Names, s.phase+": "+s.name)
	}
	// Rows are counted from the bottom, but read from the top.
	row := func(i int) float64 { return float64(len(steps) - 1 - i) }
	for i, r := range v.runs {
		p := figure.Panel{Heading: v.labels[i], Color: v.colors[i]}
		seen := map[string]float64{} // up to which time the steps of a phase are drawn
		for j, s := range steps {
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
			if since := before(ph, at); seen[s.phase] != at { // the first of several at one instant
				box.X0, box.X1, seen[s.phase] = since, at, at
				p.Bars = append(p.Bars, box)
			}
			f.X.Max = math.Max(f.X.Max, at)
		}
		f.Panels = append(f.Panels, p)
	}
	f.Y.Min, f.Y.Max = -0.6, float64(len(steps))-0.4
	f.X.Max = figure.Positive(f.X.Max)
	f.X.Label, f.X.Unit = "time from the start of the phase "+wording.ClockFormat(f.X.Max), figure.Instants
	return f
}
