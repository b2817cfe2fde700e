package server

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
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

// alone starts a server that is a cluster by itself, with one worker, and returns it once it leads.
func alone(t *testing.T, cfg config.Config) *Server {
	t.Helper()
	cfg.Servers, cfg.NumSchedulers = 1, 1
	cfg = cfg.WithDefaults()
	storage, err := raftnode.NewStorages("").New(Addr(0))
	if err != nil {
		t.Fatal(err)
	}
	shared := &Shared{Config: &cfg, Network: simnet.New(cfg.Seed, simnet.Link{}, simnet.Link{})}
	shared.Results.Servers = 1
	s := New(shared, Options{Schedulers: cfg.NumSchedulers, Host: &Host{}, Storage: storage})
	shared.ByAddr = func(string) *Server { return s }
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	for !s.Established() {
		time.Sleep(time.Second)
	}
	return s
}

// TestCollectionsAreDivided: what is over goes in entries of 7281 at most, all of it.
func TestCollectionsAreDivided(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		s := alone(t, config.Config{Seed: 1, GC: config.GCConfig{Interval: 1000 * time.Hour, TokenInterval: 1000 * time.Hour}})
		const rows = maxIDsPerWrite + 1
		err := s.store.Update(s.store.Index(), func(tx *state.Tx) error {
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
			gone := allocOf("service", "gone", rpc.AllocClientComplete, func(a *rpc.Allocation) { a.EvalID = "0" })
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
		for _, cause := range []fsm.Cause{fsm.EvalsCollected, fsm.JobsCollected, fsm.NodesCollected} {
			if n := after[cause] - before[cause]; n != 2 {
				t.Errorf("%d entries of cause %d, want 2", n, cause)
			}
		}
	})
}
