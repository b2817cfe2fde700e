package metrics

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and precision of the histograms: microseconds up to a hundred hours, and
// triggers up to a thousand million, to three significant figures.
const (
	longestLatency = 100 * time.Hour
	largestFanIn   = 1_000_000_000
	significant    = 3
	// stepsPerOctave is the grain of a Distribution: bounds grow by 2^(1/4), i.e. 19%.
	stepsPerOctave = 4
)

// histogram counts whole numbers in bounded space, and remembers the greatest exactly.
type histogram struct {
	hdr     *hdrhistogram.Histogram
	limit   int64
	highest int64
}

func newHistogram(limit int64) *histogram {
	return &histogram{hdr: hdrhistogram.New(1, limit, significant), limit: limit}
}

func (h *histogram) add(v int64) {
	v = min(max(v, 0), h.limit)
	h.highest = max(h.highest, v)
	// The value is within the range, which is the only reason to refuse it.
	_ = h.hdr.RecordValue(v)
}

// quantile returns the value that a share q (0 to 1) of the observations does not exceed.
func (h *histogram) quantile(q float64) float64 {
	return float64(min(h.hdr.ValueAtQuantile(100*q), h.highest))
}

// distribution returns the cumulative histogram with each bound divided by perUnit. Bounds lie
// on a fixed grid, so that distributions of two runs can be compared.
func (h *histogram) distribution(perUnit float64) Distribution {
	var d Distribution
	total := uint64(0)
	for _, bar := range h.hdr.Distribution() {
		if bar.Count == 0 {
			continue
		}
		total += uint64(bar.Count)
		bound := gridAbove(min(bar.To, h.highest)) / perUnit
		if n := len(d.LE); n > 0 && d.LE[n-1] == bound {
			d.Count[n-1] = total
			continue
		}
		d.LE = append(d.LE, bound)
		d.Count = append(d.Count, total)
	}
	return d
}

// gridAbove returns the least bound of the grid that is not below v: whole numbers up to
// eight, then rounded powers of 2^(1/stepsPerOctave).
func gridAbove(v int64) float64 {
	if v <= 8 {
		return float64(v)
	}
	step := math.Floor(math.Log2(float64(v)) * stepsPerOctave)
	for {
		if bound := math.Round(math.Exp2(step / stepsPerOctave)); bound >= float64(v) {
			return bound
		}
		step++
	}
}
