package state

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// everything returns an entry that writes a row to each table. Each call has texts of its own, as one that was decoded.
func everything(id string) func(*Tx) error {
	return func(tx *Tx) error {
		text := strings.Clone
		err := tx.UpsertNode(&rpc.Node{ID: id, Datacenter: text("dc9"), NodeClass: text("large"), Status: text(rpc.NodeStatusReady)})
		if err == nil {
			err = tx.UpsertJob(&rpc.Job{ID: id, Namespace: text("other"), Type: text(rpc.JobTypeService)})
		}
		if err == nil {
			err = tx.UpsertEvals(&broker.Evaluation{
				ID: id, Namespace: text("other"), JobID: text("job"), Type: text(rpc.JobTypeBatch), TriggeredBy: text("why"), NodeID: text("where"), Status: text(broker.StatusBlocked),
			})
		}
		if err == nil {
			err = tx.UpsertDeployment(&rpc.Deployment{ID: id, JobID: id, Status: rpc.DeploymentRunning})
		}
		if err == nil {
			err = tx.UpsertPlanResults(&PlanResults{AllocsUpdated: []*rpc.Allocation{{
				ID: id, Namespace: text("other"), JobID: text("job"), JobType: text(rpc.JobTypeBatch), TaskGroup: text("group"), Name: text("job.group[0]"), NodeID: text("where"),
				DesiredStatus: text(rpc.AllocDesiredRun), DesiredDescription: text("wanted"), ClientStatus: text(rpc.AllocClientRunning), ClientDescription: text("runs"),
			}}})
		}
		return err
	}
}

// TestEqualTextsShareMemory: of two rows whose texts are equal, all but their own names are the same bytes.
func TestEqualTextsShareMemory(t *testing.T) {
	s := New()
	ok(t, s.Update(1, everything("one")))
	ok(t, s.Update(2, everything("two")))
	snap := s.Snapshot()
	for name, rows := range map[string][2]any{
		"nodes":       {snap.NodeByID("one"), snap.NodeByID("two")},
		"jobs":        {snap.JobByID("other", "one"), snap.JobByID("other", "two")},
		"evaluations": {evalByID(snap, "one"), evalByID(snap, "two")},
		"allocations": {snap.AllocByID("one"), snap.AllocByID("two")},
	} {
		a, b := reflect.ValueOf(rows[0]).Elem(), reflect.ValueOf(rows[1]).Elem()
		shared := 0
		for i := range a.NumField() {
			if a.Field(i).Kind() != reflect.String || a.Field(i).String() == "" || a.Field(i).String() != b.Field(i).String() {
				continue
			}
			if unsafe.StringData(a.Field(i).String()) != unsafe.StringData(b.Field(i).String()) {
				t.Errorf("%s: %q is twice in memory", name, a.Field(i).String())
			}
			shared++
		}
		if shared < 2 {
			t.Errorf("%s: %d texts are equal; the test is wrong", name, shared)
		}
	}
}

// brokenPipe takes so many bytes.
type brokenPipe struct{ room int }

var errBroken = errors.New("broken")

func (w *brokenPipe) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

// TestPersistFails: wherever writing breaks off, whoever persists hears of it.
func TestPersistFails(t *testing.T) {
	s := New()
	for i := range 400 { // more than is gathered before it is written
		ok(t, s.Update(uint64(i+1), everything(strings.Repeat("x", i+1))))
	}
	var whole bytes.Buffer
	ok(t, s.Snapshot().Persist(&whole))
	for room := 0; room < whole.Len(); room += whole.Len()/9 + 1 {
		w := &brokenPipe{room}
		if err := s.Snapshot().Persist(w); err == nil || !strings.Contains(err.Error(), errBroken.Error()) {
			t.Errorf("room for %d bytes of %d: error %v", room, whole.Len(), err)
		}
	}
}

