package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// TestReconnectingOnADrainingNode: an allocation reconnects while its node drains. It is
// neither resumed nor moved, and another is stopped in its place, since there is one too
// many. It moves when the drain is over. That leaves one name twice and another not at all
// (reconcile_util.go, filterByTainted; reconcile.go, computeStop and computeReconnecting).
func TestReconnectingOnADrainingNode(t *testing.T) {
	w := running(t, 4, job(rpc.JobTypeService, "svc", 2, group(func(tg *rpc.TaskGroup) { tg.MaxClientDisconnect = time.Hour })))
	away, other := w.live("svc")[0], w.live("svc")[1]
	if away.Name != "svc.g[0]" {
		away, other = other, away
	}
	w.status(away.NodeID, rpc.NodeStatusDisconnected)
	w.runJob("svc")
	w.report("svc", rpc.AllocClientRunning, func(a *rpc.Allocation) bool { return a.NodeID != away.NodeID })
	w.want("replaced while out of reach", w.names("svc"), "[svc.g[0] svc.g[0] svc.g[1]]")

	w.status(away.NodeID, rpc.NodeStatusReady)
	w.drain(away.NodeID, true)
	w.drain(other.NodeID, true)
	r := w.runJob("svc")
	w.want("stopped, placed while both drain", []any{len(stops(r)), len(r.plans[0].NodeAllocation)}, []any{1, 0})
	w.want("left", w.names("svc"), "[svc.g[0] svc.g[0]]")
	w.report("svc", rpc.AllocClientRunning, on(away.NodeID))
	w.want("plans when its client is back", len(w.runJob("svc").plans), 0)

	w.update(func(tx *state.Tx) error { return tx.UpdateNodeDrain(away.NodeID, nil, false, 0, "") })
	w.runJob("svc")
	w.want("left when the drain is over", w.names("svc"), "[svc.g[0] svc.g[0]]")
	for _, a := range w.live("svc") {
		if a.NodeID == away.NodeID {
			t.Errorf("%s is still on the node that has drained", a.Name)
		}
	}
}

// outOfReach is a world in which a job's first allocation has just become unknown. It returns that and the evaluations that were made.
func outOfReach(t *testing.T, jobType string, nodes, count int, habits Habits, change ...func(*rpc.TaskGroup)) (*world, *rpc.Allocation, []*broker.Evaluation) {
	t.Helper()
	w := running(t, nodes, job(jobType, "j", count, group(func(tg *rpc.TaskGroup) {
		tg.MaxClientDisconnect = 5 * time.Minute
		for _, f := range change {
			f(tg)
		}
	})))
	w.habits = habits
	away := w.live("j")[0]
	w.status(away.NodeID, rpc.NodeStatusDisconnected)
	return w, away, w.runJob("j").created
}

// TestUnknownWaits: what is out of reach is replaced at once in some releases, and in others when a failed one would be. Either way it
// stays, and nothing is done about it before it is lost.
func TestUnknownWaits(t *testing.T) {
	for jobType, wait := range map[string]time.Duration{rpc.JobTypeService: serviceRescheduleDelay, rpc.JobTypeBatch: batchRescheduleDelay} {
		for name, c := range map[string]struct {
			habits Habits
			waits  bool
		}{
			"at once": {Habits{}, false}, "at once, and counts": {Habits{UnknownCounts: true}, false},
			"waits": {Habits{UnknownCounts: true, UnknownWaits: true}, true},
		} {
			t.Run(jobType+" "+name, func(t *testing.T) {
				w, away, created := outOfReach(t, jobType, 4, 2, c.habits)
				var waits []time.Duration
				for _, e := range created {
					waits = append(waits, e.WaitUntil.Sub(w.now))
				}
				if !c.waits {
					w.want("waits", waits, []time.Duration{5 * time.Minute})
				} else {
					w.want("waits", waits, []time.Duration{5 * time.Minute, wait})
					w.want("not replaced yet", len(w.live("j")), 2)
					w.want("by another evaluation", len(w.runJob("j").plans), 0)
					w.now = created[1].WaitUntil
					w.want("plans when it is due", len(w.run(created[1]).plans), 1)
				}
				w.want("replaced", w.names("j"), fmt.Sprint(slices.Sorted(slices.Values([]string{"j.g[0]", "j.g[1]", away.Name}))))
				w.want("afterwards", len(w.runJob("j").plans), 0)
				w.now = created[0].WaitUntil
				r := w.run(created[0])
				w.want("lost", stops(r), fmt.Sprintf("[%s on %s: %s, lost]", away.Name, away.NodeID, allocLost))
				w.want("left", w.names("j"), "[j.g[0] j.g[1]]")
			})
		}
	}
}

