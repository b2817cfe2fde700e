package state

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simctl/simctl/cluster/rpc"
)

// TestChangeLog: whatever is written, written again in one transaction or deleted, a log has the current rows in the
// order of their changes, keeps few others, and none once it has dropped them. Copies of it stay as they are.
func TestChangeLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log changeLog[rpc.Allocation]
		table := map[string]*rpc.Allocation{}
		var before changeLog[rpc.Allocation]
		var had []*rpc.Allocation
		transactions := rapid.Uint64Range(1, 60).Draw(t, "transactions")
		for index := uint64(1); index <= transactions; index++ {
			var w written[rpc.Allocation]
			for range rapid.IntRange(1, 30).Draw(t, "writes") {
				id := strconv.Itoa(rapid.IntRange(0, 40).Draw(t, "id"))
				now := &rpc.Allocation{ID: id, ModifyIndex: index}
				if rapid.IntRange(0, 9).Draw(t, "delete") == 0 {
					now = nil
				}
				w.put(table[id], now)
				if table[id] = now; now == nil {
					delete(table, id)
				}
			}
			log.add(index, w.left(allocID), w.gone, len(table))

			entries := slices.Collect(log.entriesSince(0))
			if room := len(table) + len(table)/4 + slack; len(entries) > room || len(entries) != log.entries {
				t.Fatalf("a log of %d rows has %d entries, and says %d", len(table), len(entries), log.entries)
			}
			since := rapid.Uint64Range(0, index).Draw(t, "since")
			after, through := log.since(since), log.through(since)
			if !slices.IsSortedFunc(after, func(a, b *rpc.Allocation) int {
				return cmp.Or(cmp.Compare(a.ModifyIndex, b.ModifyIndex), strings.Compare(a.ID, b.ID))
			}) {
				t.Fatalf("the rows are not in the order of their changes and their IDs: %v", after)
			}
			for _, found := range [][]*rpc.Allocation{after, through} {
				for _, a := range found {
					if table[a.ID] != a {
						t.Fatalf("%s of index %d is not in the table", a.ID, a.ModifyIndex)
					}
				}
			}
			both := slices.Concat(after, through)
			slices.SortFunc(both, rpc.ByID)
			if n := len(slices.Compact(both)); n != len(table) {
				t.Fatalf("%d rows changed after index %d or before, of %d", n, since, len(table))
			}
			if slices.ContainsFunc(through, func(a *rpc.Allocation) bool { return a.ModifyIndex > since }) {
				t.Fatalf("a row of %v changed after index %d", through, since)
			}
			if index == 5 {
				before, had = log, log.since(0)
			}
		}
		if now := before.since(0); !slices.Equal(now, had) {
			t.Fatalf("a copy of the log had %v, and has %v", had, now)
		}
	})
}
