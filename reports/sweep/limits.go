package sweep

import (
	"slices"

	"github.com/simctl/simctl/metrics"
)

// judge returns the cells of a broker that are within the limits, and those that are not.
func judge(s *metrics.Sweep, broker string) (passing, failing []metrics.Cell) {
	for _, c := range s.Cells() {
		switch {
		case c.Broker != broker:
		case c.Passes(s.Limits):
			passing = append(passing, c)
		default:
			failing = append(failing, c)
		}
	}
	return passing, failing
}

// largest returns the passing cells of a broker that no other passing cell of it surpasses
// in load. Cells of equal load, which differ in settings, are all among them.
func largest(s *metrics.Sweep, broker string) []metrics.Cell {
	passing, _ := judge(s, broker)
	return slices.DeleteFunc(slices.Clone(passing), func(c metrics.Cell) bool {
		return slices.ContainsFunc(passing, func(o metrics.Cell) bool { return surpasses(s, o.Point, c.Point) })
	})
}

// failBelow returns the cells of a broker that do not pass although one with the same
// settings and more load does: there the limits are no matter of load alone.
func failBelow(s *metrics.Sweep, broker string) []metrics.Cell {
	passing, failing := judge(s, broker)
	return slices.DeleteFunc(failing, func(c metrics.Cell) bool {
		return !slices.ContainsFunc(passing, func(o metrics.Cell) bool { return sameSettings(s, o.Point, c.Point) && surpasses(s, o.Point, c.Point) })
	})
}

func sameSettings(s *metrics.Sweep, p, q []string) bool {
	for i, a := range s.Axes {
		if !a.Load && p[i] != q[i] {
			return false
		}
	}
	return true
}

// surpasses reports whether p bears at least as much load as q on every axis of load, and
// more on one.
func surpasses(s *metrics.Sweep, p, q []string) bool {
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
