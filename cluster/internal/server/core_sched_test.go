package server

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/cpu"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/raftnode"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestWhatIsOver: which evaluations, and which of the allocations they placed, may be collected
// as of index 10: rows are written at 5 unless the line says otherwise.
func TestWhatIsOver(t *testing.T) {
	stop := func(j *rpc.Job) { j.Stop = true }
	again := func(j *rpc.Job) { j.CreateIndex = 7 }
	const complete, failed, running, lost = rpc.AllocClientComplete, rpc.AllocClientFailed, rpc.AllocClientRunning, rpc.AllocClientLost
	status := func(s string) func(*rpc.Allocation) { return func(a *rpc.Allocation) { a.ClientStatus = s } }
	told := func(s string) func(*rpc.Allocation) {
		return func(a *rpc.Allocation) { a.ClientStatus, a.DesiredStatus = s, rpc.AllocDesiredStop }
	}
	replaces := func(age time.Duration) func(*rpc.Allocation) {
		return func(a *rpc.Allocation) {
			a.ClientStatus, a.PreviousAllocation, a.CreateTime = failed, "earlier", time.Now().Add(-age).UnixNano()
		}
	}
	for _, tt := range []struct {
		name       string
		jobType    string // empty: the job is gone
		change     func(*rpc.Job)
		eval       string // its status; empty: complete
		late       bool   // the evaluation is written at 11
		alloc      func(*rpc.Allocation)
		allocLate  bool
		replaced   bool // another took the allocation's place
		open       bool // the job has an evaluation that is not over
		ofDead     bool // the job's collection asks
		over, gone bool
	}{
		{name: "no allocation", jobType: "service", over: true},
		{name: "no job", over: true},
		{name: "pending", jobType: "service", eval: broker.StatusPending},
		{name: "blocked", jobType: "service", eval: broker.StatusBlocked},
		{name: "failed", jobType: "service", eval: broker.StatusFailed, over: true},
		{name: "canceled", jobType: "service", eval: broker.StatusCanceled, over: true},
		{name: "new", jobType: "service", late: true},
		{name: "its allocation runs", jobType: "service", alloc: status(running)},
		{name: "runs, though it was told to stop", jobType: "service", alloc: told(running)},
		{name: "ended", jobType: "service", alloc: status(complete), over: true, gone: true},
		{name: "ended, new", jobType: "service", alloc: status(complete), allocLate: true},
		{name: "lost", jobType: "service", alloc: status(lost), over: true, gone: true},
		{name: "failed, to be replaced", jobType: "service", alloc: status(failed), open: true},
		{name: "failed, was told to stop", jobType: "service", alloc: told(failed), over: true, gone: true},
		{name: "failed, replaced", jobType: "service", alloc: status(failed), replaced: true, over: true, gone: true},
		{name: "failed, of a group that is gone", jobType: "service", alloc: func(a *rpc.Allocation) { a.ClientStatus, a.TaskGroup = failed, "other" }, over: true, gone: true},
		{name: "failed, of a stopped job", jobType: "service", change: stop, alloc: status(failed), over: true, gone: true},
		{name: "failed, of a job that is gone", alloc: status(failed), over: true, gone: true},
		{name: "failed, of a system job", jobType: "system", alloc: status(failed), over: true, gone: true},
		{name: "failed, of a sysbatch job", jobType: "sysbatch", alloc: status(failed), open: true, over: true, gone: true},
		{name: "failed, of a service with nothing to do", jobType: "service", alloc: status(failed), over: true, gone: true},
		{name: "a batch job that goes on", jobType: "batch", alloc: status(complete), open: true},
		{name: "a batch job that goes on, of which it is the second", jobType: "batch", change: again, alloc: status(complete), open: true, gone: true},
		{name: "the second, and the first still runs", jobType: "batch", change: again, alloc: status(running), open: true},
		{name: "the second goes on, and what it ran counts", jobType: "batch", change: func(j *rpc.Job) { j.CreateIndex = 5 }, alloc: status(complete), open: true},
		{name: "a batch job with nothing to do", jobType: "batch", alloc: status(complete)},
		{name: "a batch job with nothing to do, as it is collected", jobType: "batch", alloc: status(complete), ofDead: true, over: true, gone: true},
		{name: "a stopped batch job", jobType: "batch", change: stop, alloc: status(complete), over: true, gone: true},
		{name: "a stopped batch job with an open evaluation", jobType: "batch", change: stop, alloc: status(complete), open: true},
		{name: "a batch job that is gone", alloc: func(a *rpc.Allocation) { a.JobType, a.ClientStatus = "batch", complete }, over: true, gone: true},
		{name: "a batch job that runs, as it is collected", jobType: "batch", alloc: status(running), ofDead: true},
		{name: "failed a day after it replaced another", jobType: "service", alloc: replaces(25 * time.Hour), open: true},
	} {
		c := &coreRun{snap: gcState(t, func(tx *state.Tx) error {
			if tt.jobType == "" {
				return nil
			}
			j := jobOf(tt.jobType)
			if err := tx.UpsertJob(j); err != nil {
				return err
			}
			if tt.change != nil {
				tt.change(j)
			}
			return nil
		}, tt.open, func(at uint64) (*broker.Evaluation, []*rpc.Allocation) {
			e := &broker.Evaluation{ID: "e", Namespace: rpc.DefaultNamespace, JobID: "job", Type: "service", Status: broker.StatusComplete}
			if tt.jobType != "" {
				e.Type = tt.jobType
			}
			if tt.eval != "" {
				e.Status = tt.eval
			}
			var allocs []*rpc.Allocation
			if tt.alloc != nil {
				a := allocOf(e.Type, "a", "", tt.alloc)
				a.EvalID = "e"
				allocs = append(allocs, a)
				if tt.replaced {
					allocs = append(allocs, allocOf(e.Type, "b", running, func(b *rpc.Allocation) { b.PreviousAllocation = "a" }))
				}
			}
			if at == 5 && tt.late {
				e = nil
			}
			if (at == 11) != tt.allocLate {
				allocs = nil
			}
			return e, allocs
		})}
		var e *broker.Evaluation
		for x := range c.snap.Evals() {
			if x.ID == "e" {
				e = x
			}
		}
		over, gone := c.evalOver(e, 10, tt.ofDead)
		want := []string(nil)
		if tt.gone {
			want = []string{"a"}
		}
		if over != tt.over || !slices.Equal(gone, want) {
			t.Errorf("%s: over %v, with %v; want %v, with %v", tt.name, over, gone, tt.over, want)
		}
	}
}

