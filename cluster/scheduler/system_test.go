package scheduler

import (
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// stops lists what the plans stop, as "name on node: description, client status".
func stops(r ran) []string {
	var list []string
	for _, p := range r.plans {
		for _, node := range p.nodes() {
			for _, a := range p.NodeUpdate[node] {
				list = append(list, a.Name+" on "+node+": "+a.DesiredDescription+", "+a.ClientStatus)
			}
		}
	}
	return list
}

func TestSystemPlacesOnEveryReadyNodeOfItsDatacenters(t *testing.T) {
	w := newWorld(t)
	w.nodes(3)
	w.node("other-dc", func(n *rpc.Node) { n.Datacenter = "dc2" })
	w.node("starting", func(n *rpc.Node) { n.Status = rpc.NodeStatusInit })
	w.node("ineligible", func(n *rpc.Node) { n.SchedulingEligibility = rpc.NodeIneligible })
	w.register(job(rpc.JobTypeSystem, "sys", 0))

	r := w.runJob("sys")
	w.want("placed", w.places("sys"), "[sys.g[0] on n00 sys.g[0] on n01 sys.g[0] on n02]")
	w.want("plans", len(r.plans), 1)
	w.want("status", r.final.Status, broker.StatusComplete)
	w.want("queued", r.final.QueuedAllocations, map[string]int{"g": 0})
	w.want("work", r.work[0], Work{Nodes: 6, ReadyNodes: 3, Scored: 3, Placements: 3})

	r = w.runJob("sys")
	w.want("plans when nothing is to do", len(r.plans), 0)
	w.want("work when nothing is to do", r.work[0], Work{Nodes: 6, ReadyNodes: 3, LiveAllocs: 3})
}

func TestSystemReactsToNodes(t *testing.T) {
	tests := []struct {
		name  string
		event func(*world)
		stops []string
		live  string
	}{
		{"node down", func(w *world) { w.status("n01", rpc.NodeStatusDown) },
			[]string{"sys.g[0] on n01: alloc is lost since its node is down, lost"}, "[sys.g[0] on n00]"},
		{"node gone", func(w *world) {
			w.update(func(tx *state.Tx) error { return tx.DeleteNode("n01") })
		},
			[]string{"sys.g[0] on n01: alloc is lost since its node is down, lost"}, "[sys.g[0] on n00]"},
		{"node disconnected, group does not survive it", func(w *world) { w.status("n01", rpc.NodeStatusDisconnected) },
			nil, "[sys.g[0] on n00 sys.g[0] on n01]"},
		{"node drains", func(w *world) { w.drain("n01", true) },
			[]string{"sys.g[0] on n01: alloc not needed as node is tainted, running"}, "[sys.g[0] on n00]"},
		{"node ineligible", func(w *world) {
			w.update(func(tx *state.Tx) error { return tx.UpdateNodeEligibility("n01", rpc.NodeIneligible, 0, "") })
		}, nil, "[sys.g[0] on n00 sys.g[0] on n01]"},
		{"node joins", func(w *world) { w.node("n09") }, nil, "[sys.g[0] on n00 sys.g[0] on n01 sys.g[0] on n09]"},
		{"node in a datacenter the job left", func(w *world) {
			w.change("sys", func(j *rpc.Job) { j.Datacenters = []string{"dc2"} })
		}, []string{
			"sys.g[0] on n00: alloc not needed due to job update, running",
			"sys.g[0] on n01: alloc not needed due to job update, running",
		}, "[]"},
		{"allocation failed", func(w *world) { w.report("sys", rpc.AllocClientFailed, on("n01")) },
			nil, "[sys.g[0] on n00 sys.g[0] on n01]"},
		{"job stopped", func(w *world) {
			w.update(func(tx *state.Tx) error { return tx.StopJob(rpc.DefaultNamespace, "sys") })
		}, []string{
			"sys.g[0] on n00: alloc not needed due to job update, running",
			"sys.g[0] on n01: alloc not needed due to job update, running",
		}, "[]"},
		{"group removed", func(w *world) {
			w.change("sys", group(func(tg *rpc.TaskGroup) { tg.Name = "h" }))
		}, []string{
			"sys.g[0] on n00: alloc not needed due to job update, running",
			"sys.g[0] on n01: alloc not needed due to job update, running",
		}, "[sys.h[0] on n00 sys.h[0] on n01]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.nodes(2)
			w.register(job(rpc.JobTypeSystem, "sys", 0))
			w.runJob("sys")
			w.report("sys", rpc.AllocClientRunning, nil)
			w.runJob("sys")
			test.event(w)
			r := w.runJob("sys")
			w.want("stops", stops(r), test.stops)
			w.want("live", w.places("sys"), test.live)
			if r := w.runJob("sys"); len(r.plans) != 0 {
				t.Errorf("a second evaluation still plans %d changes", r.plans[0].Size())
			}
		})
	}
}

