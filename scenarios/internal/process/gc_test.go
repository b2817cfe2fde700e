package process

import (
	"math"
	"runtime/debug"
	"testing"
)

// TestTheCollectorKnowsTheLimit: a run within so much memory collects garbage before it holds that, and not
// when the heap has its share. A bound that it has passed already is none.
func TestTheCollectorKnowsTheLimit(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	for within, want := range map[string]int64{"0": math.MaxInt64, "1048576": math.MaxInt64, "8589934592": 8 << 30} {
		t.Setenv(heapVar, `{"Share": 1073741824, "Within": `+within+`}`)
		stop := tuneGC()
		got := debug.SetMemoryLimit(-1)
		stop()
		if after := debug.SetMemoryLimit(-1); got != want || after != math.MaxInt64 {
			t.Errorf("within %s bytes the limit is %d, and %d afterwards; want %d and none", within, got, after, want)
		}
	}
}

func TestGCPercent(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		live uint64
		heap Heap // in MiB
		want int
	}{
		{0, Heap{1500, 0, 0, 0}, 400},        // nothing is known yet
		{50, Heap{1500, 0, 0, 0}, 400},       // small: four times as much garbage, not thirty
		{500, Heap{1500, 0, 0, 0}, 200},      // fills the share
		{1200, Heap{1500, 0, 0, 0}, 35},      // would fill it with less garbage still
		{9000, Heap{1500, 0, 0, 0}, 35},      // larger than the share: never collect without end
		{500, Heap{600, 300, 0, 0}, 35},      // most is less than the share
		{500, Heap{600, 2000, 0, 0}, 100},    // as much garbage as data
		{1250, Heap{600, 2000, 0, 0}, 60},    // up to most
		{1900, Heap{600, 2000, 0, 0}, 35},    //
		{1250, Heap{600, 2000, 6000, 0}, 60}, // large says nothing yet
		{2500, Heap{600, 2000, 6000, 0}, 60}, // data less half of most
		{4000, Heap{600, 2000, 6000, 0}, 50}, // up to large
		{5500, Heap{600, 2000, 6000, 0}, 35}, //
		{2500, Heap{600, 2000, 3000, 0}, 35}, // a limit of memory
	} {
		heap := Heap{c.heap.Share * mib, c.heap.Most * mib, c.heap.Large * mib, 0}
		got := gcPercent(c.live*mib, heap)
		if got < c.want-2 || got > c.want+2 {
			t.Errorf("%d MiB live, a heap of %+v MiB: GOGC %d, want about %d", c.live, c.heap, got, c.want)
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
	if got, side := Heaps(limited); got[0] != (Heap{400 << 20, 400 << 20, 400 << 20, 450 << 20}) || got[1] != (Heap{heapBudget / 2, heapMost, heapLarge, 0}) || side != 2 {
		t.Errorf("one of two within 500 MiB: heaps of %v and %v, %d at a time; want 400 MiB and more", got[0], got[1], side)
	}
}
