package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/simctl/simctl/metrics"
)

// effect is how far an axis moves a figure over the values that the axis has.
type effect struct {
	axis string
	// factor is the figure at the level where it is highest, divided by the figure where it is lowest; it is at
	// least 1. A level is a value of the axis, or a quarter of the values if they are many. The figure at a level is
	// the geometric mean over the runs there. If axes are varied one at a time, only runs along this axis
	// count. If cells are missing, what the level adds in the best fit of the levels of all axes replaces the mean.
	// In a sample, factor is how far the best fit of all axes moves the figure from one end of the axis to the
	// other.
	factor float64
	// low and high are the values of the axis at the lowest and the highest level.
	low, high string
	// power is p where the figure grows as axis^p over its levels; zero if it does not.
	power float64
}

// countFloor and timeFloor stand for counts and times of zero, which have no logarithm: one, and
// the period of the samples that times come from.
const (
	countFloor = 1
	timeFloor  = 0.1
)

// effectsOn returns the effect of every axis on a figure under one broker, the strongest
// first. Axes of one level, and runs without the figure, have none.
func effectsOn(s *metrics.Sweep, path, broker string) []effect {
	var out []effect
	var fitted map[int]effect
	if s.Design == "sample" {
		fitted = fit(s, path, broker)
	}
	all := make([][]level, len(s.Axes))
	for i := range s.Axes {
		all[i] = levelsOf(s, i, path, broker)
	}
	if s.Design != "sample" && len(s.Base) == 0 {
		even(s, path, broker, all)
	}
	for i, axis := range s.Axes {
		if e, ok := fitted[i]; ok {
			out = append(out, e)
			continue
		}
		levels := all[i]
		if len(levels) < 2 {
			continue
		}
		byMean := func(a, b level) int { return cmp.Compare(a.mean, b.mean) }
		low, high := slices.MinFunc(levels, byMean), slices.MaxFunc(levels, byMean)
		out = append(out, effect{axis.Name, math.Exp(high.mean - low.mean), low.value + axis.Unit, high.value + axis.Unit, powerOf(axis, levels)})
	}
	slices.SortStableFunc(out, func(a, b effect) int { return cmp.Compare(b.factor, a.factor) })
	return out
}

// A power law counts as found if there are at least fewestLevels levels, and if it explains at least the
// share goodFit of the variance of their logarithms.
const (
	fewestLevels = 4
	goodFit      = 0.97
)

// powerOf fits a power law to the levels of an axis.
func powerOf(a metrics.Axis, levels []level) float64 {
	if len(levels) < fewestLevels || !a.Numeric || a.Number(a.Values[0]) <= 0 {
		return 0
	}
	var xs, ys []float64
	for _, l := range levels {
		if !slices.Contains(a.Values, l.value) {
			return 0 // a quarter of the values
		}
		xs, ys = append(xs, scaled(a, l.value)), append(ys, l.mean)
	}
	start, power := stat.LinearRegression(xs, ys, nil, false)
	if !(stat.RSquared(xs, ys, nil, start, power) >= goodFit) {
		return 0
	}
	return power
}

// level is one value of an axis, or several values taken together, with the logarithms of a figure there.
type level struct {
	value  string
	values []string
	logs   []float64
	mean   float64
}

// mostLevels is the number of values from which on the values of an axis are grouped into quarters.
const mostLevels = 12

func levelsOf(s *metrics.Sweep, axis int, path, broker string) []level {
	var levels []level
	for _, value := range s.Axes[axis].Values {
		l := level{value: value, values: []string{value}}
		for _, r := range s.Runs {
			if r.Broker != broker || r.Point[axis] != value || !varies(s, axis, r.Point) {
				continue
			}
			if y, ok := logOf(r, path); ok {
				l.logs = append(l.logs, y)
			}
		}
		if len(l.logs) > 0 {
			levels = append(levels, l)
		}
	}
	if len(levels) >= mostLevels && s.Axes[axis].Numeric {
		var quarters []level
		for part := range slices.Chunk(levels, (len(levels)+3)/4) {
			q := level{value: part[0].value + " to " + part[len(part)-1].value}
			for _, l := range part {
				q.values, q.logs = append(q.values, l.values...), append(q.logs, l.logs...)
			}
			quarters = append(quarters, q)
		}
		levels = quarters
	}
	for i := range levels {
		l := &levels[i]
		for _, v := range l.logs {
			l.mean += v
		}
		l.mean /= float64(len(l.logs))
	}
	return levels
}

