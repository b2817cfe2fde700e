package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestOverlookedPlans: 2.0.5 tells the worker that a plan failed whose evaluation is newer than the state
// that the applier keeps. The plan is written all the same, and what it places is remembered
// as overlooked. A design that mends this overlooks nothing.
func TestOverlookedPlans(t *testing.T) {
	for _, c := range []struct {
		name   string
		design config.DesignConfig
		fails  bool
	}{
		{"2.0.5", config.DesignConfig{}, true},
		{"mended", config.DesignConfig{Pipeline: 1}, false},
	} {
		virtualtest.Test(t, func(t *testing.T) {
			s := alone(t, config.Config{Seed: 1, GC: noCollection, Habits: config.HabitsOf(config.Version{2, 0, 5}), Design: c.design})
			write := func(f func(tx *state.Tx) error) {
				t.Helper()
				if err := s.store.Update(s.store.Index(), f); err != nil {
					t.Fatal(err)
				}
			}
			job, runs := jobOf("batch"), allocOf("batch", "runs", rpc.AllocClientRunning, func(*rpc.Allocation) {})
			write(func(tx *state.Tx) error {
				return tx.UpsertNode(&rpc.Node{ID: "n", Datacenter: "dc1", Status: rpc.NodeStatusReady})
			})
			write(func(tx *state.Tx) error { return tx.UpsertJob(job) })
			write(func(tx *state.Tx) error {
				return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{runs}})
			})
			a := &planApplier{srv: s, base: leader.NewPlanBase(s.cfg.Habits, s.cfg.Design)}
			a.base.Snap = s.Snapshot()
			write(func(tx *state.Tx) error {
				return tx.UpsertEvals(&broker.Evaluation{ID: "newer", Namespace: job.Namespace, JobID: job.ID, Type: job.Type, Status: broker.StatusPending})
			})
			var queue leader.PlanQueue
			queue.SetEnabled(true)
			p, err := queue.Enqueue(&scheduler.Plan{EvalID: "newer"})
			if err != nil {
				t.Fatal(err)
			}
			placed := allocOf("batch", "placed", rpc.AllocClientPending, func(*rpc.Allocation) {})
			err = a.commit(p, &scheduler.PlanResult{NodeAllocation: map[string][]*rpc.Allocation{"n": {runs.Copy(), placed}}})
			a.waits.Wait()
			if (err != nil) != c.fails || s.Snapshot().AllocByID("placed") == nil {
				t.Errorf("%s: the plan fails with %v, and is written: %v", c.name, err, s.Snapshot().AllocByID("placed") != nil)
			}
			var want []string
			if c.fails {
				want = []string{"placed"}
			}
			if got := slices.Sorted(maps.Keys(s.shared.Overlooked.IDs())); !slices.Equal(got, want) {
				t.Errorf("%s: %q are overlooked, want %q", c.name, got, want)
			}
		})
	}
}

