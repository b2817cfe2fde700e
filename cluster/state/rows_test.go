package state

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// numbered is a row of a table of these tests.
type numbered struct {
	id string
	n  int
}

var byNumber = byID(func(r *numbered) *string { return &r.id })

// TestRows compares tables with maps while transactions write to copies of tables of any
// age. The prefixes of many keys are equal, and some tables have three levels of nodes.
func TestRows(t *testing.T) {
	type version struct {
		rows rows[string, numbered]
		want map[string]*numbered
	}
	const keys = 1000
	key := func(n int) string { return fmt.Sprintf("%d-key-of-%03d", n%3, n) }
	rapid.Check(t, func(rt *rapid.T) {
		versions := []version{{newRows(byNumber), map[string]*numbered{}}}
		for range rapid.IntRange(1, 20).Draw(rt, "transactions") {
			from := rapid.SampledFrom(versions).Draw(rt, "from")
			next, tx := version{from.rows, maps.Clone(from.want)}, new(owner)
			// Keys at one distance, around the end of the keys and on, so that nodes split and get empty.
			first, step := rapid.IntRange(0, keys-1).Draw(rt, "first"), rapid.SampledFrom([]int{1, 7, 391}).Draw(rt, "step")
			deletes := rapid.Bool().Draw(rt, "deletes")
			for i := range rapid.SampledFrom([]int{1, 20, 600}).Draw(rt, "writes") {
				row := &numbered{key((first + i*step) % keys), i}
				if deletes {
					next.rows.put(tx, row.id, nil)
					delete(next.want, row.id)
				} else {
					next.rows.put(tx, row.id, row)
					next.want[row.id] = row
				}
			}
			versions = append(versions, next)
		}
		for i, v := range versions { // none of which a later one has written to
			for n := range keys {
				if got := v.rows.get(key(n)); got != v.want[key(n)] {
					rt.Fatalf("version %d has %v of key %d, want %v", i, got, n, v.want[key(n)])
				}
			}
			var want []*numbered
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
	table, tx := newRows(byID(func(id *string) *string { return id })), new(owner)
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
	shared := newRows(byNumber)
	shared.put(new(owner), "a", &numbered{id: "a"})
	head := func() string { return fmt.Sprintf("%+v", *shared.tree.(btreeOf[numbered]).b) }
	before, next := head(), shared
	next.put(new(owner), "b", &numbered{id: "b"})
	if after := head(); after != before {
		t.Errorf("the head of the shared tree is %s, was %s", after, before)
	}
}

// BenchmarkRows reads, writes and iterates over a table of 150,000 rows; each write is a
// transaction of its own.
func BenchmarkRows(b *testing.B) {
	const n = 150_000
	table, list, tx := newRows(byNumber), make([]numbered, n), new(owner)
	for i := range n {
		list[i] = numbered{uuid(1, i), i}
		table.put(tx, list[i].id, &list[i])
	}
	for name, do := range map[string]func(i int){
		"get": func(i int) { table.get(list[i*7919%n].id) },
		"put": func(i int) { table.put(new(owner), list[i*7919%n].id, &list[i*7919%n]) },
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
