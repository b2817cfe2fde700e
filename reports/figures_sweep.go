package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/simctl/simctl/metrics"
)

// sweepMetrics are the figures of a phase that a sweep is drawn for.
var sweepMetrics = []string{"raft_entries", "recovery_s"}

// sweepOf returns the runs as a sweep over the one or two numbers, besides their broker,
// that they differ in; nil when they differ otherwise. Seeds do not count: runs that differ
// in them alone are repetitions.
func sweepOf(runs []*metrics.Result) *metrics.Sweep {
	if len(runs) < 3 {
		return nil
	}
	s := &metrics.Sweep{Schema: metrics.Schema, Scenario: runs[0].Run.Scenario, Design: "grid"}
	for _, name := range varying(runs) {
		if name != "seed" {
			s.Axes = append(s.Axes, metrics.Axis{Name: name, Numeric: true})
		}
	}
	if n := len(s.Axes); n < 1 || n > 2 {
		return nil
	}
	for _, r := range runs {
		run := metrics.SweepRun{Broker: r.Run.Broker, Seed: r.Run.Seed, Attempts: 1, Result: r}
		for _, a := range s.Axes {
			v, ok := numeric(setting(r, a.Name))
			if !ok {
				return nil
			}
			run.Point = append(run.Point, exact(v))
		}
		if !slices.Contains(s.Brokers, run.Broker) {
			s.Brokers = append(s.Brokers, run.Broker)
		}
		s.Runs = append(s.Runs, run)
	}
	for i := range s.Axes {
		a := &s.Axes[i]
		for _, r := range s.Runs {
			a.Values = append(a.Values, r.Point[i])
		}
		slices.SortFunc(a.Values, func(p, q string) int { return int(math.Copysign(1, a.Number(p)-a.Number(q))) })
		a.Values = slices.Compact(a.Values)
	}
	return s
}

func numeric(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// reportFigures are those of a sweep that was given as so many runs: one for each figure.
func reportFigures(s *metrics.Sweep) []figure {
	v := newSweepView(s)
	var out []figure
	for _, path := range sweepPaths(s, nil) {
		if len(s.Axes) == 1 {
			out = append(out, v.curves(path, 0))
		} else {
			out = append(out, v.heatMap(path, 0, 1))
		}
	}
	return out
}

// sweepFigures are all charts of a sweep: for each figure a line chart along every axis, and
// a heat map and one of the ratio of brokers for every two axes.
func sweepFigures(s *metrics.Sweep, paths []string) []figure {
	v := newSweepView(s)
	var out []figure
	for _, path := range paths {
		if s.Design == "grid" || s.Design == "knee" {
			out = append(out, v.maps(path)...)
		}
		for i, a := range s.Axes {
			if a.Numeric && len(a.Values) > 1 {
				out = append(out, v.curves(path, i))
			}
		}
		if f := v.effects(path); len(f.panels) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// mostMaps is of how many pairs of axes there are heat maps.
const mostMaps = 6

func (v *sweepView) maps(path string) []figure {
	var out []figure
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

// writeSweepCharts draws the charts into dir and removes those of an earlier call that are
// not among them.
func writeSweepCharts(dir string, s *metrics.Sweep, paths []string) ([]string, error) {
	if len(s.Results()) == 0 {
		return nil, nil
	}
	var names []string
	for _, f := range sweepFigures(s, paths) {
		var buf bytes.Buffer
		if err := f.encode(&buf, "png"); err != nil {
			return names, fmt.Errorf("drawing the chart %s: %w", f.id, err)
		}
		name := f.id + ".png"
		if err := renameio.WriteFile(filepath.Join(dir, name), buf.Bytes(), 0o644); err != nil {
			return names, fmt.Errorf("writing the chart: %w", err)
		}
		names = append(names, name)
	}
	old, err := filepath.Glob(filepath.Join(dir, "sweep-*.png"))
	if err != nil {
		return names, fmt.Errorf("looking for charts in %s: %w", dir, err)
	}
	for _, path := range old {
		if !slices.Contains(names, filepath.Base(path)) {
			if err := os.Remove(path); err != nil {
				return names, fmt.Errorf("removing an older chart: %w", err)
			}
		}
	}
	return names, nil
}

// sweepView is what all charts of a sweep have in common.
type sweepView struct {
	s        *metrics.Sweep
	cells    map[string]metrics.Cell
	colors   []color.NRGBA // of the brokers
	subtitle string
}

func newSweepView(s *metrics.Sweep) *sweepView {
	v := &sweepView{s: s, cells: map[string]metrics.Cell{}, colors: brokerColors(s.Brokers), subtitle: subtitle(s.Results())}
	for _, c := range s.Cells() {
		v.cells[cellKey(c.Broker, c.Point)] = c
	}
	return v
}

func cellKey(broker string, point []string) string {
	return broker + "\x00" + strings.Join(point, "\x00")
}

// figure returns an empty chart of a figure; what tells it from others of the same path.
func (v *sweepView) figure(path, what string) figure {
	id := "sweep-" + strings.ReplaceAll(strings.TrimPrefix(path, "phases."), ".", "-")
	if what != "" {
		id += "-" + what
	}
	return figure{id: id, title: figureName(path), subtitle: v.subtitle}
}

// at returns a figure at a point under a broker, over its seeds.
func (v *sweepView) at(path, broker string, point []string) metrics.Spread {
	c, ok := v.cells[cellKey(broker, point)]
	if !ok {
		return metrics.Spread{None: true}
	}
	return c.Spread(path)
}

// rests returns the combinations of values that the axes other than those given have, as
// points that are empty at those.
func (v *sweepView) rests(without ...int) [][]string {
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

// over returns a figure over all combinations of the other axes: the median of their
// medians, from the lowest to the highest.
func (v *sweepView) over(path, broker string, rests [][]string, set map[int]string) metrics.Spread {
	var all []metrics.Spread
	for _, rest := range rests {
		point := slices.Clone(rest)
		for i, value := range set {
			point[i] = value
		}
		sp := v.at(path, broker, point)
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

// limitsOf returns the bounds that the sweep sets to a figure under a broker.
func (v *sweepView) limitsOf(path string) []limit {
	var out []limit
	m, _ := metricOf(path)
	for _, t := range v.s.Limits {
		for _, bound := range []*float64{t.Max, t.Min} {
			if t.Metric != path || bound == nil {
				continue
			}
			name := "limit " + short(*bound)
			if m.Name != "" && m.Time() {
				name = "limit " + clock(*bound)
			}
			if t.Broker != "" {
				name += " for " + t.Broker
			}
			out = append(out, limit{name: name, at: *bound})
		}
	}
	return out
}

// brokerColors gives brokers the colours that their runs have elsewhere.
func brokerColors(brokers []string) []color.NRGBA {
	var runs []*metrics.Result
	for _, b := range brokers {
		runs = append(runs, &metrics.Result{Run: metrics.Run{Broker: b}})
	}
	return runColors(runs)
}

// clockFormat says how instants up to a highest one are written.
func clockFormat(highest float64) string {
	if highest >= 3600 {
		return "(h:mm)"
	}
	return "(mm:ss)"
}

func categories(name string, values []float64) axis {
	a := axis{label: name, min: -0.5, max: float64(len(values)) - 0.5}
	for _, v := range values {
		a.names = append(a.names, strconv.FormatFloat(v, 'g', 6, 64))
	}
	return a
}
