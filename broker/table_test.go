package broker

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestTable compares the table with a map. Its hash is a poor one, so that probing and
// the closing of gaps have work to do.
func TestTable(t *testing.T) {
	type entry struct{ key, value int }
	rapid.Check(t, func(t *rapid.T) {
		spread := rapid.SampledFrom([]uint64{1, 3, 1 << 20}).Draw(t, "spread")
		tab := table[int, *entry]{
			hash: func(k int) uint64 { return uint64(k) / 4 * spread },
			key:  func(e *entry) int { return e.key },
		}
		want := map[int]*entry{}
		for range rapid.IntRange(0, 400).Draw(t, "steps") {
			e := &entry{rapid.IntRange(0, 60).Draw(t, "key"), len(want)}
			switch rapid.IntRange(0, 20).Draw(t, "op") {
			case 0:
				tab.empty()
				clear(want)
			case 1:
				var c table[int, *entry]
				tab.copyTo(&c)
				tab.empty()
				tab = c
			case 2, 3, 4, 5, 6, 7, 8:
				tab.remove(e.key)
				delete(want, e.key)
			default:
				_, there := want[e.key]
				if tab.put(e) == there {
					t.Fatalf("put of %d reports %v", e.key, !there)
				}
				if !there {
					want[e.key] = e
				}
			}
			for k := range 61 {
				if tab.get(k) != want[k] || tab.has(k) != (want[k] != nil) {
					t.Fatalf("get(%d) is %v, want %v", k, tab.get(k), want[k])
				}
			}
		}
		n := 0
		for e := range tab.all {
			if n++; want[e.key] != e {
				t.Fatalf("all has %v, want %v", e, want[e.key])
			}
		}
		if n != len(want) || tab.n != n {
			t.Fatalf("all has %d, the table %d, want %d", n, tab.n, len(want))
		}
		for range tab.all {
			break
		}
	})
}

// TestTableGrows verifies that a large table finds everything, and shrinks when emptied.
func TestTableGrows(t *testing.T) {
	set := newIDSet()
	for i := range 10_000 {
		if !set.put(&Evaluation{ID: fmt.Sprint(i)}) || set.put(&Evaluation{ID: fmt.Sprint(i)}) {
			t.Fatalf("%d is not new, or new twice", i)
		}
	}
	for i := range 10_000 {
		if !set.has(fmt.Sprint(i)) {
			t.Fatalf("%d is lost", i)
		}
	}
	if set.empty(); set.n != 0 || set.slots != nil || set.has("1") {
		t.Errorf("an emptied table has %d entries and %d slots", set.n, len(set.slots))
	}
}
