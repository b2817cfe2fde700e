package chart

import (
	"math"
	"slices"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

// overlaid is a quantity of simulated runs and real ones.
type overlaid struct {
	name, title, label, series string
	grows                      bool // plotted from the phase's start on
}

// What Overlay plots. Of these, Both plots the first two.
var quantities = []overlaid{
	{"pending", "Pending evaluations", "pending evaluations", metrics.SeriesPending, false},
	{"raft", "Growth of the Raft log", "entries since the phase began", metrics.SeriesRaftIndex, true},
	{"canceled", "Canceled evaluations", "evaluations since the phase began", metrics.SeriesCanceled, true},
	{"down", "Nodes that are down", "nodes", metrics.SeriesNodesDown, false},
}

// sides explains the colours of an overlay.
var sides = []figure.Key{{Name: "real", Color: figure.Vermillion}, {Name: "simulated", Color: figure.Blue}}

// Overlay returns charts of simulated runs and real ones: one for each phase of the first
// real run, and each quantity that moves in it.
func Overlay(real, simulated []*metrics.Result) []figure.Figure {
	var out []figure.Figure
	subtitle := wording.Subtitle(real[:1])
	for _, phase := range real[0].Phases {
		for _, o := range quantities {
			p := o.panel(real, simulated, phase.Name)
			if !moves(p) {
				continue
			}
			p.Heading = "Nomad " + real[0].Run.Target
			out = append(out, sinceBegin(figure.Figure{
				ID: o.name + "-" + phase.Name, Title: o.title + " in phase " + phase.Name, Subtitle: subtitle,
				Y: figure.Axis{Label: o.label}, Legend: sides, Panels: []figure.Panel{p},
			}))
		}
	}
	return out
}

// Both returns one chart of simulated runs and real ones. It has two panels for each phase in which the first real run
// processed evaluations: pending evaluations and, below them, the growth of the Raft log.
func Both(real, simulated []*metrics.Result) figure.Figure {
	f := figure.Figure{
		Title: "Nomad " + real[0].Run.Target + ", real and simulated", Subtitle: wording.Subtitle(real[:1]),
		Y: figure.Axis{Label: "evaluations, entries"}, Legend: sides,
	}
	for _, o := range quantities[:2] {
		for _, phase := range real[0].Phases {
			if phase.EvalsProcessed == 0 {
				continue
			}
			p := o.panel(real, simulated, phase.Name)
			p.Heading, p.Detail = phase.Name, o.label
			f.Panels = append(f.Panels, p)
		}
	}
	return sinceBegin(f)
}

// sinceBegin fits the axes to lines whose times count from the beginning of a phase.
func sinceBegin(f figure.Figure) figure.Figure {
	longest := 0.0
	for _, p := range f.Panels {
		for _, l := range p.Lines {
			longest = math.Max(longest, l.X[len(l.X)-1])
		}
	}
	f.X = figure.Axis{Label: "time since the phase began " + wording.ClockFormat(longest), Unit: figure.Instants, Max: figure.Positive(longest)}
	return f.FitY()
}

// panel plots the quantity in a phase. The lines of the side with fewer runs are drawn last, since many lines would hide a
// few.
func (o overlaid) panel(real, simulated []*metrics.Result, phase string) figure.Panel {
	p := figure.Panel{Color: figure.Ink}
	below, above := side{sides[1], simulated}, side{sides[0], real}
	if len(above.runs) > len(below.runs) {
		below, above = above, below
	}
	for _, s := range []side{below, above} {
		for _, r := range s.runs {
			l := inPhase(r, phase, o.series, o.grows)
			l.Name, l.Color = s.Name, s.Color
			if len(l.X) > 0 {
				p.Lines = append(p.Lines, l)
			}
		}
	}
	return p
}

// side is the real or the simulated runs, with the name and the colour of their lines.
type side struct {
	figure.Key
	runs []*metrics.Result
}

// inPhase returns a series of a run over the time of a phase. A series has no points where it does
// not change.
func inPhase(r *metrics.Result, phase, series string, grows bool) figure.Line {
	var l figure.Line
	p, s := r.Phase(phase), r.SeriesByName(series)
	if p == nil || s == nil || len(s.AtS) == 0 {
		return l
	}
	base := 0.0
	if grows {
		base = s.At(p.StartS)
	}
	add := func(at float64) { l.X, l.Y = append(l.X, at-p.StartS), append(l.Y, s.At(at)-base) }
	add(p.StartS)
	for _, at := range s.AtS {
		if at > p.StartS && at < p.EndS {
			add(at)
		}
	}
	add(p.EndS)
	return l
}

// moves reports whether any line of the panel changes its value.
func moves(p figure.Panel) bool {
	return slices.ContainsFunc(p.Lines, func(l figure.Line) bool {
		return slices.ContainsFunc(l.Y, func(v float64) bool { return v != l.Y[0] })
	})
}
