package reports

import (
	"image/color"
	"math"

	"github.com/simctl/simctl/metrics"
)

// mostStretches is into how many stretches of time a share in use is summed up: finer
// ones would show the ups and downs of single seconds and nothing else.
const mostStretches = 150

// fewPoints is how many points can be seen each by itself.
const fewPoints = 30

// utilisation is the share of workers and cores in use, as means over stretches of time
// in front of the lowest and the highest sample of each.
func (v *view) utilisation() figure {
	f := figure{
		id: "utilisation", title: "How busy workers and cores were", subtitle: v.subtitle,
		x: v.timeAxis(), y: axis{label: "share in use", unit: shares, max: 1},
	}
	found := false
	for i, r := range v.runs {
		p := v.timePanel(i)
		for _, u := range []struct {
			name, series string
			color        color.NRGBA
		}{{"workers", metrics.SeriesWorkers, orange}, {"cores", metrics.SeriesCPU, sky}} {
			s := r.SeriesByName(u.series)
			if s == nil || len(s.AtS) == 0 {
				continue
			}
			found = true
			l, sp := stretches(*s, v.end/mostStretches)
			l.name, l.color, sp.color = u.name, u.color, u.color
			p.lines = append(p.lines, l)
			if len(sp.x) > 0 {
				p.spreads = append(p.spreads, sp)
				f.note = "lines: means over " + duration(v.end/mostStretches) + "; shades: lowest and highest samples"
			}
		}
		f.panels = append(f.panels, p)
	}
	if !found {
		return figure{}
	}
	f.legend = keysOf(f.panels)
	return f
}

// stretches sums a series up over stretches of some width: their means, as a line, and
// their lowest and highest values. A series of few points stays as it is, without a spread.
func stretches(s metrics.Series, width float64) (line, spread) {
	first, last := s.AtS[0], s.AtS[len(s.AtS)-1]
	n := int(math.Ceil((last - first) / width))
	if !(width > 0) || len(s.AtS) <= fewPoints || n < 1 {
		return line{x: s.AtS, y: s.Value}, spread{}
	}
	var l line
	var sp spread
	next := 0 // the first point not before the stretch
	for i := range n {
		from := first + float64(i)*width
		to := min(from+width, last)
		at, value := []float64{from}, []float64{valueAt(s, from)}
		for ; next < len(s.AtS) && (s.AtS[next] < to || i == n-1); next++ {
			at, value = append(at, s.AtS[next]), append(value, s.Value[next])
		}
		at, value = append(at, to), append(value, valueAt(s, to))
		mean, low, high := summed(at, value)
		for _, x := range []float64{from, to} {
			sp.x, sp.low, sp.high = append(sp.x, x), append(sp.low, low), append(sp.high, high)
		}
		l.x, l.y = append(l.x, (from+to)/2), append(l.y, mean)
	}
	return l, sp
}

// summed returns the mean over time and the bounds of a curve.
func summed(at, value []float64) (mean, low, high float64) {
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
