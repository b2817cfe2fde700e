package state

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simctl/simctl/cluster/rpc"
)

func persisted(rt *rapid.T, s *Snapshot) []byte {
	var image bytes.Buffer
	if err := s.Persist(&image); err != nil {
		rt.Fatalf("%v", err)
	}
	return image.Bytes()
}

// TestAdopt applies random entries to one store and makes another adopt each state. Adopt
// must wake the watchers that Update wakes. The stores change roles after each entry, and
// now and then one restores its state from bytes in between.
func TestAdopt(t *testing.T) {
	var nodes []string
	for n := range 8 {
		nodes = append(nodes, fmt.Sprintf("node-%d", n))
	}
	rapid.Check(t, func(rt *rapid.T) {
		leader, follower := New(), New()
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			if rapid.IntRange(0, 9).Draw(rt, "restart") == 0 {
				if err := follower.Restore(bytes.NewReader(persisted(rt, leader.Snapshot()))); err != nil {
					rt.Fatalf("%v", err)
				}
			}
			first, second := watchAll(leader, nodes...), watchAll(follower, nodes...)
			if err := change(rt, leader); err != nil {
				rt.Fatalf("%v", err)
			}
			snap := leader.Snapshot()
			follower.Adopt(snap)
			if want, got := first(), second(); !slices.Equal(got, want) {
				rt.Fatalf("index %d: Adopt woke %v, Update %v", snap.Index(), got, want)
			}
			if follower.Index() != leader.Index() || follower.Snapshot() != snap {
				rt.Fatalf("follower at index %d, leader at %d", follower.Index(), leader.Index())
			}
			recount(rt, snap)
			leader, follower = follower, leader // each goes on from what the other made
		}
		snap := leader.Snapshot()
		image, counts := persisted(rt, snap), snap.counts
		if err := change(rt, follower); err != nil {
			rt.Fatalf("%v", err)
		}
		if !reflect.DeepEqual(snap.counts, counts) || !bytes.Equal(persisted(rt, snap), image) {
			rt.Fatalf("an entry that one store applied changed the state that the other holds")
		}
	})
}

// TestSnapshotIsShared reads one snapshot from several goroutines, and guesses what plans make
// of it, while two stores apply entries to it. The race detector judges.
func TestSnapshotIsShared(t *testing.T) {
	first, second := full(t, 3, 20), New()
	shared := first.Snapshot()
	second.Adopt(shared)
	print := shared.Fingerprint()
	var all sync.WaitGroup
	defer all.Wait()
	for range 3 {
		all.Go(func() {
			if _, err := shared.Optimistic(shared.Index()+1, &PlanResults{EvalID: uuid(3, 2), AllocsStopped: []AllocDiff{{ID: uuid(2, 2)}}}); err != nil {
				t.Error(err)
			}
			if got := shared.Fingerprint(); got != print {
				t.Errorf("fingerprint %s, had %s", got, print)
			}
		})
	}
	for _, s := range []*Store{first, second} {
		all.Go(func() {
			for index := s.Index() + 1; index < shared.Index()+20; index++ {
				if err := s.Update(index, func(tx *Tx) error {
					return errors.Join(tx.UpdateNodeStatus(uuid(1, 0), rpc.NodeStatusDown, 1, "down"), tx.DeleteEvals([]string{uuid(3, 1)}, []string{uuid(2, 1)}))
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestAdoptAhead: a store that skips entries does not know what they changed, and looks at
// every watch, as does one that restores its state. Nomad abandons the old state then, and runs
// every query again: one about a node without allocations finds that others have changed.
func TestAdoptAhead(t *testing.T) {
	ahead := New()
	place(t, ahead, 1, "a", "node-1")
	place(t, ahead, 1, "d", "node-4")
	place(t, ahead, 2, "b", "node-2")
	place(t, ahead, 3, "c", "node-1")
	upsert(t, ahead, 4)
	var image bytes.Buffer
	ok(t, ahead.Snapshot().Persist(&image))
	saved := image.Bytes()
	for name, catchUp := range map[string]func(behind *Store){
		"adopt":   func(behind *Store) { behind.Adopt(ahead.Snapshot()) },
		"restore": func(behind *Store) { ok(t, behind.Restore(bytes.NewReader(saved))) },
	} {
		behind := New()
		place(t, behind, 1, "a", "node-1")
		place(t, behind, 1, "d", "node-4")
		ended := watchAll(behind, "node-1", "node-2", "node-3", "node-4")
		catchUp(behind)
		if got := ended(); !slices.Equal(got, []string{"node-1", "node-2", "node-3"}) {
			t.Errorf("%s: woke the watchers of %v, want all but that of node-4", name, got)
		}
	}
	fresh, woken := New(), false
	fresh.Watch(&Watch{NodeID: "node-1", Index: 2, Wake: func() { woken = true }}, time.Hour)
	ok(t, fresh.Restore(bytes.NewReader(saved)))
	if !woken {
		t.Error("a server that has just started restores a snapshot, and whoever asks already is not told")
	}
}

// TestApplied: whoever follows a store is told of every entry as often as it is applied, and of nothing
// that fails or is restored.
func TestApplied(t *testing.T) {
	s, other := New(), New()
	var told []*Snapshot
	s.Applied = func(now *Snapshot) {
		if now != s.Snapshot() {
			t.Errorf("told of index %d, and the store is at %d", now.Index(), s.Index())
		}
		told = append(told, now)
	}
	upsert(t, other, 7)
	var image bytes.Buffer
	ok(t, other.Snapshot().Persist(&image))
	upsert(t, s, 1)
	first := s.Snapshot()
	upsert(t, s, 1)
	second := s.Snapshot()
	if err := s.Update(2, func(*Tx) error { return errors.New("no") }); err == nil {
		t.Error("an entry that fails is applied")
	}
	s.Adopt(other.Snapshot())
	s.Adopt(other.Snapshot())
	ok(t, s.Restore(&image))
	if want := []*Snapshot{first, second, other.Snapshot(), other.Snapshot()}; !slices.Equal(told, want) {
		t.Errorf("told of %d entries, want %d", len(told), len(want))
	}
}

// TestCourse: a snapshot that is older than the state leads it back, and that counts; no other does.
func TestCourse(t *testing.T) {
	s, images := New(), map[uint64][]byte{}
	for _, index := range []uint64{3, 5, 7} {
		upsert(t, s, index)
		var image bytes.Buffer
		ok(t, s.Snapshot().Persist(&image))
		images[index] = image.Bytes()
	}
	for _, c := range []struct {
		restored uint64
		setBack  int
	}{{7, 0}, {5, 1}, {5, 1}, {7, 1}, {3, 2}} {
		ok(t, s.Restore(bytes.NewReader(images[c.restored])))
		if index, setBack := s.Course(); index != c.restored || setBack != c.setBack {
			t.Errorf("after the snapshot of index %d: at %d, set back %d times, want %d", c.restored, index, setBack, c.setBack)
		}
	}
}
