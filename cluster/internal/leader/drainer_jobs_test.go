package leader

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// drains is a drainer that runs beside a log, with nodes "a", "b" and "c".
type drains struct {
	*soleLog
	d     *Drainer
	began time.Time
}

// newDrains returns drains of a job of each type, called by it, with counts of 4.
func newDrains(t *testing.T, habits config.Habits) *drains {
	x := &drains{soleLog: newSoleLog(t), began: time.Now()}
	for _, node := range []string{"a", "b", "c"} {
		x.update(func(tx *state.Tx) error { return tx.UpsertNode(&rpc.Node{ID: node, Status: rpc.NodeStatusReady}) })
	}
	for _, kind := range []string{rpc.JobTypeService, rpc.JobTypeBatch, rpc.JobTypeSysBatch, rpc.JobTypeSystem} {
		x.update(func(tx *state.Tx) error {
			return tx.UpsertJob(&rpc.Job{ID: kind, Namespace: rpc.DefaultNamespace, Type: kind, TaskGroups: []rpc.TaskGroup{{Name: "g", Count: 4}}})
		})
	}
	x.d = NewDrainer(x, habits)
	x.d.Start(x.Snapshot())
	ctx, cancel := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	loop.Go(func() { x.d.Run(ctx) })
	t.Cleanup(func() {
		x.d.Stop()
		cancel()
		loop.Wait()
	})
	return x
}

// Write tells the drainer of drains that end, and of what it has asked for.
func (x *drains) Write(c fsm.Command) (uint64, error) {
	index := x.store.Index() + 1
	fx, err := c.Apply(x.store, index)
	if err != nil {
		x.Error(err)
		return 0, err
	}
	for _, id := range fx.Drains {
		x.d.NodeChanged(id)
	}
	return index, nil
}

// runs has allocations of a job run on a node, healthy.
func (x *drains) runs(job, node string, ids ...string) {
	var placed []*rpc.Allocation
	for _, id := range ids {
		placed = append(placed, &rpc.Allocation{
			ID: id, Namespace: rpc.DefaultNamespace, JobID: job, JobType: job, TaskGroup: "g", NodeID: node,
			DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientRunning, Health: rpc.AllocHealthy,
		})
	}
	x.update(func(tx *state.Tx) error { return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: placed}) })
	x.d.AllocsChanged()
}

// stops has servers tell an allocation to stop.
func (x *drains) stops(id string) {
	x.update(func(tx *state.Tx) error {
		return tx.UpsertPlanResults(&state.PlanResults{AllocsStopped: []state.AllocDiff{{ID: id}}})
	})
	x.d.AllocsChanged()
}

// reports has a client say that an allocation is complete.
func (x *drains) reports(id string) {
	x.update(func(tx *state.Tx) error {
		tx.UpdateAllocsFromClient(&rpc.Allocation{ID: id, ClientStatus: rpc.AllocClientComplete})
		return nil
	})
	x.d.AllocsChanged()
}

// drain begins a drain. A negative deadline is now.
func (x *drains) drain(node string, deadline time.Duration) {
	s := &rpc.DrainStrategy{Deadline: deadline}
	if deadline > 0 {
		s.ForceDeadline = time.Now().Add(deadline).UnixNano()
	}
	x.update(func(tx *state.Tx) error { return tx.UpdateNodeDrain(node, s, false, 0, "") })
	x.d.NodeChanged(node)
}

