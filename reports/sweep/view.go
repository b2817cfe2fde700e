package sweep

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

// mainMetrics are the metrics of a phase that a sweep is drawn for.
var mainMetrics = []string{"raft_entries", "recovery_s"}

// MainFigures returns one chart for each of Paths: a line chart of one axis, a heat map of
// two. They open a report on runs that form a sweep.
func MainFigures(s *metrics.Sweep) []figure.Figure {
	v := newView(s)
	var out []figure.Figure
	for _, path := range Paths(s) {
		if len(s.Axes) == 1 {
			out = append(out, v.curves(path, 0))
		} else {
			out = append(out, v.heatMap(path, 0, 1))
		}
	}
	return out
}

// Figures returns all charts of a sweep for the figures of these paths: a line chart along
// every axis, a heat map of every two axes with one of the ratio of brokers, and the effects
// of the axes.
func Figures(s *metrics.Sweep, paths []string) []figure.Figure {
	v := newView(s)
	var out []figure.Figure
	for _, path := range paths {
		if s.Design == "grid" || s.Design == "knee" {
			out = append(out, v.maps(path)...)
		}
		for i, a := range s.Axes {
			if a.Numeric && len(a.Values) > 1 {
				out = append(out, v.curves(path, i))
			}
		}
		if f := v.effects(path); len(f.Panels) > 0 {
			out = append(out, f)
		}
	}
	return out
}

func (v *view) maps(path string) []figure.Figure {
	var out []figure.Figure
	for i, a := range v.s.Axes {
		for j := i + 1; j < len(v.s.Axes); j++ {
			b := v.s.Axes[j]
			if !a.Numeric || !b.Numeric || len(a.Values) < 2 || len(b.Values) < 2 || len(out) >= 2*mostMaps {
				continue
			}
			out = append(out, v.heatMap(path, i, j))
			if len(v.s.Brokers) > 1 {
				out = append(out, v.ratioMap(path, i, j))
			}
		}
	}
	return out
}

// view is what all charts of a sweep have in common.
type view struct {
	s        *metrics.Sweep
	byKey    map[string]metrics.Cell
	colors   []color.NRGBA // of the brokers
	subtitle string
}

func newView(s *metrics.Sweep) *view {
	v := &view{s: s, byKey: map[string]metrics.Cell{}, colors: figure.RunColors(s.Brokers), subtitle: wording.Subtitle(s.Results())}
	for _, c := range s.Cells() {
		v.byKey[cellKey(c.Broker, c.Point)] = c
	}
	return v
}

func cellKey(broker string, point []string) string {
	return broker + "\x00" + strings.Join(point, "\x00")
}

// figure returns an empty chart of a path. what tells it from others of the same path.
func (v *view) figure(path, what string) figure.Figure {
	id := "sweep-" + strings.ReplaceAll(strings.TrimPrefix(path, "phases."), ".", "-")
	if what != "" {
		id += "-" + what
	}
	return figure.Figure{ID: id, Title: wording.FigureName(path), Subtitle: v.subtitle}
}

// rests returns the combinations of values of the axes other than those given, as points that
// are empty at those.
func (v *view) rests(without ...int) [][]string {
	var out [][]string
	seen := map[string]bool{}
	for _, r := range v.s.Runs {
		rest := slices.Clone(r.Point)
		for _, i := range without {
			rest[i] = ""
		}
		if key := cellKey("", rest); !seen[key] {
			seen[key] = true
			out = append(out, rest)
		}
	}
	return out
}

// over returns a figure over several cells: those with the values set on some axes, and each of the
// combinations rests on the others. It is the median of the cells' medians, with the lowest and the highest value
// of any cell. It is Never if the time never came in one of the cells.
func (v *view) over(path, broker string, rests [][]string, set map[int]string) metrics.Spread {
	var all []metrics.Spread
	for _, rest := range rests {
		point := slices.Clone(rest)
		for i, value := range set {
			point[i] = value
		}
		sp := v.byKey[cellKey(broker, point)].Spread(path) // none of a cell that there is not
		if sp.Never {
			return sp
		}
		if !sp.None {
			all = append(all, sp)
		}
	}
	if len(all) == 0 {
		return metrics.Spread{None: true}
	}
	slices.SortFunc(all, func(a, b metrics.Spread) int { return int(math.Copysign(1, a.Median-b.Median)) })
	n := len(all)
	out := metrics.Spread{Median: (all[(n-1)/2].Median + all[n/2].Median) / 2, Low: all[0].Low, High: all[0].High}
	for _, sp := range all {
		out.Low, out.High = math.Min(out.Low, sp.Low), math.Max(out.High, sp.High)
	}
	return out
}

