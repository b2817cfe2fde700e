package reports

import (
	"math"

	"github.com/simctl/simctl/metrics"
)

// recovery is one group of bars per phase, one bar per run: solid until the queue was
// empty, light until everything had recovered.
func (v *view) recovery() figure {
	f := figure{
		id: "recovery", title: "Recovery time per phase", subtitle: v.subtitle, legend: v.runKeys(),
		note: "solid: until ready, unacked and pending are empty; light: until broker and state hold no pending evaluation",
		y:    axis{label: "time from the start of the phase", unit: instants},
	}
	p := panel{}
	var heights []float64
	for _, name := range v.recoveringPhases() {
		group := float64(len(f.x.names))
		f.x.names = append(f.x.names, name)
		width := 0.8 / float64(len(v.runs))
		for i, r := range v.runs {
			ph := r.Phase(name)
			if ph == nil {
				continue
			}
			x := group - 0.4 + width*float64(i)
			gap := width * 0.06
			box := bar{x0: x + gap, x1: x + width - gap, color: v.colors[i]}
			if ph.RecoveryS < 0 {
				box.label = never
				p.bars = append(p.bars, box)
				continue
			}
			heights = append(heights, ph.RecoveryS)
			solid, light := box, box
			solid.y1 = math.Max(ph.QueueEmptyS, 0)
			light.light = true
			light.y0, light.y1, light.label = solid.y1, ph.RecoveryS, clock(ph.RecoveryS)
			if ph.QueueEmptyS >= 0 && ph.QueueEmptyS < 0.95*ph.RecoveryS {
				light.detail = "queue empty " + clock(ph.QueueEmptyS)
			}
			p.bars = append(p.bars, solid, light)
		}
	}
	if len(p.bars) == 0 {
		return figure{}
	}
	f.panels = []panel{p}
	f.x.min, f.x.max = -0.5, float64(len(f.x.names))-0.5
	f.y.max = positive(top(f.panels))
	f.y.label += " " + clockFormat(f.y.max)
	return f.logBars(heights)
}

// logBars switches the vertical axis to logarithmic when the bars need it.
func (f figure) logBars(heights []float64) figure {
	if !tooWide(heights) {
		return f
	}
	f.y.log, f.y.min = true, f.y.max
	for _, h := range heights {
		if h > 0 {
			f.y.min = math.Min(f.y.min, h)
		}
	}
	f.y.min = lowEnd(f.y.min/2, f.y.max)
	return f
}

// recoveringPhases are the phases in which any run had something to recover from.
func (v *view) recoveringPhases() []string { return recoveringPhases(v.runs) }

func recoveringPhases(runs []*metrics.Result) []string {
	var names []string
	for _, name := range phaseNames(runs) {
		if !idle(phasesOf(runs, name)) {
			names = append(names, name)
		}
	}
	return names
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

// waterfall is a row per phase and milestone: how long after the phase's start it came,
// the part after the milestone before it in full colour.
func (v *view) waterfall() figure {
	f := figure{
		id: "waterfall", title: "Steps of the recovery", subtitle: v.subtitle, legend: v.runKeys(),
		note: "full colour: the time since the step before",
	}
	type step struct {
		phase string
		milestone
	}
	var steps []step
	for _, phase := range v.recoveringPhases() {
		for _, m := range milestones {
			for _, r := range v.runs {
				if p := r.Phase(phase); p != nil && m.at(p) != 0 {
					steps = append(steps, step{phase, m})
					f.y.names = append(f.y.names, phase+": "+m.name)
					break
				}
			}
		}
	}
	if len(steps) == 0 {
		return figure{}
	}
	// Rows are counted from the bottom, but read from the top.
	row := func(i int) float64 { return float64(len(steps) - 1 - i) }
	for i, r := range v.runs {
		p := panel{heading: v.labels[i], color: v.colors[i]}
		phase, before := "", 0.0
		for j, s := range steps {
			if s.phase != phase {
				phase, before = s.phase, 0
			}
			ph := r.Phase(s.phase)
			if ph == nil {
				continue
			}
			box := bar{y0: row(j) - 0.3, y1: row(j) + 0.3, color: v.colors[i], horizontal: true}
			at := s.at(ph)
			if at <= 0 {
				box.label = never
				if at == 0 {
					box.label = "none"
				}
				p.bars = append(p.bars, box)
				continue
			}
			light := box
			light.light, light.x1, light.label = true, at, clock(at)
			p.bars = append(p.bars, light)
			if at > before {
				box.x0, box.x1 = before, at
				p.bars = append(p.bars, box)
				before = at
			}
			f.x.max = math.Max(f.x.max, at)
		}
		f.panels = append(f.panels, p)
	}
	for i, j := 0, len(f.y.names)-1; i < j; i, j = i+1, j-1 {
		f.y.names[i], f.y.names[j] = f.y.names[j], f.y.names[i]
	}
	f.y.min, f.y.max = -0.6, float64(len(steps))-0.4
	f.x.max = positive(f.x.max)
	f.x.label, f.x.unit = "time from the start of the phase "+clockFormat(f.x.max), instants
	return f
}
