package state

import (
	"context"
	"errors"
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
