package state

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// watchAll watches the allocations of nodes, registered or not, and returns a function that
// lists the nodes whose watches have ended.
func watchAll(s *Store, nodes ...string) (ended func() []string) {
	var woken []string
	for _, id := range nodes {
		s.Watch(&Watch{
			NodeID: id, Index: (&Watch{NodeID: id}).Answer(s.Snapshot()),
			Wake: func() { woken = append(woken, id) },
		}, time.Hour)
	}
	return func() []string { return slices.Sorted(slices.Values(woken)) }
}

// Each client of a large cluster watches its own allocations. Changes on other nodes must not
// wake it; its own reports and a collection do, as in Nomad. A node without allocations is woken by changes of the nodes
// that share as much of its ID as any with allocations.
func TestWatch(t *testing.T) {
	s := New()
	nodes := []string{"aa", "ab", "ba", "bb", "cc"}
	index := uint64(0)
	next := func() uint64 { index++; return index }
	for _, id := range nodes {
		ok(t, s.Update(next(), func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{ID: id, Status: rpc.NodeStatusReady}) }))
	}
	tests := []struct {
		name   string
		change func()
		wakes  string
	}{
		{"first allocation", func() { place(t, s, next(), "a", "ab") }, "aa ab ba bb cc"},
		{"second allocation", func() { place(t, s, next(), "b", "ab") }, "aa ab ba bb cc"},
		{"on another node", func() { place(t, s, next(), "c", "ba") }, "ba bb cc"},
		{"client update", func() {
			ok(t, s.Update(next(), func(tx *Tx) error {
				tx.UpdateAllocsFromClient(&rpc.Allocation{ID: "c", ClientStatus: rpc.AllocClientRunning})
				return nil
			}))
		}, "ba bb cc"},
		{"node status", func() {
			ok(t, s.Update(next(), func(tx *Tx) error { return tx.UpdateNodeStatus("ab", rpc.NodeStatusDown, 1, "down") }))
		}, ""},
		{"evaluation", func() {
			ok(t, s.Update(next(), func(tx *Tx) error { return tx.UpsertEvals(&broker.Evaluation{ID: "e", JobID: "j"}) }))
		}, ""},
		{"another node joins", func() { upsertID(t, s, next(), "bc") }, ""},
		{"another node is removed", func() { ok(t, s.Update(next(), func(tx *Tx) error { return tx.DeleteNode("bc") })) }, ""},
		{"collection", func() { ok(t, s.Update(next(), func(tx *Tx) error { return tx.DeleteEvals(nil, []string{"a"}) })) }, "aa ab cc"},
		{"of a node without allocations, after none has changed", func() {
			ok(t, s.Update(next(), func(tx *Tx) error { return tx.UpdateNodeStatus("bb", rpc.NodeStatusDown, 1, "down") }))
		}, ""},
		{"transition asked for", func() {
			ok(t, s.Update(next(), func(tx *Tx) error { tx.RequestTransitions([]string{"b"}, nil); return nil }))
		}, "aa ab cc"},
		{"stop", func() {
			ok(t, s.Update(next(), func(tx *Tx) error { return tx.UpsertPlanResults(&PlanResults{AllocsStopped: []AllocDiff{{ID: "b"}}}) }))
		}, "aa ab cc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ended := watchAll(s, nodes...)
			test.change()
			if got := strings.Join(ended(), " "); got != test.wakes {
				t.Errorf("woke the watchers of %q, want %q", got, test.wakes)
			}
		})
	}
}

// TestWatchOfNodeWithoutAllocations: its index is that of the table of allocations, but only a change of the node itself,
// or of one that it is near to, makes the server look.
func TestWatchOfNodeWithoutAllocations(t *testing.T) {
	s := New()
	upsertID(t, s, 1, "na")
	place(t, s, 2, "a", "nb")
	ended := watchAll(s, "na")
	place(t, s, 3, "b", "other")
	if got := ended(); got != nil {
		t.Errorf("an allocation elsewhere woke %v", got)
	}
	ok(t, s.Update(4, func(tx *Tx) error { return tx.UpdateNodeStatus("na", rpc.NodeStatusReady, 1, "") }))
	if got := ended(); !slices.Equal(got, []string{"na"}) {
		t.Errorf("woke %v, want na", got)
	}
	if got := (&Watch{NodeID: "na"}).Answer(s.Snapshot()); got != 3 {
		t.Errorf("answered with index %d, want 3, that of the allocation elsewhere", got)
	}
	if s.Watch(&Watch{NodeID: "na", Index: 2, Wake: func() {}}, time.Hour) {
		t.Error("a watch began that is over")
	}
	ended = watchAll(s, "na", "na")
	place(t, s, 5, "c", "nc")
	if got := ended(); !slices.Equal(got, []string{"na", "na"}) {
		t.Errorf("an allocation near by woke %v, want na twice", got)
	}
}

