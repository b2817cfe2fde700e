package scheduler

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// randomWorld is a world that clients, users and the leader change at random.
type randomWorld struct {
	*world
	rt  *rapid.T
	old *state.Snapshot // from some time ago
}

var randomJobs = []struct{ id, jobType string }{
	{"sys-a", rpc.JobTypeSystem}, {"sys-b", rpc.JobTypeSystem}, {"svc-a", rpc.JobTypeService},
	{"svc-b", rpc.JobTypeService}, {"bat", rpc.JobTypeBatch}, {"sysbat", rpc.JobTypeSysBatch},
}

// outOfReachHabits are what releases have done about allocations that are out of reach, the oldest first.
var outOfReachHabits = []Habits{
	{},
	{ChoosesBack: true},
	{ChoosesBack: true, NamesOnce: true, UnknownCounts: true, UnknownWaits: true},
	{ChoosesBack: true, NamesOnce: true, UnknownCounts: true},
	{ChoosesBack: true, NamesOnce: true, UnknownCounts: true, FollowsReplacements: true},
	{ChoosesBack: true, NamesOnce: true, UnknownCounts: true, FollowsReplacements: true, UnknownWaits: true, BackBeforeReports: true},
}

// newRandomWorld is a world of some release's habits.
func newRandomWorld(t *testing.T, rt *rapid.T) *randomWorld {
	w := &randomWorld{world: newWorld(t), rt: rt}
	w.habits = outOfReachHabits[w.pick("habits", len(outOfReachHabits))]
	return w
}

func (w *randomWorld) pick(what string, n int) int { return rapid.IntRange(0, n-1).Draw(w.rt, what) }

func (w *randomWorld) nodeID() string { return fmt.Sprintf("n%02d", w.pick("node", 8)) }

func (w *randomWorld) jobID() (id, jobType string) {
	j := randomJobs[w.pick("job", len(randomJobs))]
	return j.id, j.jobType
}

func (w *randomWorld) known(nodeID string) bool { return w.store.Snapshot().NodeByID(nodeID) != nil }

// step makes one random change.
func (w *randomWorld) step() {
	switch w.pick("change", 12) {
	case 0:
		w.node(w.nodeID(), func(n *rpc.Node) {
			n.Datacenter = rapid.SampledFrom([]string{"dc1", "dc1", "dc2"}).Draw(w.rt, "dc")
		})
	case 1, 2:
		if id := w.nodeID(); w.known(id) {
			w.status(id, rapid.SampledFrom([]string{rpc.NodeStatusReady, rpc.NodeStatusReady, rpc.NodeStatusDown,
				rpc.NodeStatusDisconnected, rpc.NodeStatusInit}).Draw(w.rt, "status"))
		}
	case 3:
		if id := w.nodeID(); w.known(id) {
			w.drain(id, rapid.Bool().Draw(w.rt, "drain"))
		}
	case 4:
		if id := w.nodeID(); w.known(id) && w.pick("delete", 4) == 0 {
			w.update(func(tx *state.Tx) error { return tx.DeleteNode(id) })
		}
	case 5, 6:
		id, jobType := w.jobID()
		w.register(w.randomJob(id, jobType))
	case 7:
		id, _ := w.jobID()
		if w.pick("purge", 3) == 0 {
			w.update(func(tx *state.Tx) error { return tx.DeleteJob(rpc.DefaultNamespace, id) })
		} else {
			w.update(func(tx *state.Tx) error { return tx.StopJob(rpc.DefaultNamespace, id) })
		}
	case 8, 9:
		w.clients()
	case 10:
		w.now = w.now.Add(time.Duration(w.pick("seconds", 100)) * time.Second)
	case 11:
		w.collect()
	}
}

func (w *randomWorld) randomJob(id, jobType string) *rpc.Job {
	return job(jobType, id, w.pick("count", 5), func(j *rpc.Job) {
		if w.pick("dcs", 3) == 0 {
			j.Datacenters = []string{"dc1", "dc2"}
		}
		tg := &j.TaskGroups[0]
		tg.Resources.CPUMHz = rapid.SampledFrom([]int{100, 100, 300, 600}).Draw(w.rt, "cpu")
		tg.MaxParallel = rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(w.rt, "max parallel")
		tg.MaxClientDisconnect = rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(w.rt, "max disconnect")
		if w.pick("groups", 4) == 0 {
			extra := *tg
			extra.Name = "h"
			j.TaskGroups = append(j.TaskGroups, extra)
		}
	})
}

