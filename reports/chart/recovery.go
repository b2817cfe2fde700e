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
		rank: 4, name: "recovery", title: "Recovery time per phase",
		note:   "solid: until ready, unacked and pending are empty; light: until broker and state hold no pending evaluation",
		figure: recoveryFigure,
	})
	register(chart{
		rank: 4, name: "pareto", title: "Raft entries against recovery",
		note: "lower left is better; the line joins the brokers that no other beats in both, among those whose invariants held; " +
			"a cross is a run that broke one",
		figure: paretoFigure,
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

// fewestCompared is how many brokers it takes to have a trade-off to look at.
const fewestCompared = 3

// paretoFigure plots a panel for each phase with something to recover from, and in it a point
// for each run.
func paretoFigure(v *view) figure.Figure {
	brokers := wording.Brokers(v.runs)
	slices.Sort(brokers)
	if len(slices.Compact(brokers)) < fewestCompared {
		return figure.Figure{}
	}
	f := figure.Figure{
		Legend: v.runKeys(),
		X:      figure.Axis{Label: "Raft entries of the phase"},
		Y:      figure.Axis{Label: "time until nothing is pending", Unit: figure.Instants},
	}
	var entries, times []float64
	for _, name := range wording.RecoveringPhases(v.runs) {
		p := v.paretoPanel(name)
		if len(p.Lines) == 0 {
			continue
		}
		f.Panels = append(f.Panels, p)
		for _, l := range p.Lines {
			entries, times = append(entries, l.X...), append(times, l.Y...)
		}
	}
	if len(f.Panels) == 0 {
		return figure.Figure{}
	}
	f.X, f.Y = spanning(f.X, entries), spanning(f.Y, times)
	if !f.Y.Log {
		f.Y.Label += " " + wording.ClockFormat(f.Y.Max)
	}
	return f
}

// spanning returns the axis with room for the values: from zero on, or logarithmic if most of
// them would lie together at zero.
func spanning(a figure.Axis, values []float64) figure.Axis {
	most, least := slices.Max(values), figure.LeastPositive(values)
	a.Max = figure.Positive(1.08 * most)
	if most > 8*least {
		a.Log, a.Max = true, 1.4*most
		a.Min = figure.LowEnd(0.7*least, a.Max)
	}
	return a
}

// tradeOff is what a run cost and how long it took.
type tradeOff struct{ entries, recovery float64 }

func (v *view) paretoPanel(phase string) figure.Panel {
	p := figure.Panel{Heading: phase, Color: figure.Ink}
	var sound []tradeOff
	for i, r := range v.runs {
		ph := r.Phase(phase)
		if ph == nil || ph.RecoveryS < 0 {
			continue
		}
		at := tradeOff{float64(ph.RaftEntries), ph.RecoveryS}
		p.Lines = append(p.Lines, figure.Line{
			Name: v.labels[i], Color: v.colors[i], X: []float64{at.entries}, Y: []float64{at.recovery}, Dotted: true,
			Summary: wording.Grouped(at.entries) + " entries, " + wording.Clock(at.recovery),
		})
		p.Tags = append(p.Tags, figure.Tag{Text: v.labels[i], X: at.entries, Y: at.recovery})
		if slices.ContainsFunc(r.Invariants, func(c metrics.Invariant) bool { return !c.OK }) {
			p.Crosses = append(p.Crosses, figure.Cross{X: at.entries, Y: at.recovery, Color: v.colors[i]})
		} else {
			sound = append(sound, at)
		}
	}
	if best := frontier(sound); len(best) > 1 {
		line := figure.Line{Name: "not beaten in both", Color: figure.Grey, Dotted: true}
		for _, at := range best {
			line.X, line.Y = append(line.X, at.entries), append(line.Y, at.recovery)
		}
		p.Lines = append([]figure.Line{line}, p.Lines...)
	}
	return p
}

// frontier returns the trade-offs that no other one equals or beats in both entries and recovery, the one with the
// fewest entries first.
func frontier(all []tradeOff) (best []tradeOff) {
	all = slices.SortedFunc(slices.Values(all), func(a, b tradeOff) int {
		return cmp.Or(cmp.Compare(a.entries, b.entries), cmp.Compare(a.recovery, b.recovery))
	})
	for _, at := range all {
		if len(best) == 0 || at.recovery < best[len(best)-1].recovery {
			best = append(best, at)
		}
	}
	return best
}
