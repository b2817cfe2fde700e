package leader

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestDrainerAndItsOwnRequests: having asked one allocation to leave, the drainer asks no other before
// something else becomes of the job: not when it sees its own request, not when other jobs change, and not when the drain does. Newer releases wait until it has left, too.
func TestDrainerAndItsOwnRequests(t *testing.T) {
	t.Run("old", func(t *testing.T) { drainWithRequests(t, config.Habits{}, 2) })
	t.Run("new", func(t *testing.T) { drainWithRequests(t, config.Habits{LeavingIsUnhealthy: true}, 1) })
}

// drainWithRequests drains, and wants so many to be asked to leave once the job has changed.
func drainWithRequests(t *testing.T, habits config.Habits, jobChanged int) {
	virtualtest.Test(t, func(t *testing.T) {
		l := newSoleLog(t)
		job := &rpc.Job{ID: "svc", Namespace: rpc.DefaultNamespace, Type: rpc.JobTypeService, TaskGroups: []rpc.TaskGroup{{Name: "g", Count: 8}}}
		running := func(job, id, node string) *rpc.Allocation {
			return &rpc.Allocation{
				ID: id, Namespace: rpc.DefaultNamespace, JobID: job, JobType: rpc.JobTypeService, TaskGroup: "g", NodeID: node,
				DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientRunning, Health: rpc.AllocHealthy,
			}
		}
		l.update(func(tx *state.Tx) error { return tx.UpsertNode(&rpc.Node{ID: "drains", Status: rpc.NodeStatusReady}) })
		l.update(func(tx *state.Tx) error { return tx.UpsertNode(&rpc.Node{ID: "stays", Status: rpc.NodeStatusReady}) })
		l.update(func(tx *state.Tx) error { return tx.UpsertJob(job) })
		l.update(func(tx *state.Tx) error {
			allocs := []*rpc.Allocation{running("other", "o", "stays")}
			for i := range 8 {
				allocs = append(allocs, running("svc", fmt.Sprint(i), []string{"drains", "stays"}[i%2]))
			}
			return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: allocs})
		})
		l.update(func(tx *state.Tx) error { return tx.UpdateNodeDrain("drains", &rpc.DrainStrategy{}, false, 0, "") })

		d := NewDrainer(l, habits)
		d.Start(l.Snapshot())
		ctx, cancel := context.WithCancel(t.Context())
		var loop sync.WaitGroup
		loop.Go(func() { d.Run(ctx) })
		asked := func(when string, want int) {
			t.Helper()
			time.Sleep(3 * drainBatch)
			n := 0
			for a := range l.Snapshot().Allocs() {
				if a.Migrate {
					n++
				}
			}
			if n != want {
				t.Errorf("%s: %d are to leave, want %d", when, n, want)
			}
		}
		reported := func(id string) {
			l.update(func(tx *state.Tx) error {
				tx.UpdateAllocsFromClient(&rpc.Allocation{ID: id, ClientStatus: rpc.AllocClientRunning, Health: rpc.AllocHealthy})
				return nil
			})
			d.AllocsChanged()
		}
		asked("at first", 1)
		d.AllocsChanged()
		asked("after its own request", 1)
		reported("o")
		asked("after a report of another job", 1)
		reported("1")
		asked("after a report of the job, of which all run still", jobChanged)
		deadline := drainCoalesce - time.Second // so near that a drain whose deadline has come would take it along
		l.update(func(tx *state.Tx) error {
			return tx.UpdateNodeDrain("drains", &rpc.DrainStrategy{Deadline: deadline, ForceDeadline: l.Wall().Add(deadline).UnixNano()}, false, 0, "")
		})
		d.NodeChanged("drains")
		d.AllocsChanged()
		asked("a little before the deadline, for the job is watched already", jobChanged)
		time.Sleep(deadline)
		asked("at the deadline", 4)
		d.Stop()
		cancel()
		loop.Wait()
	})
}

