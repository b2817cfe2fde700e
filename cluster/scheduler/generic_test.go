package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// running returns a world of n nodes with the job's allocations in place.
func running(t *testing.T, n int, j *rpc.Job) *world {
	t.Helper()
	w := newWorld(t)
	w.nodes(n)
	w.register(j)
	w.runJob(j.ID)
	w.report(j.ID, rpc.AllocClientRunning, nil)
	if d := w.deployment(j.ID); d != nil {
		w.want("plan that ends the first deployment", len(w.runJob(j.ID).plans), 1)
		w.want("first deployment", w.deployment(j.ID).Status, rpc.DeploymentSuccessful)
	}
	w.want("plans at rest", len(w.runJob(j.ID).plans), 0)
	return w
}

func TestServiceKeepsItsCount(t *testing.T) {
	tests := []struct {
		name  string
		event func(*world)
		names string
		stops int
	}{
		{"nothing happened", func(*world) {}, "[svc.g[0] svc.g[1] svc.g[2]]", 0},
		{"scaled up", func(w *world) {
			w.change("svc", group(func(tg *rpc.TaskGroup) { tg.Count = 5 }))
		}, "[svc.g[0] svc.g[1] svc.g[2] svc.g[3] svc.g[4]]", 0},
		{"scaled down", func(w *world) {
			w.change("svc", group(func(tg *rpc.TaskGroup) { tg.Count = 1 }))
		}, "[svc.g[0]]", 2},
		{"changed", func(w *world) {
			w.change("svc", group(func(tg *rpc.TaskGroup) { tg.Resources.MemoryMB++ }))
		}, "[svc.g[0] svc.g[1] svc.g[2]]", 3},
		{"changed and scaled down", func(w *world) {
			w.change("svc", group(func(tg *rpc.TaskGroup) { tg.Resources.MemoryMB++; tg.Count = 2 }))
		}, "[svc.g[0] svc.g[1]]", 3},
		{"stopped", func(w *world) {
			w.update(func(tx *state.Tx) error { return tx.StopJob(rpc.DefaultNamespace, "svc") })
		}, "[]", 3},
		{"purged", func(w *world) {
			w.update(func(tx *state.Tx) error { return tx.DeleteJob(rpc.DefaultNamespace, "svc") })
		}, "[]", 3},
		{"group renamed", func(w *world) {
			w.change("svc", group(func(tg *rpc.TaskGroup) { tg.Name = "h" }))
		}, "[svc.h[0] svc.h[1] svc.h[2]]", 3},
		{"an allocation ended by itself", func(w *world) {
			w.report("svc", rpc.AllocClientComplete, func(a *rpc.Allocation) bool { return a.Name == "svc.g[1]" })
		}, "[svc.g[0] svc.g[1] svc.g[2]]", 0},
		{"a node is down", func(w *world) { w.status(w.live("svc")[0].NodeID, rpc.NodeStatusDown) }, "[svc.g[0] svc.g[1] svc.g[2]]", -1},
		{"a node is gone", func(w *world) {
			w.update(func(tx *state.Tx) error { return tx.DeleteNode(w.live("svc")[0].NodeID) })
		}, "[svc.g[0] svc.g[1] svc.g[2]]", -1},
		{"a node drains", func(w *world) { w.drain(w.live("svc")[0].NodeID, true) }, "[svc.g[0] svc.g[1] svc.g[2]]", -1},
		{"a node is out of reach", func(w *world) { w.status(w.live("svc")[0].NodeID, rpc.NodeStatusDisconnected) }, "[svc.g[0] svc.g[1] svc.g[2]]", -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := running(t, 4, job(rpc.JobTypeService, "svc", 3))
			test.event(w)
			r := w.run(w.eval("svc", rpc.JobTypeService, broker.TriggeredByNodeUpdate))
			w.want("names", w.names("svc"), test.names)
			if n := len(stops(r)); n != test.stops && (test.stops >= 0 || n == 0) {
				t.Errorf("%d stops, want %d (negative: some)", n, test.stops)
			}
			w.want("stops as work", r.work[0].Stops, len(stops(r)))
			w.want("stops, each once", len(slices.Compact(slices.Sorted(slices.Values(stops(r))))), len(stops(r)))
			w.want("time of the end", r.final.ModifyTime, w.now.UnixNano())
			w.want("status", r.final.Status, broker.StatusComplete)
			snap := w.store.Snapshot()
			for _, a := range w.live("svc") {
				if n := snap.NodeByID(a.NodeID); !n.Ready() {
					t.Errorf("%s is left on node %s, which is %s", a.Name, n.ID, n.Status)
				}
			}
			r = w.run(w.eval("svc", rpc.JobTypeService, broker.TriggeredByNodeUpdate))
			w.want("plans of a second evaluation", len(r.plans), 0)
		})
	}
}

