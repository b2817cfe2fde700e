package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

func TestEvaluatePlan(t *testing.T) {
	cpu := func(id, node string, mhz int) *rpc.Allocation {
		return &rpc.Allocation{
			ID: id, NodeID: node, Namespace: rpc.DefaultNamespace, JobID: "j", TaskGroup: "g", Resources: rpc.Resources{CPUMHz: mhz},
			DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientPending,
		}
	}
	tests := []struct {
		name     string
		event    func(*world)
		places   []*rpc.Allocation
		stops    []*rpc.Allocation
		rejected string
	}{
		{name: "fits", places: []*rpc.Allocation{cpu("new", "n00", 400)}, rejected: "[]"},
		{name: "does not fit", places: []*rpc.Allocation{cpu("new", "n00", 401)}, rejected: "[n00]"},
		{name: "fits once another stops", places: []*rpc.Allocation{cpu("new", "n00", 1000)}, stops: []*rpc.Allocation{cpu("old", "n00", 600)}, rejected: "[]"},
		{name: "two do not fit together", places: []*rpc.Allocation{cpu("a", "n00", 300), cpu("b", "n00", 300)}, rejected: "[n00]"},
		{name: "one node of two", places: []*rpc.Allocation{cpu("a", "n00", 500), cpu("b", "n01", 500)}, rejected: "[n00]"},
		{name: "an update in place counts once", places: []*rpc.Allocation{cpu("old", "n00", 600)}, rejected: "[]"},
		{name: "no such node", places: []*rpc.Allocation{cpu("new", "n77", 1)}, rejected: "[n77]"},
		{name: "node down", event: func(w *world) { w.status("n01", rpc.NodeStatusDown) }, places: []*rpc.Allocation{cpu("new", "n01", 1)}, rejected: "[n01]"},
		{name: "node not ready yet", event: func(w *world) { w.status("n01", rpc.NodeStatusInit) }, places: []*rpc.Allocation{cpu("new", "n01", 1)}, rejected: "[n01]"},
		{name: "node ineligible", event: func(w *world) {
			w.update(func(tx *state.Tx) error { return tx.UpdateNodeEligibility("n01", rpc.NodeIneligible, 0, "") })
		},
			places: []*rpc.Allocation{cpu("new", "n01", 1)}, rejected: "[n01]"},
		{name: "update in place on an ineligible node", event: func(w *world) {
			w.update(func(tx *state.Tx) error { return tx.UpdateNodeEligibility("n00", rpc.NodeIneligible, 0, "") })
		},
			places: []*rpc.Allocation{cpu("old", "n00", 600)}, rejected: "[]"},
		{name: "node disconnected", event: func(w *world) { w.status("n00", rpc.NodeStatusDisconnected) }, places: []*rpc.Allocation{cpu("old", "n00", 600)}, rejected: "[n00]"},
		{name: "node disconnected, allocation unknown", event: func(w *world) { w.status("n00", rpc.NodeStatusDisconnected) },
			places: []*rpc.Allocation{func() *rpc.Allocation { a := cpu("old", "n00", 600); a.ClientStatus = rpc.AllocClientUnknown; return a }()}, rejected: "[]"},
		{name: "stops fit anywhere", event: func(w *world) { w.status("n00", rpc.NodeStatusDown) }, stops: []*rpc.Allocation{cpu("old", "n00", 600)}, rejected: "[]"},
		{name: "stop of what was collected", stops: []*rpc.Allocation{cpu("gone", "n00", 600)}, rejected: "[]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.nodes(2)
			e := w.eval("j", rpc.JobTypeService, broker.TriggeredByJobRegister)
			base := &Plan{NodeAllocation: map[string][]*rpc.Allocation{"n00": {cpu("old", "n00", 600)}}}
			w.update(func(tx *state.Tx) error {
				return tx.UpsertPlanResults(EvaluatePlan(w.store.Snapshot(), base).Commit(e.ID, 1))
			})
			if test.event != nil {
				test.event(w)
			}
			p := &Plan{EvalID: e.ID, NodeUpdate: map[string][]*rpc.Allocation{}, NodeAllocation: map[string][]*rpc.Allocation{}}
			for _, a := range test.places {
				p.place(a)
			}
			for _, a := range test.stops {
				p.stop(a, "test", "")
			}
			r := EvaluatePlan(w.store.Snapshot(), p)
			w.want("rejected", r.RejectedNodes, test.rejected)
			w.want("refresh asked for", r.RefreshIndex != 0, test.rejected != "[]")
			full := r.fullCommit(p)
			w.want("full", full, test.rejected == "[]")
			w.update(func(tx *state.Tx) error { return tx.UpsertPlanResults(r.Commit(e.ID, 1)) })
			if full && test.event == nil {
				checkRoom(t, w.store.Snapshot())
			}
		})
	}
}