// TestIdleWatches: who is woken is who shares with a changed node what it shares with the nearest that has allocations, in
// any state and whatever the order of changes and watches.
func TestIdleWatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New()
		id := rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 3, 3, -1)
		common := func(a, b string) int {
			i := 0
			for i < len(a) && a[i] == b[i] {
				i++
			}
			return i
		}
		on := map[string]int{}       // allocations by node
		waiting := map[string]bool{} // nodes that are watched
		var woken []string
		for index := uint64(2); index < 40; index++ { // 1 is the least that a watch is answered with
			watched, changed := id.Draw(t, "watched"), id.Draw(t, "changed")
			if !waiting[watched] && s.Watch(&Watch{NodeID: watched, Index: (&Watch{NodeID: watched}).Answer(s.Snapshot()), Wake: func() { woken = append(woken, watched) }}, time.Hour) {
				waiting[watched] = true
			}
			var want []string
			for w := range waiting {
				near := 0
				for used := range on {
					near = max(near, common(w, used))
				}
				if w == changed || on[w] == 0 && common(w, changed) >= near {
					want = append(want, w)
				}
			}
			woken = nil
			name := fmt.Sprint(changed, on[changed])
			if on[changed] > 0 && rapid.Bool().Draw(t, "collect") {
				name = fmt.Sprint(changed, on[changed]-1)
				if on[changed]--; on[changed] == 0 {
					delete(on, changed)
				}
				if err := s.Update(index, func(tx *Tx) error { return tx.DeleteEvals(nil, []string{name}) }); err != nil {
					t.Fatal(err)
				}
			} else {
				on[changed]++
				alloc := &rpc.Allocation{ID: name, NodeID: changed, JobID: "j", DesiredStatus: rpc.AllocDesiredRun}
				if err := s.Update(index, func(tx *Tx) error { return tx.UpsertPlanResults(&PlanResults{AllocsUpdated: []*rpc.Allocation{alloc}}) }); err != nil {
					t.Fatal(err)
				}
			}
			slices.Sort(want)
			if !slices.Equal(woken, want) {
				t.Fatalf("at index %d a change of %s woke %v, want %v; allocations are on %v", index, changed, woken, want, on)
			}
			for _, w := range woken {
				delete(waiting, w)
			}
		}
	})
}

// TestWatchFromTable: the first look finds a change of any allocation, the following ones a
// change of the node's.
func TestWatchFromTable(t *testing.T) {
	s := New()
	place(t, s, 1, "a", "n")
	place(t, s, 2, "b", "other")
	w := &Watch{NodeID: "n", Index: 1, Wake: func() {}, FromTable: true}
	if s.Watch(w, time.Hour) {
		t.Error("a watch began although another node's allocation has changed")
	}
	if got := w.Answer(s.Snapshot()); got != 2 {
		t.Errorf("answered with %d, want 2", got)
	}
	ended := 0
	w = &Watch{NodeID: "n", Index: 2, Wake: func() { ended++ }, FromTable: true}
	if !s.Watch(w, time.Hour) {
		t.Error("a watch did not begin although nothing has changed")
	}
	place(t, s, 3, "c", "other")
	if ended != 0 {
		t.Error("another node's allocation ended the watch")
	}
	place(t, s, 4, "d", "n")
	if got := w.Answer(s.Snapshot()); ended != 1 || got != 4 {
		t.Errorf("ended %d times and answered with %d, want once and with 4", ended, got)
	}
	place(t, s, 5, "e", "other")
	if got := w.Answer(s.Snapshot()); got != 4 {
		t.Errorf("after a change of another node's allocation it is answered with %d, want 4 still", got)
	}
}

// TestWatchEnds: a watch ends once, by a change, by time or with all others, and does not
// begin if it would end at once.
func TestWatchEnds(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		s, start := New(), time.Now()
		var mu sync.Mutex
		var ends []string
		watch := func(id string, index uint64, longest time.Duration) bool {
			return s.Watch(&Watch{NodeID: id, Index: index, Wake: func() {
				mu.Lock()
				defer mu.Unlock()
				ends = append(ends, fmt.Sprint(id, " ", time.Since(start)))
			}}, longest)
		}
		for i, id := range []string{"changed", "late", "a", "b", "c", "d"} {
			place(t, s, uint64(1+i), id, id)
		}
		time.Sleep(time.Second) // watches that begin at the instant of a change count as begun after it
		for id, longest := range map[string]time.Duration{"changed": time.Minute, "late": time.Second, "c": time.Hour, "a": time.Hour, "b": time.Hour} {
			if !watch(id, 6, longest) {
				t.Errorf("the watch of %s did not begin", id)
			}
		}
		if watch("new", 0, time.Hour) {
			t.Error("a watch began whose sender knows nothing yet")
		}
		time.Sleep(2 * time.Second)
		place(t, s, 7, "alloc", "changed")
		if watch("changed", 6, time.Hour) {
			t.Error("a watch began after the change")
		}
		time.Sleep(2 * time.Minute)
		s.EndWatches()
		if watch("d", 7, time.Hour) {
			t.Error("a watch began after the end of all")
		}
		time.Sleep(2 * time.Hour)
		if want := []string{"late 2s", "changed 3s", "a 2m3s", "b 2m3s", "c 2m3s"}; !slices.Equal(ends, want) {
			t.Errorf("watches ended as %v, want %v", ends, want)
		}
	})
}
