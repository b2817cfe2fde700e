package judge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/metrics"
)

// withJob returns an oracle that knows two ready nodes, which have room for three allocations
// each, and a job.
func withJob(t *testing.T, j *rpc.Job) (*oracle, broker.JobID) {
	t.Helper()
	return consult(placed{jobs: []*rpc.Job{j}}.snapshot(t), cluster.Waiting{}), broker.JobID{Namespace: j.Namespace, ID: j.ID}
}

// allocOf is an allocation of a job that runs.
func allocOf(j *rpc.Job, id, node string, changes ...func(*rpc.Allocation)) *rpc.Allocation {
	a := &rpc.Allocation{
		ID: id, Namespace: j.Namespace, JobID: j.ID, JobType: j.Type, TaskGroup: "group", NodeID: node, Name: j.ID + ".group[" + id + "]",
		Resources: allocResources, DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientRunning, CreateIndex: 100, ModifyIndex: 100,
	}
	for _, c := range changes {
		c(a)
	}
	return a
}

func failed(a *rpc.Allocation)    { a.ClientStatus = rpc.AllocClientFailed }
func completed(a *rpc.Allocation) { a.ClientStatus = rpc.AllocClientComplete }
func lost(a *rpc.Allocation)      { a.ClientStatus = rpc.AllocClientLost }
func unknown(a *rpc.Allocation)   { a.ClientStatus = rpc.AllocClientUnknown }
func stopped(a *rpc.Allocation)   { a.DesiredStatus = rpc.AllocDesiredStop }
func at(index uint64) func(*rpc.Allocation) {
	return func(a *rpc.Allocation) { a.ModifyIndex = index }
}
func in(deployment string) func(*rpc.Allocation) {
	return func(a *rpc.Allocation) { a.DeploymentID = deployment }
}