// TestOfWhatIsNotThere: queries of unknown rows have answers.
func TestOfWhatIsNotThere(t *testing.T) {
	s := New()
	ok(t, s.Update(3, everything("one")))
	snap := s.Snapshot()
	gone := broker.JobID{Namespace: "default", ID: "gone"}
	want(t, "events of a node", len(snap.NodeEvents("gone")), 0)
	want(t, "changes of a job", snap.JobChangedAt(gone), 0)
	want(t, "changes of a job that is there", snap.JobChangedAt(broker.JobID{Namespace: "other", ID: "one"}), 3)
	ok(t, s.Update(4, func(tx *Tx) error {
		want(t, "a node in a transaction", tx.Node("gone"), "<nil>")
		want(t, "one that is there", tx.Node("one").ID, "one")
		want(t, "an allocation in a transaction", tx.Alloc("gone"), "<nil>")
		want(t, "one that is there", tx.Alloc("one").ID, "one")
		ok(t, tx.NoteDrain("one", []byte("why"), true)) // it has not drained
		if err := tx.NoteDrain("gone", nil, true); !errors.Is(err, rpc.ErrNodeNotFound) {
			t.Errorf("the drain of a node that is not there: %v", err)
		}
		return nil
	}))
	want(t, "a drain that was not", s.Snapshot().LastDrain("one"), "<nil>")
}

// TestDeploys: a plan that begins a deployment or ends one costs more than others.
func TestDeploys(t *testing.T) {
	for _, tt := range []struct {
		plan PlanResults
		want bool
	}{
		{PlanResults{EvalID: "e"}, false},
		{PlanResults{Deployment: &rpc.Deployment{}}, true},
		{PlanResults{DeploymentUpdates: []*rpc.DeploymentUpdate{{}}}, true},
	} {
		if tt.plan.Deploys() != tt.want {
			t.Errorf("%+v: %v", tt.plan, !tt.want)
		}
	}
}

// TestHealthIndex: a client that says again what it said has said it when it did first.
func TestHealthIndex(t *testing.T) {
	s := New()
	ok(t, s.Update(1, everything("one")))
	for i, step := range []struct {
		health string
		want   []any
	}{
		{rpc.AllocHealthy, []any{rpc.AllocHealthy, 2}},
		{rpc.AllocHealthy, []any{rpc.AllocHealthy, 2}},
		{"", []any{rpc.AllocHealthy, 2}},
		{rpc.AllocUnhealthy, []any{rpc.AllocUnhealthy, 5}},
	} {
		ok(t, s.Update(uint64(i+2), func(tx *Tx) error {
			tx.UpdateAllocsFromClient(&rpc.Allocation{ID: "one", ClientStatus: rpc.AllocClientRunning, Health: step.health})
			return nil
		}))
		a := s.Snapshot().AllocByID("one")
		want(t, "health, and since when", []any{a.Health, a.HealthIndex}, step.want)
	}
}

// TestChangesOfEveryTable: an entry that writes to every table is known by all its rows.
func TestChangesOfEveryTable(t *testing.T) {
	s := New()
	s.RecordChanges()
	ok(t, s.Update(1, everything("one")))
	c := reflect.ValueOf(s.Snapshot().Changes()).Elem()
	for i := range c.NumField() {
		if n := c.Field(i).Len(); n != 1 {
			t.Errorf("%d rows in %s, want one", n, c.Type().Field(i).Name)
		}
	}
}

// TestWhatWasAskedOfANode: what the servers asked for last counts while it is there, whatever clients report of
// others since.
func TestWhatWasAskedOfANode(t *testing.T) {
	s := New()
	for index, write := range []func(*Tx) error{
		func(tx *Tx) error {
			return tx.UpsertPlanResults(&PlanResults{AllocsUpdated: []*rpc.Allocation{{ID: "a", NodeID: "n"}}})
		},
		func(tx *Tx) error {
			return tx.UpsertPlanResults(&PlanResults{AllocsUpdated: []*rpc.Allocation{{ID: "b", NodeID: "n"}}})
		},
		func(tx *Tx) error { tx.UpdateAllocsFromClient(&rpc.Allocation{ID: "a", NodeID: "n"}); return nil },
		func(tx *Tx) error { return tx.DeleteEvals(nil, []string{"b"}) },
	} {
		if err := s.Update(uint64(index+1), write); err != nil {
			t.Fatal(err)
		}
	}
	if on := s.Snapshot().NodeAllocs("n"); !on.AskedSince(0) || on.AskedSince(1) {
		t.Errorf("asked since 0: %v, since 1: %v; a is of index 1", on.AskedSince(0), on.AskedSince(1))
	}
}

