package metrics

import (
	"slices"
	"sort"
)

// Instants returns the instants of all the series, ascending, each once.
func Instants(series ...Series) []float64 {
	var at []float64
	for _, s := range series {
		at = append(at, s.AtS...)
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// At returns the value at an instant, interpolated between points. Before the first point
// and after the last one it is theirs; a series without points is zero.
func (s Series) At(at float64) float64 {
	n := len(s.AtS)
	if n == 0 {
		return 0
	}
	i := sort.SearchFloat64s(s.AtS, at)
	switch {
	case i == n:
		return s.Value[n-1]
	case i == 0 || s.AtS[i] == at:
		return s.Value[i]
	}
	x0, x1 := s.AtS[i-1], s.AtS[i]
	return s.Value[i-1] + (s.Value[i]-s.Value[i-1])*(at-x0)/(x1-x0)
}

// SoFar is At of a count: zero before the first point, when nothing had been counted yet.
func (s Series) SoFar(at float64) float64 {
	if len(s.AtS) == 0 || at < s.AtS[0] {
		return 0
	}
	return s.At(at)
}

// Spent adds up a share over the seconds between two instants. A point is the share since the point before, so it is
// exact unless the series was thinned.
func (s Series) Spent(from, to float64) (seconds float64) {
	for i := 1; i < len(s.AtS); i++ {
		seconds += s.Value[i] * max(0, min(s.AtS[i], to)-max(s.AtS[i-1], from))
	}
	return seconds
}

// maxPoints bounds the points a series keeps in a Result: twice as many as a wide chart
// has columns of pixels. While a run goes on a series may grow to thinAt points before it
// is thinned.
const (
	maxPoints = 2000
	thinAt    = 4 * maxPoints
)

// Thin returns the series with at most limit points, but never fewer than four, so chosen that
// a chart of it looks the same: the first and the last point, and the lowest and the highest
// point of each of limit/2-1 equal stretches of time. It returns a short series as it is.
func (s Series) Thin(limit int) Series {
	limit = max(limit, 4)
	last := len(s.AtS) - 1
	if last < limit {
		return s
	}
	out := Series{Name: s.Name, Unit: s.Unit}
	keep := func(i int) {
		out.AtS = append(out.AtS, s.AtS[i])
		out.Value = append(out.Value, s.Value[i])
	}
	buckets := limit/2 - 1
	width := (s.AtS[last] - s.AtS[0]) / float64(buckets)
	bucketOf := func(i int) int {
		if width <= 0 {
			return 0
		}
		return min(int((s.AtS[i]-s.AtS[0])/width), buckets-1)
	}
	keep(0)
	for i := 1; i < last; {
		bucket, low, high := bucketOf(i), i, i
		for i++; i < last && bucketOf(i) == bucket; i++ {
			if s.Value[i] < s.Value[low] {
				low = i
			}
			if s.Value[i] > s.Value[high] {
				high = i
			}
		}
		keep(min(low, high))
		if low != high {
			keep(max(low, high))
		}
	}
	keep(last)
	return out
}

// add appends a sample. It keeps only the ends of a run of equal values, which loses nothing,
// and thins a series that has grown long.
func (s *Series) add(atS, value float64) {
	if n := len(s.Value); n >= 2 && s.Value[n-1] == value && s.Value[n-2] == value {
		s.AtS[n-1] = atS
		return
	}
	s.AtS = append(s.AtS, atS)
	s.Value = append(s.Value, value)
	if len(s.AtS) > thinAt {
		*s = s.Thin(maxPoints)
	}
}