func TestSystemJobPurged(t *testing.T) {
	w := newWorld(t)
	w.nodes(2)
	w.register(job(rpc.JobTypeSystem, "sys", 0))
	w.runJob("sys")
	w.update(func(tx *state.Tx) error { return tx.DeleteJob(rpc.DefaultNamespace, "sys") })
	r := w.run(w.eval("sys", rpc.JobTypeSystem, broker.TriggeredByJobDeregister))
	w.want("live", w.places("sys"), "[]")
	w.want("nodes charged for a purged job", r.work[0].Nodes, 0)
}

func TestSystemReplacementKnowsWhatItReplaces(t *testing.T) {
	w := newWorld(t)
	w.nodes(1)
	w.register(job(rpc.JobTypeSystem, "sys", 0))
	w.runJob("sys")
	first := w.live("sys")[0].ID
	w.report("sys", rpc.AllocClientFailed, nil)
	w.runJob("sys")
	w.want("previous", w.live("sys")[0].PreviousAllocation, first)
}

func TestSystemUpdates(t *testing.T) {
	t.Run("in place", func(t *testing.T) {
		w := newWorld(t)
		w.nodes(2)
		w.register(job(rpc.JobTypeSystem, "sys", 0))
		w.runJob("sys")
		before := w.allocs("sys")
		w.change("sys", group(func(tg *rpc.TaskGroup) { tg.MaxClientDisconnect = time.Hour }))
		r := w.runJob("sys")
		w.want("stops", stops(r), "[]")
		for i, a := range w.allocs("sys") {
			w.want("ID", a.ID, before[i].ID)
			w.want("version", a.JobVersion, 1)
		}
	})
	t.Run("destructive", func(t *testing.T) {
		w := newWorld(t)
		w.nodes(2)
		w.register(job(rpc.JobTypeSystem, "sys", 0))
		w.runJob("sys")
		w.change("sys", group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz++ }))
		w.runJob("sys")
		for _, a := range w.live("sys") {
			w.want("resources", a.Resources.CPUMHz, 101)
		}
		w.want("allocations, old and new", len(w.allocs("sys")), 4)
	})
	t.Run("rolling", func(t *testing.T) {
		w := newWorld(t)
		w.nodes(3)
		w.register(job(rpc.JobTypeSystem, "sys", 0, group(func(tg *rpc.TaskGroup) { tg.MaxParallel = 2 })))
		w.runJob("sys")
		w.change("sys", group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz++ }))
		r := w.runJob("sys")
		w.want("replaced at once", len(stops(r)), 2)
		w.want("next evaluation", len(r.created), 1)
		next := r.created[0]
		w.want("it", []any{next.TriggeredBy, next.Wait, next.PreviousEval, r.final.NextEval},
			[]any{broker.TriggeredByRollingUpdate, 30 * time.Second, r.final.ID, next.ID})
		r = w.run(next)
		w.want("replaced next", len(stops(r)), 1)
		w.want("evaluations after the last step", len(r.created), 0)
		w.want("plans after it", len(w.runJob("sys").plans), 0)
	})
}

func TestSystemWithoutRoomBlocksPerNode(t *testing.T) {
	w := newWorld(t)
	w.nodes(3)
	w.node("n01", func(n *rpc.Node) { n.Resources.CPUMHz = 50 })
	w.node("n02", func(n *rpc.Node) { n.Resources.CPUMHz = 50; n.NodeClass = "small" })
	w.register(job(rpc.JobTypeSystem, "sys", 0))
	r := w.runJob("sys")
	w.want("live", w.places("sys"), "[sys.g[0] on n00]")
	w.want("failed", r.final.FailedTGAllocs, map[string]int{"g": 2})
	w.want("queued", r.final.QueuedAllocations, map[string]int{"g": 2})
	w.want("created", len(r.created), 1)
	b := r.created[0]
	w.want("blocked evaluation", []any{b.Status, b.TriggeredBy, b.NodeID, b.ClassEligibility, b.PreviousEval},
		[]any{broker.StatusBlocked, broker.TriggeredByQueuedAllocs, "n01", map[string]bool{"c1": true, "small": true}, r.final.ID})

	w.want("plans while there is still no room", len(w.runJob("sys").plans), 0)
	r = w.run(b)
	w.want("a blocked one that finds none ends, and others wait", []any{r.reblock == nil, r.final.Status, len(r.created)},
		[]any{true, broker.StatusComplete, 1})
	w.node("n02", func(n *rpc.Node) { n.NodeClass = "small" })
	w.runJob("sys")
	w.want("live with room on one", w.places("sys"), "[sys.g[0] on n00 sys.g[0] on n02]")
}

