package state

import (
	"bytes"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// TestChanges: a store that records knows what each entry wrote, each row once, as the entry
// left it.
func TestChanges(t *testing.T) {
	s := New()
	s.RecordChanges()
	changed := s.Changed()
	job := &rpc.Job{ID: "web", Type: rpc.JobTypeService}
	err := s.Update(7, func(tx *Tx) error {
		if err := tx.UpsertNode(&rpc.Node{ID: "n1"}); err != nil {
			return err
		}
		if err := tx.UpdateNodeStatus("n1", rpc.NodeStatusReady, 1, ""); err != nil {
			return err
		}
		if err := tx.UpsertJob(job); err != nil {
			return err
		}
		return tx.UpsertEvals(&broker.Evaluation{ID: "e1", JobID: "web", Namespace: "default", Status: broker.StatusPending})
	})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("whoever waits for a change was not told")
	}
	c := s.Snapshot().Changes()
	if len(c.Nodes) != 1 || c.Nodes[0].Status != rpc.NodeStatusReady || len(c.Jobs) != 1 || len(c.Evals) != 1 || len(c.Allocs)+len(c.Deployments) != 0 {
		t.Errorf("changes %+v, want the node, ready, the job and the evaluation", c)
	}
	if err := s.Update(8, func(tx *Tx) error { return tx.DeleteNode("n1") }); err != nil {
		t.Fatal(err)
	}
	if c := s.Snapshot().Changes(); len(c.Nodes) != 1 || c.Nodes[0].ID != "n1" || len(c.Evals) != 0 {
		t.Errorf("changes %+v, want the node that was deleted", c)
	}
}

// TestDefinition: a job's definition survives a snapshot, and a change of it alone is a new
// version.
func TestDefinition(t *testing.T) {
	s := New()
	for i, definition := range []string{"one", "one", "two"} {
		job := &rpc.Job{ID: "web", Type: rpc.JobTypeService, Definition: []byte(definition)}
		if err := s.Update(uint64(i+1), func(tx *Tx) error { return tx.UpsertJob(job) }); err != nil {
			t.Fatal(err)
		}
	}
	var kept bytes.Buffer
	if err := s.Snapshot().Persist(&kept); err != nil {
		t.Fatal(err)
	}
	next := New()
	if err := next.Restore(&kept); err != nil {
		t.Fatal(err)
	}
	job := next.Snapshot().JobByID("default", "web")
	if job == nil || string(job.Definition) != "two" || job.Version != 1 {
		t.Errorf("restored %+v, want version 1 with the definition two", job)
	}
}
