package chart

import (
	"image/color"
	"math"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

func init() {
	register(chart{rank: 10, name: "utilisation", title: "How busy workers and cores were", figure: utilisationFigure})
}

// mostStretches is the number of stretches of time that a share in use is averaged over.
// Finer ones would show the ups and downs of single seconds and nothing else.
const mostStretches = 150

// fewPoints is the number of points up to which each can be seen by itself.
const fewPoints = 30

// utilisationFigure plots the share of workers and cores in use: means over stretches of
// time, in front of the lowest and the highest sample of each.
func utilisationFigure(v *view) figure.Figure {
	f := figure.Figure{X: v.timeAxis(), Y: figure.Axis{Label: "share in use", Unit: figure.Shares, Max: 1}}
	found := false
	for i, r := range v.runs {
		p := v.timePanel(i)
		for _, u := range []struct {
			name, series string
			color        color.NRGBA
		}{{"workers", metrics.SeriesWorkers, figure.Orange}, {"cores", metrics.SeriesCPU, figure.Sky}} {
			s := r.SeriesByName(u.series)
			if s == nil || len(s.AtS) == 0 {
				continue
			}
			found = true
			l, sp := stretches(*s, v.end/mostStretches)
			l.Name, l.Color, sp.Color = u.name, u.color, u.color
			p.Lines = append(p.Lines, l)
			if len(sp.X) > 0 {
				p.Spreads = append(p.Spreads, sp)
				f.Note = "lines: means over " + wording.Duration(v.end/mostStretches) + "; shades: lowest and highest samples"
			}
		}
		f.Panels = append(f.Panels, p)
	}
	if !found {
		return figure.Figure{}
	}
	f.Legend = figure.KeysOf(f.Panels)
	return f
}

// stretches returns the means of a series over stretches of some width, as a line, and the
// lowest and highest values of each stretch. A series of few points stays as it is and has
// no spread.
func stretches(s metrics.Series, width float64) (figure.Line, figure.Spread) {
	first, last := s.AtS[0], s.AtS[len(s.AtS)-1]
	n := int(math.Ceil((last - first) / width))
	if !(width > 0) || len(s.AtS) <= fewPoints || n < 1 {
		return figure.Line{X: s.AtS, Y: s.Value}, figure.Spread{}
	}
	var l figure.Line
	var sp figure.Spread
	next := 0 // the first point not before the stretch
	for i := range n {
		from := first + float64(i)*width
		to := min(from+width, last)
		at, value := []float64{from}, []float64{s.At(from)}
		for ; next < len(s.AtS) && (s.AtS[next] < to || i == n-1); next++ {
			at, value = append(at, s.AtS[next]), append(value, s.Value[next])
		}
		at, value = append(at, to), append(value, s.At(to))
		mean, low, high := meanAndBounds(at, value)
		for _, x := range []float64{from, to} {
			sp.X, sp.Low, sp.High = append(sp.X, x), append(sp.Low, low), append(sp.High, high)
		}
		l.X, l.Y = append(l.X, (from+to)/2), append(l.Y, mean)
	}
	return l, sp
}

// meanAndBounds returns the mean over time, the lowest and the highest value of a curve.
func meanAndBounds(at, value []float64) (mean, low, high float64) {
	low, high = value[0], value[0]
	area := 0.0
	for i := 1; i < len(at); i++ {
		area += (at[i] - at[i-1]) * (value[i] + value[i-1]) / 2
		low, high = min(low, value[i]), max(high, value[i])
	}
	if span := at[len(at)-1] - at[0]; span > 0 {
		return min(max(area/span, low), high), low, high
	}
	return value[0], low, high
}
