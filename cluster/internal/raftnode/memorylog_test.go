package raftnode

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"pgregory.net/rapid"
)

// TestMemoryLog does to a memoryLog and to Raft's own store what Raft does to a log: it
// appends, also with a gap after a snapshot, and deletes the beginning or the end. A second
// log that stores the same shares its blocks.
func TestMemoryLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := newArchive(extent{4, 9}, extent{3, 20})
		log, other, want := newMemoryLog(blocks), newMemoryLog(blocks), raft.NewInmemStore()
		both := func(do func(raft.LogStore) error) {
			if err := errors.Join(do(log), do(other), do(want)); err != nil {
				t.Fatal(err)
			}
		}
		bounds := func(s raft.LogStore) (first, last uint64) {
			first, err := s.FirstIndex()
			if err != nil {
				t.Fatal(err)
			}
			last, err = s.LastIndex()
			if err != nil {
				t.Fatal(err)
			}
			return first, last
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				_, last := bounds(want)
				next := last + 1 + rapid.SampledFrom([]uint64{0, 0, 0, 3}).Draw(t, "gap")
				var entries []*raft.Log
				for i := range rapid.Uint64Range(1, 9).Draw(t, "n") {
					entries = append(entries, &raft.Log{
						Index: next + i, Term: rapid.Uint64Range(1, 9).Draw(t, "term"), Type: raft.LogBarrier,
						Data: rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "data"), AppendedAt: time.Unix(0, int64(next)),
					})
				}
				both(func(s raft.LogStore) error { return s.StoreLogs(entries) })
			},
			"compact": func(t *rapid.T) {
				if first, last := bounds(want); last > 0 {
					upTo := rapid.Uint64Range(first, last).Draw(t, "up to")
					// Raft compacts up to an entry that it has: a gap is never first.
					if upTo == last || want.GetLog(upTo+1, new(raft.Log)) == nil {
						both(func(s raft.LogStore) error { return s.DeleteRange(first, upTo) })
					}
				}
			},
			"truncate": func(t *rapid.T) {
				if first, last := bounds(want); last > 0 {
					from := rapid.Uint64Range(first, last).Draw(t, "from")
					if from == first || want.GetLog(from-1, new(raft.Log)) == nil {
						both(func(s raft.LogStore) error { return s.DeleteRange(from, last) })
					}
				}
			},
			"": func(t *rapid.T) {
				if !slices.Equal(log.blocks, other.blocks) {
					t.Fatalf("two logs with the same entries have %d and %d blocks that differ", len(log.blocks), len(other.blocks))
				}
				if n, bytes := len(log.entries), bytesOf(log.entries); n >= 4+3 || bytes >= 9+20 || bytes != log.bytes {
					t.Fatalf("%d entries and %d bytes are in no block, %d by its own account; want less than 7 and 29", n, bytes, log.bytes)
				}
				first, last := bounds(want)
				if f, l := bounds(log); f != first || l != last {
					t.Fatalf("bounds %d and %d, want %d and %d", f, l, first, last)
				}
				for i := range last + 3 {
					var got, wanted raft.Log
					err, wantErr := log.GetLog(i, &got), want.GetLog(i, &wanted)
					if !errors.Is(err, wantErr) || !reflect.DeepEqual(got, wanted) {
						t.Fatalf("entry %d: %+v, %v; want %+v, %v", i, got, err, wanted, wantErr)
					}
				}
			},
		})
	})
}