func TestServiceWork(t *testing.T) {
	w := newWorld(t)
	w.nodes(8)
	w.register(job(rpc.JobTypeService, "svc", 3))
	got := w.runJob("svc").work[0]
	if got.Scored < 3*3 || got.Scored > 3*8 {
		t.Errorf("scored %d nodes for 3 placements on 8 nodes", got.Scored)
	}
	got.Scored, got.Proposed = 0, 0 // by chance
	w.want("work when placing", got, Work{Nodes: 8, ReadyNodes: 8, Placements: 3})
	w.want("work when not", w.runJob("svc").work[0], Work{LiveAllocs: 3})
}

func TestServiceWithoutRoom(t *testing.T) {
	w := newWorld(t)
	w.nodes(1)
	w.register(job(rpc.JobTypeService, "svc", 12))
	e := w.eval("svc", rpc.JobTypeService, broker.TriggeredByJobRegister)
	e.JobModifyIndex = 7
	r := w.run(e)
	w.want("placed", len(w.live("svc")), 10)
	w.want("failed", r.final.FailedTGAllocs, map[string]int{"g": 2})
	w.want("queued", r.final.QueuedAllocations, map[string]int{"g": 2})
	w.want("nodes looked at for ten and one more", r.work[0].Scored, 11)
	w.want("created", len(r.created), 1)
	b := r.created[0]
	w.want("blocked evaluation", []any{b.Status, b.TriggeredBy, b.NodeID, r.final.BlockedEval, b.JobModifyIndex},
		[]any{broker.StatusBlocked, broker.TriggeredByQueuedAllocs, "", b.ID, 7})

	t.Run("still none: the blocked evaluation goes back", func(t *testing.T) {
		r := w.run(b)
		w.want("plans, entries, reblocked", []any{len(r.plans), r.final == nil, r.reblock.ID}, []any{0, true, b.ID})
	})
	t.Run("room appears", func(t *testing.T) {
		w.node("n01")
		r := w.run(b)
		w.want("placed", len(w.live("svc")), 12)
		w.want("status", r.final.Status, broker.StatusComplete)
	})
}

func TestServiceUpdateWithoutRoomKeepsTheOld(t *testing.T) {
	w := running(t, 1, job(rpc.JobTypeService, "svc", 1))
	w.change("svc", group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz = 2000 }))
	r := w.runJob("svc")
	w.want("plans, failed", []any{len(r.plans), r.final.FailedTGAllocs}, []any{0, map[string]int{"g": 1}})
	w.want("live", w.live("svc")[0].JobVersion, 0)
	w.want("stops as work", r.work[0].Stops, 0)
}

func TestServiceFillsNodesAndAvoidsItself(t *testing.T) {
	w := newWorld(t)
	w.nodes(2)
	w.register(job(rpc.JobTypeService, "other", 4, group(func(tg *rpc.TaskGroup) { tg.Count = 1; tg.Resources.CPUMHz = 700; tg.Resources.MemoryMB = 700 })))
	w.runJob("other")
	used := w.live("other")[0].NodeID
	w.register(job(rpc.JobTypeService, "one", 1))
	w.runJob("one")
	w.want("the fuller node is filled", w.live("one")[0].NodeID, used)

	w.register(job(rpc.JobTypeService, "two", 2))
	w.runJob("two")
	a, b := w.live("two")[0].NodeID, w.live("two")[1].NodeID
	w.want("two of a kind are kept apart", a != b, true)
}

func TestServiceReschedulesFailures(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeService, "svc", 2))
	victim := func(a *rpc.Allocation) bool { return a.Name == "svc.g[1]" }
	for i, delay := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
		w.habits.NamesReschedules = i > 0 // since 1.11.0
		w.report("svc", rpc.AllocClientFailed, victim)
		r := w.runJob("svc")
		w.want("evaluations made", len(r.created), 1)
		next := r.created[0]
		w.want("follow-up", []any{next.TriggeredBy, next.WaitUntil.Sub(w.now), next.Status},
			[]any{[]string{broker.TriggeredByRetryFailedAlloc, broker.TriggeredByAllocReschedule}[min(i, 1)], delay, broker.StatusPending})
		w.want("its description", next.StatusDescription, descReschedule)
		w.want("plans before it is due", len(w.runJob("svc").plans), 0)
		w.now = next.WaitUntil
		r = w.run(next)
		w.want("stops", len(stops(r)), 1)
		w.want("names", w.names("svc"), "[svc.g[0] svc.g[1]]")
	}
}

