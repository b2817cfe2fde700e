package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

func TestSnapshotMinIndex(t *testing.T) {
	quadruple := []time.Duration{20 * time.Millisecond, 320 * time.Millisecond, time.Second}
	tests := []struct {
		name    string
		index   uint64
		cancel  time.Duration // zero: never
		want    uint64        // index of the snapshot
		err     error
		elapsed time.Duration
	}{
		{"there already", 1, 0, 1, nil, 0},
		// Polls are at 20 ms, 340 ms and each second from then on.
		{"reached by the next write", 2, 0, 2, nil, 1340 * time.Millisecond},
		{"reached by a later write", 3, 0, 4, nil, 2340 * time.Millisecond},
		{"not in time", 9, 0, 0, context.DeadlineExceeded, 5 * time.Second},
		{"canceled", 9, 1500 * time.Millisecond, 0, context.Canceled, 1500 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				s := New()
				s.Ladder = func(try int) time.Duration { return quadruple[min(try, 2)] }
				upsert(t, s, 1)
				var writer sync.WaitGroup
				defer writer.Wait()
				writer.Go(func() { // one write a second, the last of which skips an index
					for _, index := range []uint64{2, 4} {
						time.Sleep(time.Second)
						upsert(t, s, index)
					}
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.cancel > 0 {
					time.AfterFunc(test.cancel, cancel)
				}
				start := time.Now()
				snap, err := s.SnapshotMinIndex(ctx, test.index, 5*time.Second)
				if !errors.Is(err, test.err) {
					t.Fatalf("error %v, want %v", err, test.err)
				}
				if err == nil && snap.Index() != test.want {
					t.Errorf("snapshot of index %d, want %d", snap.Index(), test.want)
				}
				if got := time.Since(start); got != test.elapsed {
					t.Errorf("took %v, want %v", got, test.elapsed)
				}
			})
		})
	}
}

