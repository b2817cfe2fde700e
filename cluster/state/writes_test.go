package state

import (
	"fmt"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

func want(t *testing.T, what string, got, wanted any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(wanted); g != w {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

// evalByID returns the evaluation, or nil.
func evalByID(s *Snapshot, id string) *broker.Evaluation {
	return s.evals.get(id)
}

func TestNodeRegistration(t *testing.T) {
	s := New()
	node := func() *rpc.Node { return s.Snapshot().NodeByID("n") }
	ok(t, s.Update(1, func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n", Status: rpc.NodeStatusInit}) }))
	want(t, "a new node is eligible", node().SchedulingEligibility, rpc.NodeEligible)
	ok(t, s.Update(2, func(tx *Tx) error { return tx.UpdateNodeDrain("n", &rpc.DrainStrategy{}, false, 10, "drain") }))
	want(t, "a draining node is ineligible", node().SchedulingEligibility, rpc.NodeIneligible)
	if err := s.Update(3, func(tx *Tx) error { return tx.UpdateNodeEligibility("n", rpc.NodeEligible, 10, "") }); err == nil {
		t.Error("a draining node was made eligible")
	}
	ok(t, s.Update(3, func(tx *Tx) error {
		return tx.UpsertNode(&rpc.Node{ID: "n", Status: rpc.NodeStatusReady, SchedulingEligibility: rpc.NodeEligible})
	}))
	want(t, "registering again keeps", []any{node().Drain != nil, node().SchedulingEligibility, node().CreateIndex, node().ModifyIndex},
		[]any{true, rpc.NodeIneligible, 1, 3})
	ok(t, s.Update(4, func(tx *Tx) error { return tx.UpdateNodeDrain("n", nil, false, 10, "") }))
	want(t, "ending a drain leaves it ineligible", node().SchedulingEligibility, rpc.NodeIneligible)
	ok(t, s.Update(5, func(tx *Tx) error { return tx.UpdateNodeEligibility("n", rpc.NodeEligible, 10, "") }))
	want(t, "ready", node().Ready(), true)
	ok(t, s.Update(6, func(tx *Tx) error { return tx.UpdateNodeStatus("n", rpc.NodeStatusDown, 99, "heartbeat missed") }))
	want(t, "status", []any{node().Status, node().StatusUpdatedAt, node().ModifyIndex}, []any{rpc.NodeStatusDown, 99, 6})
	ok(t, s.Update(7, func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n", Status: rpc.NodeStatusReady}) }))
	var events []string
	for _, e := range s.Snapshot().NodeEvents("n") {
		events = append(events, fmt.Sprintf("%d %s", e.CreateIndex, e.Message))
	}
	want(t, "events", events, "[1 Node registered 2 drain 6 heartbeat missed 7 Node re-registered]")
	for i := range 20 {
		ok(t, s.Update(uint64(8+i), func(tx *Tx) error { return tx.AddNodeEvents("n", NodeEvent{Message: "x"}) }))
	}
	want(t, "events kept", len(s.Snapshot().NodeEvents("n")), MaxNodeEvents)
	want(t, "events do not touch the node", node().ModifyIndex, 7)
	if err := s.Update(40, func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{Name: "nameless"}) }); err == nil {
		t.Error("a node without ID was registered")
	}
}

// TestEventsDoNotWriteToTheNode, which others are reading: the race detector tells.
func TestEventsDoNotWriteToTheNode(t *testing.T) {
	s := New()
	ok(t, s.Update(1, func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n", Status: rpc.NodeStatusReady}) }))
	n, read := s.Snapshot().NodeByID("n"), make(chan string)
	go func() { read <- n.Status }()
	ok(t, s.Update(2, func(tx *Tx) error { return tx.AddNodeEvents("n", NodeEvent{Message: "x"}) }))
	want(t, "status", <-read, rpc.NodeStatusReady)
}

func TestNodesChangedSince(t *testing.T) {
	s := New()
	for i, id := range []string{"a", "b", "c"} {
		ok(t, s.Update(uint64(250+3*i), func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{ID: id}) })) // across a byte of the index
	}
	ok(t, s.Update(70_000, func(tx *Tx) error { return tx.UpdateNodeStatus("a", rpc.NodeStatusReady, 1, "") }))
	for since, ids := range map[uint64]string{0: "[b c a]", 252: "[b c a]", 253: "[c a]", 256: "[a]", 70_000: "[]"} {
		got := []string{}
		for n := range s.Snapshot().NodesChangedSince(since) {
			got = append(got, n.ID)
		}
		want(t, fmt.Sprint("since ", since), got, ids)
	}
	ok(t, s.Update(70_001, func(tx *Tx) error { return tx.DeleteNode("b") }))
	want(t, "deleted", s.Snapshot().NodeDeletedIndex(), 70_001)
}

func TestAllocsChangedSince(t *testing.T) {
	s := New()
	index := uint64(300)
	place := func(id, job string) {
		index++
		ok(t, s.Update(index, func(tx *Tx) error {
			return tx.UpsertPlanResults(&PlanResults{AllocsUpdated: []*rpc.Allocation{{ID: id, Namespace: "default", JobID: job, NodeID: "n"}}})
		}))
	}
	place("a", "j") // 301
	place("b", "j")
	place("x", "i") // neighbours in the index, on both sides
	place("y", "k")
	place("c", "j") // 305
	index++
	ok(t, s.Update(index, func(tx *Tx) error {
		tx.UpdateAllocsFromClient(&rpc.Allocation{ID: "a", ClientStatus: rpc.AllocClientRunning})
		return nil
	}))
	for since, ids := range map[uint64]string{0: "[b c a]", 301: "[b c a]", 302: "[c a]", 305: "[a]", 306: "[]"} {
		got := []string{}
		for a := range s.Snapshot().AllocsChangedSince(broker.JobID{Namespace: "default", ID: "j"}, since) {
			got = append(got, a.ID)
		}
		want(t, fmt.Sprint("since ", since), got, ids)
	}
}

func TestJobVersions(t *testing.T) {
	s := New()
	j := func() *rpc.Job { return s.Snapshot().JobByID(rpc.DefaultNamespace, "j") }
	register := func(index uint64, priority int) {
		ok(t, s.Update(index, func(tx *Tx) error { return tx.UpsertJob(&rpc.Job{ID: "j", Priority: priority}) }))
	}
	steps := []struct {
		name                           string
		do                             func()
		version, create, mod, jobModif uint64
	}{
		{"new", func() { register(3, 50) }, 0, 3, 3, 3},
		{"the same again", func() { register(4, 50) }, 0, 3, 4, 3},
		{"changed", func() { register(5, 60) }, 1, 3, 5, 5},
		{"stopped", func() { ok(t, s.Update(6, func(tx *Tx) error { return tx.StopJob(rpc.DefaultNamespace, "j") })) }, 2, 3, 6, 6},
		{"stopped again", func() { ok(t, s.Update(7, func(tx *Tx) error { return tx.StopJob(rpc.DefaultNamespace, "j") })) }, 2, 3, 7, 6},
		{"started again", func() { register(8, 60) }, 3, 3, 8, 8},
		{"purged and new", func() {
			ok(t, s.Update(9, func(tx *Tx) error { return tx.DeleteJob(rpc.DefaultNamespace, "j") }))
			register(10, 60)
		}, 0, 10, 10, 10},
	}
	for _, step := range steps {
		step.do()
		want(t, step.name, []any{j().Version, j().CreateIndex, j().ModifyIndex, j().JobModifyIndex}, []any{step.version, step.create, step.mod, step.jobModif})
	}
	ok(t, s.Update(11, func(tx *Tx) error { return tx.StopJob(rpc.DefaultNamespace, "absent") }))
	ok(t, s.Update(12, func(tx *Tx) error { return tx.DeleteJob(rpc.DefaultNamespace, "absent") }))
	ok(t, s.Update(13, func(tx *Tx) error { return tx.UpsertJob(&rpc.Job{ID: "sys", Type: rpc.JobTypeSystem}) }))
	ok(t, s.Update(14, func(tx *Tx) error { return tx.UpsertJob(&rpc.Job{ID: "sysbat", Type: rpc.JobTypeSysBatch}) }))
	got := s.Snapshot().JobsByType(rpc.JobTypeSystem)
	want(t, "system jobs", len(got), 1)
	want(t, "the system job", got[0].ID, "sys")
}

func TestEvaluations(t *testing.T) {
	s := New()
	job := broker.JobID{Namespace: rpc.DefaultNamespace, ID: "j"}
	eval := func(id, status string) *broker.Evaluation {
		return &broker.Evaluation{ID: id, Namespace: job.Namespace, JobID: job.ID, Status: status}
	}
	status := func(id string) string { return evalByID(s.Snapshot(), id).Status }
	ok(t, s.Update(1, func(tx *Tx) error {
		return tx.UpsertEvals(eval("a", broker.StatusPending), eval("b", broker.StatusBlocked), eval("c", broker.StatusBlocked))
	}))
	other := eval("other", broker.StatusBlocked)
	other.JobID = "i"
	ok(t, s.Update(2, func(tx *Tx) error { return tx.UpsertEvals(other) }))

	short := eval("a", broker.StatusComplete)
	short.FailedTGAllocs = map[string]int{"g": 1}
	ok(t, s.Update(3, func(tx *Tx) error { return tx.UpsertEvals(short) }))
	want(t, "a completion without room cancels nothing", status("b"), broker.StatusBlocked)

	ok(t, s.Update(4, func(tx *Tx) error {
		return tx.UpsertEvals(eval("d", broker.StatusPending), eval("b", broker.StatusComplete))
	}))
	want(t, "the one that completed", status("b"), broker.StatusComplete)
	want(t, "the job's other blocked one", status("c"), broker.StatusCanceled)
	want(t, "its index", evalByID(s.Snapshot(), "c").ModifyIndex, 4)
	want(t, "another job's", status("other"), broker.StatusBlocked)
	want(t, "indexes", []uint64{evalByID(s.Snapshot(), "b").CreateIndex, evalByID(s.Snapshot(), "b").ModifyIndex}, "[1 4]")
	want(t, "pending", len(s.Snapshot().EvalsByStatus(broker.StatusPending)), 1)
	want(t, "of the job", s.Snapshot().JobEvals(job), JobEvals{Count: 4, MaxModifyIndex: 4})

	ok(t, s.Update(5, func(tx *Tx) error { return tx.DeleteEvals([]string{"c", "absent"}, nil) }))
	want(t, "of the job", s.Snapshot().JobEvals(job), JobEvals{Count: 3, MaxModifyIndex: 4})
	want(t, "found", len(s.Snapshot().EvalsByJob(job)), 3)
	if err := s.Update(6, func(tx *Tx) error { return tx.UpsertEvals(&broker.Evaluation{JobID: "j"}) }); err == nil {
		t.Error("an evaluation without ID was stored")
	}
}

func TestPlanResultsAndClientUpdates(t *testing.T) {
	s := New()
	upsert(t, s, 1)
	ok(t, s.Update(2, func(tx *Tx) error {
		return tx.UpsertEvals(&broker.Evaluation{ID: "e", Namespace: "default", JobID: "j", Status: broker.StatusPending})
	}))
	alloc := func() *rpc.Allocation { return s.Snapshot().AllocByID("a") }
	indexes := func() []uint64 {
		a := alloc()
		return []uint64{a.CreateIndex, a.ModifyIndex, a.AllocModifyIndex}
	}
	plan := func(index uint64, r *PlanResults) {
		t.Helper()
		ok(t, s.Update(index, func(tx *Tx) error { return tx.UpsertPlanResults(r) }))
	}

	plan(3, &PlanResults{EvalID: "e", AllocsUpdated: []*rpc.Allocation{{
		ID: "a", Namespace: "default", NodeID: "n", JobID: "j", Resources: rpc.Resources{CPUMHz: 5},
		DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientPending,
	}}})
	want(t, "placed", indexes(), "[3 3 3]")
	want(t, "the evaluation was touched", evalByID(s.Snapshot(), "e").ModifyIndex, 3)
	want(t, "used", s.Snapshot().NodeAllocs("n").Used.CPUMHz, 5)

	ok(t, s.Update(4, func(tx *Tx) error {
		tx.UpdateAllocsFromClient(&rpc.Allocation{ID: "a", ClientStatus: rpc.AllocClientRunning, ModifyTime: 44, NodeID: "lies"}, &rpc.Allocation{ID: "absent"})
		return nil
	}))
	want(t, "client update", indexes(), "[3 4 3]")
	want(t, "of it", []any{alloc().ClientStatus, alloc().ModifyTime, alloc().NodeID, alloc().DesiredStatus}, []any{rpc.AllocClientRunning, 44, "n", rpc.AllocDesiredRun})

	changed := alloc().Copy()
	changed.JobVersion, changed.ClientStatus = 1, rpc.AllocClientPending
	plan(5, &PlanResults{AllocsUpdated: []*rpc.Allocation{changed}})
	want(t, "update in place", indexes(), "[3 5 5]")
	want(t, "keeps what the client said", []any{alloc().JobVersion, alloc().ClientStatus}, []any{1, rpc.AllocClientRunning})

	unknown := alloc().Copy()
	unknown.ClientStatus, unknown.Reach = rpc.AllocClientUnknown, &rpc.Reach{DisconnectedAt: 6}
	plan(6, &PlanResults{AllocsUpdated: []*rpc.Allocation{unknown}})
	want(t, "unknown is the servers' word", alloc().ClientStatus, rpc.AllocClientUnknown)

	plan(7, &PlanResults{AllocsStopped: []AllocDiff{{ID: "a", DesiredDescription: "why", ClientStatus: rpc.AllocClientLost, ModifyTime: 77}}})
	a := alloc()
	want(t, "stopped", []any{a.DesiredStatus, a.DesiredDescription, a.ClientStatus, a.DisconnectedAt(), a.ModifyTime, a.Resources.CPUMHz},
		[]any{rpc.AllocDesiredStop, "why", rpc.AllocClientLost, 0, 77, 5})
	want(t, "used", s.Snapshot().NodeAllocs("n").Used.CPUMHz, 0)
	want(t, "on the node", []int{len(s.Snapshot().NodeAllocs("n").Live), len(s.Snapshot().NodeAllocs("n").All)}, "[0 1]")

	plan(8, &PlanResults{IneligibleNodes: []string{"n"}, UpdatedAt: 5e9})
	want(t, "node", []any{s.Snapshot().NodeByID("n").SchedulingEligibility, s.Snapshot().NodeByID("n").StatusUpdatedAt}, []any{rpc.NodeIneligible, 5})

	for name, r := range map[string]*PlanResults{
		"evaluation gone": {EvalID: "absent"},
		"stopped gone":    {AllocsStopped: []AllocDiff{{ID: "absent"}}},
		"moved":           {AllocsUpdated: []*rpc.Allocation{{ID: "a", NodeID: "m", JobID: "j"}}},
	} {
		if err := s.Update(9, func(tx *Tx) error { return tx.UpsertPlanResults(r) }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ok(t, s.Update(10, func(tx *Tx) error { return tx.DeleteEvals(nil, []string{"a"}) }))
	want(t, "collected", s.Snapshot().JobAllocs(broker.JobID{Namespace: "default", ID: "j"}), JobAllocs{DeletedIndex: 10})
}
