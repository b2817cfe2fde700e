package streams

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestMain verifies that no test leaves a goroutine behind, but for the one that Prepare starts.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"))
}

// slow makes schedulers take a second, so that workers which begin together overlap.
var slow = cluster.Costs{
	Cores:     2,
	FSM:       cluster.FSMCosts{Entry: 20 * time.Millisecond},
	Scheduler: map[string]cluster.SchedulerCosts{rpc.JobTypeSystem: {Base: time.Second}, rpc.JobTypeService: {Base: time.Second}},
}

// with runs f in a bubble with a cluster of three servers that have no workers yet.
func with(t *testing.T, opts Options, f func(t *testing.T, c *Cluster)) {
	t.Helper()
	Prepare()
	virtualtest.Test(t, func(t *testing.T) {
		c, err := Start(t.Context(), cluster.Config{Seed: 1, Costs: slow}, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.Shutdown(); err != nil {
				t.Error(err)
			}
		}()
		f(t, c)
	})
}

func node(i int) *rpc.Node {
	return &rpc.Node{
		ID: fmt.Sprintf("node-%d", i), SecretID: "secret", Name: fmt.Sprintf("n%d", i), Datacenter: "dc1", Status: rpc.NodeStatusReady,
		Attributes: map[string]string{"kernel.name": "linux"}, Resources: rpc.Resources{CPUMHz: 100, MemoryMB: 100, DiskMB: 100},
	}
}

func job(id, kind string, count int) *rpc.Job {
	return &rpc.Job{
		ID: id, Namespace: rpc.DefaultNamespace, Type: kind, Priority: 50, Datacenters: []string{"dc1"},
		TaskGroups: []rpc.TaskGroup{{Name: "g", Count: count, Resources: rpc.Resources{CPUMHz: 60, MemoryMB: 60, DiskMB: 60}}},
	}
}

