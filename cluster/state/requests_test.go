package state

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// TestTransitions: what an operator asks of allocations, and what schedulers notice of it.
func TestTransitions(t *testing.T) {
	s := New()
	upsert(t, s, 1)
	for i, id := range []string{"a", "b", "c"} {
		place(t, s, uint64(2+i), id, "n")
	}
	ok(t, s.Update(5, func(tx *Tx) error {
		tx.RequestTransitions([]string{"a", "absent"}, []string{"b", "absent", "a"})
		return nil
	}))
	for id, wanted := range map[string][]any{"a": {true, true, 5, 5}, "b": {false, true, 5, 5}, "c": {false, false, 4, 4}} {
		a := s.Snapshot().AllocByID(id)
		want(t, id+" migrates, is rescheduled, changed", []any{a.Migrate, a.Reschedule, a.ModifyIndex, a.AllocModifyIndex}, wanted)
	}
	want(t, "the table's index", s.Snapshot().counts.AllocsIndex, 5)
}

// TestNodeReported: whether a client has reported its allocations since its node was last
// unresponsive.
func TestNodeReported(t *testing.T) {
	s := New()
	status := func(status string) func(tx *Tx) error {
		return func(tx *Tx) error { return tx.UpdateNodeStatus("n", status, 1, "") }
	}
	register := func(status string) func(tx *Tx) error {
		return func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n", Status: status}) }
	}
	report := func(tx *Tx) error {
		tx.UpdateAllocsFromClient(&rpc.Allocation{ID: "a", NodeID: "n", ClientStatus: rpc.AllocClientRunning})
		return nil
	}
	reports := func(s *Snapshot) bool { return s.NodeReported("n") }
	want(t, "a node that is not there", reports(s.Snapshot()), false)
	for i, step := range []struct {
		name string
		do   func(tx *Tx) error
		want bool
	}{
		{"a new node", register(rpc.NodeStatusInit), false},
		{"is ready", status(rpc.NodeStatusReady), false},
		{"reports", report, true},
		{"and again", report, true},
		{"is down", status(rpc.NodeStatusDown), false},
		{"registers again", register(rpc.NodeStatusInit), false},
		{"reports before it is ready", report, true},
		{"is ready again", status(rpc.NodeStatusReady), true},
		{"is disconnected", status(rpc.NodeStatusDisconnected), false},
		{"is down after that, which is no news", status(rpc.NodeStatusDown), false},
		{"reports while it is down", report, true},
		{"registers as down, which it was", register(rpc.NodeStatusDown), true},
		{"is ready once more", status(rpc.NodeStatusReady), true},
		{"registers as down", register(rpc.NodeStatusDown), false},
	} {
		ok(t, s.Update(uint64(i+1), step.do))
		want(t, step.name, reports(s.Snapshot()), step.want)
	}
	rows := func() *nodeRow { return s.Snapshot().nodes.get("n") }
	ok(t, s.Update(20, report))
	once := rows()
	ok(t, s.Update(21, report))
	if rows() != once {
		t.Error("a second report wrote the node's row")
	}
}

