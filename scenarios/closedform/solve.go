package closedform

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
)

// Within says how a run stands to a limit on one of its figures, and how far single settings
// can go until it fails.
type Within struct {
	Estimate float64 // the figure of the run as it is
	OK       bool    // it is within the limit
	Bounds   []Bound
}

// Bound is how far a setting can go while all others stay as they are.
type Bound struct {
	Setting string // a variable of the scenario, or silent_nodes
	Asked   float64
	Least   bool // too small a value fails, as of schedulers; otherwise too large a one does
	// Low and High are the ends of the values that will do: those with the highest one or, if
	// Least, those with the lowest. They are NaN if no value will do.
	Low, High float64
	Min, Max  float64 // that the setting can have beside the others
	// Extreme says why all values will do, by the one with the highest figure, or why none will,
	// by the one with the lowest. It is nil if only some will.
	Extreme *Extreme
}

// Extreme is the figure of a limit at one value of a setting, and what it mostly consists of.
type Extreme struct {
	At     float64 // the setting
	Value  float64 // the figure
	Figure string  // path of the phase's figure that has the part
	Part   Part
	Same   bool // the part is what it is at the value that was asked
}

// all reports whether all values will do.
func (b Bound) all() bool { return b.Low <= b.Min && b.High >= b.Max }

// ErrNoFormula is wrapped by the errors of Solve about a limit that no formula speaks of.
var ErrNoFormula = errors.New("no formula")

// silentNodes is a setting that is no variable: how many of the nodes fall silent.
const silentNodes = "silent_nodes"

// solved lists the settings that Solve looks for.
var solved = []struct {
	setting string
	least   bool
}{{"nodes", false}, {silentNodes, false}, {"system_jobs", false}, {"schedulers", true}, {"servers", true}}

// mostSolved is the largest value of a setting that Solve tries.
const mostSolved = 1_000_000

// Solve finds the bounds of the settings within which the figure of a limit, which has a
// maximum, stays below it. The error is that of Of, or wraps ErrNoFormula.
func Solve(spec scenarios.Spec, limit metrics.Threshold) (*Within, error) {
	if limit.Max == nil {
		return nil, fmt.Errorf("%w is solved for %s: it must be METRIC<=NUMBER, such as recovery_s<=300", ErrNoFormula, limit)
	}
	e, err := Of(spec)
	if err != nil {
		return nil, err
	}
	w := &Within{}
	w.Estimate, _ = e.total(limit.Metric)
	if math.IsNaN(w.Estimate) {
		return nil, fmt.Errorf("%w gives %s: there are ones for %s", ErrNoFormula, limit.Metric, strings.Join(e.known(), ", "))
	}
	w.OK = w.Estimate <= *limit.Max
	variables, err := spec.Variables()
	if err != nil {
		return nil, err
	}
	for _, s := range solved {
		b := Bound{Setting: s.setting, Least: s.least}
		most := mostSolved
		for _, v := range variables {
			if v.Name == s.setting {
				asked, _ := v.Value.(int64)
				b.Asked = float64(asked)
				if v.Max != nil {
					most = min(most, int(*v.Max))
				}
			}
		}
		if s.setting == silentNodes {
			b.Asked, most = math.Round(e.Nodes*e.Silent), int(e.Nodes)
		}
		at := estimates(spec, s.setting, e.Nodes)
		low, high := solve(1, most, true, func(v int) bool { return at(v) != nil })
		b.Min, b.Max = low, high
		b.Low, b.High = solve(int(low), int(high), s.least, func(v int) bool {
			e := at(v)
			if e == nil {
				return false
			}
			value, _ := e.total(limit.Metric)
			return value <= *limit.Max
		})
		if math.IsNaN(b.Low) || b.all() {
			b.Extreme = extreme(b, limit.Metric, at)
		}
		w.Bounds = append(w.Bounds, b)
	}
	return w, nil
}

