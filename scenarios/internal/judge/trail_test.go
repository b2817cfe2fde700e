package judge

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/metrics"
)

// TestTrail: every event, its instant and what it wrote are in the digest; what has no order is not.
func TestTrail(t *testing.T) {
	entry := func(server int, index uint64, status string) func(*Trail) {
		return func(tr *Trail) {
			s := state.New()
			s.RecordChanges()
			if err := s.Update(index, func(tx *state.Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n", Status: status}) }); err != nil {
				t.Fatal(err)
			}
			tr.Applied(cluster.Applied{Server: server, Index: index, Type: "NodeRegister", State: s.Snapshot()})
		}
	}
	row := func(write func(*state.Tx) error) func(*Trail) {
		return func(tr *Trail) {
			s := state.New()
			s.RecordChanges()
			if err := s.Update(3, write); err != nil {
				t.Fatal(err)
			}
			tr.Applied(cluster.Applied{Index: 3, State: s.Snapshot()})
		}
	}
	acked := func(id string, held time.Duration) func(*Trail) {
		return func(tr *Trail) { tr.Acked(time.Now(), &broker.Evaluation{ID: id, JobID: id}, held, 0) }
	}
	later := func(*Trail) { time.Sleep(time.Nanosecond) }
	digest := func(events ...func(*Trail)) (d string) {
		synctest.Test(t, func(*testing.T) {
			tr := NewTrail(2, NewObserver(func() {}, 0))
			for _, do := range events {
				do(tr)
			}
			d = EventsOf(&metrics.Result{Invariants: []metrics.Invariant{{Name: InvariantReads}, tr.Verdict()}})
		})
		return d
	}
	a, b := entry(0, 1, rpc.NodeStatusReady), entry(1, 1, rpc.NodeStatusReady)
	base := digest(a, b, acked("e", 1), acked("f", 1))
	if len(base) != 32 {
		t.Fatalf("digest %q", base)
	}
	if got := digest(acked("f", 1), b, acked("e", 1), a); got != base {
		t.Errorf("the order of servers and workers within an instant shows: %s, %s", got, base)
	}
	for name, events := range map[string][]func(*Trail){
		"an event is missing":      {a, b, acked("e", 1)},
		"an event comes later":     {a, b, acked("e", 1), later, acked("f", 1)},
		"the broker was emptied":   {a, b, acked("e", 1), acked("f", 1), func(tr *Trail) { tr.Flushed(time.Now()) }},
		"an entry comes later":     {a, later, b, acked("e", 1), acked("f", 1)},
		"an evaluation is held":    {a, b, acked("e", 1), acked("f", 2)},
		"an entry wrote another":   {a, entry(1, 1, rpc.NodeStatusInit), acked("e", 1), acked("f", 1)},
		"an entry is another":      {a, entry(1, 2, rpc.NodeStatusReady), acked("e", 1), acked("f", 1)},
		"two servers have swapped": {entry(1, 1, rpc.NodeStatusReady), entry(1, 1, rpc.NodeStatusReady), acked("e", 1), acked("f", 1)},
	} {
		if digest(events...) == base {
			t.Errorf("%s, and the digest is the same", name)
		}
	}
	seen := map[string]string{digest(row(func(*state.Tx) error { return nil })): "nothing"}
	for what, write := range map[string]func(tx *state.Tx) error{
		"a node":        func(tx *state.Tx) error { return tx.UpsertNode(&rpc.Node{ID: "x"}) },
		"a job":         func(tx *state.Tx) error { return tx.UpsertJob(&rpc.Job{ID: "x"}) },
		"an evaluation": func(tx *state.Tx) error { return tx.UpsertEvals(&broker.Evaluation{ID: "x", JobID: "x"}) },
		"a second one": func(tx *state.Tx) error {
			return tx.UpsertEvals(&broker.Evaluation{ID: "x", JobID: "x"}, &broker.Evaluation{ID: "y", JobID: "x"})
		},
		"an allocation": func(tx *state.Tx) error {
			return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{{ID: "x", JobID: "x", NodeID: "x"}}})
		},
		"a deployment": func(tx *state.Tx) error { return tx.UpsertDeployment(&rpc.Deployment{ID: "x", JobID: "x"}) },
	} {
		d := digest(row(write))
		if before, ok := seen[d]; ok {
			t.Errorf("an entry that wrote %s has the digest of one that wrote %s", what, before)
		}
		seen[d] = what
	}
}

// TestAppliedOnce: a process applies each entry once. One that starts again begins anew, where its snapshot
// or its log begins.
func TestAppliedOnce(t *testing.T) {
	type applied struct {
		server, life int
		index        uint64
		setBack      int
	}
	for _, c := range []struct {
		name    string
		entries []applied
		ok      bool
		detail  string
	}{
		{"in order, with gaps", []applied{{0, 0, 1, 0}, {1, 0, 1, 0}, {0, 0, 2, 0}, {0, 0, 7, 0}}, true, "2 processes applied entries"},
		{"after a start", []applied{{0, 0, 7, 0}, {0, 1, 3, 0}, {0, 1, 4, 0}}, true, "2 processes applied entries"},
		{"twice", []applied{{1, 0, 3, 0}, {1, 0, 3, 0}, {1, 0, 4, 0}}, false, "1 process applied entries; 1 of them again, the first: server 2 applied 3 after 3"},
		{"backwards", []applied{{0, 1, 3, 0}, {0, 1, 2, 0}, {0, 1, 2, 0}}, false, "; 2 of them again, the first: server 1 applied 2 after 3"},
		{"after a snapshot led back", []applied{{0, 0, 7, 0}, {0, 0, 3, 1}, {0, 0, 4, 1}}, true, "1 process applied entries"},
		{"twice after a snapshot led back", []applied{{0, 0, 7, 0}, {0, 0, 3, 1}, {0, 0, 3, 1}}, false, "; 1 of them again, the first: server 1 applied 3 after 3"},
	} {
		tr := NewTrail(2, NewObserver(func() {}, 0))
		for _, a := range c.entries {
			tr.Applied(cluster.Applied{Server: a.server, Life: a.life, SetBack: a.setBack, Index: a.index, State: state.New().Snapshot()})
		}
		t.Run(c.name, func(t *testing.T) { wantCheck(t, tr.Once(), InvariantOnce, c.ok, c.detail) })
	}
}