// register registers nodes and jobs, and waits until what they call for is written.
func register(t *testing.T, c *Cluster, nodes int, jobs ...*rpc.Job) {
	t.Helper()
	for _, j := range jobs {
		if _, err := c.RegisterJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	for i := range nodes {
		if _, err := c.servers[i%3].Register(t.Context(), &rpc.NodeRegisterRequest{Node: node(i)}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Second)
}

// ask writes an evaluation of a job as of an index.
func ask(t *testing.T, c *Cluster, j *rpc.Job, index uint64) {
	t.Helper()
	m, err := c.servers[0].evaluation(j, broker.TriggeredByNodeUpdate, index)
	if err == nil {
		_, err = c.servers[0].write(c.evalHome(), m)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// beat lets time pass in which nodes go on to send heartbeats.
func beat(t *testing.T, c *Cluster, nodes int, d time.Duration) {
	t.Helper()
	for range int(d / (5 * time.Second)) {
		time.Sleep(5 * time.Second)
		for i := range nodes {
			if _, err := c.servers[0].UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: node(i).ID, Status: rpc.NodeStatusReady}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func live(c *Cluster, j *rpc.Job) int {
	return c.servers[0].store.Snapshot().JobAllocs(broker.JobID{Namespace: j.Namespace, ID: j.ID}).Live
}

// TestKeepsTheLast: last-per-subject retention leaves one evaluation of each job.
func TestKeepsTheLast(t *testing.T) {
	for _, last := range []bool{false, true} {
		with(t, Options{LastOnly: last}, func(t *testing.T, c *Cluster) {
			register(t, c, 4, job("a.b", rpc.JobTypeSystem, 0), job("c *", rpc.JobTypeSystem, 0))
			st := c.Stats()
			waiting, canceled, pending := 10, 0, 8 // two of the registrations, and two of each node
			if last {
				waiting, canceled, pending = 2, 8, 0
			}
			if st.StatePending != waiting || st.Counters.EvalsCreated != 10 || int(st.Counters.EvalsCanceled) != canceled || st.Broker.Pending != pending || st.Broker.Ready != 2 {
				t.Errorf("last only %v: %+v %+v, want %d that wait and %d dropped", last, st.Broker, st.Counters, waiting, canceled)
			}
			if got := c.EntriesBetween(0, st.LastIndex)["EvalUpdateRequestType"]; got != 10 {
				t.Errorf("last only %v: %d messages of evaluations, want 10", last, got)
			}
		})
	}
}

// TestOldReplacesNew: the evaluation that stays is the last that was written, which need not be of
// the newest change. Its worker looks at the newest state nevertheless.
func TestOldReplacesNew(t *testing.T) {
	with(t, Options{LastOnly: true}, func(t *testing.T, c *Cluster) {
		j := job("j", rpc.JobTypeSystem, 0)
		register(t, c, 3, j)
		last := c.servers[0].store.Index()
		ask(t, c, j, last)
		ask(t, c, j, 1)
		m, err := c.evals.GetLastMsgForSubject(t.Context(), evalSubjectOf(j.Namespace, j.ID))
		if err != nil {
			t.Fatal(err)
		}
		var e broker.Evaluation
		if err := json.Unmarshal(m.Data, &e); err != nil || e.ModifyIndex != 1 {
			t.Fatalf("the message that stays is of index %d, %v; want 1", e.ModifyIndex, err)
		}
		for key := range uint64(8) {
			c.pools[2].Spend(key, 5*time.Second) // so that this server's view falls behind
		}
		resp, err := c.servers[0].Register(t.Context(), &rpc.NodeRegisterRequest{Node: node(9)})
		if err != nil || c.servers[2].store.Index() >= resp.Index {
			t.Fatalf("server 3 has index %d already, %v", c.servers[2].store.Index(), err)
		}
		w := newWorker(c.servers[2], 0, nil)
		if snap, err := w.newest(); err != nil || snap.Index() < resp.Index {
			t.Fatalf("the worker looks at index %d, %v; want %d", snap.Index(), err, resp.Index)
		}
	})
}

// TestOutboundFirst: a change of a node is acknowledged after its evaluation is written, and an
// evaluation after its plan.
func TestOutboundFirst(t *testing.T) {
	with(t, Options{}, func(t *testing.T, c *Cluster) {
		register(t, c, 1, job("j", rpc.JobTypeSystem, 0))
		if err := c.SetSchedulers(1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Second)
		want := []string{
			"JobRegisterRequestType", "EvalUpdateRequestType", "NodeRegisterRequestType", "EvalUpdateRequestType", EntryAcked,
			"ApplyPlanResultsRequestType", EntryAcked, EntryRemoved, EntryAcked, EntryRemoved,
		}
		// A message is delivered at the instant at which it is written.
		var got []string
		c.journal.count(func(j *journal) {
			got = slices.DeleteFunc(slices.Clone(j.kinds), func(kind string) bool { return kind == EntryDelivered })
		})
		if !slices.Equal(got, want) {
			t.Errorf("written were %v, want %v", got, want)
		}
	})
}

// TestRedelivered: an evaluation that a worker has taken, and does not acknowledge, comes again to
// another once NackTimeout is over.
func TestRedelivered(t *testing.T) {
	with(t, Options{LastOnly: true}, func(t *testing.T, c *Cluster) {
		j := job("j", rpc.JobTypeSystem, 0)
		if err := c.makeWork(3); err != nil {
			t.Fatal(err)
		}
		register(t, c, 1, j)
		if _, err := c.work[0].Next(jetstream.FetchMaxWait(time.Second)); err != nil {
			t.Fatal(err)
		}
		for _, h := range c.servers {
			if err := h.startWorkers(1); err != nil {
				t.Fatal(err)
			}
		}
		beat(t, c, 1, 55*time.Second)
		if n := live(c, j); n != 0 {
			t.Fatalf("%d allocations while the evaluation is taken", n)
		}
		beat(t, c, 1, 10*time.Second)
		if n := live(c, j); n != 1 {
			t.Errorf("%d allocations after NackTimeout, want 1", n)
		}
	})
}

// TestOnePlanWins: of workers that plan for a job at a time, one gets its plan written, and the
// others look again.
func TestOnePlanWins(t *testing.T) {
	with(t, Options{}, func(t *testing.T, c *Cluster) {
		j := job("j", rpc.JobTypeSystem, 0)
		register(t, c, 3, j) // four evaluations
		if err := c.SetSchedulers(2); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Second)
		if n := live(c, j); n != 3 || c.Conflicts() == 0 {
			t.Errorf("%d allocations on 3 nodes, and %d plans refused", n, c.Conflicts())
		}
		if st := c.Stats(); st.StatePending != 0 || st.Counters.EvalsProcessed != 4 {
			t.Errorf("%d evaluations left, %d processed, want 4", st.StatePending, st.Counters.EvalsProcessed)
		}
	})
}

// TestPartition: a worker that has jobs of its own works on them one after the other, and none of its plans is refused,
// whatever the number of workers.
func TestPartition(t *testing.T) {
	with(t, Options{Partition: true}, func(t *testing.T, c *Cluster) {
		jobs := []*rpc.Job{job("a", rpc.JobTypeSystem, 0), job("b", rpc.JobTypeSystem, 0), job("c", rpc.JobTypeSystem, 0)}
		for _, j := range jobs {
			j.TaskGroups[0].Resources = rpc.Resources{CPUMHz: 10, MemoryMB: 10, DiskMB: 10}
		}
		register(t, c, 2, jobs...)
		for _, perServer := range []int{2, 1, 3} {
			if err := c.SetSchedulers(perServer); err != nil {
				t.Fatal(err)
			}
			for _, j := range jobs {
				ask(t, c, j, 1)
				ask(t, c, j, 1)
			}
			beat(t, c, 2, 20*time.Second)
		}
		if st := c.Stats(); st.StatePending != 0 || st.Counters.EvalsProcessed != 27 || c.Conflicts() != 0 {
			t.Errorf("%d evaluations left, %d processed, want 27; %d plans refused", st.StatePending, st.Counters.EvalsProcessed, c.Conflicts())
		}
		for _, j := range jobs {
			if live(c, j) != 2 {
				t.Errorf("%d allocations of %s on 2 nodes", live(c, j), j.ID)
			}
		}
	})
}

// TestEveryViewRefuses: two jobs find the same room at a time. Every server folds both plans, and
// refuses the second alike.
func TestEveryViewRefuses(t *testing.T) {
	with(t, Options{LastOnly: true}, func(t *testing.T, c *Cluster) {
		a, b := job("a", rpc.JobTypeService, 1), job("b", rpc.JobTypeService, 1)
		register(t, c, 1, a, b)
		if err := c.SetSchedulers(2); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Second)
		if live(c, a)+live(c, b) != 1 {
			t.Errorf("%d and %d allocations where there is room for one", live(c, a), live(c, b))
		}
		if st := c.Stats(); st.Counters.PlansSubmitted != 2 {
			t.Errorf("%d plans, want 2: the workers did not overlap", st.Counters.PlansSubmitted)
		}
		snaps := c.Snapshots()
		for i, s := range snaps[1:] {
			if s.Fingerprint() != snaps[0].Fingerprint() {
				t.Errorf("servers 1 and %d differ", i+2)
			}
		}
	})
}

// TestSilentNode: all servers notice that a node is silent, and one of them writes it.
func TestSilentNode(t *testing.T) {
	with(t, Options{LastOnly: true}, func(t *testing.T, c *Cluster) {
		register(t, c, 1, job("j", rpc.JobTypeSystem, 0))
		before := c.Stats().LastIndex
		time.Sleep(time.Minute)
		st := c.Stats()
		if st.NodesByStatus[rpc.NodeStatusDown] != 1 || st.Counters.MissedHeartbeats != 1 || st.HeartbeatsActive != 0 {
			t.Errorf("%v, %d missed heartbeats, %d timers", st.NodesByStatus, st.Counters.MissedHeartbeats, st.HeartbeatsActive)
		}
		if got := c.EntriesBetween(before, st.LastIndex)["NodeUpdateStatusRequestType"]; got != 1 {
			t.Errorf("%d messages say that the node is down, want 1", got)
		}
	})
}

// TestGathers: changes that come together call for one evaluation a job.
func TestGathers(t *testing.T) {
	with(t, Options{LastOnly: true, Gather: 500 * time.Millisecond}, func(t *testing.T, c *Cluster) {
		register(t, c, 30, job("j", rpc.JobTypeSystem, 0))
		if st := c.Stats(); st.Counters.EvalsCreated > 10 {
			t.Errorf("%d evaluations for 30 nodes", st.Counters.EvalsCreated)
		}
		if about, err := c.changed.Info(t.Context()); err != nil || about.NumPending+uint64(about.NumAckPending) != 0 {
			t.Errorf("%+v, %v: changes are left", about, err)
		}
	})
}

// TestWritesEnd: when writing ends, amid the work, every server folds what was written, and nothing follows.
func TestWritesEnd(t *testing.T) {
	with(t, Options{}, func(t *testing.T, c *Cluster) {
		jobs := []*rpc.Job{job("a", rpc.JobTypeService, 2), job("b", rpc.JobTypeService, 2)}
		register(t, c, 4, jobs...)
		if !c.Drained() {
			t.Error("nothing goes on, and some server has not folded all")
		}
		if err := c.SetSchedulers(1); err != nil {
			t.Fatal(err)
		}
		for c.Drained() {
			time.Sleep(time.Millisecond)
		}
		c.EndWrites()
		time.Sleep(time.Second)
		snaps := c.Snapshots()
		if !c.Drained() || snaps[0].Index() != snaps[1].Index() || snaps[0].Index() != snaps[2].Index() {
			t.Errorf("a second after writing ended: drained %v, indexes %d, %d, %d", c.Drained(), snaps[0].Index(), snaps[1].Index(), snaps[2].Index())
		}
		if _, err := c.RegisterJob(t.Context(), job("c", rpc.JobTypeService, 1)); err == nil {
			t.Error("a job was written after the end")
		}
		time.Sleep(time.Minute)
		if now := c.Snapshots()[0].Index(); now != snaps[0].Index() {
			t.Errorf("the state went on from %d to %d", snaps[0].Index(), now)
		}
	})
}

// TestNotHere: jobs that need somebody who waits for a time are refused.
func TestNotHere(t *testing.T) {
	with(t, Options{}, func(t *testing.T, c *Cluster) {
		j := job("j", rpc.JobTypeService, 1)
		j.TaskGroups[0].MaxParallel = 1
		if _, err := c.RegisterJob(t.Context(), j); err == nil {
			t.Error("a job with deployments is registered")
		}
	})
}
