package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestDeletedEvaluations: while the broker is paused an operator can delete what is over, in entries of
// 728 at most, and nothing of which something runs.
func TestDeletedEvaluations(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		s := alone(t, config.Config{Seed: 1, GC: noCollection})
		over := func(id string) *broker.Evaluation {
			return &broker.Evaluation{ID: id, Namespace: rpc.DefaultNamespace, JobID: "gone", Status: broker.StatusComplete}
		}
		err := s.store.Update(s.LastIndex(), func(tx *state.Tx) error {
			runs := over("runs")
			runs.JobID = "job"
			errs := []error{tx.UpsertJob(jobOf("service")), tx.UpsertEvals(runs), tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{
				allocOf("service", "a", rpc.AllocClientRunning, func(a *rpc.Allocation) { a.EvalID = "runs" }),
			}})}
			for i := range deletesPerWrite + 2 {
				errs = append(errs, tx.UpsertEvals(over(fmt.Sprint(i))))
			}
			return errors.Join(errs...)
		})
		if err != nil {
			t.Fatal(err)
		}
		all := func(*broker.Evaluation) bool { return true }
		if _, _, err := s.DeleteEvals([]string{"1"}, nil); !errors.Is(err, rpc.ErrBrokerEnabled) {
			t.Errorf("while the broker works: %v", err)
		}
		if _, err := s.Write(fsm.SchedulerConfig.With(&fsm.SchedulerConfigRequest{Config: rpc.SchedulerConfig{PauseEvalBroker: true}})); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.DeleteEvals([]string{"1", "who"}, nil); !errors.Is(err, rpc.ErrEvalNotFound) {
			t.Errorf("one that is not there: %v", err)
		}
		if _, _, err := s.DeleteEvals([]string{"1", "runs"}, nil); err == nil || !strings.Contains(err.Error(), "eval runs is not safe to delete") {
			t.Errorf("one of which something runs: %v", err)
		}
		for _, c := range []struct {
			ids     []string
			matches func(*broker.Evaluation) bool
			n       int
			entries uint64
		}{{[]string{"1"}, nil, 1, 1}, {nil, all, deletesPerWrite + 1, 2}, {nil, all, 0, 0}} {
			before := s.LastIndex()
			n, index, err := s.DeleteEvals(c.ids, c.matches)
			if err != nil || n != c.n || s.LastIndex() != before+c.entries || c.entries > 0 && index != s.LastIndex() {
				t.Errorf("%d deleted in %d entries, the last %d, %v; want %d in %d", n, s.LastIndex()-before, index, err, c.n, c.entries)
			}
		}
		if n := s.Snapshot().EvalTotal(); n != 1 {
			t.Errorf("%d are left, want the one of which something runs", n)
		}
	})
}

// TestWhichEvaluationsMayGo: what of an evaluation may run, or may have to be replaced, keeps it; unless its
// job has ended.
func TestWhichEvaluationsMayGo(t *testing.T) {
	const running, failed = rpc.AllocClientRunning, rpc.AllocClientFailed
	stop := func(j *rpc.Job) { j.Stop = true }
	other := func(j *rpc.Job) { j.TaskGroups[0].Name = "other" }
	replaced := func(a *rpc.Allocation) { a.PreviousAllocation = "before" }
	for _, tt := range []struct {
		name   string
		kind   string // of the job; empty = it is gone
		change func(*rpc.Job)
		status string // of its allocation
		alloc  func(*rpc.Allocation)
		by     string // the ID of an allocation that took its place
		open   bool   // another evaluation of the job is under way
		may    bool
	}{
		{name: "the job is gone", status: running, may: true},
		{name: "the job is stopped", kind: rpc.JobTypeService, change: stop, status: running, may: true},
		{name: "runs", kind: rpc.JobTypeService, status: running},
		{name: "out of reach", kind: rpc.JobTypeService, status: rpc.AllocClientUnknown},
		{name: "not started", kind: rpc.JobTypeService, status: rpc.AllocClientPending, may: true},
		{name: "complete", kind: rpc.JobTypeService, status: rpc.AllocClientComplete, open: true, may: true},
		{name: "lost", kind: rpc.JobTypeService, status: rpc.AllocClientLost, open: true, may: true},
		{name: "a service that failed", kind: rpc.JobTypeService, status: failed, open: true},
		{name: "of a group that is gone", kind: rpc.JobTypeService, change: other, status: failed, open: true, may: true},
		{name: "a system job that failed", kind: rpc.JobTypeSystem, status: failed, may: true},
		{name: "a sysbatch job that failed", kind: rpc.JobTypeSysBatch, status: failed, open: true, may: true},
		{name: "a batch job that failed", kind: rpc.JobTypeBatch, status: failed, open: true},
		{name: "a batch job that is over", kind: rpc.JobTypeBatch, status: failed, may: true},
		{name: "a batch job whose second try failed", kind: rpc.JobTypeBatch, status: failed, alloc: replaced, open: true},
		{name: "a batch job whose second try was replaced", kind: rpc.JobTypeBatch, status: failed, alloc: replaced, by: "next", open: true, may: true},
		{name: "a batch job whose first try was replaced", kind: rpc.JobTypeBatch, status: failed, by: "next", open: true},
	} {
		s := state.New()
		e := &broker.Evaluation{ID: "e", Namespace: rpc.DefaultNamespace, JobID: "job", Status: broker.StatusComplete}
		err := s.Update(1, func(tx *state.Tx) error {
			errs := []error{tx.UpsertEvals(e)}
			if tt.kind != "" {
				j := jobOf(tt.kind)
				if tt.change != nil {
					tt.change(j)
				}
				errs = append(errs, tx.UpsertJob(j))
			}
			a := allocOf(tt.kind, "a", tt.status, func(a *rpc.Allocation) { a.EvalID = "e" })
			if tt.alloc != nil {
				tt.alloc(a)
			}
			allocs := []*rpc.Allocation{a}
			if tt.by != "" {
				allocs = append(allocs, allocOf(tt.kind, tt.by, rpc.AllocClientComplete, func(n *rpc.Allocation) { n.PreviousAllocation = "a" }))
			}
			if tt.open {
				errs = append(errs, tx.UpsertEvals(&broker.Evaluation{ID: "open", Namespace: rpc.DefaultNamespace, JobID: "job", Status: broker.StatusPending}))
			}
			return errors.Join(append(errs, tx.UpsertPlanResults(&state.PlanResults{EvalID: "e", AllocsUpdated: allocs}))...)
		})
		if err != nil {
			t.Fatal(err)
		}
		c := &coreRun{worker: &worker{srv: &Server{cfg: &config.Config{}}}, snap: s.Snapshot()}
		if may := c.mayDelete(e); may != tt.may {
			t.Errorf("%s: may be deleted is %v, want %v", tt.name, may, tt.may)
		}
	}
}

