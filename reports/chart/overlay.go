package chart

import (
	"math"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

// overlaid are the series that Overlay plots.
var overlaid = []struct {
	name, title, label, series string
	grows                      bool // plotted from the phase's start on
}{
	{"pending", "Pending evaluations", "pending evaluations", metrics.SeriesPending, false},
	{"raft", "Growth of the Raft log", "entries since the phase began", metrics.SeriesRaftIndex, true},
	{"canceled", "Canceled evaluations", "evaluations since the phase began", metrics.SeriesCanceled, true},
	{"down", "Nodes that are down", "nodes", metrics.SeriesNodesDown, false},
}

// Overlay returns charts in which simulated runs lie on top of real ones: one for each phase of the first
// real run, and each quantity that moves in it.
func Overlay(real, simulated []*metrics.Result) []figure.Figure {
	var out []figure.Figure
	subtitle := wording.Subtitle(real[:1])
	for _, phase := range real[0].Phases {
		for _, o := range overlaid {
			f := figure.Figure{
				ID: o.name + "-" + phase.Name, Title: o.title + " in phase " + phase.Name, Subtitle: subtitle,
				Y:      figure.Axis{Label: o.label},
				Legend: []figure.Key{{Name: "real", Color: figure.Vermillion}, {Name: "simulated", Color: figure.Blue}},
			}
			p := figure.Panel{Heading: "Nomad " + real[0].Run.Target, Color: figure.Ink}
			moves := false
			for i, runs := range [][]*metrics.Result{simulated, real} {
				key := f.Legend[1-i]
				for _, r := range runs {
					l := inPhase(r, phase.Name, o.series, o.grows)
					l.Name, l.Color = key.Name, key.Color
					if len(l.X) > 0 {
						p.Lines = append(p.Lines, l)
						f.X.Max = math.Max(f.X.Max, l.X[len(l.X)-1])
						moves = moves || varies(l.Y)
					}
				}
			}
			if !moves {
				continue
			}
			f.Panels = []figure.Panel{p}
			f.X = figure.Axis{Label: "time since the phase began " + wording.ClockFormat(f.X.Max), Unit: figure.Instants, Max: figure.Positive(f.X.Max)}
			out = append(out, f.FitY())
		}
	}
	return out
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

func varies(values []float64) bool {
	for _, v := range values {
		if v != values[0] {
			return true
		}
	}
	return false
}
