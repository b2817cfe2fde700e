package reports

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/simctl/simctl/metrics"
)

// TestStretchesKeepPeaksAndMean: the shade reaches the highest and the lowest sample, the
// line stays within it, and its mean over time is that of the samples.
func TestStretchesKeepPeaksAndMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s metrics.Series
		at := rapid.Float64Range(0, 1e4).Draw(t, "start")
		for range rapid.IntRange(1, 400).Draw(t, "points") {
			s.AtS, s.Value = append(s.AtS, at), append(s.Value, rapid.Float64Range(0, 1).Draw(t, "value"))
			at += rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0.01, 5)).Draw(t, "step")
		}
		span := at - s.AtS[0]
		l, sp := stretches(s, span/float64(rapid.IntRange(1, 50).Draw(t, "stretches")))
		if len(sp.x) == 0 {
			if !slices.Equal(l.x, s.AtS) || !slices.Equal(l.y, s.Value) {
				t.Fatal("a series of few points is not as it was")
			}
			return
		}
		if len(l.x) > 52 || len(sp.x) != 2*len(l.x) {
			t.Fatalf("%d means and %d ends of shades of at most 50 stretches", len(l.x), len(sp.x))
		}
		if low, high := slices.Min(sp.low), slices.Max(sp.high); low != slices.Min(s.Value) || high != slices.Max(s.Value) {
			t.Fatalf("the shade goes from %g to %g, the samples from %g to %g", low, high, slices.Min(s.Value), slices.Max(s.Value))
		}
		total := 0.0
		for i := range l.x {
			if l.y[i] < sp.low[2*i] || l.y[i] > sp.high[2*i] {
				t.Fatalf("the mean %g at %g is not between %g and %g", l.y[i], l.x[i], sp.low[2*i], sp.high[2*i])
			}
			total += l.y[i] * (sp.x[2*i+1] - sp.x[2*i])
		}
		want, _, _ := summed(s.AtS, s.Value)
		if got := total / (s.AtS[len(s.AtS)-1] - s.AtS[0]); math.Abs(got-want) > 1e-6 {
			t.Fatalf("the mean of means is %g, that of the samples %g", got, want)
		}
	})
}