// TestReturnEndsWaits: an evaluation that waits for an allocation is canceled by the entry that says it is back, even if it has been
// processed, and even if another allocation that is still away has it, too.
func TestReturnEndsWaits(t *testing.T) {
	for name, c := range map[string]struct {
		entries []string // the allocations that are back, by entry
		off     bool
		status  string // of the evaluation, before
		want    string // and after each entry
		left    string // the allocation that has the evaluation's ID afterwards
	}{
		"one after the other":         {[]string{"a", "b"}, false, broker.StatusPending, "[canceled canceled]", "[]"},
		"both at once":                {[]string{"ab"}, false, broker.StatusPending, "[canceled]", "[]"},
		"one":                         {[]string{"a"}, false, broker.StatusPending, "[canceled]", "[b]"},
		"one, and another that ended": {[]string{"b", "a"}, false, broker.StatusComplete, "[canceled canceled]", "[]"},
		"one that never was away":     {[]string{"c"}, false, broker.StatusPending, "[pending]", "[a b]"},
		"an older release":            {[]string{"a", "b"}, true, broker.StatusPending, "[pending pending]", "[a b]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := New()
			s.ReturnEndsWaits = !c.off
			alloc := func(id string, away int64, followup string) *rpc.Allocation {
				return &rpc.Allocation{ID: id, Namespace: "default", JobID: "j", NodeID: "n", ClientStatus: rpc.AllocClientUnknown, Reach: &rpc.Reach{DisconnectedAt: away}, FollowupEvalID: followup}
			}
			ok(t, s.Update(5, func(tx *Tx) error {
				if err := tx.UpsertEvals(&broker.Evaluation{ID: "e", Namespace: "default", JobID: "j", Status: c.status}); err != nil {
					return err
				}
				return tx.UpsertPlanResults(&PlanResults{AllocsUpdated: []*rpc.Allocation{alloc("a", 1, "e"), alloc("b", 1, "e"), alloc("c", 0, "")}})
			}))
			var got, left []string
			for i, back := range c.entries {
				ok(t, s.Update(uint64(10+i), func(tx *Tx) error {
					var updates []*rpc.Allocation
					for _, id := range back {
						updates = append(updates, &rpc.Allocation{ID: string(id), ClientStatus: rpc.AllocClientRunning})
					}
					before := tx.EvalCount(broker.StatusCanceled)
					if ended := tx.UpdateAllocsFromClient(updates...); len(ended) != tx.EvalCount(broker.StatusCanceled)-before {
						t.Errorf("%q ended, and %d are canceled", ended, tx.EvalCount(broker.StatusCanceled)-before)
					}
					return nil
				}))
				got = append(got, s.Snapshot().EvalByID("e").Status)
			}
			for _, id := range []string{"a", "b"} {
				if s.Snapshot().AllocByID(id).FollowupEvalID != "" {
					left = append(left, id)
				}
			}
			want(t, "evaluation", got, c.want)
			want(t, "waits", left, c.left)
		})
	}
}

// TestPlacementsOfStoppedJobs: what a plan places of a job that was stopped or purged since it was made is left out, unless the release places it.
// What the plan changes of it is not.
func TestPlacementsOfStoppedJobs(t *testing.T) {
	for _, skips := range []bool{false, true} {
		for name, stop := range map[string]func(*Tx) error{
			"goes on": func(*Tx) error { return nil },
			"stopped": func(tx *Tx) error { return tx.StopJob("default", "j") },
			"purged":  func(tx *Tx) error { return tx.DeleteJob("default", "j") },
		} {
			s := New()
			s.SkipsStopped = skips
			alloc := func(id, description string) *rpc.Allocation {
				return &rpc.Allocation{ID: id, Namespace: "default", JobID: "j", NodeID: "n", DesiredDescription: description}
			}
			plan := func(allocs ...*rpc.Allocation) func(tx *Tx) error {
				return func(tx *Tx) error { return tx.UpsertPlanResults(&PlanResults{AllocsUpdated: allocs}) }
			}
			ok(t, s.Update(1, func(tx *Tx) error { return tx.UpsertJob(&rpc.Job{Namespace: "default", ID: "j"}) }))
			ok(t, s.Update(2, plan(alloc("old", ""))))
			ok(t, s.Update(3, stop))
			ok(t, s.Update(4, plan(alloc("old", "changed"), alloc("new", ""))))
			placed := !skips || name == "goes on"
			want(t, name, []any{s.Snapshot().AllocByID("new") != nil, s.Snapshot().AllocByID("old").DesiredDescription}, []any{placed, "changed"})
		}
	}
}