// clients reports statuses of allocations on nodes that are in touch.
func (w *randomWorld) clients() {
	id, _ := w.jobID()
	snap := w.store.Snapshot()
	var updates []*rpc.Allocation
	for _, a := range w.allocs(id) {
		n := snap.NodeByID(a.NodeID)
		if n == nil || n.Status != rpc.NodeStatusReady || a.ClientTerminal() {
			continue
		}
		status := rpc.AllocClientRunning
		if a.ServerTerminal() {
			status = rpc.AllocClientComplete
		} else if w.pick("end", 6) == 0 {
			status = rapid.SampledFrom([]string{rpc.AllocClientFailed, rpc.AllocClientComplete}).Draw(w.rt, "how")
		}
		updates = append(updates, w.clientUpdate(a, status))
	}
	if len(updates) > 0 {
		w.update(func(tx *state.Tx) error { tx.UpdateAllocsFromClient(updates...); return nil })
	}
}

// collect removes some terminal allocations, as garbage collection does.
func (w *randomWorld) collect() {
	id, _ := w.jobID()
	var gone []string
	for _, a := range w.allocs(id) {
		if a.ServerTerminal() && a.ClientTerminal() && w.pick("gc", 2) == 0 {
			gone = append(gone, a.ID)
		}
	}
	w.update(func(tx *state.Tx) error { return tx.DeleteEvals(nil, gone) })
}

// TestIncrementalEqualsFull runs schedulers with a Cache and without one on the same snapshots
// and random draws: each attempt's plan, evaluations and work must be equal.
func TestIncrementalEqualsFull(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newRandomWorld(t, rt)
		w.nodes(4)
		seed := uint64(0)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			for range w.pick("changes", 4) {
				w.step()
			}
			seed++
			w.compare(seed)
		}
	})
}

func (w *randomWorld) compare(seed uint64) {
	id, jobType := w.jobID()
	e := w.eval(id, jobType, broker.TriggeredByNodeUpdate)
	remembers := w.scheduler(e, w.cache, seed)
	forgets := w.scheduler(e, nil, seed)
	snap := w.store.Snapshot()
	if w.old != nil && w.pick("old snapshot", 8) == 0 {
		snap = w.old
	}
	if w.pick("keep snapshot", 4) == 0 {
		w.old = snap
	}
	for attempt := 0; ; attempt++ {
		a, b := remembers.Plan(snap, w.now), forgets.Plan(snap, w.now)
		if !reflect.DeepEqual(a, b) {
			w.rt.Fatalf("%s at %d, attempt %d:\nremembering %s\nforgetting  %s", id, snap.Index(), attempt, show(a), show(b))
		}
		if x, y := remembers.last, forgets.last; !reflect.DeepEqual(x.failed, y.failed) || !reflect.DeepEqual(x.queued, y.queued) {
			w.rt.Fatalf("%s at %d: failed %v and %v, queued %v and %v", id, snap.Index(), x.failed, y.failed, x.queued, y.queued)
		}
		if a.Plan == nil || w.pick("drop", 6) == 0 {
			return
		}
		if w.pick("meddle", 4) == 0 {
			w.step()
		}
		again := w.commit(e, a.Plan, remembers, forgets)
		checkRoom(w.rt, w.store.Snapshot())
		if !again {
			return
		}
		snap = w.store.Snapshot()
	}
}

func (w *randomWorld) scheduler(e *broker.Evaluation, c *Cache, seed uint64) *Scheduler {
	s, err := New(e, c, rand.New(rand.NewPCG(seed, seed)))
	w.ok(err)
	s.Habits = w.habits
	return s
}