// estimates returns the estimates at values of a setting; nil for a value that the other settings
// do not allow.
func estimates(spec scenarios.Spec, setting string, nodes float64) func(value int) *Estimate {
	known := map[int]*Estimate{}
	return func(value int) *Estimate {
		e, ok := known[value]
		if !ok {
			with := spec
			if setting == silentNodes {
				with.Set("fraction", float64(value)/nodes)
			} else {
				with.Set(setting, value)
			}
			e, _ = Of(with)
			known[value] = e
		}
		return e
	}
}

// extreme returns the highest figure of a bound that all values keep, or the lowest of one that none
// keeps.
func extreme(b Bound, path string, at func(int) *Estimate) *Extreme {
	var out *Extreme
	asked := at(int(b.Asked))
	for _, v := range append(steps(int(b.Min), int(b.Max)), int(b.Asked)) {
		e := at(v)
		if e == nil {
			continue
		}
		value, most := e.total(path)
		if out != nil && (b.all() && value <= out.Value || !b.all() && value >= out.Value) {
			continue
		}
		out = &Extreme{At: float64(v), Value: value, Figure: most.Path}
		for _, p := range most.Parts {
			if p.Value >= out.Part.Value {
				out.Part = p
			}
		}
		out.Same = slices.Contains(asked.figure(most.Path).Parts, out.Part)
	}
	return out
}

// steps returns values from least to most, each a quarter larger than the one before.
func steps(least, most int) []int {
	var out []int
	for v := least; v < most; v += max(1, v/4) {
		out = append(out, v)
	}
	return append(out, most)
}

// solve returns the ends of a stretch of values between bottom and top for which holds is true: the
// stretch with the least such value if least is set, and else the one with the greatest. There may be
// several stretches: few jobs leave workers idle, and so do many workers. A stretch that lies between
// two values of steps is not found.
func solve(bottom, top int, least bool, holds func(int) bool) (low, high float64) {
	steps := steps(bottom, top)
	if !least {
		slices.Reverse(steps)
	}
	first := slices.IndexFunc(steps, holds)
	if first < 0 {
		return math.NaN(), math.NaN()
	}
	near, far := steps[first], steps[len(steps)-1]
	if first > 0 {
		near = edge(near, steps[first-1], holds)
	}
	for i := first + 1; i < len(steps); i++ {
		if !holds(steps[i]) {
			far = edge(steps[i-1], steps[i], holds)
			break
		}
	}
	return float64(min(near, far)), float64(max(near, far))
}

// edge returns the value nearest to bad, which fails, that holds as good does.
func edge(good, bad int, holds func(int) bool) int {
	for good-bad > 1 || bad-good > 1 {
		if middle := (good + bad) / 2; holds(middle) {
			good = middle
		} else {
			bad = middle
		}
	}
	return good
}

// total returns the figure of a path, also one of the totals: the latest time, or the sum of
// counts. Most is the phase's figure that says most about it. The storm must have it; a phase without
// a formula for it has none of it.
func (e *Estimate) total(path string) (value float64, most Figure) {
	name, ok := strings.CutPrefix(path, "totals.")
	if !ok {
		return e.Value(path), e.figure(path)
	}
	most = e.figure("phases.storm." + name)
	value = most.Value
	m, _ := metrics.PhaseMetric(name)
	for _, phase := range []string{"register", "drain"} {
		f := e.figure("phases." + phase + "." + name)
		if math.IsNaN(f.Value) {
			continue
		}
		if !m.Time() {
			value += f.Value
		}
		if f.Value > most.Value {
			most = f
		}
	}
	if m.Time() {
		value = most.Value
	}
	return value, most
}

// known returns the paths that total knows.
func (e *Estimate) known() []string {
	var paths []string
	for _, f := range e.Figures {
		paths = append(paths, strings.TrimPrefix(f.Path, "phases."))
		if name, ok := strings.CutPrefix(f.Path, "phases.storm."); ok {
			paths = append(paths, name)
		}
	}
	return paths
}
