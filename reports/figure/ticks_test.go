package figure

import (
	"math"
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	labels := func(a Axis) string {
		var out []string
		for _, tick := range a.Ticks(6) {
			if !tick.IsMinor() {
				out = append(out, tick.Label)
			}
		}
		return strings.Join(out, " ")
	}
	for _, tt := range []struct {
		axis Axis
		want string
	}{
		{Axis{Max: 49990}, "0 10k 20k 30k 40k"},
		{Axis{Max: 3}, "0 0.5 1 1.5 2 2.5 3"},
		{Axis{Max: 1, Unit: Shares}, "0% 20% 40% 60% 80% 100%"},
		{Axis{Max: 3284, Unit: Instants}, "0:00 10:00 20:00 30:00 40:00 50:00"},
		{Axis{Max: 7300, Unit: Instants}, "0:00 0:30 1:00 1:30 2:00"},
		{Axis{Max: 0.4, Unit: Instants}, "0:00.0 0:00.1 0:00.2 0:00.3 0:00.4"},
		{Axis{Min: 20, Max: 4000, Log: true}, "20 50 100 200 500 1k 2k"},
		{Axis{Min: 1, Max: 1.87, Log: true}, "1 1.2 1.4 1.6 1.8"},
		{Axis{Min: 2, Max: 9, Log: true}, "2 4 6 8"},
		{Axis{Min: 1, Max: 1e5, Log: true}, "1 10 100 1k 10k 100k"},
		{Axis{Min: 0.002, Max: 900, Log: true, Unit: Durations}, "10 ms 100 ms 1 s 10 s 1 min 10 min"},
		{Axis{Names: []string{"drain", "storm"}}, "drain storm"},
	} {
		if got := labels(tt.axis); got != tt.want {
			t.Errorf("%+v: ticks %q, want %q", tt.axis, got, tt.want)
		}
	}
}

func TestClampedLog(t *testing.T) {
	for _, v := range []float64{-5, 0, 0.1, 1} {
		if got := (clampedLog{}).Normalize(1, 1000, v); got != 0 {
			t.Errorf("%g lies at %g of a logarithmic axis from 1, want its lower end", v, got)
		}
	}
	if got := (clampedLog{}).Normalize(1, 100, 10); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("10 lies at %g between 1 and 100, want in the middle", got)
	}
}