// commit applies a plan that all the given schedulers made.
func (w *randomWorld) commit(e *broker.Evaluation, p *Plan, by ...*Scheduler) (again bool) {
	r := EvaluatePlan(w.store.Snapshot(), p)
	if !r.IsNoOp() {
		r.AllocIndex = w.next()
		w.ok(w.store.Update(r.AllocIndex, func(tx *state.Tx) error {
			entry := r.Commit(e.ID, w.now.UnixNano())
			for i, a := range entry.AllocsUpdated {
				entry.AllocsUpdated[i] = a.Copy() // as a log would
			}
			return tx.UpsertPlanResults(entry)
		}))
	}
	for _, s := range by {
		again = s.Committed(r)
	}
	return again
}

func show(a Attempt) string {
	s := fmt.Sprintf("work %+v, %d evaluations", a.Work, len(a.Evals))
	if a.Plan == nil {
		return s + ", no plan"
	}
	for _, byNode := range []map[string][]*rpc.Allocation{a.Plan.NodeUpdate, a.Plan.NodeAllocation} {
		for node, list := range byNode {
			for _, x := range list {
				s += fmt.Sprintf("\n  %s: %s %s/%s %q", node, x.Name, x.DesiredStatus, x.ClientStatus, x.DesiredDescription)
			}
		}
	}
	return s
}

// TestConverges gives the nodes of a random cluster room for everything. After a few
// evaluations of every job there must be nothing left to do, and exactly what the jobs ask
// for must run.
func TestConverges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newRandomWorld(t, rt)
		w.nodes(6)
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			w.step()
			if w.pick("run", 3) == 0 {
				id, jobType := w.jobID()
				w.run(w.eval(id, jobType, broker.TriggeredByNodeUpdate))
				checkRoom(rt, w.store.Snapshot())
			}
		}
		w.rest()
		w.checkJobs()
	})
}

// rest ends all faults and waits, and evaluates all jobs until none has anything to do.
func (w *randomWorld) rest() {
	w.spacious()
	for round := 0; ; round++ {
		busy := ""
		for _, j := range randomJobs {
			r := w.run(w.eval(j.id, j.jobType, broker.TriggeredByNodeUpdate))
			for _, p := range r.plans {
				busy += "\n" + j.id + show(Attempt{Plan: p})
			}
		}
		if busy == "" && round > 0 {
			return
		}
		if round == 60 {
			w.rt.Fatalf("still making plans after %d rounds: %s", round, busy)
		}
		w.now = w.now.Add(2 * time.Hour) // past every reschedule delay and disconnection
		for _, j := range randomJobs {
			w.settleClients(j.id)
		}
	}
}

// spacious gives every node room for anything and ends disconnections.
func (w *randomWorld) spacious() {
	for n := range w.store.Snapshot().Nodes() {
		bigger := n.Copy()
		bigger.Resources = rpc.Resources{CPUMHz: 1e6, MemoryMB: 1e6, DiskMB: 1e6}
		if bigger.Status == rpc.NodeStatusDisconnected {
			bigger.Status = rpc.NodeStatusReady
		}
		w.update(func(tx *state.Tx) error { return tx.UpsertNode(bigger) })
	}
}

// settleClients makes every client that is in touch report that its allocations run.
func (w *randomWorld) settleClients(jobID string) {
	snap := w.store.Snapshot()
	var updates []*rpc.Allocation
	for _, a := range w.allocs(jobID) {
		if n := snap.NodeByID(a.NodeID); n == nil || n.Status != rpc.NodeStatusReady || a.ClientTerminal() {
			continue
		}
		status := rpc.AllocClientRunning
		if a.ServerTerminal() {
			status = rpc.AllocClientComplete
		}
		if a.ClientStatus != status || a.DeploymentID != "" && a.Health == "" {
			updates = append(updates, w.clientUpdate(a, status))
		}
	}
	if len(updates) > 0 {
		w.update(func(tx *state.Tx) error { tx.UpdateAllocsFromClient(updates...); return nil })
	}
	w.watchDeployment(jobID)
}

// watchDeployment asks to replace unhealthy allocations, as the deployment watcher does.
func (w *randomWorld) watchDeployment(jobID string) {
	var replace []string
	for _, a := range w.allocs(jobID) {
		if a.Health == rpc.AllocUnhealthy && !a.Reschedule {
			replace = append(replace, a.ID)
		}
	}
	w.update(func(tx *state.Tx) error { tx.RequestTransitions(nil, replace); return nil })
}