func TestSystemDisconnectAndReconnect(t *testing.T) {
	start := func(t *testing.T) *world {
		w := newWorld(t)
		w.nodes(2)
		w.register(job(rpc.JobTypeSystem, "sys", 0, group(func(tg *rpc.TaskGroup) { tg.MaxClientDisconnect = time.Minute })))
		w.runJob("sys")
		w.report("sys", rpc.AllocClientRunning, nil)
		w.status("n01", rpc.NodeStatusDisconnected)
		r := w.runJob("sys")
		w.want("stops", stops(r), "[]")
		return w
	}
	unknown := func(w *world) *rpc.Allocation {
		for _, a := range w.live("sys") {
			if a.NodeID == "n01" {
				return a
			}
		}
		return nil
	}
	t.Run("becomes unknown", func(t *testing.T) {
		w := start(t)
		a := unknown(w)
		w.want("unknown", []any{a.ClientStatus, a.DesiredStatus, a.DisconnectedAt()},
			[]any{rpc.AllocClientUnknown, rpc.AllocDesiredRun, w.now.UnixNano()})
		w.want("plans when nothing changes", len(w.runJob("sys").plans), 0)
	})
	t.Run("comes back", func(t *testing.T) {
		w := start(t)
		id := unknown(w).ID
		w.status("n01", rpc.NodeStatusReady)
		w.want("plans before the client speaks", len(w.runJob("sys").plans), 0)
		w.report("sys", rpc.AllocClientRunning, on("n01"))
		w.runJob("sys")
		w.want("kept", []any{unknown(w).ID, unknown(w).DisconnectedAt()}, []any{id, 0})
		w.want("plans after", len(w.runJob("sys").plans), 0)
	})
	// Found by simctl soak, seed 6730: the plan was refused for ever.
	t.Run("comes back changed to a node that takes none", func(t *testing.T) {
		w := start(t)
		w.change("sys", group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz++ }))
		w.update(func(tx *state.Tx) error { return tx.UpdateNodeEligibility("n01", rpc.NodeIneligible, 0, "") })
		w.status("n01", rpc.NodeStatusReady)
		w.report("sys", rpc.AllocClientRunning, on("n01"))
		r := w.runJob("sys")
		w.want("stops", slices.ContainsFunc(r.plans, func(p *Plan) bool { return len(p.NodeUpdate["n01"]) == 1 }), true)
		w.want("places there", slices.ContainsFunc(r.plans, func(p *Plan) bool { return len(p.NodeAllocation["n01"]) > 0 }), false)
	})
	t.Run("is lost when its time is up", func(t *testing.T) {
		w := start(t)
		w.want("plans before", len(w.runJob("sys").plans), 0)
		w.now = w.now.Add(time.Minute)
		w.want("stops", stops(w.runJob("sys")), "[sys.g[0] on n01: alloc is lost since its node is down, lost]")
	})
}

// TestSystemOutdatedOnNodesThatAreNotReady: since 1.11.0 what is not of the job's version stops there, unless the node drains. Before, it runs on.
func TestSystemOutdatedOnNodesThatAreNotReady(t *testing.T) {
	ineligible := func(w *world) {
		w.update(func(tx *state.Tx) error { return tx.UpdateNodeEligibility("n01", rpc.NodeIneligible, 0, "") })
	}
	for _, c := range []struct {
		name  string
		event func(*world)
		stops bool
	}{
		{"ineligible", ineligible, true},
		{"initializing", func(w *world) { w.status("n01", rpc.NodeStatusInit) }, true},
		{"disconnected", func(w *world) { w.status("n01", rpc.NodeStatusDisconnected) }, false},
		{"draining", func(w *world) {
			w.update(func(tx *state.Tx) error { return tx.UpdateNodeDrain("n01", &rpc.DrainStrategy{}, false, 0, "") })
		}, false},
	} {
		for _, outdated := range []bool{false, true} {
			for _, habit := range []bool{false, true} {
				w := newWorld(t)
				w.habits.StopsOutdated = habit
				w.nodes(2)
				w.register(job(rpc.JobTypeSystem, "sys", 0))
				w.runJob("sys")
				w.report("sys", rpc.AllocClientRunning, nil)
				c.event(w)
				if outdated {
					w.change("sys", group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz++ }))
				}
				want := "[sys.g[0] on n00 sys.g[0] on n01]"
				if habit && outdated && c.stops {
					want = "[sys.g[0] on n00]"
				}
				w.runJob("sys")
				w.want(c.name, w.places("sys"), want)
			}
		}
	}
}

