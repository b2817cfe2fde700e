package state

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRows compares tables with maps while transactions write to copies of tables of any
// age. The prefixes of many keys are equal.
func TestRows(t *testing.T) {
	type version struct {
		rows rows[string, int]
		want map[string]*int
	}
	key := func(n int) string { return fmt.Sprintf("%d-key-of-%02d", n%3, n) }
	rapid.Check(t, func(rt *rapid.T) {
		versions := []version{{newRows[int](byID), map[string]*int{}}}
		for range rapid.IntRange(1, 20).Draw(rt, "transactions") {
			from := rapid.SampledFrom(versions).Draw(rt, "from")
			next, tx := version{from.rows, maps.Clone(from.want)}, new(owner)
			for _, n := range rapid.SliceOfN(rapid.IntRange(0, 50), 1, 30).Draw(rt, "keys") {
				if rapid.IntRange(0, 3).Draw(rt, "delete") == 0 {
					next.rows.put(tx, key(n), nil)
					delete(next.want, key(n))
				} else {
					next.rows.put(tx, key(n), &n)
					next.want[key(n)] = &n
				}
			}
			versions = append(versions, next)
		}
		for i, v := range versions {
			for n := range 51 {
				if got := v.rows.get(key(n)); got != v.want[key(n)] {
					rt.Fatalf("version %d has %v of key %d, want %v", i, got, n, v.want[key(n)])
				}
			}
			var want []*int
			for _, k := range slices.Sorted(maps.Keys(v.want)) {
				want = append(want, v.want[k])
			}
			if got := slices.Collect(v.rows.all()); !slices.Equal(got, want) || v.rows.len() != len(want) {
				rt.Fatalf("version %d has the rows %v, says %d, want %v", i, got, v.rows.len(), want)
			}
		}
	})
}

// TestOrderOfKeys: the prefix of an ID must not change the order.
func TestOrderOfKeys(t *testing.T) {
	ids := []string{"", "a", "a-long-prefix", "a-long-prefix-2", "ab", "b", "ä"}
	table, tx := newRows[string](byID), new(owner)
	for _, id := range slices.Backward(ids) {
		table.put(tx, id, &id)
	}
	var got []string
	for id := range table.all() {
		got = append(got, *id)
	}
	if !slices.Equal(got, ids) {
		t.Errorf("got %q, want %q", got, ids)
	}
}

// TestPutDoesNotTouchWhatItCopies: goroutines go on from one state at the same time. The race
// detector rarely sees it, because the library's copies are ordered by a counter of theirs.
func TestPutDoesNotTouchWhatItCopies(t *testing.T) {
	shared, row := newRows[int](byID), 1
	shared.put(new(owner), "a", &row)
	head := fmt.Sprintf("%+v", *shared.tree)
	next := shared
	next.put(new(owner), "b", &row)
	if got := fmt.Sprintf("%+v", *shared.tree); got != head {
		t.Errorf("the head of the shared tree is %s, was %s", got, head)
	}
}

// BenchmarkRows reads, writes and iterates over a table of 150,000 rows; each write is a
// transaction of its own.
func BenchmarkRows(b *testing.B) {
	const n = 150_000
	table, keys, tx := newRows[int](byID), make([]string, n), new(owner)
	for i := range n {
		keys[i] = uuid(1, i)
		table.put(tx, keys[i], &i)
	}
	for name, do := range map[string]func(i int){
		"get": func(i int) { table.get(keys[i*7919%n]) },
		"put": func(i int) { table.put(new(owner), keys[i*7919%n], &i) },
		"all": func(int) {
			for range table.all() {
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b)()
			for i := 0; b.Loop(); i++ {
				do(i)
			}
		})
	}
}