func upsert(t *testing.T, s *Store, index uint64) {
	t.Helper()
	ok(t, s.Update(index, func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n", Status: rpc.NodeStatusReady}) }))
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

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
// wake it; its own reports and a collection do, as in Nomad.
func TestWatch(t *testing.T) {
	s := New()
	nodes := []string{"n", "n1", "n12", "n2", "m"}
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
		{"first allocation", func() { place(t, s, next(), "a", "n1") }, "n1"},
		{"second allocation", func() { place(t, s, next(), "b", "n1") }, "n1"},
		{"on another node", func() { place(t, s, next(), "c", "n12") }, "n12"},
		{"client update", func() {
			ok(t, s.Update(next(), func(tx *Tx) error {
				tx.UpdateAllocsFromClient(&rpc.Allocation{ID: "c", ClientStatus: rpc.AllocClientRunning})
				return nil
			}))
		}, "n12"},
		{"node status", func() {
			ok(t, s.Update(next(), func(tx *Tx) error { return tx.UpdateNodeStatus("n1", rpc.NodeStatusDown, 1, "down") }))
		}, ""},
		{"evaluation", func() {
			ok(t, s.Update(next(), func(tx *Tx) error { return tx.UpsertEvals(&broker.Evaluation{ID: "e", JobID: "j"}) }))
		}, ""},
		{"another node joins", func() { upsertID(t, s, next(), "n13") }, ""},
		{"another node is removed", func() { ok(t, s.Update(next(), func(tx *Tx) error { return tx.DeleteNode("n13") })) }, ""},
		{"collection", func() { ok(t, s.Update(next(), func(tx *Tx) error { return tx.DeleteEvals(nil, []string{"a"}) })) }, "n1"},
		{"of a node without allocations, after none has changed", func() {
			ok(t, s.Update(next(), func(tx *Tx) error { return tx.UpdateNodeStatus("n2", rpc.NodeStatusDown, 1, "down") }))
		}, ""},
		{"transition asked for", func() {
			ok(t, s.Update(next(), func(tx *Tx) error { tx.RequestTransitions([]string{"b"}, nil); return nil }))
		}, "n1"},
		{"stop", func() {
			ok(t, s.Update(next(), func(tx *Tx) error { return tx.UpsertPlanResults(&PlanResults{AllocsStopped: []AllocDiff{{ID: "b"}}}) }))
		}, "n1"},
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

// TestWatchOfNodeWithoutAllocations: its index is that of the table of allocations, but only
// a change of the node itself makes the server look.
func TestWatchOfNodeWithoutAllocations(t *testing.T) {
	s := New()
	upsertID(t, s, 1, "n")
	ended := watchAll(s, "n")
	place(t, s, 2, "a", "other")
	if got := ended(); got != nil {
		t.Errorf("an allocation elsewhere woke %v", got)
	}
	ok(t, s.Update(3, func(tx *Tx) error { return tx.UpdateNodeStatus("n", rpc.NodeStatusReady, 1, "") }))
	if got := ended(); !slices.Equal(got, []string{"n"}) {
		t.Errorf("woke %v, want n", got)
	}
	if got := (&Watch{NodeID: "n"}).Answer(s.Snapshot()); got != 2 {
		t.Errorf("answered with index %d, want 2, that of the allocation elsewhere", got)
	}
	if s.Watch(&Watch{NodeID: "n", Index: 1, Wake: func() {}}, time.Hour) {
		t.Error("a watch began that is over")
	}
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
		for id, longest := range map[string]time.Duration{"changed": time.Minute, "late": time.Second, "c": time.Hour, "a": time.Hour, "b": time.Hour} {
			if !watch(id, 1, longest) {
				t.Errorf("the watch of %s did not begin", id)
			}
		}
		if watch("new", 0, time.Hour) {
			t.Error("a watch began whose sender knows nothing yet")
		}
		time.Sleep(2 * time.Second)
		place(t, s, 2, "alloc", "changed")
		if watch("changed", 1, time.Hour) {
			t.Error("a watch began after the change")
		}
		time.Sleep(2 * time.Minute)
		s.EndWatches()
		if watch("d", 1, time.Hour) {
			t.Error("a watch began after the end of all")
		}
		time.Sleep(2 * time.Hour)
		if want := []string{"late 1s", "changed 2s", "a 2m2s", "b 2m2s", "c 2m2s"}; !slices.Equal(ends, want) {
			t.Errorf("watches ended as %v, want %v", ends, want)
		}
	})
}

func place(t *testing.T, s *Store, index uint64, alloc, node string) {
	t.Helper()
	ok(t, s.Update(index, func(tx *Tx) error {
		return tx.UpsertPlanResults(&PlanResults{AllocsUpdated: []*rpc.Allocation{{ID: alloc, NodeID: node, JobID: "j", DesiredStatus: rpc.AllocDesiredRun}}})
	}))
}

func upsertID(t *testing.T, s *Store, index uint64, id string) {
	t.Helper()
	ok(t, s.Update(index, func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{ID: id, Status: rpc.NodeStatusReady}) }))
}

func TestUpdateIsAllOrNothing(t *testing.T) {
	s := New()
	upsert(t, s, 5)
	before := s.Snapshot().Fingerprint()
	err := s.Update(6, func(tx *Tx) error {
		if err := tx.UpsertEvals(&broker.Evaluation{ID: "e", JobID: "j", Status: broker.StatusPending}); err != nil {
			return err
		}
		return tx.UpdateNodeStatus("absent", rpc.NodeStatusDown, 1, "")
	})
	if !errors.Is(err, rpc.ErrNodeNotFound) {
		t.Errorf("error %v, want one that wraps %v", err, rpc.ErrNodeNotFound)
	}
	snap := s.Snapshot()
	if snap.Index() != 5 || snap.Fingerprint() != before || snap.EvalsByStatusCount()[broker.StatusPending] != 0 {
		t.Errorf("a failed entry left something behind: index %d", snap.Index())
	}
	if err := s.Update(4, func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n"}) }); err == nil {
		t.Error("an entry below the latest index was applied")
	}
}

