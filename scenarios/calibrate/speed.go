package calibrate

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/metrics/agreement"
	"github.com/simctl/simctl/scenarios"
)

// bySpeed fits how fast processors are, by how long they were busy for each evaluation that was processed. The time in all would
// not do: where evaluations take longer, fewer of them are processed.
type bySpeed struct{ base string }

// faster are costs on processors that are so many times as fast.
type faster struct {
	base  string // a class or the path of a file
	times float64
}

// fastest is the highest speed that the search tries; the lowest is one by that.
const fastest = 16

func (f faster) factors() []Factor {
	return []Factor{{"speed", "the processors of " + f.base, f.times, f.times >= fastest || f.times <= 1./fastest}}
}

func (f faster) text(path, class, source string) []byte {
	return fmt.Appendf(nil, "class  = %q\ntitle  = %q\nsource = %q\nbase   = %q\n\nspeed = %v\n", class, title, source, f.seenFrom(path), f.times)
}

// seenFrom returns the base as a file at a path names it.
func (f faster) seenFrom(path string) string {
	if slices.Contains(scenarios.CostNames(), f.base) || filepath.IsAbs(f.base) {
		return f.base
	}
	base, err := filepath.Rel(filepath.Dir(path), f.base)
	if err != nil { // the path is absolute, and nobody knows where from
		return f.base
	}
	if base = filepath.ToSlash(base); !strings.Contains(base, "/") {
		base = "./" + base
	}
	return base
}

func (m bySpeed) start() costs { return faster{m.base, 1} }

// figures returns the time that processors were busy in phases of some length, by evaluations that were processed.
func (m bySpeed) figures(run int, repeats []*metrics.Result) (out []Figure) {
	for _, p := range repeats[0].Phases {
		f := Figure{Run: run, Phase: p.Name, What: "all cores busy, an evaluation", Unseen: math.NaN()}
		var each, busy []float64
		for _, r := range repeats {
			each, busy = append(each, m.value(f, r)), append(busy, agreement.Busy(r, p.Name))
		}
		if slices.Min(each) < 0 || slices.Min(busy) < leastS {
			continue
		}
		f.Real, f.weight = agreement.RangeOf(each).Median, agreement.RangeOf(busy).Median
		out = append(out, f)
	}
	return out
}

func (m bySpeed) value(f Figure, r *metrics.Result) float64 {
	p := r.Phase(f.Phase)
	if p == nil || p.EvalsProcessed == 0 {
		return -1
	}
	return agreement.Busy(r, f.Phase) / float64(p.EvalsProcessed)
}

// The search ends when a deviation is near enough to zero or, since what a storm comes to is partly chance, with the best of
// so many trials.
const (
	near   = 0.005
	trials = 6
)

// search follows the secant of the mean deviation, each weighted by how long the processors were busy.
func (m bySpeed) search(c *calibration, counts func(Figure) bool) (costs, error) {
	best, least := m.start(), math.Inf(1)
	x, slope := 0.0, -1.0 // at that logarithm of the speed, and by its change
	var lastX, lastOff float64
	for trial := range trials {
		at := faster{m.base, threeDigits(math.Exp(x))}
		off, err := m.off(c, at, counts)
		if err != nil {
			return nil, err
		}
		if math.Abs(off) < least {
			best, least = at, math.Abs(off)
		}
		if least < near {
			break
		}
		if trial > 0 && x != lastX {
			slope = min(max((off-lastOff)/(x-lastX), -3), -0.5)
		}
		lastX, lastOff = x, off
		x = min(max(x-off/slope, -math.Log(fastest)), math.Log(fastest))
	}
	return best, nil
}

// off returns the mean deviation of the figures that count.
func (m bySpeed) off(c *calibration, at costs, counts func(Figure) bool) (float64, error) {
	off, of, err := c.deviations(at, counts)
	sum, weights := 0.0, 0.0
	for i, f := range of {
		sum, weights = sum+off[i]*f.weight, weights+f.weight
	}
	return sum / weights, err
}

// threeDigits rounds to as many: nobody knows a speed better.
func threeDigits(v float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return v // it is no number
	}
	return rounded
}