// TestEndOfDrain: the end of a drain makes a node eligible if it is to, and a node that
// registers as draining is ineligible from the start.
func TestEndOfDrain(t *testing.T) {
	s := New()
	node := func() *rpc.Node { return s.Snapshot().NodeByID("n") }
	ok(t, s.Update(1, func(tx *Tx) error {
		return tx.UpsertNode(&rpc.Node{ID: "n", Drain: &rpc.DrainStrategy{}, SchedulingEligibility: rpc.NodeEligible, StatusUpdatedAt: 7})
	}))
	want(t, "registered in a drain", node().SchedulingEligibility, rpc.NodeIneligible)
	want(t, "when", s.Snapshot().NodeEvents("n")[0].Timestamp, 7)
	ok(t, s.Update(2, func(tx *Tx) error { return tx.UpdateNodeDrain("n", nil, true, 30, "drain complete") }))
	want(t, "after the drain", []any{node().Drain == nil, node().SchedulingEligibility, node().StatusUpdatedAt, node().ModifyIndex},
		[]any{true, rpc.NodeEligible, 30, 2})
	ok(t, s.Update(3, func(tx *Tx) error { return tx.UpdateNodeEligibility("n", rpc.NodeIneligible, 31, "") }))
	ok(t, s.Update(4, func(tx *Tx) error { return tx.UpdateNodeDrain("n", &rpc.DrainStrategy{}, true, 32, "") }))
	want(t, "a drain that begins marks nothing eligible", node().SchedulingEligibility, rpc.NodeIneligible)
	want(t, "events", len(s.Snapshot().NodeEvents("n")), 2)
	last := func() LastDrain { return *s.Snapshot().LastDrain("n") }
	want(t, "a drain that goes on", last(), LastDrain{StartedAt: 32, UpdatedAt: 32, Status: Draining})
	ok(t, s.Update(5, func(tx *Tx) error {
		if err := tx.UpdateNodeDrain("n", &rpc.DrainStrategy{Deadline: 1}, true, 33, ""); err != nil {
			return err
		}
		return tx.NoteDrain("n", []byte("why"), false)
	}))
	want(t, "one that is changed", last(), LastDrain{StartedAt: 32, UpdatedAt: 33, Status: Draining, Meta: []byte("why")})
	ok(t, s.Update(5, func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n"}) }))
	ok(t, s.Update(5, func(tx *Tx) error { return tx.UpdateNodeDrain("n", nil, true, 34, "") }))
	want(t, "one that is ended", last(), LastDrain{StartedAt: 32, UpdatedAt: 34, Status: DrainCanceled, Meta: []byte("why")})
	ok(t, s.Update(5, func(tx *Tx) error { return tx.UpdateNodeDrain("n", nil, true, 35, "") }))
	want(t, "the end of none", last().UpdatedAt, 34)
	ok(t, s.Update(5, func(tx *Tx) error { return tx.UpdateNodeDrain("n", &rpc.DrainStrategy{}, true, 36, "") }))
	want(t, "the next", last(), LastDrain{StartedAt: 36, UpdatedAt: 36, Status: Draining})
	ok(t, s.Update(5, func(tx *Tx) error {
		return tx.UpsertNode(&rpc.Node{ID: "shy", SchedulingEligibility: rpc.NodeIneligible})
	}))
	want(t, "one that registers as ineligible", s.Snapshot().NodeByID("shy").SchedulingEligibility, rpc.NodeIneligible)
	for id, err := range map[string]error{
		"status":      s.Update(6, func(tx *Tx) error { return tx.UpdateNodeStatus("absent", "", 1, "") }),
		"eligibility": s.Update(6, func(tx *Tx) error { return tx.UpdateNodeEligibility("absent", "", 1, "") }),
		"drain":       s.Update(6, func(tx *Tx) error { return tx.UpdateNodeDrain("absent", nil, true, 1, "") }),
		"events":      s.Update(6, func(tx *Tx) error { return tx.AddNodeEvents("absent", NodeEvent{}) }),
		"deleted":     s.Update(6, func(tx *Tx) error { return tx.DeleteNode("n", "absent") }),
		"a plan":      s.Update(6, func(tx *Tx) error { return tx.UpsertPlanResults(&PlanResults{IneligibleNodes: []string{"absent"}}) }),
	} {
		if err == nil {
			t.Errorf("%s of a node that is not there: no error", id)
		}
	}
}

// TestLaunches: the record of a periodic job's launches survives what is no launch.
func TestLaunches(t *testing.T) {
	s := New()
	id := broker.JobID{Namespace: "default", ID: "j"}
	launched := func() int64 { return s.Snapshot().summary(id).Launched }
	note := func(index uint64, at int64, yes bool) {
		ok(t, s.Update(index, func(tx *Tx) error { tx.NoteLaunch(id, at, yes); return nil }))
	}
	note(1, 5, true)
	want(t, "of a job that is gone", launched(), 0)
	ok(t, s.Update(2, func(tx *Tx) error { return tx.UpsertJob(&rpc.Job{ID: "j"}) }))
	for i, step := range []struct {
		at   int64
		yes  bool
		want int64
	}{{10, false, 10}, {20, false, 10}, {30, true, 30}, {40, false, 30}, {50, true, 50}} {
		note(uint64(3+i), step.at, step.yes)
		want(t, "launched", launched(), step.want)
	}
}

// TestSpecChanged: what makes a new version of a job, field by field.
func TestSpecChanged(t *testing.T) {
	job := func() *rpc.Job {
		return &rpc.Job{
			ID: "j", Type: rpc.JobTypeService, Priority: 50, Definition: []byte("{}"), Datacenters: []string{"dc1"},
			TaskGroups: []rpc.TaskGroup{{Name: "g", Count: 1}}, Periodic: &rpc.PeriodicConfig{},
		}
	}
	for name, tt := range map[string]struct {
		change func(j *rpc.Job)
		want   bool
	}{
		"nothing":            {func(j *rpc.Job) {}, false},
		"its indexes":        {func(j *rpc.Job) { j.ModifyIndex, j.Version, j.CreateIndex = 9, 9, 9 }, false},
		"definition":         {func(j *rpc.Job) { j.Definition = []byte("{1}") }, true},
		"type":               {func(j *rpc.Job) { j.Type = rpc.JobTypeBatch }, true},
		"priority":           {func(j *rpc.Job) { j.Priority++ }, true},
		"stop":               {func(j *rpc.Job) { j.Stop = true }, true},
		"datacenters":        {func(j *rpc.Job) { j.Datacenters = append(j.Datacenters, "dc2") }, true},
		"count":              {func(j *rpc.Job) { j.TaskGroups[0].Count++ }, true},
		"periodic no more":   {func(j *rpc.Job) { j.Periodic = nil }, true},
		"periodic otherwise": {func(j *rpc.Job) { j.Periodic.ProhibitOverlap = true }, true},
	} {
		changed := job()
		tt.change(changed)
		if specChanged(job(), changed) != tt.want || specChanged(changed, job()) != tt.want {
			t.Errorf("%s: changed is %v, want %v", name, !tt.want, tt.want)
		}
	}
}

// TestStoppedAllocs: what a plan says of an allocation that it stops, and what it leaves.
func TestStoppedAllocs(t *testing.T) {
	s := New()
	upsert(t, s, 1)
	place(t, s, 2, "a", "n")
	place(t, s, 3, "b", "n")
	stop := func(index uint64, diff AllocDiff) *rpc.Allocation {
		ok(t, s.Update(index, func(tx *Tx) error { return tx.UpsertPlanResults(&PlanResults{AllocsStopped: []AllocDiff{diff}}) }))
		return s.Snapshot().AllocByID(diff.ID)
	}
	want(t, "live", s.Snapshot().NodeAllocs("n").LiveByID("a").ID, "a")
	a := stop(4, AllocDiff{ID: "a", FollowupEvalID: "later"})
	want(t, "stopped", []any{a.FollowupEvalID, a.ClientStatus, a.AllocModifyIndex}, []any{"later", "", 4})
	a = stop(5, AllocDiff{ID: "a"})
	want(t, "stopped again", a.FollowupEvalID, "later")
	on := s.Snapshot().NodeAllocs("n")
	if on.LiveByID("a") != nil || on.LiveByID("absent") != nil || on.LiveByID("b") == nil {
		t.Errorf("live are %v, want b alone", on.Live)
	}
}

// TestUpdatesAreAllApplied: an entry of several updates applies them all.
func TestUpdatesAreAllApplied(t *testing.T) {
	s := New()
	upsert(t, s, 1)
	place(t, s, 2, "a", "n")
	place(t, s, 3, "b", "n")
	ok(t, s.Update(4, func(tx *Tx) error {
		tx.UpdateAllocsFromClient(
			&rpc.Allocation{ID: "a", ClientStatus: rpc.AllocClientRunning, ClientDescription: "runs"}, &rpc.Allocation{ID: "b", ClientStatus: rpc.AllocClientFailed})
		return nil
	}))
	for id, status := range map[string]string{"a": rpc.AllocClientRunning, "b": rpc.AllocClientFailed} {
		want(t, id, s.Snapshot().AllocByID(id).ClientStatus, status)
	}
	want(t, "described", s.Snapshot().AllocByID("a").ClientDescription, "runs")
	ok(t, s.Update(5, func(tx *Tx) error {
		if err := tx.UpsertEvals(&broker.Evaluation{ID: "e", JobID: "j", Status: broker.StatusPending}, &broker.Evaluation{ID: "f", JobID: "j", Status: broker.StatusFailed}); err != nil {
			return err
		}
		want(t, "evaluations so far", []int{tx.EvalTotal(), tx.EvalCount(broker.StatusPending), tx.EvalCount(broker.StatusBlocked)}, "[2 1 0]")
		return nil
	}))
}

// TestRefreshIndex: the index of what a scheduler must see is that of the latest change to a
// node or an allocation, whichever it was.
func TestRefreshIndex(t *testing.T) {
	s := New()
	for i, do := range []func(index uint64){
		func(index uint64) { upsert(t, s, index) },
		func(index uint64) { place(t, s, index, "a", "n") },
		func(index uint64) { upsertID(t, s, index, "m") },
		func(index uint64) {
			ok(t, s.Update(index, func(tx *Tx) error { tx.UpdateAllocsFromClient(&rpc.Allocation{ID: "a"}); return nil }))
		},
	} {
		do(uint64(i + 1))
		want(t, "refresh", s.Snapshot().RefreshIndex(), i+1)
	}
	ok(t, s.Update(9, func(tx *Tx) error { return tx.UpsertJob(&rpc.Job{ID: "j"}) }))
	want(t, "after a job", s.Snapshot().RefreshIndex(), 4)
	ok(t, s.Update(10, func(tx *Tx) error { return tx.UpsertEvals(&broker.Evaluation{ID: "e", JobID: "j"}) }))
	now := s.Snapshot()
	want(t, "indexes of tables", []uint64{now.NodesIndex(), now.AllocsIndex(), now.JobsIndex(), now.EvalsIndex()}, "[3 4 9 10]")
}

// TestChangedNodes: the nodes that a scheduler has to look at again, each once, as they are.
func TestChangedNodes(t *testing.T) {
	s := New()
	for i, id := range []string{"a", "b", "c"} {
		upsertID(t, s, uint64(i+1), id)
	}
	ok(t, s.Update(4, func(tx *Tx) error {
		return tx.UpsertPlanResults(&PlanResults{AllocsUpdated: []*rpc.Allocation{
			{ID: "x", Namespace: "default", JobID: "j", NodeID: "a"}, {ID: "y", Namespace: "default", JobID: "other", NodeID: "b"},
		}})
	}))
	upsertID(t, s, 5, "d")
	upsertID(t, s, 6, "a")
	ok(t, s.Update(7, func(tx *Tx) error {
		return tx.UpsertPlanResults(&PlanResults{AllocsUpdated: []*rpc.Allocation{{ID: "z", Namespace: "default", JobID: "j", NodeID: "a"}}})
	}))
	for _, c := range []struct {
		since  uint64
		others []string
		want   string
	}{
		{0, nil, "[a@6+2 b@2+1 c@3+0 d@5+0]"},
		{2, nil, "[a@6+2 c@3+0 d@5+0]"},
		{4, nil, "[a@6+2 d@5+0]"},
		{4, []string{"d", "b", "gone"}, "[a@6+2 b@2+1 d@5+0 gone]"},
		{6, []string{"a"}, "[a@6+2]"},
		{7, nil, "[]"},
	} {
		var got []string
		for n, on := range s.Snapshot().ChangedNodes(broker.JobID{Namespace: "default", ID: "j"}, c.since, c.others) {
			if n == nil {
				got = append(got, on.NodeID)
				continue
			}
			want(t, "allocations of "+n.ID, on.NodeID, n.ID)
			got = append(got, fmt.Sprintf("%s@%d+%d", n.ID, n.ModifyIndex, len(on.All)))
		}
		want(t, fmt.Sprint("since ", c.since, " and ", c.others), got, c.want)
	}
}

// TestLogOfOneRow: what changes again and again is in the log once when somebody asks, and the
// log does not grow without end.
func TestLogOfOneRow(t *testing.T) {
	s := New()
	upsert(t, s, 1)
	place(t, s, 2, "a", "n")
	place(t, s, 3, "b", "n")
	job := broker.JobID{ID: "j"}
	for i := range uint64(500) {
		ok(t, s.Update(4+i, func(tx *Tx) error { tx.UpdateAllocsFromClient(&rpc.Allocation{ID: "a"}); return nil }))
		ids := ""
		for a := range s.Snapshot().AllocsChangedSince(job, 0) {
			ids += a.ID
		}
		if n := s.Snapshot().summary(job).log.entries; ids != "ba" || n > 2+slack+1 {
			t.Fatalf("at index %d the log has %d entries and says that %s changed, want b and a", 4+i, n, ids)
		}
	}
}

// TestQueuedAllocationsAreShared: evaluations share equal counts, and none gets another's.
func TestQueuedAllocationsAreShared(t *testing.T) {
	s := New()
	counts := []map[string]int{{"g": 1}, {"g": 1}, {"g": 2}, {"h": 1}, {"g": 1, "h": 1}, {"g": 1, "h": 2}, {"h": 1, "i": 0}, {}, nil}
	ok(t, s.Update(1, func(tx *Tx) error {
		for i, c := range counts {
			if err := tx.UpsertEvals(&broker.Evaluation{ID: fmt.Sprint(i), JobID: "j", QueuedAllocations: c}); err != nil {
				return err
			}
		}
		return nil
	}))
	for i, c := range []map[string]int{{"g": 1}, {"g": 1}, {"g": 2}, {"h": 1}, {"g": 1, "h": 1}, {"g": 1, "h": 2}, {"h": 1, "i": 0}, {}, {}} {
		want(t, fmt.Sprint("evaluation ", i), evalByID(s.Snapshot(), fmt.Sprint(i)).QueuedAllocations, c)
	}
	at := func(id string) uintptr {
		return reflect.ValueOf(evalByID(s.Snapshot(), id).QueuedAllocations).Pointer()
	}
	if at("0") != at("1") || at("1") == at("2") {
		t.Error("equal counts are two maps in memory, or different ones are one")
	}
}

// TestFingerprints: equal states have one fingerprint, and each change of a table another.
func TestFingerprints(t *testing.T) {
	a, b := New(), New()
	seen := map[string]int{a.Snapshot().Fingerprint(): 0}
	for i, do := range []func(tx *Tx) error{
		func(tx *Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n"}) },
		func(tx *Tx) error { return tx.UpsertJob(&rpc.Job{ID: "j"}) },
		func(tx *Tx) error { return tx.UpsertEvals(&broker.Evaluation{ID: "e", JobID: "j"}) },
		func(tx *Tx) error {
			return tx.UpsertPlanResults(&PlanResults{AllocsUpdated: []*rpc.Allocation{{ID: "a", NodeID: "n", JobID: "j"}}})
		},
		func(tx *Tx) error { return tx.UpsertDeployment(&rpc.Deployment{ID: "d", JobID: "j"}) },
		func(tx *Tx) error { return tx.UpdateNodeStatus("n", rpc.NodeStatusDown, 1, "") },
	} {
		for _, s := range []*Store{a, b} {
			ok(t, s.Update(uint64(i+1), do))
		}
		print := a.Snapshot().Fingerprint()
		if before, known := seen[print]; known || print != b.Snapshot().Fingerprint() {
			t.Errorf("entry %d: fingerprint %q, that of entry %d; another server has %q", i+1, print, before, b.Snapshot().Fingerprint())
		}
		seen[print] = i + 1
	}
}

// TestRestoredIndexes: who waits for a node's allocations learns from a restored state as much as
// from the one before.
func TestRestoredIndexes(t *testing.T) {
	s := New()
	upsert(t, s, 1)
	place(t, s, 5, "b", "n")
	place(t, s, 7, "a", "n")
	place(t, s, 9, "c", "n")
	ok(t, s.Update(11, func(tx *Tx) error { tx.UpdateAllocsFromClient(&rpc.Allocation{ID: "a"}); return nil }))
	var image bytes.Buffer
	ok(t, s.Snapshot().Persist(&image))
	restored := New()
	ok(t, restored.Restore(&image))
	want(t, "index of the node's allocations", restored.Snapshot().NodeAllocs("n").Index, s.Snapshot().NodeAllocs("n").Index)
	want(t, "which is that of the last change", s.Snapshot().NodeAllocs("n").Index, 11)
}