// TestAllocationsAtTheLimit: what changed at the index of the limit is old enough, what changed after it
// is not.
func TestAllocationsAtTheLimit(t *testing.T) {
	c := &coreRun{}
	for index, want := range map[uint64]bool{9: true, 10: true, 11: false} {
		a := allocOf(rpc.JobTypeService, "a", rpc.AllocClientComplete, func(a *rpc.Allocation) { a.ModifyIndex = index })
		if over := c.allocOver(a, nil, 10); over != want {
			t.Errorf("changed at %d, limit 10: over is %v, want %v", index, over, want)
		}
	}
}

// TestPlacedByWhomWasAsked: who asks of other evaluations learns what these placed.
func TestPlacedByWhomWasAsked(t *testing.T) {
	s := state.New()
	if err := s.Update(5, func(tx *state.Tx) error {
		return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{
			allocOf(rpc.JobTypeService, "a", "", func(a *rpc.Allocation) { a.EvalID = "one" }),
			allocOf(rpc.JobTypeService, "b", "", func(a *rpc.Allocation) { a.EvalID = "two" }),
		}})
	}); err != nil {
		t.Fatal(err)
	}
	c := &coreRun{snap: s.Snapshot()}
	of := s.Snapshot().AllocByID("a")
	one := &broker.Evaluation{ID: "one", Namespace: of.Namespace, JobID: of.JobID, CreateIndex: 4}
	two := one.Copy()
	two.ID, two.Status = "two", broker.StatusCanceled // after its plan
	for i, e := range []*broker.Evaluation{one, two, one} {
		asked := []*broker.Evaluation{e}
		for n := range i / 2 * askedAtMost { // in the end too many to look for one by one
			other := two.Copy()
			other.ID = fmt.Sprint(n)
			asked = append(asked, other)
		}
		c.ask(asked)
		if many := i == 2; many != (c.asked == nil) {
			t.Fatalf("asked for %d evaluations one by one: %v", len(asked), c.asked != nil)
		}
		if placed := c.placed(e); len(placed) != 1 || placed[0].EvalID != e.ID {
			t.Errorf("%s placed %d allocations, want one", e.ID, len(placed))
		}
	}
}

// TestOverAsItIs: an evaluation is over, and may be deleted, when its allocations are, as they are now; each of them goes
// once.
func TestOverAsItIs(t *testing.T) {
	s := state.New()
	var placed []*rpc.Allocation
	for id, by := range map[string]string{"a": "e", "b": "e", "c": "another"} {
		placed = append(placed, allocOf(rpc.JobTypeService, id, rpc.AllocClientRunning, func(a *rpc.Allocation) { a.EvalID = by }))
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Update(3, func(tx *state.Tx) error { return tx.UpsertJob(jobOf(rpc.JobTypeService)) }))
	must(s.Update(5, func(tx *state.Tx) error { return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: placed}) }))
	e := &broker.Evaluation{ID: "e", Namespace: placed[0].Namespace, JobID: placed[0].JobID, Status: broker.StatusComplete, CreateIndex: 4, ModifyIndex: 6}
	for i, gone := range [][]string{nil, {"b"}, {"a", "b"}} {
		if i > 0 {
			ended := s.Snapshot().AllocByID(gone[0]).Copy()
			ended.ClientStatus = rpc.AllocClientComplete
			must(s.Update(uint64(6+i), func(tx *state.Tx) error { tx.UpdateAllocsFromClient(ended); return nil }))
		}
		c := &coreRun{snap: s.Snapshot()}
		c.ask([]*broker.Evaluation{e})
		if over, allocs := c.evalOver(e, 10, false); over != (i == 2) || !slices.Equal(allocs, gone) {
			t.Errorf("with %d of 2 allocations over: the evaluation is over: %v, and %v may go; want %v", i, over, allocs, gone)
		}
		if may := c.mayDelete(e); may != (i == 2) {
			t.Errorf("with %d of 2 allocations over: the evaluation may be deleted: %v", i, may)
		}
	}
}