// TestChangedBeforeReplaced: a failed allocation is to be replaced later, but its job changes
// first and replaces it at once. It must not be replaced again when its time comes.
func TestChangedBeforeReplaced(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeService, "svc", 3))
	w.report("svc", rpc.AllocClientFailed, func(a *rpc.Allocation) bool { return a.Name != "svc.g[1]" })
	w.change("svc", group(changed))
	r := w.runJob("svc")
	w.want("names", w.names("svc"), "[svc.g[0] svc.g[1] svc.g[2]]")
	w.want("of the new version", w.ofVersion("svc", 1), 3)
	for _, a := range w.allocs("svc") {
		w.want("what is wanted of version "+fmt.Sprint(a.JobVersion), a.DesiredStatus, []string{rpc.AllocDesiredStop, rpc.AllocDesiredRun}[a.JobVersion])
	}
	w.report("svc", rpc.AllocClientRunning, nil)
	next := r.created[0]
	w.now = next.WaitUntil
	w.want("plans when it would have been due", len(w.run(next).plans), 0)
	w.want("names then", w.names("svc"), "[svc.g[0] svc.g[1] svc.g[2]]")
}

func TestBatch(t *testing.T) {
	w := running(t, 2, job(rpc.JobTypeBatch, "bat", 3))
	first := func(a *rpc.Allocation) bool { return a.Name == "bat.g[0]" }
	w.report("bat", rpc.AllocClientComplete, first)
	w.want("plans after one ended well", len(w.runJob("bat").plans), 0)

	second := func(a *rpc.Allocation) bool { return a.Name == "bat.g[1]" }
	w.report("bat", rpc.AllocClientFailed, second)
	next := w.runJob("bat").created[0]
	w.want("delay", next.WaitUntil.Sub(w.now), 5*time.Second)
	w.now = next.WaitUntil
	w.run(next)
	w.want("replaced", w.names("bat"), "[bat.g[1] bat.g[2]]")
	w.report("bat", rpc.AllocClientFailed, second)
	r := w.runJob("bat")
	w.want("plans, evaluations after the second failure in a day", []any{len(r.plans), len(r.created)}, []any{0, 0})

	third := w.live("bat")[0]
	w.status(third.NodeID, rpc.NodeStatusDown)
	w.runJob("bat")
	w.want("lost one replaced", w.names("bat"), "[bat.g[2]]")
	w.want("names of all that ran and runs", len(w.allocs("bat")), 5)

	w.change("bat", group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz++ }))
	w.runJob("bat")
	w.want("a changed job runs anew", w.names("bat"), "[bat.g[0] bat.g[1] bat.g[2]]")
}

// TestBatchLeavesADrainingNode: an allocation that migrates is stopped and reported complete.
// It has not run to its end, and must not count beside the one that replaced it.
func TestBatchLeavesADrainingNode(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeBatch, "bat", 3))
	moved := w.live("bat")[0]
	w.drain(moved.NodeID, true)
	w.runJob("bat")
	w.want("moved", w.names("bat"), "[bat.g[0] bat.g[1] bat.g[2]]")
	w.report("bat", rpc.AllocClientRunning, nil)
	w.update(func(tx *state.Tx) error {
		tx.UpdateAllocsFromClient(w.clientUpdate(moved, rpc.AllocClientComplete))
		return nil
	})
	for range 3 {
		w.want("plans when the client has stopped it", len(w.runJob("bat").plans), 0)
	}
	w.want("left", w.names("bat"), "[bat.g[0] bat.g[1] bat.g[2]]")
}

// TestDrainEndsBatch: what a drain stops is not replaced by a release that has drains end batch jobs. One
// that counts it looks at it again for nothing before the client has stopped it; others replace it then.
func TestDrainEndsBatch(t *testing.T) {
	for _, c := range []struct {
		habits       Habits
		then         int // placed when the drain stops it
		later, ended int // and when the job is looked at before the client has stopped it, or after
	}{
		{Habits{}, 1, 0, 0},
		{Habits{ForgetsStopped: true}, 1, 0, 0},
		{Habits{DrainEndsBatch: true}, 0, 1, 0},
		{Habits{DrainEndsBatch: true, ForgetsStopped: true}, 0, 1, 1},
		{Habits{DrainEndsBatch: true, CountsDrained: true}, 0, 0, 0},
		{Habits{DrainEndsBatch: true, CountsDrained: true, ForgetsStopped: true}, 0, 0, 0},
	} {
		for _, clientFirst := range []bool{true, false} {
			w := running(t, 3, job(rpc.JobTypeBatch, "bat", 3))
			w.habits = c.habits
			moved, before := w.live("bat")[0], len(w.allocs("bat"))
			w.drain(moved.NodeID, true)
			w.runJob("bat")
			w.want(fmt.Sprintf("%+v: placed by the drain", c.habits), len(w.allocs("bat"))-before, c.then)
			before += c.then
			later := c.later
			if clientFirst {
				w.update(func(tx *state.Tx) error {
					tx.UpdateAllocsFromClient(w.clientUpdate(moved, rpc.AllocClientComplete))
					return nil
				})
				later = c.ended
			}
			w.runJob("bat")
			w.want(fmt.Sprintf("%+v, stopped by the client %v: placed later", c.habits, clientFirst), len(w.allocs("bat"))-before, later)
		}
	}
}

