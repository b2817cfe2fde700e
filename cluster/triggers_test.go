package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

func serviceJob(id string, count, parallel int) *rpc.Job {
	return &rpc.Job{
		ID: id, Type: rpc.JobTypeService, Priority: 50, Datacenters: []string{"dc1"},
		TaskGroups: []rpc.TaskGroup{{Name: "tg", Count: count, MaxParallel: parallel, Resources: rpc.Resources{CPUMHz: 10, MemoryMB: 10}}},
	}
}

// rig is a cluster with ready nodes and clients that do as they are told.
type rig struct {
	*testing.T
	c    *Cluster
	mark uint64
	// fails is the type of entries, or all of them, that the test keeps calls from writing, such as
	// those under way when it stops a leader: they count as events.
	fails string
}

// newRig starts a cluster with schedulers on, n nodes whose heartbeats never fail and,
// unless the configuration says otherwise, no garbage collection.
func newRig(t *testing.T, n int, cfg Config) *rig {
	t.Helper()
	cfg.NumSchedulers = cmp.Or(cfg.NumSchedulers, 2)
	cfg.ClientConnections = cmp.Or(cfg.ClientConnections, 1) // whoever leads, reports are one batch
	for _, never := range []*time.Duration{&cfg.Heartbeat.Grace, &cfg.GC.Interval, &cfg.GC.TokenInterval} {
		*never = cmp.Or(*never, 1000*time.Hour)
	}
	r := &rig{T: t, c: startCluster(t, cfg)}
	t.Cleanup(r.balance)
	register(t, r.c, 0, n)
	r.entries()
	return r
}

// allTypes stands for the types of all entries.
const allTypes = "*"

// balance checks that the log has what the events of the test should have cost, once all of
// it is written.
func (r *rig) balance() {
	if r.fails == allTypes {
		return
	}
	written, expected := map[string]int64{}, map[string]int64{}
	for range 60 {
		st := r.c.Stats()
		clear(written)
		for kind, n := range r.c.EntriesBetween(0, st.LastIndex) {
			written[kind] = int64(n)
		}
		delete(written, "raft:Configuration") // the first entry, which no event caused
		clear(expected)
		for _, e := range st.Account.Since(Account{}) {
			expected[e.Type] += e.Entries
		}
		maps.DeleteFunc(expected, func(_ string, n int64) bool { return n == 0 })
		delete(written, r.fails)
		delete(expected, r.fails)
		if maps.Equal(written, expected) {
			return
		}
		time.Sleep(time.Second)
	}
	r.Errorf("the log has %v, want %v by what happened", written, expected)
}

// bringUp registers a node and makes it ready.
func (r *rig) bringUp(n *rpc.Node) {
	r.Helper()
	_, err := r.c.NodeServer(0).Register(r.Context(), &rpc.NodeRegisterRequest{Node: n})
	r.ok(nil, err)
	_, err = r.c.NodeServer(0).UpdateStatus(r.Context(), &rpc.NodeUpdateStatusRequest{NodeID: n.ID, Status: rpc.NodeStatusReady})
	r.ok(nil, err)
}

// entries counts the log's entries by type since it was asked last, as "3 Type, …".
func (r *rig) entries() string {
	last := r.c.Stats().LastIndex
	counts := r.c.EntriesBetween(r.mark, last)
	r.mark = last
	text := ""
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		text += fmt.Sprintf("%d %s\n", counts[kind], kind)
	}
	return text
}

func (r *rig) want(what, got, want string) {
	r.Helper()
	if got != want {
		r.Errorf("%s:\ngot\n%s\nwant\n%s", what, got, want)
	}
}