// TestLeftAlone: where nothing is placed again after an allocation that is over.
func TestLeftAlone(t *testing.T) {
	patient := job(rpc.JobTypeSystem, 0, 1)
	patient.TaskGroups[0].MaxClientDisconnect = time.Minute
	for _, c := range []struct {
		name  string
		job   *rpc.Job
		alloc func(j *rpc.Job) *rpc.Allocation
		want  bool
	}{
		{"failed", job(rpc.JobTypeSystem, 0, 1), func(j *rpc.Job) *rpc.Allocation { return allocOf(j, "a", "node0", failed) }, true},
		{"failed and stopped", job(rpc.JobTypeSystem, 0, 1), func(j *rpc.Job) *rpc.Allocation { return allocOf(j, "a", "node0", failed, stopped) }, false},
		{"failed and stopped of a patient one", patient, func(j *rpc.Job) *rpc.Allocation { return allocOf(j, "a", "node0", failed, stopped) }, false},
		{"complete", patient, func(j *rpc.Job) *rpc.Allocation { return allocOf(j, "a", "node0", completed) }, false},
		{"sysbatch, complete", job(rpc.JobTypeSysBatch, 0, 1), func(j *rpc.Job) *rpc.Allocation { return allocOf(j, "a", "node0", completed) }, true},
		{"lost", job(rpc.JobTypeSystem, 0, 1), func(j *rpc.Job) *rpc.Allocation { return allocOf(j, "a", "node0", lost) }, false},
		{"lost after it was waited for", patient, func(j *rpc.Job) *rpc.Allocation { return allocOf(j, "a", "node0", lost) }, true},
		{"lost before the node changed", patient, func(j *rpc.Job) *rpc.Allocation { return allocOf(j, "a", "node0", lost, at(1)) }, false},
		{"lost in the entry that changed the node", patient, func(j *rpc.Job) *rpc.Allocation { return allocOf(j, "a", "node0", lost, at(2)) }, false},
		{"lost with its node", patient, func(j *rpc.Job) *rpc.Allocation { return allocOf(j, "a", "gone", lost) }, false},
		{"lost with its group", patient, func(j *rpc.Job) *rpc.Allocation {
			return allocOf(j, "a", "node0", lost, func(a *rpc.Allocation) { a.TaskGroup = "gone" })
		}, false},
	} {
		o, _ := withJob(t, c.job)
		if o.nodes["node0"].ModifyIndex != 2 {
			t.Fatalf("node0 changed at %d", o.nodes["node0"].ModifyIndex)
		}
		if got := o.leftAlone(c.alloc(c.job), c.job); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestANewVersionOfASysBatchJob does not run where the old one has ended, unless its tasks changed.
func TestANewVersionOfASysBatchJob(t *testing.T) {
	for kind, wants := range map[string][2]bool{rpc.JobTypeSysBatch: {true, false}, rpc.JobTypeSystem: {false, false}} {
		for i, want := range wants {
			j := job(kind, 0, 1)
			o, id := withJob(t, j)
			o.take(allocOf(j, "old", "node0", completed, func(a *rpc.Allocation) { a.JobVersion, a.Resources.CPUMHz = j.Version+7, a.Resources.CPUMHz+i }))
			if got := o.jobs[id].groups[j.TaskGroups[0].Name].over["node0"]; got != want {
				t.Errorf("%s, %d MHz more: over %v, want %v", kind, i, got, want)
			}
		}
	}
}

// TestAllocationsAreTaken: what an allocation counts for, of a service of three.
func TestAllocationsAreTaken(t *testing.T) {
	service, batch, system := job(rpc.JobTypeService, 0, 3), job(rpc.JobTypeBatch, 0, 2), job(rpc.JobTypeSystem, 0, 1)
	patientBatch := job(rpc.JobTypeBatch, 0, 2)
	patientBatch.TaskGroups[0].MaxClientDisconnect = time.Minute
	run := func(j *rpc.Job, ids ...string) (out []*rpc.Allocation) {
		for i, id := range ids {
			out = append(out, allocOf(j, id, fmt.Sprint("node", i%2)))
		}
		return out
	}
	old := func(a *rpc.Allocation) { a.JobVersion = 9 }
	before := func(a *rpc.Allocation) { a.CreateIndex = 1 }
	named := func(name string) func(*rpc.Allocation) { return func(a *rpc.Allocation) { a.Name = name } }
	for _, c := range []struct {
		name   string
		job    *rpc.Job
		allocs []*rpc.Allocation
		want   string // the difference that is found first; empty: none
	}{
		{"two run", service, run(service, "a", "b"), "runs 2 allocations of group, 3 wanted"},
		{"and one has failed in the latest deployment", service, append(run(service, "a", "b"), allocOf(service, "c", "node0", failed, in("d"))), ""},
		{"or in the one before", service, append(run(service, "a", "b"), allocOf(service, "c", "node0", failed, in("d0"))), "runs 2 allocations"},
		{"or in none", service, append(run(service, "a", "b"), allocOf(service, "c", "node0", failed)), "runs 2 allocations"},
		{"or in none, of a job without deployments", service, append(run(service, "a", "b"), allocOf(service, "c", "node0", failed)), "runs 2 allocations"},
		{"or was stopped when it had failed", service, append(run(service, "a", "b"), allocOf(service, "c", "node0", failed, stopped, in("d"))), "runs 2 allocations"},
		{"or is complete", service, append(run(service, "a", "b"), allocOf(service, "c", "node0", completed, in("d"))), "runs 2 allocations"},
		{"one failed in the deployment and was replaced", service, append(run(service, "a", "b", "c"),
			allocOf(service, "d", "node0", failed, in("d"), named("service-000.group[c]"))), ""},
		{"two failed in the deployment, one was replaced", service, append(run(service, "a", "b"),
			allocOf(service, "c", "node0", failed, in("d")), allocOf(service, "d", "node0", failed, in("d"), named("service-000.group[a]"))), ""},
		{"three run and one has failed", service, append(run(service, "a", "b", "c"), allocOf(service, "d", "node0", failed, in("d"))), "runs 4 allocations"},
		{"the last of the names twice", service, append(run(service, "a", "b"), allocOf(service, "c", "node0", named("service-000.group[b]"))), "service-000.group[b] runs 2 times"},

		{"a batch job that is done", batch, []*rpc.Allocation{allocOf(batch, "a", "node0", completed), allocOf(batch, "b", "node0", failed)}, ""},
		{"one of them by the version before", batch, []*rpc.Allocation{allocOf(batch, "a", "node0", completed), allocOf(batch, "b", "node0", completed, old)}, "runs 1 allocation"},
		{"or by the job that had its name before", batch, []*rpc.Allocation{allocOf(batch, "a", "node0", completed), allocOf(batch, "b", "node0", completed, before)}, "runs 1 allocation"},
		{"or one that was lost", batch, []*rpc.Allocation{allocOf(batch, "a", "node0", completed), allocOf(batch, "b", "node0", lost, stopped)}, "runs 1 allocation"},
		{"or one that failed and was stopped", batch, []*rpc.Allocation{allocOf(batch, "a", "node0", completed), allocOf(batch, "b", "node0", failed, stopped)}, "runs 1 allocation"},
		{"done, and more of it out of reach", patientBatch, []*rpc.Allocation{
			allocOf(patientBatch, "a", "node0", completed), allocOf(patientBatch, "b", "node0", completed), allocOf(patientBatch, "c", "node0"),
			allocOf(patientBatch, "d", "node1", unknown), allocOf(patientBatch, "e", "node1", unknown)}, ""},

		{"a system job that failed on one node, where one was stopped since", system, []*rpc.Allocation{
			allocOf(system, "a", "node0"), allocOf(system, "b", "node1", failed), allocOf(system, "c", "node1", completed, stopped)}, ""},
		{"one that failed there in the version before", system, []*rpc.Allocation{
			allocOf(system, "a", "node0"), allocOf(system, "b", "node1", failed, old)}, "does not run on node node1"},
	} {
		o, id := withJob(t, c.job)
		o.wrong, o.wrongs = nil, 0
		if !strings.Contains(c.name, "without deployments") {
			o.deploys[id] = "d"
		}
		for _, a := range c.allocs {
			o.take(a)
		}
		o.compare(id, o.jobs[id])
		if got := strings.Join(o.wrong, "; "); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: differences %q, want %q", c.name, got, c.want)
		}
	}
	// One that has ended and whose job is gone is no difference.
	o, _ := withJob(t, service)
	o.wrong, o.wrongs = nil, 0
	o.take(allocOf(job(rpc.JobTypeService, 7, 1), "x", "node0", completed))
	if !o.ok() {
		t.Errorf("of a job that is gone: %v", o.wrong)
	}
	o.take(allocOf(job(rpc.JobTypeService, 7, 1), "y", "node0", unknown))
	if len(o.jobs) != 2 || o.running != 1 || o.ok() {
		t.Errorf("%d jobs, %d run, differences %v: want both jobs, and one that runs although its job is gone", len(o.jobs), o.running, o.wrong)
	}
}

// TestRoomThatIsKnown: room counts if it appeared, or the job began to wait, since the leader
// led; and what leaves a node is in the way until it has left.
func TestRoomThatIsKnown(t *testing.T) {
	j := job(rpc.JobTypeService, 0, 4)
	for _, c := range []struct {
		name                  string
		blocked, freed, since uint64
		leaving               int // allocations
		want                  bool
	}{
		{"waits since before, as long as the room is there", 5, 5, 9, 0, false},
		{"the room is newer", 5, 10, 9, 0, true},
		{"as new as the leader", 5, 9, 9, 0, true},
		{"it waits since later", 10, 5, 9, 0, true},
		{"since the leader leads", 9, 5, 9, 0, true},
		{"all rooms are about to be free", 10, 10, 9, 3, false},
		{"one is free", 10, 10, 9, 2, true},
	} {
		o, id := withJob(t, j)
		o.blocked[id], o.waiting.Since, o.freed["node0"] = c.blocked, c.since, c.freed
		for i := range c.leaving {
			o.take(allocOf(j, fmt.Sprint(i), "node0", stopped, at(c.freed)))
		}
		if got := o.knowsOfRoom(id, o.nodes["node0"], &j.TaskGroups[0]); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	// A node's return announces what was lost by then.
	for _, c := range []struct {
		lostAt uint64
		want   bool
	}{{1, true}, {20, false}} {
		o, id := withJob(t, j)
		o.blocked[id] = 5
		for i := range 3 {
			o.take(allocOf(j, fmt.Sprint(i), "node0", lost, at(c.lostAt)))
		}
		if got := o.knowsOfRoom(id, o.nodes["node0"], &j.TaskGroups[0]); got != c.want {
			t.Errorf("lost at %d on a node that came back at %d: %v, want %v", c.lostAt, o.nodes["node0"].ModifyIndex, got, c.want)
		}
	}
	o, _ := withJob(t, j)
	for _, index := range []uint64{7, 50, 20} {
		o.take(allocOf(j, fmt.Sprint(index), "node0", completed, at(index)))
	}
	if o.leaving["node0"] != (rpc.Resources{}) {
		t.Errorf("%+v is leaving, though all of it has left", o.leaving["node0"])
	}
	if o.freed["node0"] != 50 {
		t.Errorf("room since %d, want since 50", o.freed["node0"])
	}
}

// TestComparable: how many allocations of a group two brokers must agree on.
func TestComparable(t *testing.T) {
	child := job(rpc.JobTypeBatch, 0, 5)
	child.ParentID = "parent"
	g := func() *groupView {
		return &groupView{
			on: map[string]int{"node0": 2, "node2": 1}, over: map[string]bool{"node1": true, "node2": true}, live: 3, ended: 1,
			names: map[string][]*rpc.Allocation{"a": {{}}}, held: map[string]bool{"a": true, "b": true, "c": true},
		}
	}
	for _, c := range []struct {
		name  string
		job   *rpc.Job
		group string
		want  int
	}{
		{"of a job that is gone", nil, "group", 3},
		{"of a group that is gone", job(rpc.JobTypeService, 0, 5), "gone", 3},
		{"a launch of a periodic job", child, "group", 0},
		{"a sysbatch job", job(rpc.JobTypeSysBatch, 0, 1), "group", 0},
		{"a batch job that wants one more", job(rpc.JobTypeBatch, 0, 5), "group", 1},
		{"a batch job that has enough, as one that was collected", job(rpc.JobTypeBatch, 0, 2), "group", 0},
		{"a service with two that failed in its deployment", job(rpc.JobTypeService, 0, 5), "group", 5},
		{"a system job, on the nodes that are ready", job(rpc.JobTypeSystem, 0, 1), "group", 2},
	} {
		o, _ := withJob(t, job(rpc.JobTypeService, 1, 1))
		o.nodes["node2"].Status = rpc.NodeStatusReady
		for nodes, want := range map[string]int{"": 0, "node0": 1, "node1": 1, "node2": 1, "node0 node1": 2} {
			view := &groupView{on: map[string]int{}}
			for _, n := range strings.Fields(nodes) {
				view.on[n] = 1
			}
			if got := o.comparable(job(rpc.JobTypeSystem, 0, 1), "group", view); got != want {
				t.Errorf("a system job on %q: %d, want %d", nodes, got, want)
			}
		}
		o.nodes["node2"].Status = rpc.NodeStatusDown
		if got := o.comparable(c.job, c.group, g()); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestWhatTheOutcomeLeavesOut: nodes that are away and jobs that run nothing.
func TestWhatTheOutcomeLeavesOut(t *testing.T) {
	service := job(rpc.JobTypeService, 0, 1)
	base := placed{jobs: []*rpc.Job{service}, allocs: []string{"service-000/node0"}}
	outcome := func(change func(p *placed)) string {
		p := base
		change(&p)
		return consult(p.snapshot(t), cluster.Waiting{}).outcome()
	}
	want := outcome(func(*placed) {})
	for name, got := range map[string]string{
		"a node is disconnected, not down": outcome(func(p *placed) { p.nodes = func(n []*rpc.Node) { n[2].Status = rpc.NodeStatusDisconnected } }),
		"a job that is done": outcome(func(p *placed) {
			p.jobs, p.allocs = append([]*rpc.Job{job(rpc.JobTypeSysBatch, 0, 1)}, p.jobs...), append([]string{"sysbatch-000/node0 complete"}, p.allocs...)
		}),
	} {
		if got != want {
			t.Errorf("%s: outcome %s, want %s", name, got, want)
		}
	}
	for name, change := range map[string]func(p *placed){
		"a node less":                          func(p *placed) { p.nodes = func(n []*rpc.Node) { n[1].Status = rpc.NodeStatusDown } },
		"a job that has nothing":               func(p *placed) { p.allocs = nil },
		"one that runs though its job is gone": func(p *placed) { p.allocs = append([]string{"gone/node1"}, p.allocs...) },
	} {
		if got := outcome(change); got == want {
			t.Errorf("%s: the same outcome", name)
		}
	}
	several := func(p *placed) {
		for i := range 6 {
			p.jobs, p.allocs = append(p.jobs, job(rpc.JobTypeService, i+1, 1)), append(p.allocs, fmt.Sprintf("service-%03d/node%d", i+1, i%2))
		}
	}
	for range 10 { // whatever the order of a map
		if a, b := outcome(several), outcome(several); a != b {
			t.Fatalf("of one state the outcomes are %s and %s", a, b)
		}
	}
}

// TestDifferencesAreCounted: three are spelled out, in the order of the jobs, and all counted.
func TestDifferencesAreCounted(t *testing.T) {
	p := placed{}
	for i := range 4 {
		p.jobs = append(p.jobs, job(rpc.JobTypeService, 3-i, 1))
	}
	for range 5 { // whatever the order of a map
		got := AsOracle("drain", p.snapshot(t), cluster.Waiting{}).Detail
		first, second := strings.Index(got, "service-000"), strings.Index(got, "service-001")
		if first < 0 || second < first || strings.Contains(got, "service-003") || !strings.Contains(got, "service-002") ||
			!strings.Contains(got, "4 differences from the oracle") || !strings.Contains(got, "4 jobs on 2 ready nodes: 4 allocations wanted, 0 run, 0 jobs wait") {
			t.Fatalf("%s", got)
		}
	}
}

// TestDeploymentsOfTheState: the oracle knows the latest deployment of every job.
func TestDeploymentsOfTheState(t *testing.T) {
	s := state.New()
	for i, id := range []string{"a", "b"} {
		must(t, s.Update(uint64(i+1), func(tx *state.Tx) error {
			return tx.UpsertDeployment(&rpc.Deployment{ID: "d" + id, Namespace: "default", JobID: id})
		}))
	}
	o := consult(s.Snapshot(), cluster.Waiting{})
	for _, id := range []string{"a", "b"} {
		if got := o.deploys[broker.JobID{Namespace: "default", ID: id}]; got != "d"+id {
			t.Errorf("deployment %q of job %s", got, id)
		}
	}
}

// TestHistoriesOfTheState: what the oracle reads of the indexes of a state.
func TestHistoriesOfTheState(t *testing.T) {
	node := func(id string) func(tx *state.Tx) error {
		return func(tx *state.Tx) error {
			return tx.UpsertNode(&rpc.Node{ID: id, Datacenter: "dc1", Status: rpc.NodeStatusReady, Resources: allocResources})
		}
	}
	blocked := func(id, job string) func(tx *state.Tx) error {
		return func(tx *state.Tx) error { return tx.UpsertEvals(eval(id, job, broker.StatusBlocked)) }
	}
	looked := func(status string, at uint64) func(tx *state.Tx) error {
		return func(tx *state.Tx) error {
			e := eval("e", "sysbatch-000", status)
			e.SnapshotIndex = at
			return tx.UpsertEvals(e)
		}
	}
	jobs := func(jobs ...*rpc.Job) func(tx *state.Tx) error {
		return func(tx *state.Tx) error {
			for _, j := range jobs {
				if err := tx.UpsertJob(j); err != nil {
					return err
				}
			}
			return nil
		}
	}
	service, batch, sysbatch := job(rpc.JobTypeService, 0, 1), job(rpc.JobTypeBatch, 0, 2), job(rpc.JobTypeSysBatch, 0, 1)
	replacement := allocOf(batch, "a", "n", completed)
	replacement.PreviousAllocation = "b"
	for _, c := range []struct {
		name    string
		since   uint64
		entries []func(tx *state.Tx) error // at the indexes from 1 on
		ok      bool
	}{
		{"a node that registered under this leader has room", 4, []func(*state.Tx) error{jobs(service), blocked("e", "service-000"), node("n")}, true},
		{"and one that was there wakes who blocks again", 3, []func(*state.Tx) error{jobs(service), node("n"), blocked("e", "service-000")}, false},
		{"a node that registers after the leader led", 3, []func(*state.Tx) error{jobs(service), blocked("e", "service-000"), node("n")}, false},
		{"of two that are blocked the newer counts", 4, []func(*state.Tx) error{jobs(service), node("n"), blocked("e", "service-000"), blocked("f", "service-000")}, false},
		{"a sysbatch job was looked at with the node", 0, []func(*state.Tx) error{jobs(sysbatch), node("n"), looked(broker.StatusComplete, 2)}, false},
		{"it was looked at before", 0, []func(*state.Tx) error{jobs(sysbatch), node("n"), looked(broker.StatusComplete, 1)}, true},
		{"it was not looked at to the end", 0, []func(*state.Tx) error{jobs(sysbatch), node("n"), looked(broker.StatusFailed, 2)}, true},
		{"the first allocation is a replacement", 0, []func(*state.Tx) error{jobs(batch), node("n"), func(tx *state.Tx) error {
			return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{replacement, allocOf(batch, "b", "n", completed)}})
		}}, false},
	} {
		s := state.New()
		for i, entry := range c.entries {
			must(t, s.Update(uint64(i+1), entry))
		}
		if o := consult(s.Snapshot(), cluster.Waiting{Since: c.since}); o.ok() != c.ok {
			t.Errorf("%s: in order is %v, want %v: %v", c.name, o.ok(), c.ok, o)
		}
	}
}

// TestNamesThatAnUpdateRepeats: the first two allocations of each line run under one name, and the
// others are over. "a1<x" is a of version 1, in the place of x.
func TestNamesThatAnUpdateRepeats(t *testing.T) {
	for _, c := range []struct {
		allocs string
		want   bool
	}{
		{"a1<x b1<x x0", true},
		{"a1<x b1<x", true},
		{"a2<x b1<x x1", true},
		{"a1<x b1<x x1", false},
		{"a1<c b1<x c1<x x0", true},
		{"a1<c b1<x c1<x", true},
		{"a1<c b1<x c1<x x1", false},
		{"a1<x x0", true},
		{"a1<x x1", false},
		{"a1 b1", false},
		{"a1<x b1<y x0 y0", false},
		{"a1<x b1<y", false},
	} {
		s := state.New()
		var running []*rpc.Allocation
		j := job(rpc.JobTypeService, 0, 2)
		for i, text := range strings.Fields(c.allocs) {
			text, previous, _ := strings.Cut(text, "<")
			a := allocOf(j, text[:1], "node", func(a *rpc.Allocation) { a.JobVersion, a.PreviousAllocation = uint64(text[1]-'0'), previous })
			if i < 2 {
				running = append(running, a)
			} else {
				stopped(a)
			}
			must(t, s.Update(uint64(i+1), func(tx *state.Tx) error {
				return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{a}})
			}))
		}
		o := consult(s.Snapshot(), cluster.Waiting{})
		if o.updatedTwice(running[0], running[1]) != c.want || o.updatedTwice(running[1], running[0]) != c.want {
			t.Errorf("%s: repeated by an update: %v", c.allocs, !c.want)
		}
		running = append(running, allocOf(j, "z", "node"))
		if want := map[bool]int{true: 2, false: 3}[c.want]; o.severally(running) != want {
			t.Errorf("%s and another count as %d, want %d", c.allocs, o.severally(running), want)
		}
	}
	p := placed{jobs: []*rpc.Job{job(rpc.JobTypeService, 0, 3)}, allocs: []string{"service-000/node0", "service-000/node0", "service-000/node1 again"}}
	wantCheck(t, AsOracle("drain", p.snapshot(t), cluster.Waiting{}), InvariantOracle, false, "service-000.group[0] runs 2 times")
}

