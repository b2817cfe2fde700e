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

// end ends the job's deployment.
func (w *world) end(id, status string) {
	w.t.Helper()
	d := w.deployment(id)
	w.update(func(tx *state.Tx) error {
		tx.UpdateDeployment(&rpc.DeploymentUpdate{Namespace: d.Namespace, JobID: d.JobID, DeploymentID: d.ID, Status: status})
		return nil
	})
}

// TestRoomOfWhatStops: what replaces an allocation may use its room, and is not kept away from its
// node by it.
func TestRoomOfWhatStops(t *testing.T) {
	w := running(t, 1, job(rpc.JobTypeService, "svc", 1, group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz = 600 })))
	w.change("svc", group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz = 700 }))
	w.want("failed", w.runJob("svc").final.FailedTGAllocs, map[string]int(nil))
	w.want("of the new version", w.ofVersion("svc", 1), 1)

	w = running(t, 1, job(rpc.JobTypeService, "full", 1, group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz, tg.Resources.MemoryMB = 700, 700 })))
	w.register(job(rpc.JobTypeService, "svc", 1))
	w.runJob("svc")
	w.report("svc", rpc.AllocClientRunning, nil)
	w.node("n01") // has more room, so that the full one scores better
	w.change("svc", group(changed))
	w.runJob("svc")
	w.want("left, where the other is", w.places("svc"), "[svc.g[0] on n00]")
}

// TestScoredNodes: a service looks at the logarithm of the number of nodes, a batch job at two.
func TestScoredNodes(t *testing.T) {
	for jobType, want := range map[string]int{rpc.JobTypeService: 4, rpc.JobTypeBatch: 2} {
		w := newWorld(t)
		w.nodes(9)
		w.register(job(jobType, "j", 1))
		w.want("nodes scored for a "+jobType, w.runJob("j").work[0].Scored, want)
	}
}

// TestFailureInARollingService: replacing what failed of the running version begins no
// deployment.
func TestFailureInARollingService(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeService, "svc", 3, rolling(1)))
	first := w.deployment("svc").ID
	w.report("svc", rpc.AllocClientFailed, func(a *rpc.Allocation) bool { return a.Name == "svc.g[1]" })
	next := w.runJob("svc").created[0]
	w.now = next.WaitUntil
	w.run(next)
	w.want("names", w.names("svc"), "[svc.g[0] svc.g[1] svc.g[2]]")
	w.want("deployment", w.deployment("svc").ID, first)
}

// TestFailureInAFailedDeployment: what failed in a deployment waits until that ends. When the
// deployment has failed it is not replaced, nor stopped, when its time comes.
func TestFailureInAFailedDeployment(t *testing.T) {
	for _, count := range []int{1, 2} {
		w := running(t, 3, job(rpc.JobTypeService, "svc", count, rolling(1)))
		w.change("svc", group(changed))
		w.runJob("svc")
		w.report("svc", rpc.AllocClientFailed, func(a *rpc.Allocation) bool { return a.JobVersion == 1 })
		r := w.runJob("svc")
		w.want("plans, evaluations while the deployment goes on", []int{len(r.plans), len(r.created)}, []int{0, 0})
		w.end("svc", rpc.DeploymentFailed)
		r = w.runJob("svc")
		w.want("evaluations made when it has failed", len(r.created), 1)
		next := r.created[0]
		w.now = next.WaitUntil
		w.want("plans when its time has come", len(w.run(next).plans), 0)
		w.want("of the version before", w.ofVersion("svc", 0), count-1)
	}
}

// TestFailureOfTheVersionBefore: a deployment holds what failed of its own, and of no other.
func TestFailureOfTheVersionBefore(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeService, "svc", 2, rolling(1)))
	w.change("svc", group(changed))
	w.runJob("svc")
	w.report("svc", rpc.AllocClientFailed, func(a *rpc.Allocation) bool { return a.JobVersion == 0 })
	w.want("evaluations made while the next deployment goes on", len(w.runJob("svc").created), 1)
}

// TestDeletedAllocations: an allocation that is gone is placed again, though no row says that it was there.
func TestDeletedAllocations(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeService, "svc", 2))
	w.update(func(tx *state.Tx) error { return tx.DeleteEvals(nil, []string{w.live("svc")[0].ID}) })
	w.runJob("svc")
	w.want("names", w.names("svc"), "[svc.g[0] svc.g[1]]")
}