// gcState returns a state in which the job is written at 5, what rows returns for 5 and 11 at those
// indexes, and, if open, another evaluation that is pending.
func gcState(t *testing.T, job func(*state.Tx) error, open bool, rows func(at uint64) (*broker.Evaluation, []*rpc.Allocation)) *state.Snapshot {
	t.Helper()
	s := state.New()
	for _, at := range []uint64{5, 11} {
		err := s.Update(at, func(tx *state.Tx) error {
			e, allocs := rows(at)
			if at == 5 {
				if err := job(tx); err != nil {
					return err
				}
				if open {
					if err := tx.UpsertEvals(&broker.Evaluation{ID: "open", Namespace: rpc.DefaultNamespace, JobID: "job", Status: broker.StatusPending}); err != nil {
						return err
					}
				}
			}
			if e != nil && (at == 5 || s.Snapshot().EvalTotal() == 0) {
				if err := tx.UpsertEvals(e); err != nil {
					return err
				}
			}
			if len(allocs) == 0 {
				return nil
			}
			return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: allocs})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s.Snapshot()
}

// start starts a server that is a cluster by itself, with one worker.
func start(t *testing.T, cfg config.Config) *Server {
	t.Helper()
	cfg.Servers, cfg.NumSchedulers = 1, 1
	cfg = cfg.WithDefaults()
	storage, err := raftnode.NewStorages(cfg.DataDir, false).New(Addr(0))
	if err != nil {
		t.Fatal(err)
	}
	shared := &Shared{Config: &cfg, Network: simnet.New(cfg.Seed, simnet.Link{}, simnet.Link{})}
	shared.Results.Servers = 1
	s := New(shared, Options{Schedulers: cfg.NumSchedulers, Host: &Host{}, Storage: storage, CPU: cpu.NewPool(cfg.Costs.Cores)})
	shared.ByAddr = func(string) *Server { return s }
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// lead is start, and returns the server once it leads.
func lead(t *testing.T, cfg config.Config) *Server {
	t.Helper()
	s := start(t, cfg)
	for !s.Established() {
		time.Sleep(time.Second)
	}
	return s
}

// alone is lead, and stops the server when the test ends.
func alone(t *testing.T, cfg config.Config) *Server {
	t.Helper()
	s := lead(t, cfg)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestCollectionsAreDivided: what is over goes in entries of 7281 at most, all of it, and jobs of newer
// releases in entries of 2048.
func TestCollectionsAreDivided(t *testing.T) {
	divided(t, config.Habits{}, 2)
	divided(t, config.Habits{JobsPerPurge: 2048}, 4)
}

// divided wants jobs to go in so many entries.
func divided(t *testing.T, habits config.Habits, jobEntries uint64) {
	virtualtest.Test(t, func(t *testing.T) {
		s := alone(t, config.Config{Seed: 1, GC: noCollection, Habits: habits})
		const rows = maxIDsPerWrite + 1
		err := s.store.Update(s.LastIndex(), func(tx *state.Tx) error {
			for i := range rows {
				name := fmt.Sprint(i)
				over := jobOf("service")
				over.ID, over.Stop = name, true
				e := &broker.Evaluation{ID: name, Namespace: rpc.DefaultNamespace, JobID: "other", Status: broker.StatusComplete}
				if err := tx.UpsertEvals(e); err != nil {
					return err
				}
				if err := tx.UpsertJob(over); err != nil {
					return err
				}
				if err := tx.UpsertNode(&rpc.Node{ID: name, Datacenter: "dc1", Status: rpc.NodeStatusDown}); err != nil {
					return err
				}
			}
			gone := allocOf("service", "gone", rpc.AllocClientComplete, func(a *rpc.Allocation) { a.EvalID, a.JobID = "0", "other" })
			return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{gone}})
		})
		if err != nil {
			t.Fatal(err)
		}
		_, before := s.shared.Ledger.Read()
		s.ForceGC()
		time.Sleep(time.Minute)
		snap := s.Snapshot()
		if n, m := snap.NodeCount(), len(slices.Collect(snap.Jobs())); n+m > 0 || snap.AllocByID("gone") != nil {
			t.Errorf("%d nodes and %d jobs are left, and the allocation: %v", n, m, snap.AllocByID("gone"))
		}
		counts, after := s.shared.Ledger.Read()
		if counts.NodesCollected != rows || counts.EvalsCollected < rows {
			t.Errorf("%+v; want %d of each collected", counts, rows)
		}
		for cause, want := range map[fsm.Cause]uint64{fsm.EvalsCollected: 2, fsm.JobsCollected: jobEntries, fsm.NodesCollected: 2} {
			if n := after[cause] - before[cause]; n != want {
				t.Errorf("%d entries of cause %d, want %d", n, cause, want)
			}
		}
	})
}

// TestWhatIsCollected: which jobs go after their time, with what is left of them, which nodes and
// which evaluations. What is written at the second index is too new.
func TestWhatIsCollected(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		never := config.GCConfig{Interval: 1000 * time.Hour, TokenInterval: 1000 * time.Hour, EvalThreshold: time.Hour, JobThreshold: time.Hour, NodeThreshold: time.Hour, TimeGranularity: time.Second}
		s := alone(t, config.Config{Seed: 1, GC: never})
		time.Sleep(3 * time.Hour)
		s.times = fsm.NewTimeTable(time.Second)
		write := func(index uint64, f func(tx *state.Tx) error) {
			t.Helper()
			if err := s.store.Update(index, f); err != nil {
				t.Fatal(err)
			}
		}
		type change = func(*rpc.Job)
		stop := func(j *rpc.Job) { j.Stop = true }
		periodic := func(j *rpc.Job) { j.Periodic = &rpc.PeriodicConfig{Every: time.Hour} }
		jobs := []struct {
			id, jobType string
			changes     []change
			alloc, eval string // their statuses; empty: there is none
			at          uint64
			late        bool // the evaluation is new
			gone        bool
		}{
			{id: "service that runs", jobType: "service", alloc: rpc.AllocClientRunning, eval: broker.StatusComplete, at: 10},
			{id: "service with nothing to do", jobType: "service", eval: broker.StatusComplete, at: 10},
			{id: "stopped service", jobType: "service", changes: []change{stop}, alloc: rpc.AllocClientComplete, eval: broker.StatusComplete, at: 10, gone: true},
			{id: "stopped service that runs", jobType: "service", changes: []change{stop}, alloc: rpc.AllocClientRunning, eval: broker.StatusComplete, at: 10},
			{id: "stopped service to look at", jobType: "service", changes: []change{stop}, eval: broker.StatusPending, at: 10},
			{id: "stopped service, just looked at", jobType: "service", changes: []change{stop}, eval: broker.StatusComplete, at: 10, late: true},
			{id: "new stopped service", jobType: "service", changes: []change{stop}, at: 20},
			{id: "batch that is over", jobType: "batch", alloc: rpc.AllocClientComplete, eval: broker.StatusComplete, at: 10, gone: true},
			{id: "batch that never was", jobType: "batch", at: 10, gone: true},
			{id: "batch that runs", jobType: "batch", alloc: rpc.AllocClientRunning, eval: broker.StatusComplete, at: 10},
			{id: "batch to look at", jobType: "batch", eval: broker.StatusBlocked, at: 10},
			{id: "sysbatch that is over", jobType: "sysbatch", alloc: rpc.AllocClientFailed, eval: broker.StatusComplete, at: 10, gone: true},
			{id: "periodic batch", jobType: "batch", changes: []change{periodic}, at: 10},
			{id: "stopped periodic batch", jobType: "batch", changes: []change{periodic, stop}, at: 10, gone: true},
			{id: "system", jobType: "system", at: 10},
			{id: "stopped system", jobType: "system", changes: []change{stop}, alloc: rpc.AllocClientComplete, eval: broker.StatusComplete, at: 10, gone: true},
		}
		nodes := map[string]struct {
			status string
			at     uint64
			gone   bool
		}{
			"runs": {rpc.NodeStatusDown, 10, false}, "ready": {rpc.NodeStatusReady, 10, false}, "down": {rpc.NodeStatusDown, 10, true},
			"new": {rpc.NodeStatusDown, 20, false}, "away": {rpc.NodeStatusDisconnected, 10, false},
		}
		first := s.store.Index()
		for _, at := range []uint64{10, 20} {
			for s.store.Index() < first+at {
				if _, err := s.Write(fsm.OneTimeTokenExpire.With(&fsm.OneTimeTokenExpireRequest{})); err != nil {
					t.Fatal(err)
				}
			}
			index := s.store.Index()
			for id, n := range nodes {
				if n.at == at {
					write(index, func(tx *state.Tx) error { return tx.UpsertNode(&rpc.Node{ID: id, Datacenter: "dc1", Status: n.status}) })
				}
			}
			for _, tt := range jobs {
				write(index, func(tx *state.Tx) error {
					var errs []error
					if tt.at == at {
						j := jobOf(tt.jobType)
						j.ID = tt.id
						for _, f := range tt.changes {
							f(j)
						}
						errs = append(errs, tx.UpsertJob(j))
					}
					if tt.eval != "" && tt.late == (at == 20) {
						errs = append(errs, tx.UpsertEvals(&broker.Evaluation{ID: tt.id, Namespace: rpc.DefaultNamespace, JobID: tt.id, Type: tt.jobType, Status: tt.eval}))
					}
					if tt.alloc != "" && tt.at == at {
						a := allocOf(tt.jobType, tt.id, tt.alloc, func(a *rpc.Allocation) { a.JobID, a.EvalID, a.NodeID = tt.id, tt.id, "runs" })
						errs = append(errs, tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{a}}))
					}
					return errors.Join(errs...)
				})
			}
		}
		write(s.store.Index(), func(tx *state.Tx) error {
			return tx.UpsertEvals(&broker.Evaluation{ID: "canceled", Namespace: "n", JobID: "gone", Status: broker.StatusCanceled})
		})
		run := func() *coreRun { return &coreRun{worker: &worker{srv: s, name: "worker-0"}, snap: s.Snapshot()} }
		left := func() string {
			snap := s.Snapshot()
			return fmt.Sprint(len(slices.Collect(snap.Jobs())), snap.NodeCount(), snap.EvalTotal(), len(slices.Collect(snap.Allocs())))
		}
		all := left()
		for name, gc := range map[string]func(*coreRun) error{"jobs": (*coreRun).jobGC, "nodes": (*coreRun).nodeGC, "evaluations": (*coreRun).evalGC} {
			if err := gc(run()); err != nil || left() != all {
				t.Errorf("%s while nothing is old: %s left of %s, %v", name, left(), all, err)
			}
		}
		s.times = fsm.NewTimeTable(time.Second)
		s.times.Witness(first+15, time.Now().Add(-2*time.Hour))
		s.times.Witness(first+20, time.Now().Add(-30*time.Minute))
		if err := errors.Join(run().jobGC(), run().nodeGC()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		snap, stops := s.Snapshot(), map[string]bool{}
		for e := range snap.Evals() {
			stops[e.JobID] = stops[e.JobID] || e.TriggeredBy == broker.TriggeredByJobDeregister
		}
		for _, tt := range jobs {
			if want := tt.gone && tt.id != "stopped periodic batch"; stops[tt.id] != want {
				t.Errorf("%s: an evaluation stops what is left of it: %v, want %v", tt.id, stops[tt.id], want)
			}
			job, alloc := snap.JobByID(rpc.DefaultNamespace, tt.id), snap.AllocByID(tt.id)
			if (job == nil) != tt.gone || tt.alloc != "" && (alloc == nil) != tt.gone {
				t.Errorf("%s: job %v, allocation %v; want them gone: %v", tt.id, job != nil, alloc != nil, tt.gone)
			}
		}
		for id, n := range nodes {
			if (snap.NodeByID(id) == nil) != n.gone {
				t.Errorf("node %s is gone: %v, want %v", id, snap.NodeByID(id) == nil, n.gone)
			}
		}
		before := snap.EvalTotal()
		if err := run().evalGC(); err != nil || s.Snapshot().EvalTotal() != before-1 {
			// Those of jobs that go on stay with what they placed, or until the job goes: one service's has placed nothing.
			t.Errorf("%d of %d evaluations are left, %v; want that of the service with nothing to do gone", s.Snapshot().EvalTotal(), before, err)
		}
	})
}