func (r *rig) ok(_ any, err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// snap is the leader's state.
func (r *rig) snap() *state.Snapshot { return r.c.State(max(r.c.Leader(), 0)).Snapshot() }

// live returns the job's allocations that are not terminal, by name.
func (r *rig) live(job string) []*rpc.Allocation {
	allocs := r.snap().AllocsByJob(broker.JobID{Namespace: rpc.DefaultNamespace, ID: job})
	return slices.DeleteFunc(allocs, (*rpc.Allocation).Terminal)
}

// report has the clients say what became of the job's allocations, in one batch: running
// for those that should, complete for those that should not. With healthy they also say
// that they are.
func (r *rig) report(job string, healthy bool) {
	r.Helper()
	byNode := map[string][]*rpc.Allocation{}
	for _, a := range r.snap().AllocsByJob(broker.JobID{Namespace: rpc.DefaultNamespace, ID: job}) {
		u := &rpc.Allocation{ID: a.ID, NodeID: a.NodeID, ClientStatus: rpc.AllocClientRunning}
		switch {
		case a.ClientTerminal():
			continue
		case a.ServerTerminal():
			u.ClientStatus = rpc.AllocClientComplete
		case healthy:
			u.Health = rpc.AllocHealthy
		}
		byNode[a.NodeID] = append(byNode[a.NodeID], u)
	}
	r.tell(byNode)
}

// fail has the clients say, in one batch, that the first n of the job's allocations failed. It returns their IDs.
func (r *rig) fail(job string, n int) (failed []string) {
	r.Helper()
	byNode := map[string][]*rpc.Allocation{}
	allocs := r.live(job)
	slices.SortFunc(allocs, rpc.ByID)
	for _, a := range allocs[:n] {
		byNode[a.NodeID] = append(byNode[a.NodeID], &rpc.Allocation{ID: a.ID, NodeID: a.NodeID, ClientStatus: rpc.AllocClientFailed})
		failed = append(failed, a.ID)
	}
	r.tell(byNode)
	return failed
}

// tell makes all reports at once, and waits for the answers.
func (r *rig) tell(byNode map[string][]*rpc.Allocation) {
	r.Helper()
	var calls []chan error
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		done := make(chan error)
		calls = append(calls, done)
		go func() {
			_, err := r.c.NodeServer(0).UpdateAlloc(r.Context(), &rpc.AllocUpdateRequest{NodeID: node, Alloc: byNode[node]})
			done <- err
		}()
	}
	for _, done := range calls {
		r.ok(nil, <-done)
	}
}

func (r *rig) deployment(job string) *rpc.Deployment {
	return r.snap().DeploymentOf(broker.JobID{Namespace: rpc.DefaultNamespace, ID: job})
}

// TestJobTriggers: what a user's call costs, in entries.
func TestJobTriggers(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 5, Config{Seed: 1})
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 5, 0)))
		time.Sleep(time.Second)
		const placed = "1 ApplyPlanResultsRequestType\n1 EvalUpdateRequestType\n1 JobRegisterRequestType\n"
		r.want("register", r.entries(), placed)

		changed := serviceJob("svc", 5, 0)
		changed.TaskGroups[0].Resources.CPUMHz++
		r.ok(r.c.RegisterJob(t.Context(), changed))
		time.Sleep(time.Second)
		r.want("new version", r.entries(), placed)

		r.ok(r.c.ScaleJob(t.Context(), "", "svc", "", 8))
		time.Sleep(time.Second)
		r.want("scale", r.entries(), "1 ApplyPlanResultsRequestType\n2 EvalUpdateRequestType\n1 JobRegisterRequestType\n1 ScalingEventRegisterRequestType\n")
		if job := r.snap().JobByID(rpc.DefaultNamespace, "svc"); len(r.live("svc")) != 8 || job.Version != 2 {
			t.Errorf("%d allocations of version %d, want 8 of version 2", len(r.live("svc")), job.Version)
		}

		r.ok(r.c.StopJob(t.Context(), "", "svc", false))
		time.Sleep(time.Second)
		r.want("stop", r.entries(), "1 ApplyPlanResultsRequestType\n1 EvalUpdateRequestType\n1 JobDeregisterRequestType\n")
		if n := len(r.live("svc")); n != 0 {
			t.Errorf("%d allocations of a stopped job", n)
		}
		if _, err := r.c.ScaleJob(t.Context(), "", "other", "", 1); err == nil {
			t.Error("a job that does not exist was scaled")
		}
	})
}

// TestFailedAllocationsFanIn: ten allocations of one job that fail together are one entry
// and one evaluation, and one more later that replaces them.
func TestFailedAllocationsFanIn(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 6, Config{Seed: 1})
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 12, 0)))
		time.Sleep(time.Second)
		r.report("svc", false)
		r.entries()
		before := r.c.Stats().Counters
		failed := r.fail("svc", 10)
		time.Sleep(time.Second)
		// The scheduler finds that they are to be replaced in 30 s: the follow-up, the plan
		// that notes it on the allocations, the end of the evaluation.
		r.want("when they fail", r.entries(), "1 AllocClientUpdateRequestType\n1 ApplyPlanResultsRequestType\n2 EvalUpdateRequestType\n")
		count := r.c.Stats().Counters
		if n := count.EvalsCreated - before.EvalsCreated; len(failed) != 10 || n != 2 {
			t.Errorf("%d failures made %d evaluations, want 10 and 2", len(failed), n)
		}
		if got := r.snap().AllocByID(failed[9]); got.ClientStatus != rpc.AllocClientFailed || got.FollowupEvalID == "" {
			t.Errorf("failed allocation %+v", got)
		}
		time.Sleep(40 * time.Second)
		r.want("when they are replaced", r.entries(), "1 ApplyPlanResultsRequestType\n1 EvalUpdateRequestType\n")
		if n := len(r.live("svc")); n != 12 {
			t.Errorf("%d allocations live, want 12", n)
		}
	})
}
