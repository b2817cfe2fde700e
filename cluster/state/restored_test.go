package state

import (
	"bytes"
	"fmt"
	"reflect"

	"pgregory.net/rapid"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// persistedRows returns how many rows of each table a snapshot persists, by the number of the
// header's field.
func persistedRows(s *Snapshot) map[int]int64 {
	header := reflect.ValueOf(s.persistHeader())
	rows := map[int]int64{}
	for i := range header.NumField() {
		if field := header.Field(i); field.CanInt() && header.Type().Field(i).Name != "Version" {
			rows[i] = field.Int()
		}
	}
	return rows
}

func checkRestore(rt *rapid.T, s *Store) {
	snap := s.Snapshot()
	var first, second bytes.Buffer
	if err := snap.Persist(&first); err != nil {
		rt.Fatalf("%v", err)
	}
	image := bytes.Clone(first.Bytes())
	restored := New()
	for range 5 { // on top of something else
		if err := change(rt, restored); err != nil {
			rt.Fatalf("%v", err)
		}
	}
	if err := restored.Restore(&first); err != nil {
		rt.Fatalf("%v", err)
	}
	again := restored.Snapshot()
	recount(rt, again)
	if d := Diff(snap, again); d != "" {
		rt.Fatalf("restored: %s", d)
	}
	if snap.Fingerprint() != again.Fingerprint() || snap.Index() != again.Index() {
		rt.Fatalf("restored index %d with another fingerprint than index %d", again.Index(), snap.Index())
	}
	if !reflect.DeepEqual(snap.counts, again.counts) {
		rt.Fatalf("restored counts %+v, had %+v", again.counts, snap.counts)
	}
	for n := range snap.Nodes() {
		if !reflect.DeepEqual(snap.NodeEvents(n.ID), again.NodeEvents(n.ID)) {
			rt.Fatalf("restored events of %s: %v, had %v", n.ID, again.NodeEvents(n.ID), snap.NodeEvents(n.ID))
		}
	}
	for sum := range snap.summaries.all() {
		got, want := again.summary(sum.Job), *sum
		got.log, want.log = changeLog[rpc.Allocation]{}, changeLog[rpc.Allocation]{}
		want.purged = nil              // which no snapshot has
		got.placed, want.placed = 0, 0 // recount has looked at it
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			rt.Fatalf("restored summary of job %s: %+v, had %+v", sum.Job.ID, got, want)
		}
	}
	if err := again.Persist(&second); err != nil || !bytes.Equal(second.Bytes(), image) {
		rt.Fatalf("persisting what was restored gives other bytes (error %v)", err)
	}
	// Both must apply the next entry alike.
	for _, x := range []*Store{s, restored} {
		if err := x.Update(snap.Index()+1, func(tx *Tx) error {
			return tx.UpsertEvals(&broker.Evaluation{ID: "last", JobID: "job-1", Namespace: rpc.DefaultNamespace, Status: broker.StatusComplete})
		}); err != nil {
			rt.Fatalf("%v", err)
		}
	}
	if d := Diff(s.Snapshot(), restored.Snapshot()); d != "" {
		rt.Fatalf("after one more entry: %s", d)
	}
}
