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
	Setting string // a variable of the scenario
	Asked   float64
	Least   bool // fewer fail, as of schedulers; else more do
	// Low and High are the ends of the values that will do: those with the highest one or, if
	// Least, those with the lowest. They are NaN if no value will do.
	Low, High float64
	Max       float64 // that the setting can have
}

// ErrNoFormula is wrapped by the errors of Solve about a limit that no formula speaks of.
var ErrNoFormula = errors.New("no formula")

// solved lists the settings that Solve looks for.
var solved = []struct {
	setting string
	least   bool
}{{"nodes", false}, {"system_jobs", false}, {"schedulers", true}}

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
	w := &Within{Estimate: e.total(limit.Metric)}
	if math.IsNaN(w.Estimate) {
		return nil, fmt.Errorf("%w gives %s: there are ones for %s", ErrNoFormula, limit.Metric, strings.Join(e.known(), ", "))
	}
	w.OK = w.Estimate <= *limit.Max
	variables, err := spec.Variables()
	if err != nil {
		return nil, err
	}
	for _, s := range solved {
		holds := func(value int) bool {
			with := spec
			with.Set(s.setting, value)
			e, err := Of(with)
			return err == nil && e.total(limit.Metric) <= *limit.Max // other values may need others beside them
		}
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
		b.Max = float64(most)
		b.Low, b.High = solve(most, s.least, holds)
		w.Bounds = append(w.Bounds, b)
	}
	return w, nil
}

// solve returns the ends of a stretch of values, of those from 1 to most, that hold: the stretch
// with the greatest or with the least of all. What holds need not do so for all values on one
// side: few jobs leave workers idle, and so do many workers. A stretch between two steps of a
// quarter is not found.
func solve(most int, least bool, holds func(int) bool) (low, high float64) {
	var steps []int
	for v := 1; v < most; v += max(1, v/4) {
		steps = append(steps, v)
	}
	steps = append(steps, most)
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
// counts. The storm must have it; a phase without a formula for it has none of it.
func (e *Estimate) total(path string) float64 {
	name, ok := strings.CutPrefix(path, "totals.")
	if !ok {
		return e.Value(path)
	}
	total := e.Value("phases.storm." + name)
	m, _ := metrics.PhaseMetric(name)
	for _, phase := range []string{"register", "drain"} {
		switch v := e.Value("phases." + phase + "." + name); {
		case math.IsNaN(v):
		case m.Time():
			total = math.Max(total, v)
		default:
			total += v
		}
	}
	return total
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