// TestAPlanForWhatIsGone: a plan of a server that is behind, of which nothing is written, says nothing of
// what the job wants there.
func TestAPlanForWhatIsGone(t *testing.T) {
	w := running(t, 1, job(rpc.JobTypeSystem, "sys", 0))
	w.status("n00", rpc.NodeStatusDown)
	behind := w.store.Snapshot()
	w.update(func(tx *state.Tx) error { return tx.DeleteEvals(nil, []string{w.live("sys")[0].ID}) })
	for range 2 {
		s, err := New(w.eval("sys", rpc.JobTypeSystem, broker.TriggeredByNodeUpdate), w.cache, w.rand)
		w.ok(err)
		a := s.Plan(behind, w.now)
		w.want("stops of a server that is behind", a.Work.Stops, 1)
		r := EvaluatePlan(w.store.Snapshot(), a.Plan)
		w.want("nothing is to be written", r.IsNoOp(), true)
		s.Committed(r)
	}
}

// TestDeploymentsEndAtRest: a deployment all of which is healthy goes on while something is left
// to do in any of its groups.
func TestDeploymentsEndAtRest(t *testing.T) {
	for _, groups := range []string{"g", "gh", "hg"} {
		w := newWorld(t)
		w.nodes(3)
		w.register(job(rpc.JobTypeService, "svc", 1, func(j *rpc.Job) {
			g := j.TaskGroups[0]
			g.MaxParallel = 1
			j.TaskGroups = nil
			for _, name := range groups {
				g.Name = string(name)
				j.TaskGroups = append(j.TaskGroups, g)
			}
		}))
		w.runJob("svc")
		w.want("groups of the deployment", len(w.deployment("svc").Groups), len(groups))
		w.report("svc", rpc.AllocClientRunning, nil)
		leaving := w.live("svc")[slices.IndexFunc(w.live("svc"), func(a *rpc.Allocation) bool { return a.TaskGroup == "g" })]
		w.update(func(tx *state.Tx) error { return tx.UpdateNodeDrain(leaving.NodeID, &rpc.DrainStrategy{}, true, 0, "") })
		w.update(func(tx *state.Tx) error { tx.RequestTransitions([]string{leaving.ID}, nil); return nil })
		w.runJob("svc")
		w.want("deployment of "+groups+" while one moves", w.deployment("svc").Status, rpc.DeploymentRunning)
		w.report("svc", rpc.AllocClientRunning, nil)
		w.runJob("svc")
		w.want("deployment of "+groups, w.deployment("svc").Status, rpc.DeploymentSuccessful)
	}
}

// TestTooLateOnADrainingNode: an allocation that was out of reach for too long is lost, though its
// node is back and drains.
func TestTooLateOnADrainingNode(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeService, "svc", 2, group(func(tg *rpc.TaskGroup) { tg.MaxClientDisconnect = time.Minute })))
	away := w.live("svc")[0]
	w.status(away.NodeID, rpc.NodeStatusDisconnected)
	w.runJob("svc")
	w.report("svc", rpc.AllocClientRunning, func(a *rpc.Allocation) bool { return a.ID != away.ID })
	w.status(away.NodeID, rpc.NodeStatusReady)
	w.drain(away.NodeID, true)
	w.now = w.now.Add(time.Minute)
	w.want("stops", stops(w.runJob("svc")), fmt.Sprintf("[%s on %s: %s, lost]", away.Name, away.NodeID, allocLost))
}

// TestFailuresFoundByADelayedEvaluation: an evaluation that waited for its time makes no other that
// waits (generic_sched.go, process), and so asks for room if it finds none.
func TestFailuresFoundByADelayedEvaluation(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeService, "svc", 2))
	fail := func(name string) {
		w.report("svc", rpc.AllocClientFailed, func(a *rpc.Allocation) bool { return a.Name == name })
	}
	fail("svc.g[0]")
	next := w.runJob("svc").created[0]
	w.now = w.now.Add(20 * time.Second)
	fail("svc.g[1]")
	w.now = next.WaitUntil
	w.want("made by one that waited", len(w.run(next).created), 0)
}