// TestWhatIsWanted counts by the jobs, and what runs by the state.
func TestWhatIsWanted(t *testing.T) {
	p := placed{
		jobs:   []*rpc.Job{job(rpc.JobTypeSystem, 0, 1), job(rpc.JobTypeService, 0, 2)},
		allocs: []string{"system-000/node0", "system-000/node1", "system-000/node2", "service-000/node0", "service-000/node1"},
		nodes:  func(n []*rpc.Node) { n[2].Status = rpc.NodeStatusReady },
	}
	wantCheck(t, AsOracle("drain", p.snapshot(t), cluster.Waiting{}), InvariantOracle, true, "2 jobs on 3 ready nodes: 5 allocations wanted, 5 run, 0 jobs wait")
}

// TestDatacenters: a job of another datacenter is not wanted on the nodes of this one.
func TestDatacenters(t *testing.T) {
	elsewhere := job(rpc.JobTypeSystem, 0, 1)
	elsewhere.Datacenters = []string{"dc2"}
	wantCheck(t, AsOracle("drain", placed{jobs: []*rpc.Job{elsewhere}}.snapshot(t), cluster.Waiting{}), InvariantOracle, true, "0 allocations wanted")
}

func TestOutcomeOf(t *testing.T) {
	check := func(name, detail string) metrics.Invariant { return metrics.Invariant{Name: name, Detail: detail} }
	for _, c := range []struct {
		invariants []metrics.Invariant
		want       string
	}{
		{nil, ""},
		{[]metrics.Invariant{check(InvariantOracle, "after drain: outcome 1-2; and more")}, "1-2"},
		{[]metrics.Invariant{check(InvariantOracle, "outcome 1-2"), check(InvariantOracle, "outcome 3-4")}, "3-4"},
		{[]metrics.Invariant{check(InvariantOracle, "outcome 1-2"), check(InvariantConserved, "outcome 3-4")}, "1-2"},
		{[]metrics.Invariant{check(InvariantOracle, "outcome 1-2"), check(InvariantOracle, "nothing of the kind")}, "1-2"},
		{[]metrics.Invariant{check(InvariantOracle, "nothing of the kind")}, ""},
	} {
		if got := OutcomeOf(&metrics.Result{Invariants: c.invariants}); got != c.want {
			t.Errorf("%v: %q, want %q", c.invariants, got, c.want)
		}
	}
}
