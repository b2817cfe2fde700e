package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// world is one server's state, with stand-ins for workers, applier and clients.
type world struct {
	t     testing.TB
	store *state.Store
	cache *Cache
	rand  *rand.Rand
	now   time.Time
	index uint64
	evals int

	habits Habits
}

// fataler has the methods that *testing.T and *rapid.T share.
type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func newWorld(t testing.TB) *world {
	return &world{
		t: t, store: state.New(), cache: NewCache(), rand: rand.New(rand.NewPCG(1, 2)),
		now: time.Unix(1_700_000_000, 0), index: 10,
	}
}

func (w *world) ok(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatalf("at index %d: %v", w.index, err)
	}
}

// update applies one log entry.
func (w *world) update(write func(*state.Tx) error) {
	w.t.Helper()
	w.ok(w.store.Update(w.next(), write))
}

func (w *world) next() uint64 {
	w.index++
	return w.index
}

var roomy = rpc.Resources{CPUMHz: 1000, MemoryMB: 1000, DiskMB: 1000}

// node registers a ready node.
func (w *world) node(id string, change ...func(*rpc.Node)) {
	w.t.Helper()
	n := &rpc.Node{ID: id, Datacenter: "dc1", NodeClass: "c1", Resources: roomy, Status: rpc.NodeStatusReady}
	for _, f := range change {
		f(n)
	}
	w.update(func(tx *state.Tx) error { return tx.UpsertNode(n) })
}

func (w *world) nodes(n int) {
	for i := range n {
		w.node(fmt.Sprintf("n%02d", i))
	}
}

func (w *world) status(id, status string) {
	w.t.Helper()
	w.update(func(tx *state.Tx) error { return tx.UpdateNodeStatus(id, status, 0, "") })
}

// drain starts or ends a drain, and asks all allocations to leave at once.
func (w *world) drain(id string, on bool) {
	w.t.Helper()
	if !on {
		w.update(func(tx *state.Tx) error { return tx.UpdateNodeDrain(id, nil, true, 0, "") })
		return
	}
	w.update(func(tx *state.Tx) error { return tx.UpdateNodeDrain(id, &rpc.DrainStrategy{}, true, 0, "") })
	var leave []string
	for _, a := range w.store.Snapshot().NodeAllocs(id).Live {
		leave = append(leave, a.ID)
	}
	w.update(func(tx *state.Tx) error { tx.RequestTransitions(leave, nil); return nil })
}

// job returns a job with one group "g" that uses a tenth of a node. System and sysbatch
// jobs ignore count.
func job(jobType, id string, count int, change ...func(*rpc.Job)) *rpc.Job {
	j := &rpc.Job{
		Namespace: rpc.DefaultNamespace, ID: id, Type: jobType, Priority: 50, Datacenters: []string{"dc1"},
		TaskGroups: []rpc.TaskGroup{{Name: "g", Count: count, Resources: rpc.Resources{CPUMHz: 100, MemoryMB: 100, DiskMB: 100}}},
	}
	for _, f := range change {
		f(j)
	}
	return j
}

func group(change func(*rpc.TaskGroup)) func(*rpc.Job) {
	return func(j *rpc.Job) {
		j.TaskGroups = slices.Clone(j.TaskGroups)
		change(&j.TaskGroups[0])
	}
}

func (w *world) register(j *rpc.Job) *rpc.Job {
	w.t.Helper()
	w.update(func(tx *state.Tx) error { return tx.UpsertJob(j) })
	return j
}

// change registers a changed version of the job.
func (w *world) change(id string, f func(*rpc.Job)) {
	w.t.Helper()
	j := w.store.Snapshot().JobByID(rpc.DefaultNamespace, id).Copy()
	f(j)
	w.register(j)
}

// eval stores a pending evaluation of the job.
func (w *world) eval(jobID, jobType, trigger string) *broker.Evaluation {
	w.t.Helper()
	w.evals++
	e := &broker.Evaluation{
		ID: fmt.Sprintf("eval-%05d", w.evals), Namespace: rpc.DefaultNamespace, JobID: jobID, Type: jobType,
		Priority: 50, TriggeredBy: trigger, Status: broker.StatusPending,
	}
	w.update(func(tx *state.Tx) error { return tx.UpsertEvals(e) })
	return e
}

// ran is the result of one evaluation.
type ran struct {
	plans   []*Plan
	results []*PlanResult
	work    []Work
	created []*broker.Evaluation
	final   *broker.Evaluation
	reblock *broker.Evaluation
}

