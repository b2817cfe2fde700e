package metrics

import (
	"math"
	"slices"
	"sort"
)

// Effect is how far an axis moved a figure over the values it was given.
type Effect struct {
	Axis string
	// Factor is the highest level's figure by the lowest one's, at least 1. A level is a
	// value of the axis, or a quarter of them where they are many; its figure is the
	// geometric mean over the runs at that level, or, where axes were varied one at a time,
	// over those of its own runs. In a sample it is what the best fit of all axes at once
	// gives from one end of the axis to the other.
	Factor float64
	// Low and High are the values of the axis at the lowest and the highest level.
	Low, High string
}

// floors keep logarithms of counts and times that may be zero within reason: one, and a
// tenth of a second, the period of the samples that times come from.
const (
	countFloor = 1
	timeFloor  = 0.1
)

// Effects returns the effect of every axis on a figure under one broker, the strongest
// first. Axes of one level, and runs without the figure, have none.
func (s *Sweep) Effects(path, broker string) []Effect {
	var out []Effect
	var fitted map[int]Effect
	if s.Design == "sample" {
		fitted = s.slopes(path, broker)
	}
	for i, axis := range s.Axes {
		if e, ok := fitted[i]; ok {
			out = append(out, e)
			continue
		}
		levels := s.levels(i, path, broker)
		if len(levels) < 2 {
			continue
		}
		low, high := levels[0], levels[0]
		for _, l := range levels {
			if l.mean() < low.mean() {
				low = l
			}
			if l.mean() > high.mean() {
				high = l
			}
		}
		out = append(out, Effect{Axis: axis.Name, Factor: math.Exp(high.mean() - low.mean()), Low: low.value, High: high.value})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Factor > out[j].Factor })
	return out
}

// level is the logarithms of a figure at one value of an axis.
type level struct {
	value string
	logs  []float64
}

func (l level) mean() float64 {
	sum := 0.0
	for _, v := range l.logs {
		sum += v
	}
	return sum / float64(len(l.logs))
}

// mostLevels is from how many values on those of an axis are put together to quarters.
const mostLevels = 12

func (s *Sweep) levels(axis int, path, broker string) []level {
	var levels []level
	for _, value := range s.Axes[axis].Values {
		l := level{value: value}
		for _, r := range s.Runs {
			if r.Broker != broker || r.Point[axis] != value || !s.alone(axis, r.Point) {
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
	if len(levels) < mostLevels || !s.Axes[axis].Numeric {
		return levels
	}
	var quarters []level
	for part := range slices.Chunk(levels, (len(levels)+3)/4) {
		q := level{value: part[0].value + " to " + part[len(part)-1].value}
		for _, l := range part {
			q.logs = append(q.logs, l.logs...)
		}
		quarters = append(quarters, q)
	}
	return quarters
}

// alone reports whether the point is one of those that vary the axis: any but where axes
// are varied one at a time.
func (s *Sweep) alone(axis int, point []string) bool {
	for i, value := range point {
		if len(s.Base) > 0 && i != axis && value != s.Base[i] {
			return false
		}
	}
	return true
}

// Largest returns the passing cells of a broker that no other passing cell of it surpasses
// in load: none is at least as large on every axis of load and larger on one. Cells of
// equal load, which differ in settings, are all among them.
func (s *Sweep) Largest(broker string) []Cell {
	var passing []Cell
	for _, c := range s.Cells() {
		if c.Broker == broker && c.Passes(s.Limits) {
			passing = append(passing, c)
		}
	}
	return slices.DeleteFunc(slices.Clone(passing), func(c Cell) bool {
		return slices.ContainsFunc(passing, func(o Cell) bool { return s.surpasses(o.Point, c.Point) })
	})
}

// FailBelow returns the cells of a broker that do not pass although one with the same
// settings that bears more load does: there the limits are no matter of load alone.
func (s *Sweep) FailBelow(broker string) []Cell {
	var passing, failing, out []Cell
	for _, c := range s.Cells() {
		switch {
		case c.Broker != broker:
		case c.Passes(s.Limits):
			passing = append(passing, c)
		default:
			failing = append(failing, c)
		}
	}
	for _, c := range failing {
		if slices.ContainsFunc(passing, func(o Cell) bool { return s.sameSettings(o.Point, c.Point) && s.surpasses(o.Point, c.Point) }) {
			out = append(out, c)
		}
	}
	return out
}

func (s *Sweep) sameSettings(p, q []string) bool {
	for i, a := range s.Axes {
		if !a.Load && p[i] != q[i] {
			return false
		}
	}
	return true
}

// surpasses reports whether p bears at least as much load as q on every axis, and more on
// one.
func (s *Sweep) surpasses(p, q []string) bool {
	larger := false
	for i, a := range s.Axes {
		if !a.Load {
			continue
		}
		x, y := a.Number(p[i]), a.Number(q[i])
		if x < y {
			return false
		}
		larger = larger || x > y
	}
	return larger
}
