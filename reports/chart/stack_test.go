package chart

import (
	"math"
	"slices"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// TestStackBeforeTheFirstOfAKind: what has not been counted yet takes no room in a stack.
func TestStackBeforeTheFirstOfAKind(t *testing.T) {
	r := &metrics.Result{Series: []metrics.Series{
		{Name: "n.early", AtS: []float64{0, 1, 2, 3}, Value: []float64{5, 6, 7, 7}},
		{Name: "n.late", AtS: []float64{2, 3}, Value: []float64{40, 50}},
		{Name: "n.another", AtS: []float64{3}, Value: []float64{9}},
	}}
	areas := (&view{runs: []*metrics.Result{r}}).stack([]part{{name: "early", series: "n.early"}, {name: "late", series: "n.late"}, {name: "other", series: "n.*"}})[0]
	top := areas[len(areas)-1]
	if want := []float64{5, 6, 6.999, 47, 56.99, 66}; !slices.Equal(top.X, []float64{0, 1, 1.999, 2, 2.999, 3}) || !slices.EqualFunc(top.Y, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }) {
		t.Errorf("the stack is %v high at %v, want %v", top.Y, top.X, want)
	}
}
