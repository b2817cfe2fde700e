package state

import (
	"slices"
	"strconv"
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
		current := func(a *rpc.Allocation) bool { return table[a.ID] == a }
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
			log.add(index, latest(w.now, current, allocID), w.gone, len(table))

			got := log.since(0, func(*rpc.Allocation) bool { return true })
			if room := len(table) + len(table)/4 + slack; len(got) > room || len(got) != log.entries {
				t.Fatalf("a log of %d rows has %d entries, and says %d", len(table), len(got), log.entries)
			}
			if !slices.IsSortedFunc(got, func(a, b *rpc.Allocation) int { return int(a.ModifyIndex) - int(b.ModifyIndex) }) {
				t.Fatalf("the entries are not in the order of their changes: %v", got)
			}
			got = slices.DeleteFunc(got, func(a *rpc.Allocation) bool { return !current(a) })
			if len(got) != len(table) {
				t.Fatalf("%d of the entries are current, of %d rows", len(got), len(table))
			}
			if index == 5 {
				before, had = log, log.since(0, func(*rpc.Allocation) bool { return true })
			}
		}
		if now := before.since(0, func(*rpc.Allocation) bool { return true }); !slices.Equal(now, had) {
			t.Fatalf("a copy of the log had %v, and has %v", had, now)
		}
	})
}
