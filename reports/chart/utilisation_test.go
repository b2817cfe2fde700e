package chart

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
		if len(sp.X) == 0 {
			if !slices.Equal(l.X, s.AtS) || !slices.Equal(l.Y, s.Value) {
				t.Fatal("a series of few points is not as it was")
			}
			return
		}
		if len(l.X) > 52 || len(sp.X) != 2*len(l.X) {
			t.Fatalf("%d means and %d ends of shades of at most 50 stretches", len(l.X), len(sp.X))
		}
		if low, high := slices.Min(sp.Low), slices.Max(sp.High); low != slices.Min(s.Value) || high != slices.Max(s.Value) {
			t.Fatalf("the shade goes from %g to %g, the samples from %g to %g", low, high, slices.Min(s.Value), slices.Max(s.Value))
		}
		total := 0.0
		for i := range l.X {
			if l.Y[i] < sp.Low[2*i] || l.Y[i] > sp.High[2*i] {
				t.Fatalf("the mean %g at %g is not between %g and %g", l.Y[i], l.X[i], sp.Low[2*i], sp.High[2*i])
			}
			total += l.Y[i] * (sp.X[2*i+1] - sp.X[2*i])
		}
		want, _, _ := meanAndBounds(s.AtS, s.Value)
		if got := total / (s.AtS[len(s.AtS)-1] - s.AtS[0]); math.Abs(got-want) > 1e-6 {
			t.Fatalf("the mean of means is %g, that of the samples %g", got, want)
		}
	})
}