// want checks what has been asked to leave, which nodes drain, and how many entries were written.
func (x *drains) want(after time.Duration, asked, draining string, entries int) {
	x.Helper()
	time.Sleep(after)
	var leave, nodes []string
	for a := range x.Snapshot().Allocs() {
		if a.Migrate {
			leave = append(leave, a.ID)
		}
	}
	for n := range x.Snapshot().Nodes() {
		if n.Drain != nil {
			nodes = append(nodes, n.ID)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	got, want := fmt.Sprintf("%s leave, %s drain, %d entries", strings.Join(leave, " "), strings.Join(nodes, " "), len(x.causes)), fmt.Sprintf("%s leave, %s drain, %d entries", asked, draining, entries)
	if got != want {
		x.Errorf("%v after the start: %s, want %s", time.Since(x.began), got, want)
	}
}

// TestDrainsOfAJob: which drains have a job looked at, and whose ends are noticed.
func TestDrainsOfAJob(t *testing.T) {
	const service, batch, sysbatch = rpc.JobTypeService, rpc.JobTypeBatch, rpc.JobTypeSysBatch
	for name, run := range map[string]func(x *drains){
		"a second node has nobody look at a job that drains": func(x *drains) {
			x.runs(service, "a", "a0", "a1")
			x.runs(service, "b", "b0", "b1")
			x.drain("a", 0)
			x.want(3*time.Second, "a0", "a", 1)
			x.drain("b", 0)
			x.want(time.Minute, "a0", "a b", 1)
			x.stops("a0") // three are left of four
			x.runs(service, "c", "c0")
			x.want(3*time.Second, "a0 a1", "a b", 2)
		},
		"but one with another job does": func(x *drains) {
			x.runs(service, "a", "a0", "a1")
			x.runs(service, "b", "b0", "b1")
			x.runs(batch, "b", "b2")
			x.drain("a", 0)
			x.want(3*time.Second, "a0", "a", 1)
			x.drain("b", 0)
			x.want(3*time.Second, "a0 a1", "a b", 2) // both run, so another may leave
		},
		"not while a request is gathered": func(x *drains) {
			x.runs(service, "a", "a0", "a1")
			x.runs(service, "b", "b0", "b1")
			x.runs(batch, "b", "b2")
			x.drain("a", 0)
			time.Sleep(drainBatch / 2)
			x.drain("b", 0)
			x.want(time.Minute, "a0", "a b", 1)
			x.reports("b2")
			x.want(3*time.Second, "a0 a1", "a b", 2)
		},
		"meanwhile a node that is empty is done": func(x *drains) {
			x.runs(service, "a", "a0", "a1", "a2", "a3")
			x.drain("a", 0)
			time.Sleep(drainBatch / 2)
			x.drain("b", 0)
			x.want(drainBatch/4, "", "a", 1)
		},
		"at the deadline a request is gathered though it is empty": func(x *drains) {
			x.runs(service, "a", "a0")
			x.drain("a", 10*time.Second)
			x.stops("a0") // as its client has yet to hear
			x.want(10*time.Second+drainBatch/2, "", "a", 0)
			x.want(drainBatch, "", "", 1)
		},
		"what may leave a node that is forced at once is asked twice": func(x *drains) {
			x.runs(service, "a", "a0", "a1", "a2", "a3")
			x.drain("a", -1)
			x.want(drainBatch+drainBatch/2, "a0 a1 a2 a3", "", 2)
			x.want(time.Minute, "a0 a1 a2 a3", "", 3)
		},
		"a batch job's end is noticed": func(x *drains) {
			x.runs(batch, "a", "a0", "a1")
			x.drain("a", time.Hour)
			x.reports("a0")
			x.want(time.Second, "", "a", 0)
			x.reports("a1")
			x.want(time.Second, "", "", 1)
		},
		"and that of a sysbatch job not": func(x *drains) {
			x.runs(sysbatch, "a", "a0")
			x.drain("a", time.Hour)
			time.Sleep(time.Second)
			x.reports("a0")
			x.want(time.Minute, "", "a", 0)
			x.want(time.Hour, "", "", 1)
		},
		"unless another job leaves the node": func(x *drains) {
			x.runs(sysbatch, "a", "a0")
			x.runs(batch, "a", "a1")
			x.drain("a", time.Hour)
			x.reports("a0")
			x.reports("a1")
			x.want(time.Second, "", "", 1)
		},
		"nor that of a job that is gone": func(x *drains) {
			x.runs(batch, "a", "a0")
			x.drain("a", time.Hour)
			time.Sleep(time.Second)
			x.update(func(tx *state.Tx) error { return tx.DeleteJob(rpc.DefaultNamespace, batch) })
			x.reports("a0")
			x.want(time.Minute, "", "a", 0)
		},
		"nor of one that was to stop before": func(x *drains) {
			x.runs(batch, "a", "a0")
			x.stops("a0")
			x.drain("a", time.Hour)
			time.Sleep(time.Second)
			x.reports("a0")
			x.want(time.Minute, "", "a", 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) { run(newDrains(t, config.Habits{DrainsAwaitClients: true})) })
		})
	}
}