// TestUnknownReturnsInTime: an allocation that is back before its replacement was due goes on, and has none.
func TestUnknownReturnsInTime(t *testing.T) {
	w, away, created := outOfReach(t, rpc.JobTypeService, 4, 2, Habits{UnknownCounts: true, UnknownWaits: true})
	w.store.ReturnEndsWaits = true
	w.now = w.now.Add(10 * time.Second)
	w.status(away.NodeID, rpc.NodeStatusReady)
	w.report("j", rpc.AllocClientRunning, on(away.NodeID))
	w.want("the evaluation for its replacement", w.store.Snapshot().EvalByID(created[1].ID).Status, broker.StatusCanceled)
	w.want("that for its loss", w.store.Snapshot().EvalByID(created[0].ID).Status, broker.StatusPending)
	w.want("plans", len(w.runJob("j").plans), 1)
	w.now = created[0].WaitUntil
	w.want("plans when it would be lost", len(w.run(created[0]).plans), 0)
	w.want("left", w.names("j"), "[j.g[0] j.g[1]]")
}

// TestBackBeforeReports: since 1.11.2 an allocation is back as soon as its node is, and what replaced it is stopped. That it is
// back is noted when its client has reported it, whether its node is ready then or not: the applier refuses that, and the evaluation fails.
func TestBackBeforeReports(t *testing.T) {
	for _, before := range []bool{false, true} {
		w, away, _ := outOfReach(t, rpc.JobTypeService, 4, 2, Habits{UnknownCounts: true, BackBeforeReports: before})
		w.report("j", rpc.AllocClientRunning, func(a *rpc.Allocation) bool { return a.NodeID != away.NodeID })
		w.status(away.NodeID, rpc.NodeStatusInit)
		w.want("its replacement is stopped when its node is back", len(stops(w.runJob("j"))) == 1, before)
		w.want("looked at again", len(w.runJob("j").plans), 0)
		w.report("j", rpc.AllocClientRunning, on(away.NodeID))
		w.want("noted before its node is ready", w.runJob("j").final.Status, broker.StatusFailed)
		w.status(away.NodeID, rpc.NodeStatusReady)
		w.runJob("j")
		w.want("left", w.names("j"), "[j.g[0] j.g[1]]")
		w.want("away", slices.ContainsFunc(w.live("j"), func(a *rpc.Allocation) bool { return a.DisconnectedAt() != 0 }), false)
	}
}

// TestUnknownWithoutRoom: since 1.11.1 an allocation whose replacement finds no room is noted in a plan. What is out of reach is not
// replaced later, whatever room there is.
func TestUnknownWithoutRoom(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		w, away, created := outOfReach(t, rpc.JobTypeService, 2, 2, Habits{UnknownCounts: true, UnknownWaits: true, KeepsUnplaced: keeps, BlocksBesideDelayed: true},
			func(tg *rpc.TaskGroup) { tg.Resources = roomy })
		w.now = created[1].WaitUntil
		r := w.run(created[1])
		plans := 0
		if keeps {
			plans = 1
		}
		w.want("plans without room", len(r.plans), plans)
		w.want("waits for room", r.created[0].Status, broker.StatusBlocked)
		w.node("new")
		w.want("plans when there is room", len(w.run(r.created[0]).plans), 0)
		w.now = created[0].WaitUntil
		w.run(created[0])
		w.want("when it is lost", len(w.live("j")), 2)
		w.want("on its node", w.store.Snapshot().NodeAllocs(away.NodeID).Used, rpc.Resources{})
	}
}