// TestSystemDisconnectedWithoutLeave: since 1.11.2 what runs on a disconnected node becomes unknown though its group does not survive that. It
// does not expire, and so outlives its node. Before, it stays as it is, and is lost with its node.
func TestSystemDisconnectedWithoutLeave(t *testing.T) {
	for _, all := range []bool{false, true} {
		w := newWorld(t)
		w.habits.SystemsSurvive = all
		w.nodes(2)
		w.register(job(rpc.JobTypeSystem, "sys", 0))
		w.runJob("sys")
		w.report("sys", rpc.AllocClientRunning, nil)
		away := func() *rpc.Allocation {
			return slices.DeleteFunc(w.allocs("sys"), func(a *rpc.Allocation) bool { return a.NodeID != "n01" })[0]
		}
		status := map[bool]string{false: rpc.AllocClientRunning, true: rpc.AllocClientUnknown}[all]
		w.status("n01", rpc.NodeStatusDisconnected)
		w.want("plans", len(w.runJob("sys").plans) > 0, all)
		w.want("disconnected", []any{away().ClientStatus, away().DisconnectedAt() != 0}, []any{status, all})
		w.want("plans for one that is unknown", len(w.runJob("sys").plans), 0)
		w.now = w.now.Add(24 * time.Hour)
		w.status("n01", rpc.NodeStatusDown)
		w.runJob("sys")
		want := map[bool][]any{false: {rpc.AllocClientLost, rpc.AllocDesiredStop}, true: {rpc.AllocClientUnknown, rpc.AllocDesiredRun}}[all]
		w.want("down", []any{away().ClientStatus, away().DesiredStatus}, want)
		w.status("n01", rpc.NodeStatusReady)
		w.report("sys", rpc.AllocClientRunning, on("n01"))
		w.runJob("sys")
		w.want("back", []any{w.places("sys"), away().DisconnectedAt()}, []any{"[sys.g[0] on n00 sys.g[0] on n01]", 0})
	}
}

func TestSysBatchRunsOnceUntilChanged(t *testing.T) {
	w := newWorld(t)
	w.nodes(2)
	w.register(job(rpc.JobTypeSysBatch, "once", 0))
	w.runJob("once")
	w.report("once", rpc.AllocClientComplete, nil)
	w.want("plans after it ran", len(w.runJob("once").plans), 0)
	w.node("n09")
	w.runJob("once")
	w.want("live after a node joined", w.places("once"), "[once.g[0] on n09]")
	w.change("once", group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz++ }))
	w.want("stops of what has ended", stops(w.runJob("once")), "[once.g[0] on n09: "+AllocUpdating+", pending]")
	w.want("live after a change", w.places("once"), "[once.g[0] on n00 once.g[0] on n01 once.g[0] on n09]")
}

// A plan told an allocation to stop, and its node went down before it did.
func TestStoppingAllocationIsLostWithItsNode(t *testing.T) {
	for _, jobType := range []string{rpc.JobTypeSystem, rpc.JobTypeService} {
		for _, status := range []string{rpc.AllocClientPending, rpc.AllocClientRunning} {
			w := newWorld(t)
			w.nodes(1)
			w.register(job(jobType, "j", 1))
			w.runJob("j")
			w.report("j", status, nil)
			w.update(func(tx *state.Tx) error { return tx.StopJob(rpc.DefaultNamespace, "j") })
			w.runJob("j")
			w.want("plans before", len(w.runJob("j").plans), 0)
			w.status("n00", rpc.NodeStatusDown)
			w.runJob("j")
			w.want(jobType+" that was "+status, w.allocs("j")[0].ClientStatus, rpc.AllocClientLost)
			w.want("plans after", len(w.runJob("j").plans), 0)
		}
	}
}