// TestNoRoomWhileOthersWait: an evaluation that finds no room for what replaces a disconnected allocation, and has that wait,
// asks for room at once since 1.10.5 (generic_sched.go, process). In releases before, only once the wait is over.
func TestNoRoomWhileOthersWait(t *testing.T) {
	for _, beside := range []bool{false, true} {
		w := running(t, 2, job(rpc.JobTypeService, "svc", 2, group(func(tg *rpc.TaskGroup) {
			tg.MaxClientDisconnect, tg.Resources = time.Minute, roomy
		})))
		w.habits.BlocksBesideDelayed = beside
		w.status("n00", rpc.NodeStatusDisconnected)
		triggers := func(evals []*broker.Evaluation) (found []string) {
			for _, e := range evals {
				found = append(found, e.Status+": "+e.TriggeredBy)
			}
			return found
		}
		created := w.runJob("svc").created
		waits, blocked := "pending: "+broker.TriggeredByMaxDisconnectExpiry, "blocked: "+broker.TriggeredByQueuedAllocs
		want := []string{waits}
		if beside {
			want = []string{blocked, waits}
		}
		w.want("made while one waits", triggers(created), want)
		next := created[len(created)-1]
		w.now = next.WaitUntil
		w.want("made afterwards", triggers(w.run(next).created), []string{blocked})
	}
}

// TestFailuresInOrderOfTime: each of two that failed some time apart waits for its own time.
func TestFailuresInOrderOfTime(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeService, "svc", 2))
	for _, name := range []string{"svc.g[1]", "svc.g[0]"} {
		w.report("svc", rpc.AllocClientFailed, func(a *rpc.Allocation) bool { return a.Name == name })
		w.now = w.now.Add(10 * time.Second)
	}
	var waits []time.Duration
	for _, e := range w.runJob("svc").created {
		waits = append(waits, e.WaitUntil.Sub(w.now))
	}
	w.want("waits", waits, []time.Duration{10 * time.Second, 20 * time.Second})
}

// TestFailureSeenLate: what failed is replaced by its own evaluation, however late a plan took note of it.
// Any other evaluation replaces it up to a second before its time.
func TestFailureSeenLate(t *testing.T) {
	for _, tt := range []struct {
		seen              time.Duration
		created, replaced int
	}{
		{10 * time.Second, 1, 0},
		{serviceRescheduleDelay - rescheduleWindow - 1, 1, 0},
		{serviceRescheduleDelay - rescheduleWindow, 0, 1},
	} {
		w := running(t, 3, job(rpc.JobTypeService, "svc", 1))
		failed := w.now
		w.report("svc", rpc.AllocClientFailed, nil)
		w.now = failed.Add(tt.seen)
		created := w.runJob("svc").created
		w.want(fmt.Sprintf("evaluations made, and allocations, %v after the failure", tt.seen), []int{len(created), len(w.live("svc"))}, []int{tt.created, tt.replaced})
		if len(created) > 0 {
			w.now = created[0].WaitUntil
			w.want("when it is due", w.now.Sub(failed), serviceRescheduleDelay)
			w.run(created[0])
			w.want("allocations afterwards", len(w.live("svc")), 1)
		}
	}
}

// TestFailureAndNoRoom: who finds no room beside one that failed asks for none: the evaluation that
// replaces that will (generic_sched.go, process).
func TestFailureAndNoRoom(t *testing.T) {
	w := running(t, 1, job(rpc.JobTypeService, "svc", 2))
	w.report("svc", rpc.AllocClientFailed, func(a *rpc.Allocation) bool { return a.Name == "svc.g[0]" })
	w.change("svc", group(func(tg *rpc.TaskGroup) { tg.Count = 20 }))
	var made []string
	for _, e := range w.runJob("svc").created {
		made = append(made, e.TriggeredBy)
	}
	w.want("made", made, []string{broker.TriggeredByRetryFailedAlloc})
}

// TestOneWaitsForRoom: however often an evaluation has to try, one waits for the room it lacks.
func TestOneWaitsForRoom(t *testing.T) {
	w := newWorld(t)
	w.nodes(1)
	w.register(job(rpc.JobTypeService, "svc", 12))
	refusals := 0
	r := w.run(w.eval("svc", rpc.JobTypeService, broker.TriggeredByJobRegister), func(*Plan) {
		if refusals++; refusals == 1 {
			w.register(job(rpc.JobTypeService, "other", 3))
			w.runJob("other")
		}
	})
	w.want("placed, plans, made", []int{len(w.live("svc")), len(r.plans), len(r.created)}, []int{7, 2, 1})
}

// TestOwnDatacenters: a service is placed in its datacenters alone.
func TestOwnDatacenters(t *testing.T) {
	w := newWorld(t)
	for i := range 6 {
		w.node(fmt.Sprintf("n%d", i), func(n *rpc.Node) { n.Datacenter = []string{"dc1", "dc2"}[i%2] })
	}
	w.register(job(rpc.JobTypeService, "svc", 40))
	w.want("placed in one of two, and not", []any{len(w.live("svc")), w.runJob("svc").final.FailedTGAllocs}, []any{0, map[string]int{"g": 10}})
	for _, a := range w.live("svc") {
		w.want("datacenter", w.store.Snapshot().NodeByID(a.NodeID).Datacenter, "dc1")
	}
}