// TestFailedWithoutRoom: since 1.11.1 what failed, and finds no room, is stopped only when it is replaced.
func TestFailedWithoutRoom(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		whole := group(func(tg *rpc.TaskGroup) { tg.Resources = roomy })
		w := running(t, 1, job(rpc.JobTypeService, "j", 1, whole))
		w.habits.KeepsUnplaced = keeps
		w.report("j", rpc.AllocClientFailed, nil)
		next := w.runJob("j").created[0]
		w.register(job(rpc.JobTypeService, "other", 1, whole))
		w.runJob("other")
		w.now = next.WaitUntil
		blocked := w.run(next).created[0]
		desired := w.allocs("j")[0].DesiredStatus
		w.want("is to stop without room", desired == rpc.AllocDesiredStop, !keeps)
		w.want("is noted again by the next without room", len(w.run(blocked).plans) == 1, keeps)
		w.node("new")
		r := w.run(blocked)
		w.want("stopped with room", len(stops(r)) == 1, keeps)
		w.want("runs", w.places("j"), "[j.g[0] on new]")
		replacement := w.live("j")[0]
		w.want("knows what it replaces", replacement.PreviousAllocation != "", keeps)
	}
}

// TestWhatIsBackOrWhatReplacedIt: what is back stops what replaced it, unless that was placed better and runs, too. What did is told by
// its name or by what it was placed for, in whatever turn.
func TestWhatIsBackOrWhatReplacedIt(t *testing.T) {
	w := newWorld(t)
	w.nodes(1)
	j := w.register(job(rpc.JobTypeService, "svc", 2))
	scored := func(score float64) func(*rpc.Allocation) {
		return func(a *rpc.Allocation) { a.Reach = &rpc.Reach{Score: score} }
	}
	after := func(id string) func(*rpc.Allocation) {
		return func(a *rpc.Allocation) { a.PreviousAllocation, a.CreateIndex = id, a.CreateIndex+1 }
	}
	pending := func(a *rpc.Allocation) { a.ClientStatus = rpc.AllocClientPending }
	told := func(a *rpc.Allocation) { a.DesiredStatus = rpc.AllocDesiredStop }
	type others func(func(string, int, ...func(*rpc.Allocation)) *rpc.Allocation) []*rpc.Allocation
	one := func(n int, change ...func(*rpc.Allocation)) others {
		return func(alloc func(string, int, ...func(*rpc.Allocation)) *rpc.Allocation) []*rpc.Allocation {
			return []*rpc.Allocation{alloc("instead", n, append(change, after("back"))...)}
		}
	}
	for _, c := range []struct {
		what    string
		back    []func(*rpc.Allocation)
		others  others
		follows bool
		want    string
		kept    int
	}{
		{"as good", nil, one(0), false, "[instead: " + allocReconnected + "]", 1},
		{"better, but does not run yet", nil, one(0, scored(0.7), pending), false, "[instead: " + allocReconnected + "]", 1},
		{"better", nil, one(0, scored(0.7)), false, "[back: " + allocNotNeeded + "]", 1},
		{"better, and neither runs", []func(*rpc.Allocation){pending}, one(0, scored(0.7), pending), false, "[back: " + allocNotNeeded + "]", 1},
		{"worse", []func(*rpc.Allocation){scored(0.7)}, one(0, scored(0.5)), false, "[instead: " + allocReconnected + "]", 1},
		{"is to stop already", nil, one(0, told), false, "[]", 2},
		{"of another name", nil, one(1), false, "[]", 2},
		{"of another name, followed", nil, one(1), true, "[instead: " + allocReconnected + "]", 1},
		{"of its name, and for another", nil, func(alloc func(string, int, ...func(*rpc.Allocation)) *rpc.Allocation) []*rpc.Allocation {
			return []*rpc.Allocation{alloc("instead", 0, after("other"))}
		}, true, "[]", 2},
		{"replaced itself", nil, func(alloc func(string, int, ...func(*rpc.Allocation)) *rpc.Allocation) []*rpc.Allocation {
			return []*rpc.Allocation{alloc("first", 0, after("back"), hasFailed), alloc("second", 0, after("first"), scored(0.7))}
		}, true, "[first: " + allocReconnected + " back: " + allocNotNeeded + "]", 1},
		{"back, and is to leave", []func(*rpc.Allocation){func(a *rpc.Allocation) { a.Migrate = true }}, one(0), true, "[back: " + allocNotNeeded + "]", 1},
		{"back, and has failed", []func(*rpc.Allocation){hasFailed}, one(0), true, "[back: " + allocRescheduled + "]", 1},
	} {
		g, alloc := w.groupOf(j)
		g.habits = Habits{ChoosesBack: true, FollowsReplacements: c.follows}
		back := alloc("back", 0, append(c.back, func(a *rpc.Allocation) { a.SetDisconnectedAt(1) })...)
		s := &groupState{tg: &j.TaskGroups[0], reconnecting: []*rpc.Allocation{back}, kept: c.others(alloc)}
		g.chooseBack(s, append(s.kept, back))
		w.want(c.what, g.plan.stops("n00"), c.want)
		w.want(c.what+": kept", []int{len(s.kept), len(s.reconnecting)}, []int{c.kept, 0})
		w.want(c.what+": notes that it is back", len(g.plan.NodeAllocation["n00"]) == 1, !strings.Contains(c.want, "back"))
	}
}