// TestForgottenPlans: a plan that was made on newer entries than the state on which it would be verified gets a new state. That
// lacks the plan that is on its way to the log, of which what is placed is remembered as overlooked. An applier that keeps its
// state overlooks nothing.
func TestForgottenPlans(t *testing.T) {
	for _, c := range []struct {
		newer int // entries that come before the plan
		keeps bool
		want  []string
	}{{1, false, nil}, {2, false, []string{"before"}}, {2, true, nil}} {
		virtualtest.Test(t, func(t *testing.T) {
			s, a, p := applying(t, config.Config{Seed: 1, GC: noCollection, Habits: config.Habits{KeptSnapshot: c.keeps}})
			before := &state.PlanResults{AllocsUpdated: []*rpc.Allocation{allocOf("batch", "before", rpc.AllocClientPending)}}
			if err := a.base.Send(s.Snapshot().Index(), before); err != nil {
				t.Fatal(err)
			}
			a.underWay = []committing{{make(chan ending), before}}
			for range c.newer {
				if err := s.store.Update(s.store.Index()+1, func(*state.Tx) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			p.Plan.SnapshotIndex = s.store.Index()
			err := a.apply(t.Context(), p)
			if got := slices.Sorted(maps.Keys(s.shared.Overlooked.IDs())); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%d entries before it, keeps %v: %q are overlooked, want %q (%v)", c.newer, c.keeps, got, c.want, err)
			}
		})
	}
}

// applying returns a server with a node, a job and an evaluation, and the applier of a plan for it.
func applying(t *testing.T, cfg config.Config) (*Server, *planApplier, *leader.PendingPlan) {
	t.Helper()
	s := alone(t, cfg)
	job := jobOf("batch")
	err := s.store.Update(s.store.Index(), func(tx *state.Tx) error {
		return errors.Join(tx.UpsertNode(&rpc.Node{ID: "n", Datacenter: "dc1", Status: rpc.NodeStatusReady}), tx.UpsertJob(job),
			tx.UpsertEvals(&broker.Evaluation{ID: "e", Namespace: job.Namespace, JobID: job.ID, Status: broker.StatusPending}))
	})
	a := &planApplier{srv: s, base: leader.NewPlanBase(s.cfg.Habits, s.cfg.Design)}
	a.base.Snap = s.Snapshot()
	var queue leader.PlanQueue
	queue.SetEnabled(true)
	p, qerr := queue.Enqueue(&scheduler.Plan{EvalID: "e"})
	if err := errors.Join(err, qerr); err != nil {
		t.Fatal(err)
	}
	return s, a, p
}

// TestEncoding: before a plan is written, the identity of each new allocation is signed as the release does it, and all
// allocations are encoded.
func TestEncoding(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		rsa       bool
		costs     config.PlanCosts
		new, held int
		want      time.Duration
	}{
		{true, config.PlanCosts{PerSignature: ms}, 3, 2, 3 * ms},
		{true, config.PlanCosts{PerSignature: ms}, 0, 2, 0},
		{true, config.PlanCosts{PerToken: ms}, 3, 2, 0},
		{false, config.PlanCosts{PerSignature: ms}, 3, 2, 0},
		{false, config.PlanCosts{PerToken: ms}, 3, 2, 3 * ms},
		{true, config.PlanCosts{PerWrite: ms}, 3, 2, 5 * ms},
		{false, config.PlanCosts{PerToken: ms, PerWrite: 2 * ms}, 3, 2, 13 * ms},
	} {
		virtualtest.Test(t, func(t *testing.T) {
			costs := config.Costs{Cores: 4, Plan: c.costs}
			_, a, p := applying(t, config.Config{Seed: 1, GC: noCollection, Habits: config.Habits{SignsByRSA: c.rsa}, Costs: costs})
			var placed []*rpc.Allocation
			for i := range c.new + c.held {
				placed = append(placed, allocOf("batch", fmt.Sprint(i), rpc.AllocClientPending, func(a *rpc.Allocation) {
					if i < c.held {
						a.CreateIndex = 1
					}
				}))
			}
			began := time.Now()
			err := a.commit(p, &scheduler.PlanResult{NodeAllocation: map[string][]*rpc.Allocation{"n": placed}})
			if took := time.Since(began).Round(time.Millisecond); err != nil || took != c.want {
				t.Errorf("%+v: a commit takes %v, %v", c, took, err)
			}
			a.waits.Wait()
		})
	}
}

// TestPlansThatAreNotWritten: the worker hears why, and the applier that the plan has ended.
func TestPlansThatAreNotWritten(t *testing.T) {
	placed := func() *scheduler.PlanResult {
		return &scheduler.PlanResult{NodeAllocation: map[string][]*rpc.Allocation{"n": {allocOf("batch", "placed", rpc.AllocClientPending)}}}
	}
	virtualtest.Test(t, func(t *testing.T) {
		s, a, p := applying(t, config.Config{Seed: 1, GC: noCollection})
		s.shared.Ended.Store(true)
		if err := a.commit(p, placed()); !errors.Is(err, rpc.ErrNoLeader) || len(a.underWay) != 0 {
			t.Errorf("after the end of the run: %v, %d are under way", err, len(a.underWay))
		}
	})
	virtualtest.Test(t, func(t *testing.T) {
		s, a, p := applying(t, config.Config{Seed: 1, GC: noCollection})
		s.opts.Host.Full.Add(1)
		if err := a.commit(p, placed()); err != nil || len(a.underWay) != 1 {
			t.Fatalf("with a full disk: %v, %d are under way", err, len(a.underWay))
		}
		result, err := p.Wait(t.Context())
		if index := (<-a.underWay[0].ended).index; result != nil || !errors.Is(err, rpc.ErrNoLeader) || index != 0 || s.Snapshot().AllocByID("placed") != nil {
			t.Errorf("with a full disk: the worker hears %+v, %v, and the applier of %d", result, err, index)
		}
		s.opts.Host.Full.Add(-1)
	})
}