// limitsOf returns the limits of the sweep on a figure: those on a broker, or all of them if it
// is empty.
func (v *view) limitsOf(path, broker string) []figure.Limit {
	var out []figure.Limit
	for _, t := range v.s.Limits {
		for _, bound := range []*float64{t.Max, t.Min} {
			if t.Metric != path || bound == nil || broker != "" && t.Broker != "" && t.Broker != broker {
				continue
			}
			name := "limit " + wording.Figure(path, *bound, false)
			if t.Broker != "" {
				name += " for " + t.Broker
			}
			out = append(out, figure.Limit{Name: name, At: *bound})
		}
	}
	return out
}

// Paths returns the figures that a sweep is about: the main ones of each phase in which
// anything recovered, then those of its limits and its metrics.
func Paths(s *metrics.Sweep) []string {
	var paths []string
	for _, phase := range wording.RecoveringPhases(s.Results()) {
		for _, name := range mainMetrics {
			paths = append(paths, "phases."+phase+"."+name)
		}
	}
	for _, l := range s.Limits {
		paths = append(paths, l.Metric)
	}
	var distinct []string
	for _, p := range append(paths, s.Metrics...) {
		if !slices.Contains(distinct, p) {
			distinct = append(distinct, p)
		}
	}
	return distinct
}

// cellText formats a figure of a cell for people; a brief count has an SI prefix.
func cellText(path string, v metrics.Spread, briefly bool) string {
	switch {
	case v.None:
		return wording.Missing
	case v.Never:
		return wording.Never
	}
	return wording.Figure(path, v.Median, briefly)
}

// within reports whether the cells of a broker at some values meet the limits on a figure: one
// cell with every seed, many in their median. The limits judge figures as they are, not as
// they are written.
func (v *view) within(path, broker string, rests [][]string, set map[int]string) bool {
	var limits []metrics.Threshold
	for _, t := range v.s.Limits {
		if t.Metric == path && (t.Broker == "" || t.Broker == broker) {
			limits = append(limits, t)
		}
	}
	if len(limits) == 0 {
		return true
	}
	if len(rests) == 1 {
		point := slices.Clone(rests[0])
		for i, value := range set {
			point[i] = value
		}
		return v.byKey[cellKey(broker, point)].Passes(limits)
	}
	at := v.over(path, broker, rests, set)
	return !at.Never && !slices.ContainsFunc(limits, func(t metrics.Threshold) bool {
		return t.Max != nil && at.Median > *t.Max || t.Min != nil && at.Median < *t.Min
	})
}

// detail says all of a figure of a cell: where it is, its value with more digits than the cell
// has room for, how it spreads over seeds, and whether it keeps its limits.
func (v *view) detail(path, broker, where string, at metrics.Spread, within bool) string {
	text := where + ": " + wording.Never
	if !at.Never {
		text = where + ": " + wording.Precisely(path, at.Median)
		if at.Low != at.High {
			text += fmt.Sprintf(", from %s to %s", wording.Precisely(path, at.Low), wording.Precisely(path, at.High))
		}
	}
	for _, l := range v.limitsOf(path, broker) {
		verdict := "within "
		if !within {
			verdict = "fails "
		}
		text += ", " + verdict + l.Name
	}
	return text
}

// axisTitle heads the values of an axis, which stand there without their unit.
func axisTitle(a metrics.Axis) string {
	if a.Unit == "" {
		return a.Name
	}
	return fmt.Sprintf("%s (%s)", a.Name, a.Unit)
}
