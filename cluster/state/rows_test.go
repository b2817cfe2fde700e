package state

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRows compares tables with maps while transactions write to copies of tables of any
// age. Hashes collide, in their first bits and as a whole.
func TestRows(t *testing.T) {
	type version struct {
		rows rows[string, int]
		want map[string]*int
	}
	rapid.Check(t, func(rt *rapid.T) {
		bits := rapid.SampledFrom([]uint64{0, 1, 0xf000, ^uint64(0)}).Draw(rt, "bits of the hash")
		hash := func(n int) uint64 { return uint64(n) * 0x9E3779B97F4A7C15 & bits }
		key := func(n int) string { return fmt.Sprintf("key-of-%02d", n) }
		versions := []version{{want: map[string]*int{}}}
		for range rapid.IntRange(1, 20).Draw(rt, "transactions") {
			from := rapid.SampledFrom(versions).Draw(rt, "from")
			next, tx := version{from.rows, maps.Clone(from.want)}, new(owner)
			for _, n := range rapid.SliceOfN(rapid.IntRange(0, 50), 1, 30).Draw(rt, "keys") {
				e := entry[string, int]{hash: hash(n), key: key(n), row: &n}
				next.want[e.key] = e.row
				if rapid.IntRange(0, 3).Draw(rt, "delete") == 0 {
					e.row = nil
					delete(next.want, e.key)
				}
				next.rows.root = next.rows.insert(tx, next.rows.root, 0, e)
			}
			versions = append(versions, next)
		}
		for i, v := range versions {
			for n := range 51 {
				if got := v.rows.find(hash(n), key(n)); got != v.want[key(n)] {
					rt.Fatalf("version %d has %v of key %d, want %v", i, got, n, v.want[key(n)])
				}
			}
			var want []*int
			for _, k := range slices.Sorted(maps.Keys(v.want)) {
				want = append(want, v.want[k])
			}
			if got := slices.Collect(v.rows.all(byID, nil)); !slices.Equal(got, want) || v.rows.len != len(want) {
				rt.Fatalf("version %d has the rows %v, says %d, want %v", i, got, v.rows.len, want)
			}
		}
	})
}

// TestOrderOfKeys: the prefix of an ID must not change the order.
func TestOrderOfKeys(t *testing.T) {
	ids := []string{"", "a", "a-long-prefix", "a-long-prefix-2", "ab", "b", "ä"}
	var table rows[string, string]
	tx := new(owner)
	for _, id := range slices.Backward(ids) {
		table.put(tx, id, &id)
	}
	var got []string
	for id := range table.all(byID, nil) {
		got = append(got, *id)
	}
	if !slices.Equal(got, ids) {
		t.Errorf("got %q, want %q", got, ids)
	}
}

// BenchmarkRows reads, writes and sorts a table of 150,000 rows; each write is a
// transaction of its own.
func BenchmarkRows(b *testing.B) {
	const n = 150_000
	var table rows[string, int]
	keys, tx := make([]string, n), new(owner)
	for i := range n {
		keys[i] = uuid(1, i)
		table.put(tx, keys[i], &i)
	}
	for name, do := range map[string]func(i int){
		"get": func(i int) { table.get(keys[i*7919%n]) },
		"put": func(i int) { table.put(new(owner), keys[i*7919%n], &i) },
		"all": func(int) {
			for range table.all(byID, nil) {
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