// TestIndexesOfPlans: the applier and the worker hear at which entry a plan is written. A worker that is to refresh its
// state waits for that entry, too.
func TestIndexesOfPlans(t *testing.T) {
	for refresh, want := range map[uint64]func(index uint64) uint64{
		0:       func(uint64) uint64 { return 0 },
		1:       func(index uint64) uint64 { return index },
		1 << 40: func(uint64) uint64 { return 1 << 40 },
	} {
		virtualtest.Test(t, func(t *testing.T) {
			s, a, p := applying(t, config.Config{Seed: 1, GC: noCollection})
			placed := allocOf("batch", "placed", rpc.AllocClientPending)
			planned := &scheduler.PlanResult{RefreshIndex: refresh, NodeAllocation: map[string][]*rpc.Allocation{"n": {placed}}}
			if err := a.commit(p, planned); err != nil {
				t.Fatal(err)
			}
			result, err := p.Wait(t.Context())
			if index := s.LastIndex(); err != nil || result.AllocIndex != index || result.RefreshIndex != want(index) || len(a.underWay) != 1 || (<-a.underWay[0].ended).index != index {
				t.Errorf("to refresh to %d: written at %d, %+v, %v; %d are under way", refresh, index, result, err, len(a.underWay))
			}
		})
	}
}

// TestPlansThatEndTogether: a plan that ends at the instant at which another begins counts as on its way, whether or not its
// goroutine has said so already.
func TestPlansThatEndTogether(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		_, a, _ := applying(t, config.Config{Seed: 1, GC: noCollection})
		ends := func(at time.Time) committing {
			c := committing{ended: make(chan ending, 1)}
			c.ended <- ending{1, at}
			return c
		}
		now := time.Now()
		a.underWay = []committing{ends(now.Add(-1)), ends(now), ends(now)}
		if a.collect(); len(a.underWay) != 2 {
			t.Errorf("at the instant of their end %d are under way, want 2", len(a.underWay))
		}
		time.Sleep(time.Nanosecond)
		if a.collect(); len(a.underWay) != 0 {
			t.Errorf("a nanosecond later %d are under way", len(a.underWay))
		}
	})
}

// TestStateThatDoesNotCome: a plan whose turn comes when the one before it has ended is verified, but if the
// server's state does not reach that one in time the plan fails, and is not written. An applier that keeps
// its state does not wait for that.
func TestStateThatDoesNotCome(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		stateThatDoesNotCome(t, false, time.Second+planSnapshotTimeout, context.DeadlineExceeded)
	})
	virtualtest.Test(t, func(t *testing.T) { stateThatDoesNotCome(t, true, time.Second, nil) })
}

func stateThatDoesNotCome(t *testing.T, keeps bool, wait time.Duration, failure error) {
	s := alone(t, config.Config{Seed: 1, GC: noCollection, Habits: config.Habits{KeptSnapshot: keeps}})
	err := s.store.Update(s.store.Index(), func(tx *state.Tx) error {
		return errors.Join(tx.UpsertNode(&rpc.Node{ID: "n", Datacenter: "dc1", Status: rpc.NodeStatusReady}), tx.UpsertJob(jobOf("batch")),
			tx.UpsertEvals(&broker.Evaluation{ID: "e", Namespace: rpc.DefaultNamespace, JobID: "job", Status: broker.StatusPending}))
	})
	if err != nil {
		t.Fatal(err)
	}
	before := make(chan ending)
	a := &planApplier{srv: s, base: leader.NewPlanBase(s.cfg.Habits, s.cfg.Design), underWay: []committing{{ended: before}}}
	a.base.Snap = s.Snapshot()
	if err := a.base.Send(s.AppliedIndex(), &state.PlanResults{}); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(time.Second, func() { before <- ending{index: s.store.Index() + 1000} })
	var queue leader.PlanQueue
	queue.SetEnabled(true)
	placed := allocOf("batch", "placed", rpc.AllocClientPending)
	p, err := queue.Enqueue(&scheduler.Plan{EvalID: "e", NodeAllocation: map[string][]*rpc.Allocation{"n": {placed}}})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err = a.apply(t.Context(), p)
	took := time.Since(began).Truncate(time.Second)
	a.waits.Wait()
	if written := s.Snapshot().AllocByID("placed") != nil; !errors.Is(err, failure) || took != wait || written != (failure == nil) {
		t.Errorf("keeps its state %v: after %v: %v; the plan is written: %v", keeps, took, err, written)
	}
}
