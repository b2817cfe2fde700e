package judge

import (
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// lossWorld is a state with two nodes that a service job of two and a system job run on.
type lossWorld struct {
	t     *testing.T
	store *state.Store
	index uint64
}

func newLossWorld(t *testing.T) *lossWorld {
	w := &lossWorld{t: t, store: state.New()}
	for _, id := range []string{"one", "two"} {
		n := &rpc.Node{ID: id, SecretID: id, Datacenter: "dc1", Status: rpc.NodeStatusReady, SchedulingEligibility: rpc.NodeEligible}
		w.update(func(tx *state.Tx) error { return tx.UpsertNode(n) })
	}
	w.update(func(tx *state.Tx) error { return tx.UpsertJob(job(rpc.JobTypeService, 0, 2)) })
	w.update(func(tx *state.Tx) error { return tx.UpsertJob(job(rpc.JobTypeSystem, 0, 1)) })
	for _, id := range []string{"one", "two"} {
		w.place("service-on-"+id, rpc.JobTypeService, id)
		w.place("system-on-"+id, rpc.JobTypeSystem, id)
	}
	return w
}

func (w *lossWorld) next() uint64 { w.index++; return w.index }

func (w *lossWorld) do(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *lossWorld) update(change func(*state.Tx) error) {
	w.t.Helper()
	w.do(w.store.Update(w.next(), change))
}

func (w *lossWorld) status(node, status string) {
	w.t.Helper()
	w.update(func(tx *state.Tx) error { return tx.UpdateNodeStatus(node, status, 0, "") })
}

func (w *lossWorld) place(id, kind, node string) {
	w.t.Helper()
	w.update(func(tx *state.Tx) error {
		return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{{
			ID: id, Namespace: rpc.DefaultNamespace, JobID: job(kind, 0, 0).ID, JobType: kind, NodeID: node,
			DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientRunning,
		}}})
	})
}

func (w *lossWorld) writeOff(id string) { w.t.Helper(); w.stop(id, rpc.AllocClientLost) }

func (w *lossWorld) stop(id, clientStatus string) {
	w.t.Helper()
	w.update(func(tx *state.Tx) error {
		return tx.UpsertPlanResults(&state.PlanResults{AllocsStopped: []state.AllocDiff{{ID: id, ClientStatus: clientStatus}}})
	})
}

// TestLossesAreReplaced goes through a second after the other, one step in each, and says
// from which second on everything lost was replaced.
func TestLossesAreReplaced(t *testing.T) {
	const system, service = "system-on-two", "service-on-two"
	down := func(w *lossWorld) { w.status("two", rpc.NodeStatusDown) }
	up := func(w *lossWorld) { w.status("two", rpc.NodeStatusReady) }
	writeOff := func(id string) func(*lossWorld) { return func(w *lossWorld) { w.writeOff(id) } }
	migrate := func(w *lossWorld) { w.stop(service, rpc.AllocClientComplete) }
	replace := func(w *lossWorld) { w.place("another", rpc.JobTypeService, "one") }
	both := func(steps ...func(*lossWorld)) func(*lossWorld) {
		return func(w *lossWorld) {
			for _, step := range steps {
				step(w)
			}
		}
	}
	nothing := func(*lossWorld) {}
	for _, tt := range []struct {
		name  string
		steps []func(*lossWorld)
		want  float64
	}{
		{"nothing happens", []func(*lossWorld){nothing, nothing}, 0},
		{"only a system job's is lost", []func(*lossWorld){both(migrate, replace), both(down, writeOff(system))}, 0},
		{"down, but no scheduler has seen it", []func(*lossWorld){down, nothing}, -1},
		{"written off, but not replaced", []func(*lossWorld){down, writeOff(service)}, -1},
		{"replaced", []func(*lossWorld){down, writeOff(service), replace, nothing}, 3},
		{"replaced before it is written off", []func(*lossWorld){down, replace, writeOff(service), nothing}, 3},
		{"all between two looks", []func(*lossWorld){nothing, both(down, writeOff(service), replace), nothing}, 2},
		{"up again in time", []func(*lossWorld){down, up, nothing}, 2},
		{"a replacement lost", []func(*lossWorld){down, both(writeOff(service), replace), writeOff("another"), nothing}, -1},
		{"the node is drained, and does not go down", []func(*lossWorld){func(w *lossWorld) {
			w.update(func(tx *state.Tx) error { return tx.UpdateNodeDrain("two", &rpc.DrainStrategy{}, false, 0, "") })
		}, nothing}, 0},
		{"the node is removed", []func(*lossWorld){down, func(w *lossWorld) {
			w.update(func(tx *state.Tx) error { return tx.DeleteNode("two") })
		}, writeOff(service), replace}, 4},
		{"the only service job is purged", []func(*lossWorld){down, func(w *lossWorld) {
			w.update(func(tx *state.Tx) error { return tx.DeleteJob(rpc.DefaultNamespace, job(rpc.JobTypeService, 0, 0).ID) })
		}, writeOff(service), nothing}, 3},
		{"the job is stopped", []func(*lossWorld){down, writeOff(service), func(w *lossWorld) {
			w.update(func(tx *state.Tx) error { return tx.StopJob(rpc.DefaultNamespace, job(rpc.JobTypeService, 0, 0).ID) })
		}}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newLossWorld(t)
			start := time.Unix(1000, 0)
			l := NewLosses(start, w.store.Snapshot())
			for i, step := range tt.steps {
				step(w)
				l.See(start.Add(time.Duration(i+1)*time.Second), w.store.Snapshot())
			}
			if got := l.Seconds(); got != tt.want {
				t.Errorf("replaced after %g s, want %g", got, tt.want)
			}
		})
	}
}

// TestLossesOfTheLastPhase: what was lost before a phase began is none of its losses.
func TestLossesOfTheLastPhase(t *testing.T) {
	w := newLossWorld(t)
	w.status("two", rpc.NodeStatusDown)
	w.writeOff("service-on-two")
	l := NewLosses(time.Unix(0, 0), w.store.Snapshot())
	w.place("another", rpc.JobTypeService, "one")
	l.See(time.Unix(1, 0), w.store.Snapshot())
	if got := l.Seconds(); got != 0 {
		t.Errorf("replaced after %g s, want 0: nothing was lost", got)
	}
	w = newLossWorld(t)
	w.writeOff("service-on-two") // in the entry with which the phase begins
	l = NewLosses(time.Unix(0, 0), w.store.Snapshot())
	w.status("two", rpc.NodeStatusDown)
	l.See(time.Unix(1, 0), w.store.Snapshot())
	if got := l.Seconds(); got != 0 {
		t.Errorf("replaced after %g s, want 0: it was lost before its node went down", got)
	}
}