// even replaces the means of levels if some cells are missing, as after a search for a knee. Then the cells at two levels
// of an axis are at different levels of the other axes, so their means also differ because of the other axes. The best
// fit of the levels of all axes at once gives what each level adds by itself. It would give the means if no cell were
// missing. If the cells do not tell the axes apart, the means stay.
func even(s *metrics.Sweep, path, broker string, all [][]level) {
	var rows [][]int // of each run, its level of each axis
	var ys []float64
	for _, r := range s.Runs {
		y, ok := logOf(r, path)
		if r.Broker != broker || !ok {
			continue
		}
		row := make([]int, len(all))
		for i, levels := range all {
			row[i] = slices.IndexFunc(levels, func(l level) bool { return slices.Contains(l.values, r.Point[i]) })
		}
		rows, ys = append(rows, row), append(ys, y)
	}
	cells, columns := 1, 1
	for _, levels := range all {
		cells, columns = cells*max(len(levels), 1), columns+max(len(levels)-1, 0)
	}
	if complete(rows, cells) || len(ys) < columns {
		return
	}
	x := mat.NewDense(len(ys), columns, nil) // 1, and of each axis the levels but the first
	for r, row := range rows {
		x.Set(r, 0, 1)
		for at, i := 1, 0; i < len(all); i++ {
			if row[i] > 0 {
				x.Set(r, at+row[i]-1, 1)
			}
			at += max(len(all[i])-1, 0)
		}
	}
	b, ok := leastSquares(x, ys)
	if !ok {
		return
	}
	for at, i := 1, 0; i < len(all); i++ {
		for k := range all[i] {
			if all[i][k].mean = 0; k > 0 {
				all[i][k].mean = b.AtVec(at)
				at++
			}
		}
	}
}

// complete reports whether no cell is missing and all cells have the same number of runs.
func complete(rows [][]int, cells int) bool {
	counts := map[string]int{}
	for _, row := range rows {
		counts[fmt.Sprint(row)]++
	}
	for _, n := range counts {
		if n*cells != len(rows) {
			return false
		}
	}
	return true
}

// leastSquares returns the coefficients of the best fit of ys, unless the columns of x are too much alike to tell them.
func leastSquares(x *mat.Dense, ys []float64) (b mat.VecDense, ok bool) {
	var qr mat.QR
	if qr.Factorize(x); !(qr.Cond() < worstCondition) {
		return b, false
	}
	err := qr.SolveVecTo(&b, false, mat.NewVecDense(len(ys), ys))
	return b, err == nil // as Cond says already
}

// varies reports whether the point belongs to the axis. Every point does, unless axes are
// varied one at a time.
func varies(s *metrics.Sweep, axis int, point []string) bool {
	for i, value := range point {
		if len(s.Base) > 0 && i != axis && value != s.Base[i] {
			return false
		}
	}
	return true
}

// worstCondition is the condition number above which runs do not tell the axes apart.
const worstCondition = 1e7

// fit returns the effect of every numeric axis of a sample, by the index of the axis. No two
// cells of a sample differ in one axis alone, so fit takes the effects from the plane that
// fits best: the logarithm of the figure against all axes at once. It returns nothing if the
// runs are too few, or the axes too much alike to tell their effects apart.
func fit(s *metrics.Sweep, path, broker string) map[int]effect {
	var axes []int
	for i, a := range s.Axes {
		if a.Numeric && len(a.Values) > 1 {
			axes = append(axes, i)
		}
	}
	var xs, ys []float64 // rows of 1 and the axes; the figure
	for _, r := range s.Runs {
		y, ok := logOf(r, path)
		if r.Broker != broker || !ok {
			continue
		}
		xs, ys = append(xs, 1), append(ys, y)
		for _, i := range axes {
			xs = append(xs, scaled(s.Axes[i], r.Point[i]))
		}
	}
	if len(ys) <= len(axes)+1 {
		return nil
	}
	b, ok := leastSquares(mat.NewDense(len(ys), len(axes)+1, xs), ys)
	if !ok {
		return nil
	}
	out := map[int]effect{}
	for k, i := range axes {
		a := s.Axes[i]
		first, last := a.Values[0], a.Values[len(a.Values)-1]
		span := b.AtVec(k+1) * (scaled(a, last) - scaled(a, first))
		e := effect{a.Name, math.Exp(math.Abs(span)), first + a.Unit, last + a.Unit, 0}
		if span < 0 {
			e.low, e.high = e.high, e.low
		}
		out[i] = e
	}
	return out
}

// scaled returns the value of an axis in the plane: its logarithm if all are above zero.
func scaled(a metrics.Axis, value string) float64 {
	v := a.Number(value)
	if a.Number(a.Values[0]) > 0 {
		return math.Log(v)
	}
	return v
}

// logOf returns the logarithm of a figure of a run, and whether there is one.
func logOf(r metrics.SweepRun, path string) (float64, bool) {
	if r.Result == nil {
		return 0, false
	}
	v, isTime, err := r.Result.Lookup(path)
	switch {
	case err != nil || isTime && v < 0:
		return 0, false
	case isTime:
		return math.Log(math.Max(v, timeFloor)), true
	}
	return math.Log(cmp.Or(v, countFloor)), true
}
