package run

import (
	"slices"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// TestDisturbed: a phase from which the host took a hundredth of the processors or less is as good as any other.
func TestDisturbed(t *testing.T) {
	res := &metrics.Result{
		Phases: []metrics.Phase{{Name: "register", EndS: 10}, {Name: "drain", StartS: 10, EndS: 10}, {Name: "storm", StartS: 10, EndS: 30}},
		Series: []metrics.Series{{Name: metrics.SeriesStolen, AtS: []float64{0, 10, 20, 30}, Value: []float64{0, 0.009, 0.01, 0.08}}},
	}
	want := []string{"storm: the host of this virtual machine took 4% of its processor time away: run it again before you compare it"}
	if got := disturbed(res); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := disturbed(&metrics.Result{Phases: res.Phases}); got != nil {
		t.Errorf("where nothing is known: %q", got)
	}
}
