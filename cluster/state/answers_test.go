package state

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// TestWhatPlansLeave: a plan makes all of its nodes ineligible that it says, and goes on. What a scheduler declares
// lost or unknown is so, whatever the client said; anything else stays what the client said.
func TestWhatPlansLeave(t *testing.T) {
	for _, c := range []struct{ declared, want string }{
		{rpc.AllocClientPending, rpc.AllocClientRunning}, {rpc.AllocClientLost, rpc.AllocClientLost}, {rpc.AllocClientUnknown, rpc.AllocClientUnknown},
	} {
		s := New()
		ok(t, s.Update(1, func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n"}) }))
		ok(t, s.Update(2, func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{ID: "o"}) }))
		alloc := func(status string) *rpc.Allocation {
			return &rpc.Allocation{ID: "a", NodeID: "n", ClientStatus: status, DesiredStatus: rpc.AllocDesiredRun}
		}
		ok(t, s.Update(3, func(tx *Tx) error {
			return tx.UpsertPlanResults(&PlanResults{AllocsUpdated: []*rpc.Allocation{alloc(rpc.AllocClientRunning)}})
		}))
		ok(t, s.Update(4, func(tx *Tx) error {
			return tx.UpsertPlanResults(&PlanResults{IneligibleNodes: []string{"n", "o"}, AllocsUpdated: []*rpc.Allocation{alloc(c.declared)}})
		}))
		snap := s.Snapshot()
		if got := snap.AllocByID("a").ClientStatus; got != c.want {
			t.Errorf("declared %s, it is %s, want %s", c.declared, got, c.want)
		}
		for _, id := range []string{"n", "o"} {
			if e := snap.NodeByID(id).SchedulingEligibility; e != rpc.NodeIneligible {
				t.Errorf("node %s is %q", id, e)
			}
		}
	}
}

// TestNodesInDatacenters: those that are named, in full or by a pattern, add up.
func TestNodesInDatacenters(t *testing.T) {
	s := New()
	for i, n := range []*rpc.Node{
		{ID: "a", Datacenter: "dc1", Status: rpc.NodeStatusReady, SchedulingEligibility: rpc.NodeEligible}, {ID: "b", Datacenter: "dc1", Status: rpc.NodeStatusDown},
		{ID: "c", Datacenter: "dc2", Status: rpc.NodeStatusReady, SchedulingEligibility: rpc.NodeEligible},
	} {
		ok(t, s.Update(uint64(i+1), func(tx *Tx) error { return tx.UpsertNode(n) }))
	}
	for _, c := range []struct {
		named []string
		want  DCCount
	}{
		{[]string{"dc1"}, DCCount{Nodes: 2, Ready: 1}}, {[]string{"dc1", "dc2"}, DCCount{Nodes: 3, Ready: 2}},
		{[]string{"dc3"}, DCCount{}}, {[]string{"*"}, DCCount{Nodes: 3, Ready: 2}},
	} {
		if got := s.Snapshot().NodesIn(c.named); got != c.want {
			t.Errorf("in %v: %+v, want %+v", c.named, got, c.want)
		}
	}
}

// TestWhatIsKeptBesideRows: the configuration of schedulers and launches are part of the state, and of its image.
func TestWhatIsKeptBesideRows(t *testing.T) {
	s := New()
	id := broker.JobID{Namespace: rpc.DefaultNamespace, ID: "j"}
	ok(t, s.Update(1, func(tx *Tx) error { return tx.UpsertJob(&rpc.Job{ID: id.ID, Type: rpc.JobTypeBatch}) }))
	before := s.Snapshot()
	ok(t, s.Update(1, func(tx *Tx) error {
		tx.SetSchedulerConfig(rpc.SchedulerConfig{PauseEvalBroker: true})
		return nil
	}))
	paused := s.Snapshot()
	if !paused.SchedulerConfig().PauseEvalBroker || before.SchedulerConfig().PauseEvalBroker {
		t.Errorf("the broker is paused: %+v, and before %+v", paused.SchedulerConfig(), before.SchedulerConfig())
	}
	if before.Image() == paused.Image() || before.Fingerprint() != paused.Fingerprint() {
		t.Errorf("images %.8s and %.8s, want two; fingerprints %.8s and %.8s, want one", before.Image(), paused.Image(), before.Fingerprint(), paused.Fingerprint())
	}
	if got := before.LastLaunch(id); !got.Equal(time.Unix(0, 0)) {
		t.Errorf("a job that is not periodic was launched at %v", got)
	}
	ok(t, s.Update(2, func(tx *Tx) error { tx.NoteLaunch(id, 77, true); return nil }))
	if got := s.Snapshot().LastLaunch(id); got.UnixNano() != 77 {
		t.Errorf("launched at %v", got)
	}
}

// TestWatchesOfOneNode: the end of one leaves the others to go on.
func TestWatchesOfOneNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		defer s.EndWatches()
		ok(t, s.Update(1, func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n"}) }))
		var woken []string
		for name, longest := range map[string]time.Duration{"short": time.Second, "long": time.Hour} {
			if !s.Watch(&Watch{NodeID: "n", Index: 1, Wake: func() { woken = append(woken, name) }}, longest) {
				t.Fatalf("the %s watch has nothing to wait for", name)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !slices.Equal(woken, []string{"short"}) {
			t.Fatalf("after a second %q are woken", woken)
		}
		ok(t, s.Update(2, func(tx *Tx) error {
			return tx.UpsertPlanResults(&PlanResults{AllocsUpdated: []*rpc.Allocation{{ID: "a", NodeID: "n"}}})
		}))
		if !slices.Equal(woken, []string{"short", "long"}) {
			t.Errorf("after a change %q are woken", woken)
		}
	})
}

// TestAChangeAtTheInstantOfAWatch: the watch begins after it, whichever of the two is made first. What changes later concerns
// it if it is of its node.
func TestAChangeAtTheInstantOfAWatch(t *testing.T) {
	for name, w := range map[string]Watch{
		"with allocations, of a release that asks the table first": {NodeID: "n", Index: 1, FromTable: true},
		"without allocations": {NodeID: "nn", Index: 1},
	} {
		for _, after := range []time.Duration{0, time.Nanosecond} {
			synctest.Test(t, func(t *testing.T) {
				place := func(s *Store, index uint64, id, node string) {
					ok(t, s.Update(index, func(tx *Tx) error {
						return tx.UpsertPlanResults(&PlanResults{AllocsUpdated: []*rpc.Allocation{{ID: id, NodeID: node}}})
					}))
				}
				s := New()
				defer s.EndWatches()
				place(s, 1, "a", "n")
				woken, w := false, w
				w.Wake = func() { woken = true }
				if !s.Watch(&w, time.Hour) {
					t.Fatalf("%s: nothing to wait for", name)
				}
				time.Sleep(after)
				place(s, 2, "b", "o") // on another node
				if want := after == 0; woken != want || woken && w.Answer(s.Snapshot()) != 2 {
					t.Errorf("%s: woken %v by a change after %v, want %v; answer %d", name, woken, after, want, w.answer)
				}
				first := w
				first.looked, first.known, first.answer = false, 0, 0
				if after == 0 && s.Watch(&first, time.Hour) {
					t.Errorf("%s: a watch after the change waits", name)
				}
			})
		}
	}
}