// TestManyOfAKind: the more of a kind there are to be, the less they keep apart.
func TestManyOfAKind(t *testing.T) {
	w := running(t, 1, job(rpc.JobTypeService, "full", 1, group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz, tg.Resources.MemoryMB = 700, 700 })))
	w.node("n01")
	w.register(job(rpc.JobTypeService, "svc", 10))
	w.runJob("svc")
	w.want("on the fuller node", len(slices.DeleteFunc(w.live("svc"), func(a *rpc.Allocation) bool { return a.NodeID != "n00" })), 3)
}

// TestAwayInAFailedDeployment: what is out of reach is replaced, though the deployment of a later
// version has failed.
func TestAwayInAFailedDeployment(t *testing.T) {
	w := running(t, 4, job(rpc.JobTypeService, "svc", 2, rolling(1), group(func(tg *rpc.TaskGroup) { tg.MaxClientDisconnect = time.Hour })))
	w.change("svc", group(changed))
	w.runJob("svc")
	w.report("svc", rpc.AllocClientRunning, func(a *rpc.Allocation) bool { return a.JobVersion == 0 })
	w.end("svc", rpc.DeploymentFailed)
	for _, a := range w.live("svc") {
		if a.JobVersion == 0 {
			w.status(a.NodeID, rpc.NodeStatusDisconnected)
		}
	}
	w.runJob("svc")
	w.want("live, with a replacement", len(w.live("svc")), 3)
}

func TestTainted(t *testing.T) {
	for _, tt := range []struct {
		node *rpc.Node
		want bool
	}{
		{nil, true}, {&rpc.Node{Status: rpc.NodeStatusReady}, false}, {&rpc.Node{Status: rpc.NodeStatusInit}, false},
		{&rpc.Node{Status: rpc.NodeStatusDown}, true}, {&rpc.Node{Status: rpc.NodeStatusDisconnected}, true},
		{&rpc.Node{Status: rpc.NodeStatusReady, Drain: &rpc.DrainStrategy{}}, true},
	} {
		if got := tainted(tt.node); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.node, got, tt.want)
		}
	}
}

// TestFailureOnANodeThatIsGone: nobody waits to replace what failed on a node that went down since, or was
// forgotten.
func TestFailureOnANodeThatIsGone(t *testing.T) {
	for status, waits := range map[string]bool{rpc.NodeStatusReady: true, rpc.NodeStatusDown: false, rpc.NodeStatusInit: false, "forgotten": false} {
		w := running(t, 3, job(rpc.JobTypeService, "svc", 2))
		failed := w.live("svc")[0]
		w.report("svc", rpc.AllocClientFailed, func(a *rpc.Allocation) bool { return a.ID == failed.ID })
		if status == "forgotten" {
			w.update(func(tx *state.Tx) error { return tx.DeleteNode(failed.NodeID) })
		} else {
			w.status(failed.NodeID, status)
		}
		r := w.runJob("svc")
		w.want("evaluations made for one on a node that is "+status, len(r.created) > 0, waits)
		w.want("replaced at once", len(w.live("svc")) == 2, !waits)
	}
}

// TestOrderOfNames: allocations are in the order of the numbers in their names.
func TestOrderOfNames(t *testing.T) {
	allocs := []*rpc.Allocation{{ID: "a", Name: "j.g[10]"}, {ID: "c", Name: "j.g[2]"}, {ID: "b", Name: "j.g[2]"}, {ID: "d", Name: "j.g[1]"}}
	sortByName(allocs)
	ids := ""
	for _, a := range allocs {
		ids += a.ID
	}
	if ids != "dbca" {
		t.Errorf("order %s, want dbca", ids)
	}
}

// TestFitOfNodesWithoutMemory: what a node does not have is neither free nor full.
func TestFitOfNodesWithoutMemory(t *testing.T) {
	if got := fitScore(rpc.Resources{CPUMHz: 1000}, rpc.Resources{CPUMHz: 1000}); got != maxFitScore {
		t.Errorf("a full node scores %g, want %g", got, maxFitScore)
	}
	if got := fitScore(rpc.Resources{CPUMHz: 1000}, rpc.Resources{}); got != 9 {
		t.Errorf("an empty node scores %g, want 9", got)
	}
}
