package scenarios

import "testing"

func TestGCPercent(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		live, budget uint64
		want         int
	}{
		{0, 1500 * mib, 400},          // nothing is known yet
		{50 * mib, 1500 * mib, 400},   // small: four times as much garbage, not thirty
		{500 * mib, 1500 * mib, 200},  // fills the budget
		{800 * mib, 1500 * mib, 100},  // would fill it below Go's default
		{9000 * mib, 1500 * mib, 100}, // larger than the budget: never collect without end
	} {
		got := gcPercent(c.live, c.budget)
		if got < c.want-2 || got > c.want+2 {
			t.Errorf("%d MiB live of %d MiB: GOGC %d, want about %d", c.live/mib, c.budget/mib, got, c.want)
		}
	}
}
