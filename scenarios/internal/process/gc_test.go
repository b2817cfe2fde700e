package process

import "testing"

func TestGCPercent(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		live, budget uint64
		want         int
	}{
		{0, 1500 * mib, 400},         // nothing is known yet
		{50 * mib, 1500 * mib, 400},  // small: four times as much garbage, not thirty
		{500 * mib, 1500 * mib, 200}, // fills the budget
		{1200 * mib, 1500 * mib, 35}, // would fill it with less garbage still
		{9000 * mib, 1500 * mib, 35}, // larger than the budget: never collect without end
	} {
		got := gcPercent(c.live, c.budget)
		if got < c.want-2 || got > c.want+2 {
			t.Errorf("%d MiB live of %d MiB: GOGC %d, want about %d", c.live/mib, c.budget/mib, got, c.want)
		}
	}
}

func TestHeapShares(t *testing.T) {
	pair := []Child{{Weight: 2}, {Weight: 1}}
	if got := heapShares(pair, 2); got[0] <= got[1] || got[0]+got[1] > heapBudget {
		t.Errorf("side by side: %d and %d of %d: want more for the longer run, and no more than there is", got[0], got[1], heapBudget)
	}
	if got := heapShares(pair, 1); got[0] != heapBudget || got[1] != heapBudget {
		t.Errorf("one after the other: %d and %d, want all of %d for each", got[0], got[1], heapBudget)
	}
	limited := []Child{{Weight: 1, Memory: 500 << 20}, {Weight: 1}}
	if got, side := Heaps(limited); got[0] != 400<<20 || got[1] <= got[0] || side != 2 {
		t.Errorf("one of two within 500 MiB: heaps of %d and %d, %d at a time; want 400 MiB and more", got[0], got[1], side)
	}
}
