package leader

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestDrainerAndItsOwnRequests: having asked one allocation to leave, the drainer asks no other before
// something else becomes of the job: not when it sees its own request, and not when other jobs change.
func TestDrainerAndItsOwnRequests(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		l := newSoleLog(t)
		job := &rpc.Job{ID: "svc", Namespace: rpc.DefaultNamespace, Type: rpc.JobTypeService, TaskGroups: []rpc.TaskGroup{{Name: "g", Count: 8}}}
		running := func(job, id, node string) *rpc.Allocation {
			return &rpc.Allocation{
				ID: id, Namespace: rpc.DefaultNamespace, JobID: job, JobType: rpc.JobTypeService, TaskGroup: "g", NodeID: node,
				DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientRunning,
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

		d := NewDrainer(l)
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
				tx.UpdateAllocsFromClient(&rpc.Allocation{ID: id, ClientStatus: rpc.AllocClientRunning})
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
		asked("after a report of the job, of which all run still", 2)
		deadline := drainCoalesce - time.Second // so near that a drain whose deadline has come would take it along
		l.update(func(tx *state.Tx) error {
			return tx.UpdateNodeDrain("drains", &rpc.DrainStrategy{Deadline: deadline, ForceDeadline: l.Wall().Add(deadline).UnixNano()}, false, 0, "")
		})
		d.NodeChanged("drains")
		d.AllocsChanged()
		asked("a little before the deadline, as after any look", 3)
		time.Sleep(deadline)
		asked("at the deadline", 4)
		d.Stop()
		cancel()
		loop.Wait()
	})
}
