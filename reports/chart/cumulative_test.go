package chart

import (
	"slices"
	"testing"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
)

// TestLinesEndAtTheGreatest value that was observed, and not at the bound of its bucket.
func TestLinesEndAtTheGreatest(t *testing.T) {
	d := metrics.Distribution{LE: []float64{1, 2048, 2896}, Count: []uint64{1, 2, 4}}
	for name, l := range map[string]figure.Line{
		"cumulative": cumulative("", figure.Blue, d, 2500, 1), "tail": tail("", figure.Blue, d, 2500),
	} {
		if got := slices.Max(l.X); got != 2500 {
			t.Errorf("%s: the line ends at %g, want the greatest value, 2500", name, got)
		}
	}
}