func TestOptimisticSnapshot(t *testing.T) {
	s := New()
	upsert(t, s, 1)
	ok(t, s.Update(2, func(tx *Tx) error {
		return tx.UpsertEvals(&broker.Evaluation{ID: "e", JobID: "j", QueuedAllocations: map[string]int{"g": 1}})
	}))
	shared := s.Snapshot()
	plan := &PlanResults{EvalID: "e", AllocsUpdated: []*rpc.Allocation{{ID: "a", NodeID: "n", JobID: "j", Resources: rpc.Resources{CPUMHz: 7}}}}
	optimistic := func(snap *Snapshot, index uint64, r *PlanResults) *Snapshot {
		next, err := snap.Optimistic(index, r)
		ok(t, err)
		return next
	}
	guess := optimistic(shared, 3, plan)
	second := optimistic(guess, 4, &PlanResults{EvalID: "e", AllocsUpdated: []*rpc.Allocation{{ID: "b", NodeID: "n", JobID: "j"}}})

	for _, test := range []struct {
		name   string
		snap   *Snapshot
		index  uint64
		allocs int
		used   int
	}{{"store", s.Snapshot(), 2, 0, 0}, {"shared", shared, 2, 0, 0}, {"guess", guess, 3, 1, 7}, {"guess upon guess", second, 4, 2, 7}} {
		on := test.snap.NodeAllocs("n")
		if test.snap.Index() != test.index || len(on.Live) != test.allocs || on.Used.CPUMHz != test.used {
			t.Errorf("%s: index %d, %d allocations using %d, want %d, %d, %d", test.name, test.snap.Index(), len(on.Live), on.Used.CPUMHz, test.index, test.allocs, test.used)
		}
		recount(t, test.snap)
	}
	if a := plan.AllocsUpdated[0]; a.CreateIndex != 0 {
		t.Errorf("the caller's allocation was written to: CreateIndex %d", a.CreateIndex)
	}
	ok(t, s.Update(3, func(tx *Tx) error { return tx.UpsertPlanResults(plan) }))
	if d := Diff(s.Snapshot(), guess); d != "" {
		t.Errorf("committing the plan gives something else: %s", d)
	}
}

func TestRestoreRefusesWhatItCannotRead(t *testing.T) {
	s := New()
	upsert(t, s, 1)
	var image, newer, countless strings.Builder
	ok(t, s.Snapshot().Persist(&image))
	header := s.Snapshot().persistHeader()
	header.Version++
	ok(t, codec.NewEncoder(&newer, msgpackHandle()).Encode(header))
	newer.WriteString(image.String()[newer.Len():])
	header.Version, header.Counts = persistVersion, nil
	ok(t, codec.NewEncoder(&countless, msgpackHandle()).Encode(header))
	for name, data := range map[string]string{
		"nothing": "", "noise": "noise", "cut short": image.String()[:image.Len()-3], "of another layout": newer.String(), "without counts": countless.String(),
	} {
		if err := s.Restore(strings.NewReader(data)); err == nil {
			t.Errorf("%s: no error", name)
		}
		if s.Snapshot().NodeByID("n") == nil || s.Index() != 1 {
			t.Errorf("%s: the store changed", name)
		}
	}
}

func TestDiff(t *testing.T) {
	a, b := New(), New()
	upsert(t, a, 1)
	upsert(t, b, 1)
	if d := Diff(a.Snapshot(), b.Snapshot()); d != "" {
		t.Errorf("equal states differ: %s", d)
	}
	ok(t, b.Update(2, func(tx *Tx) error { return tx.UpdateNodeStatus("n", rpc.NodeStatusDown, 1, "") }))
	if d := Diff(a.Snapshot(), b.Snapshot()); !strings.HasPrefix(d, "node n is ") {
		t.Errorf("changed node: %q", d)
	}
	ok(t, a.Update(2, func(tx *Tx) error { return tx.UpdateNodeStatus("n", rpc.NodeStatusDown, 1, "") }))
	ok(t, a.Update(3, func(tx *Tx) error { return tx.UpsertJob(&rpc.Job{ID: "j"}) }))
	if d, want := Diff(a.Snapshot(), b.Snapshot()), "job default/j is in the first state only"; d != want {
		t.Errorf("got %q, want %q", d, want)
	}
	if d, want := Diff(b.Snapshot(), a.Snapshot()), "job default/j is in the second state only"; d != want {
		t.Errorf("got %q, want %q", d, want)
	}
	ok(t, b.Update(3, func(tx *Tx) error { return tx.UpsertJob(&rpc.Job{ID: "j"}) }))
	for i, id := range []string{"k", "i"} {
		ok(t, a.Update(uint64(4+i), func(tx *Tx) error { return tx.UpsertJob(&rpc.Job{ID: id}) }))
		if d, want := Diff(b.Snapshot(), a.Snapshot()), "job default/"+id+" is in the second state only"; d != want {
			t.Errorf("got %q, want %q", d, want)
		}
	}
}