// TestPlacedBetter: nodes that are fuller suit an allocation better, so what was placed there stays when the one that it replaced
// is back. Nobody asks how well an allocation was placed that cannot be out of reach, and none such keeps it.
func TestPlacedBetter(t *testing.T) {
	for _, habits := range outOfReachHabits {
		for _, fuller := range []bool{false, true} {
			w := running(t, 3, job(rpc.JobTypeService, "j", 1, group(func(tg *rpc.TaskGroup) { tg.MaxClientDisconnect = time.Hour })))
			w.habits = habits
			away := w.live("j")[0]
			w.status(away.NodeID, rpc.NodeStatusDisconnected)
			if fuller {
				w.register(job(rpc.JobTypeService, "other", 1))
				w.runJob("other")
				w.want("score of another job's", w.live("other")[0].Reach == nil, true)
			}
			r := w.runJob("j")
			if len(r.created) > 1 {
				w.now = r.created[1].WaitUntil
				w.run(r.created[1])
			}
			w.report("j", rpc.AllocClientRunning, func(a *rpc.Allocation) bool { return a.NodeID != away.NodeID })
			w.status(away.NodeID, rpc.NodeStatusReady)
			w.report("j", rpc.AllocClientRunning, on(away.NodeID))
			w.runJob("j")
			left := w.live("j")
			w.want("left", len(left), 1)
			w.want(fmt.Sprintf("stays, %+v", habits), left[0].ID == away.ID, !fuller)
		}
	}
}

// TestUnknownOnANodeThatIsDown: since 1.11.2 it is lost, and replaced. Before, it may come back until its time is up.
func TestUnknownOnANodeThatIsDown(t *testing.T) {
	for _, lost := range []bool{false, true} {
		w := running(t, 3, job(rpc.JobTypeService, "j", 1, group(func(tg *rpc.TaskGroup) { tg.MaxClientDisconnect = time.Hour })))
		w.habits = Habits{ChoosesBack: true, FollowsReplacements: true, BackBeforeReports: lost}
		away := w.live("j")[0]
		w.status(away.NodeID, rpc.NodeStatusDisconnected)
		w.runJob("j")
		w.status(away.NodeID, rpc.NodeStatusDown) // it was back, and went before it reported anything
		w.runJob("j")
		want := rpc.AllocClientUnknown
		if lost {
			want = rpc.AllocClientLost
		}
		w.want("away", w.store.Snapshot().AllocByID(away.ID).ClientStatus, want)
	}
}