func TestServiceDisconnectAndReconnect(t *testing.T) {
	start := func(t *testing.T) (*world, string, *broker.Evaluation) {
		w := running(t, 3, job(rpc.JobTypeService, "svc", 2, group(func(tg *rpc.TaskGroup) { tg.MaxClientDisconnect = time.Minute })))
		node := w.live("svc")[0].NodeID
		w.status(node, rpc.NodeStatusDisconnected)
		r := w.runJob("svc")
		w.want("stops", stops(r), "[]")
		w.want("evaluations made", len(r.created), 1)
		next := r.created[0]
		w.want("follow-up", []any{next.TriggeredBy, next.WaitUntil.Sub(w.now)}, []any{broker.TriggeredByMaxDisconnectExpiry, time.Minute})
		w.want("live, with a replacement", len(w.live("svc")), 3)
		return w, node, next
	}
	t.Run("comes back in time", func(t *testing.T) {
		w, node, _ := start(t)
		w.report("svc", rpc.AllocClientRunning, func(a *rpc.Allocation) bool { return a.NodeID != node })
		w.status(node, rpc.NodeStatusReady)
		w.want("plans before the client speaks", len(w.runJob("svc").plans), 0)
		w.report("svc", rpc.AllocClientPending, on(node))
		r := w.runJob("svc")
		got := stops(r)
		w.want("stops", len(got), 1)
		away := func() bool {
			return slices.ContainsFunc(w.live("svc"), func(a *rpc.Allocation) bool { return a.DisconnectedAt() != 0 })
		}
		w.want("away while it starts", away(), true)
		w.report("svc", rpc.AllocClientRunning, on(node))
		w.runJob("svc")
		w.want("away", away(), false)
		w.want("live", len(w.live("svc")), 2)
		w.want("still on the node", slices.ContainsFunc(w.live("svc"), on(node)), true)
		w.want("plans after", len(w.runJob("svc").plans), 0)
	})
	t.Run("comes back failed", func(t *testing.T) {
		w, node, _ := start(t)
		w.report("svc", rpc.AllocClientRunning, func(a *rpc.Allocation) bool { return a.NodeID != node })
		w.status(node, rpc.NodeStatusReady)
		w.report("svc", rpc.AllocClientFailed, on(node))
		r := w.runJob("svc")
		w.want("stops", stops(r), "["+r.plans[0].NodeUpdate[node][0].Name+" on "+node+": "+allocRescheduled+", failed]")
		w.want("names", w.names("svc"), "[svc.g[0] svc.g[1]]")
		w.want("plans after", len(w.runJob("svc").plans), 0)
	})
	t.Run("is given up", func(t *testing.T) {
		w, node, next := start(t)
		w.now = next.WaitUntil
		r := w.run(next)
		w.want("stops", len(stops(r)), 1)
		w.want("still on the node", slices.ContainsFunc(w.live("svc"), on(node)), false)
		w.want("live", len(w.live("svc")), 2)
	})
	t.Run("comes back after a change", func(t *testing.T) {
		w, node, _ := start(t)
		w.change("svc", group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz++ }))
		w.runJob("svc")
		w.status(node, rpc.NodeStatusReady)
		w.report("svc", rpc.AllocClientRunning, on(node))
		w.runJob("svc")
		for _, a := range w.live("svc") {
			w.want("version", a.JobVersion, 1)
		}
	})
}

// TestStopsOneGroup: in 1.11.0 each evaluation of a stopped job stops one of its groups, whichever, and goes on to do so.
func TestStopsOneGroup(t *testing.T) {
	for _, one := range []bool{false, true} {
		w := running(t, 2, job(rpc.JobTypeService, "j", 1, func(j *rpc.Job) {
			for _, name := range []string{"h", "i"} {
				tg := j.TaskGroups[0]
				tg.Name = name
				j.TaskGroups = append(j.TaskGroups, tg)
			}
		}))
		w.habits.StopsOneGroup = one
		w.change("j", func(j *rpc.Job) { j.Stop = true })
		left := 0
		if one {
			left = 2
		}
		w.runJob("j")
		w.want("left by the first evaluation", len(w.live("j")), left)
		for range 30 {
			w.runJob("j")
		}
		w.want("left by many", len(w.live("j")), 0)
	}
}
