package process

import (
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/simctl/simctl/scenarios/internal/garbage"
)

// TestTheCollectorKnowsTheLimit: a run within so much memory collects garbage before it holds that, and not
// when the heap has its share. A bound that it has passed already is none.
func TestTheCollectorKnowsTheLimit(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	for within, want := range map[string]int64{"0": math.MaxInt64, "1048576": math.MaxInt64, "8589934592": 8 << 30} {
		t.Setenv(heapVar, `{"Heap": {"Share": 1073741824, "Within": `+within+`}}`)
		stop := tuneGC()
		got := debug.SetMemoryLimit(-1)
		stop()
		if after := debug.SetMemoryLimit(-1); got != want || after != math.MaxInt64 {
			t.Errorf("within %s bytes the limit is %d, and %d afterwards; want %d and none", within, got, after, want)
		}
	}
}

// TestAWorldWithinALimitGoesOn: a run that needs more than GOMEMLIMIT would never get to work between two collections
// with the world stopped.
func TestAWorldWithinALimitGoesOn(t *testing.T) {
	for limit, stops := range map[string]bool{"": true, "1MiB": false} {
		t.Setenv("GOMEMLIMIT", limit)
		if env := strings.Join(Child{}.env(nil), " "); strings.Contains(env, "gcstoptheworld=1") != stops {
			t.Errorf("within %q the environment is %s; want the world to stop: %v", limit, env, stops)
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
	told := []Child{{Weight: 1, Data: 4 << 30}, {Weight: 1, Data: 100 << 30}, {Weight: 1, Data: heapMost}, {Weight: 1, Data: 4 << 30, Memory: 1 << 30}}
	got, _ := Heaps(told)
	if got[0].Share != 4<<30 || got[1].Share != heapLarge || got[2].Share >= heapMost || got[3].Share >= 1<<30 {
		t.Errorf("told to have 4 GiB, much more, %d bytes, and 4 GiB within 1 GiB: heaps of %v", heapMost, got)
	}
	limited := []Child{{Weight: 1, Memory: 500 << 20}, {Weight: 1}}
	first := garbage.Heap{Share: 400 << 20, Most: 400 << 20, Large: 400 << 20, Within: 450 << 20}
	second := garbage.Heap{Share: heapBudget / 2, Most: heapMost, Large: heapLarge}
	if got, side := Heaps(limited); got[0] != first || got[1] != second || side != 2 {
		t.Errorf("one of two within 500 MiB: heaps of %v and %v, %d at a time; want 400 MiB and more", got[0], got[1], side)
	}
}