// TestDrainerLooksWhenAJobIsDone: what became of a job while the drainer's request for another was gathered is noticed when that other
// job has drained, though nothing of it is left on the node.
func TestDrainerLooksWhenAJobIsDone(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		l := newSoleLog(t)
		for _, node := range []string{"drains", "stays"} {
			l.update(func(tx *state.Tx) error { return tx.UpsertNode(&rpc.Node{ID: node, Status: rpc.NodeStatusReady}) })
		}
		d := NewDrainer(l, config.Habits{})
		alloc := func(job, id, node, health string) *rpc.Allocation {
			return &rpc.Allocation{
				ID: id, Namespace: rpc.DefaultNamespace, JobID: job, JobType: rpc.JobTypeService, TaskGroup: "g", NodeID: node,
				DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientRunning, Health: health,
			}
		}
		plan := func(stopped string, placed ...*rpc.Allocation) {
			r := &state.PlanResults{AllocsUpdated: placed}
			if stopped != "" {
				r.AllocsStopped = []state.AllocDiff{{ID: stopped}}
			}
			l.update(func(tx *state.Tx) error { return tx.UpsertPlanResults(r) })
			d.AllocsChanged()
		}
		healthy := func(id string) {
			l.update(func(tx *state.Tx) error {
				tx.UpdateAllocsFromClient(&rpc.Allocation{ID: id, ClientStatus: rpc.AllocClientRunning, Health: rpc.AllocHealthy})
				return nil
			})
			d.AllocsChanged()
		}
		asked := func(id string, want bool) {
			t.Helper()
			time.Sleep(3 * drainBatch)
			if got := l.Snapshot().AllocByID(id).Migrate; got != want {
				t.Errorf("%s is to leave: %v, want %v", id, got, want)
			}
		}
		for job, count := range map[string]int{"b": 3, "c": 2} {
			l.update(func(tx *state.Tx) error {
				return tx.UpsertJob(&rpc.Job{ID: job, Namespace: rpc.DefaultNamespace, Type: rpc.JobTypeService, TaskGroups: []rpc.TaskGroup{{Name: "g", Count: count}}})
			})
		}
		plan("", alloc("b", "b0", "drains", rpc.AllocHealthy), alloc("b", "b1", "drains", rpc.AllocHealthy), alloc("b", "b2", "stays", rpc.AllocHealthy),
			alloc("c", "c0", "drains", rpc.AllocHealthy), alloc("c", "c1", "stays", ""))
		l.update(func(tx *state.Tx) error { return tx.UpdateNodeDrain("drains", &rpc.DrainStrategy{}, false, 0, "") })
		d.Start(l.Snapshot())
		ctx, cancel := context.WithCancel(t.Context())
		var loop sync.WaitGroup
		loop.Go(func() { d.Run(ctx) })

		asked("b0", true)
		plan("b0", alloc("b", "b3", "stays", ""))
		asked("b1", false)
		healthy("c1") // so that c0 may leave
		time.Sleep(drainBatch / 2)
		healthy("b3") // so that b1 may, while the request for c0 is gathered
		asked("b1", false)
		plan("c0", alloc("c", "c2", "stays", ""))
		asked("b1", true)
		d.Stop()
		cancel()
		loop.Wait()
	})
}

// TestLongRequestsAreDivided: an entry names 7281 allocations and evaluations at most, and the evaluations come last.
func TestLongRequestsAreDivided(t *testing.T) {
	for _, tt := range []struct{ allocs, entries int }{{1, 1}, {idsPerTransition - 1, 1}, {idsPerTransition, 2}, {idsPerTransition + 1, 2}, {2*idsPerTransition + 1, 3}} {
		l := newSoleLog(t)
		req := fsm.DesiredTransitionRequest{Evals: []*broker.Evaluation{evaluation("e")}}
		for i := range tt.allocs {
			req.Migrate = append(req.Migrate, fmt.Sprint(i))
		}
		index, err := requestTransitions(l, req)
		e := l.Snapshot().EvalByID("e")
		if err != nil || index != uint64(tt.entries) || len(l.causes) != tt.entries || e == nil || e.CreateIndex != index {
			t.Errorf("%d allocations: %d entries due to %d causes, %v; want %d, and the evaluation %+v in the last", tt.allocs, index, len(l.causes), err, tt.entries, e)
		}
	}
}