// run evaluates the job until the outcome. It calls meddle, unless that is nil, before it
// applies each plan.
func (w *world) run(e *broker.Evaluation, meddle ...func(*Plan)) ran {
	w.t.Helper()
	s, err := New(e, w.cache, w.rand)
	w.ok(err)
	s.Habits = w.habits
	var out ran
	for {
		a := s.Plan(w.store.Snapshot(), w.now)
		out.work = append(out.work, a.Work)
		for _, c := range a.Evals {
			out.created = append(out.created, c)
			w.update(func(tx *state.Tx) error { return tx.UpsertEvals(c) })
		}
		if a.Plan == nil {
			break
		}
		for _, f := range meddle {
			f(a.Plan)
		}
		out.plans = append(out.plans, a.Plan)
		r := EvaluatePlan(w.store.Snapshot(), a.Plan)
		out.results = append(out.results, r)
		if !r.IsNoOp() {
			r.AllocIndex = w.next()
			w.ok(w.store.Update(r.AllocIndex, func(tx *state.Tx) error { return tx.UpsertPlanResults(r.Commit(e.ID, w.now.UnixNano())) }))
		}
		if !s.Committed(r) {
			break
		}
	}
	o := s.Outcome(w.now)
	out.reblock = o.Reblock
	for i, c := range o.Evals {
		if i < len(o.Evals)-1 {
			out.created = append(out.created, c)
		} else {
			out.final = c
		}
		w.update(func(tx *state.Tx) error { return tx.UpsertEvals(c) })
	}
	return out
}

// runJob evaluates a job that is in the store, as if a node had changed.
func (w *world) runJob(id string) ran {
	w.t.Helper()
	j := w.store.Snapshot().JobByID(rpc.DefaultNamespace, id)
	return w.run(w.eval(id, j.Type, broker.TriggeredByNodeUpdate))
}

// report sets the client status of the job's live allocations that match.
func (w *world) report(jobID, status string, match func(*rpc.Allocation) bool) int {
	w.t.Helper()
	var updates []*rpc.Allocation
	for _, a := range w.live(jobID) {
		if match == nil || match(a) {
			updates = append(updates, w.clientUpdate(a, status))
		}
	}
	w.update(func(tx *state.Tx) error { tx.UpdateAllocsFromClient(updates...); return nil })
	return len(updates)
}

// clientUpdate returns a client's report, with the health of an allocation of a deployment if
// it has none yet.
func (w *world) clientUpdate(a *rpc.Allocation, status string) *rpc.Allocation {
	u := &rpc.Allocation{ID: a.ID, ClientStatus: status, ModifyTime: w.now.UnixNano()}
	if a.DeploymentID != "" && a.Health == "" {
		u.Health = rpc.AllocUnhealthy
		if status == rpc.AllocClientRunning {
			u.Health = rpc.AllocHealthy
		}
	}
	return u
}

func on(nodeID string) func(*rpc.Allocation) bool {
	return func(a *rpc.Allocation) bool { return a.NodeID == nodeID }
}

func (w *world) allocs(jobID string) []*rpc.Allocation {
	return w.store.Snapshot().AllocsByJob(broker.JobID{Namespace: rpc.DefaultNamespace, ID: jobID})
}

func (w *world) live(jobID string) []*rpc.Allocation {
	return slices.DeleteFunc(w.allocs(jobID), (*rpc.Allocation).Terminal)
}

// places lists where the job's live allocations are, as "name on node".
func (w *world) places(jobID string) []string {
	var list []string
	for _, a := range w.live(jobID) {
		list = append(list, a.Name+" on "+a.NodeID)
	}
	slices.Sort(list)
	return list
}

// names lists the names of the job's live allocations.
func (w *world) names(jobID string) []string {
	var list []string
	for _, a := range w.live(jobID) {
		list = append(list, a.Name)
	}
	slices.Sort(list)
	return list
}

func (w *world) want(what string, got, want any) {
	w.t.Helper()
	if g, w2 := fmt.Sprint(got), fmt.Sprint(want); g != w2 {
		w.t.Fatalf("%s:\n got %s\nwant %s", what, g, w2)
	}
}

// checkRoom fails if the allocations of any node use more than it has.
func checkRoom(t fataler, snap *state.Snapshot) {
	t.Helper()
	for n := range snap.Nodes() {
		if used := snap.NodeAllocs(n.ID).Used; !n.Resources.Fits(used) {
			t.Fatalf("node %s is overcommitted: %+v of %+v", n.ID, used, n.Resources)
		}
	}
}