// Plans are made on one snapshot and applied one after the other. The applier refuses those
// that do not fit any more, and the scheduler tries again on a newer snapshot.
func TestConflictingPlansRetry(t *testing.T) {
	w := newWorld(t)
	w.nodes(1)
	w.register(job(rpc.JobTypeService, "a", 6))
	w.register(job(rpc.JobTypeService, "b", 5))
	stale := w.store.Snapshot()
	ea, eb := w.eval("a", rpc.JobTypeService, broker.TriggeredByJobRegister), w.eval("b", rpc.JobTypeService, broker.TriggeredByJobRegister)
	w.run(ea)
	s, err := New(eb, w.cache, w.rand)
	w.ok(err)
	first := s.Plan(stale, w.now)
	r := EvaluatePlan(w.store.Snapshot(), first.Plan)
	w.want("rejected", r.RejectedNodes, "[n00]")
	w.want("again", s.Committed(r), true)
	second := s.Plan(w.store.Snapshot(), w.now)
	r = EvaluatePlan(w.store.Snapshot(), second.Plan)
	w.update(func(tx *state.Tx) error { return tx.UpsertPlanResults(r.Commit(eb.ID, 1)) })
	w.want("again", s.Committed(r), false)
	w.want("live", []int{len(w.live("a")), len(w.live("b"))}, "[6 4]")
	w.want("failed", s.Outcome(w.now).Evals[0].FailedTGAllocs, map[string]int{"g": 1})
	checkRoom(t, w.store.Snapshot())
}

// TestStopsOfWhatAKeptStateLacks: a stop of an allocation that came after the state was taken stays in the plan, which
// then fails where it is taken for granted (state_store.go, DenormalizeAllocationDiffSlice). That of one that is gone does not.
func TestStopsOfWhatAKeptStateLacks(t *testing.T) {
	w := newWorld(t)
	w.nodes(1)
	w.register(job(rpc.JobTypeService, "svc", 1))
	kept := w.store.Snapshot()
	w.runJob("svc")
	a := w.live("svc")[0]
	made := w.index
	p := &Plan{SnapshotIndex: made, NodeUpdate: map[string][]*rpc.Allocation{a.NodeID: {a}}}
	w.want("stops", len(EvaluatePlanOn(kept, w.store.Snapshot(), p).NodeUpdate[a.NodeID]), 1)
	w.want("stops, by a server that is behind the plan", len(EvaluatePlanOn(kept, kept, p).NodeUpdate[a.NodeID]), 1)
	_, err := kept.Optimistic(made+1, EvaluatePlanOn(kept, w.store.Snapshot(), p).Commit("", 1))
	w.want("error", err, fmt.Sprintf("cannot stop allocation %q: it does not exist", a.ID))
	w.report("svc", rpc.AllocClientComplete, nil)
	w.update(func(tx *state.Tx) error { return tx.DeleteEvals(nil, []string{a.ID}) })
	w.want("stops of what is gone", len(EvaluatePlanOn(kept, w.store.Snapshot(), p).NodeUpdate[a.NodeID]), 0)
}

// The node is down whenever a plan is verified, and ready when the next is made.
func TestGivesUp(t *testing.T) {
	tests := []struct {
		jobType  string
		attempts int
		entries  string
	}{
		{rpc.JobTypeService, 5, "[blocked max-plan-attempts, failed job-register]"},
		{rpc.JobTypeBatch, 2, "[blocked max-plan-attempts, failed job-register]"},
		{rpc.JobTypeSystem, 5, "[failed job-register]"},
		{rpc.JobTypeSysBatch, 2, "[failed job-register]"},
	}
	for _, test := range tests {
		t.Run(test.jobType, func(t *testing.T) {
			w := newWorld(t)
			w.nodes(1)
			w.register(job(test.jobType, "j", 1))
			s, err := New(w.eval("j", test.jobType, broker.TriggeredByJobRegister), w.cache, w.rand)
			w.ok(err)
			attempts := 0
			for again := true; again; attempts++ {
				a := s.Plan(w.store.Snapshot(), w.now)
				w.status("n00", rpc.NodeStatusDown)
				r := EvaluatePlan(w.store.Snapshot(), a.Plan)
				w.want("refused", []any{r.IsNoOp(), r.RefreshIndex}, []any{true, w.index})
				w.status("n00", rpc.NodeStatusReady)
				again = s.Committed(r)
			}
			w.want("attempts", attempts, test.attempts)
			var entries []string
			for _, e := range s.Outcome(w.now).Evals {
				entries = append(entries, e.Status+" "+e.TriggeredBy)
			}
			w.want("entries", "["+strings.Join(entries, ", ")+"]", test.entries)
		})
	}
}

