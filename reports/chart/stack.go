package chart

import (
	"image/color"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
)

// part is one layer of a stack.
type part struct {
	name  string
	color color.NRGBA
	// series is the name of one. A name that ends in * stands for the sum of all series with
	// that prefix which no other part of the stack names.
	series string
}

// stacked returns a figure of stacked areas over time, with a detail of the totals of each
// run. It has no panels if no run has recorded any of the parts.
func (v *view) stacked(label string, parts []part, detail func(metrics.Phase) string) figure.Figure {
	f := figure.Figure{X: v.timeAxis(), Y: figure.Axis{Label: label}}
	for i, areas := range v.stack(parts) {
		p := v.timePanel(i)
		p.Areas, p.Detail = areas, detail(v.runs[i].Totals)
		f.Panels = append(f.Panels, p)
	}
	f.Legend = figure.KeysOf(f.Panels)
	return f.FitY()
}

// perPart bounds the points of one layer. A stack has as many as all its layers together.
const perPart = 600

// stack lays the parts of each run on top of each other. It leaves out the parts that are
// zero in every run, so that the legend lists only what can be seen.
func (v *view) stack(parts []part) [][]figure.Area {
	sums := make([][]metrics.Series, len(v.runs)) // by run and part
	seen := make([]bool, len(parts))
	for i, r := range v.runs {
		for j, p := range parts {
			s := sum(matching(r, p, parts)).Thin(perPart)
			sums[i] = append(sums[i], s)
			seen[j] = seen[j] || len(s.Value) > 0 && slices.Max(s.Value) > 0
		}
	}
	out := make([][]figure.Area, len(v.runs))
	for i := range v.runs {
		x := metrics.Instants(append(sums[i], eves(sums[i]))...)
		base := make([]float64, len(x))
		for j, p := range parts {
			if !seen[j] || len(x) == 0 {
				continue
			}
			y := make([]float64, len(x))
			for k, at := range x {
				y[k] = base[k] + sums[i][j].SoFar(at)
			}
			out[i] = append(out[i], figure.Area{Name: p.name, Color: p.color, X: x, Y: y, Base: base})
			base = y
		}
	}
	return out
}

// eves returns an instant just before the first of each series, where it is still zero: without it
// a layer would rise to its first point from the point before of any other layer.
func eves(of []metrics.Series) (s metrics.Series) {
	for _, o := range of {
		if len(o.AtS) > 0 && o.AtS[0] > eve {
			s.AtS = append(s.AtS, o.AtS[0]-eve)
		}
	}
	return s
}

const eve = 1e-3 // seconds

// matching returns the series of a part.
func matching(r *metrics.Result, p part, parts []part) []metrics.Series {
	var out []metrics.Series
	prefix, wild := strings.CutSuffix(p.series, "*")
	for _, s := range r.Series {
		claimed := slices.ContainsFunc(parts, func(o part) bool { return o.series == s.Name })
		if s.Name == p.series || wild && strings.HasPrefix(s.Name, prefix) && !claimed {
			out = append(out, s)
		}
	}
	return out
}

// sum adds series up at every instant of any of them.
func sum(of []metrics.Series) metrics.Series {
	if len(of) == 1 {
		return of[0]
	}
	s := metrics.Series{AtS: metrics.Instants(append(of, eves(of))...)}
	for _, at := range s.AtS {
		total := 0.0
		for _, o := range of {
			total += o.SoFar(at)
		}
		s.Value = append(s.Value, total)
	}
	return s
}