// An attempt that gets anything committed resets the count of attempts: four that get nothing may follow.
func TestProgressResetsAttempts(t *testing.T) {
	w := newWorld(t)
	w.nodes(8)
	w.register(job(rpc.JobTypeSystem, "j", 0))
	s, err := New(w.eval("j", rpc.JobTypeSystem, broker.TriggeredByJobRegister), w.cache, w.rand)
	w.ok(err)
	attempts := 0
	for again := true; again; attempts++ {
		p := s.Plan(w.store.Snapshot(), w.now).Plan
		full := EvaluatePlan(w.store.Snapshot(), p)
		nodes := p.nodes()
		if attempts%5 < 4 {
			nodes = append(nodes[:1:1], nodes...)
		}
		for _, refused := range nodes[1:] { // commit one node's part at a time
			delete(full.NodeAllocation, refused)
			full.RefreshIndex = w.index
		}
		full.AllocIndex = w.next()
		w.ok(w.store.Update(full.AllocIndex, func(tx *state.Tx) error { return tx.UpsertPlanResults(full.Commit(s.eval.ID, 1)) }))
		again = s.Committed(full)
	}
	w.want("attempts", attempts, 8*5)
	w.want("status", s.Outcome(w.now).Evals[0].Status, broker.StatusComplete)
}

func TestRefusesWhatItCannotHandle(t *testing.T) {
	w := newWorld(t)
	if _, err := New(&broker.Evaluation{ID: "x", Type: rpc.JobTypeCore}, nil, w.rand); err == nil {
		t.Error("a core evaluation got a scheduler")
	}
	w.register(job(rpc.JobTypeSystem, "j", 0))
	r := w.run(w.eval("j", rpc.JobTypeSystem, broker.TriggeredByRetryFailedAlloc))
	w.want("outcome", []any{len(r.plans), r.final.Status, r.final.StatusDescription},
		[]any{0, broker.StatusFailed, "scheduler cannot handle 'alloc-failure' evaluation reason"})
}

// TestUpdateTakenInPart: the applier refuses what is for one node, and with it a stop whose
// replacement it takes on another. The next attempt stops the highest name, which is one too many, and
// replaces the old allocation again: a name runs twice, as in Nomad before 1.5.10 (docs/adr/0302).
func TestUpdateTakenInPart(t *testing.T) {
	w := newWorld(t)
	w.nodes(3)
	w.register(job(rpc.JobTypeService, "svc", 9))
	w.runJob("svc")
	w.change("svc", group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz = 150 }))
	var stay, replaced []string
	r := w.run(w.eval("svc", rpc.JobTypeService, broker.TriggeredByJobRegister), func(p *Plan) {
		for _, node := range p.nodes() {
			for _, a := range p.NodeUpdate[node] {
				here := slices.ContainsFunc(p.NodeAllocation[node], func(b *rpc.Allocation) bool { return b.PreviousAllocation == a.ID })
				if len(stay) == 0 && !here && len(p.NodeAllocation[node]) > 0 {
					free := roomy.Sub(w.store.Snapshot().NodeAllocs(node).Used)
					w.update(func(tx *state.Tx) error {
						return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{{ID: "filler", Namespace: "default", JobID: "other", NodeID: node, Resources: free}}})
					})
					stay = append(stay, a.Name)
				}
			}
		}
	})
	w.want("attempts, and refused in the first", []int{len(r.plans), len(r.results[0].RejectedNodes)}, []int{2, 1})
	for name, n := range w.count("svc") {
		if n > 1 {
			replaced = append(replaced, name)
		}
	}
	if len(w.live("svc")) != 9 || !slices.Contains(replaced, stay[0]) {
		t.Errorf("%d run, twice %v; want 9, and %v twice", len(w.live("svc")), replaced, stay)
	}
}

// count counts the job's live allocations by name.
func (w *world) count(jobID string) map[string]int {
	n := map[string]int{}
	for _, name := range w.names(jobID) {
		n[name]++
	}
	return n
}
