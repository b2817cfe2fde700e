package judge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
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

func failed(a *rpc.Allocation) { a.ClientStatus = rpc.AllocClientFailed }

func completed(a *rpc.Allocation) { a.ClientStatus = rpc.AllocClientComplete }

func lost(a *rpc.Allocation) { a.ClientStatus = rpc.AllocClientLost }

func unknown(a *rpc.Allocation) { a.ClientStatus = rpc.AllocClientUnknown }

func stopped(a *rpc.Allocation) { a.DesiredStatus = rpc.AllocDesiredStop }

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
	leaves := func(a *rpc.Allocation) { a.Migrate = true }
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
		{"two run of a job whose deployment failed", service, run(service, "a", "b"), ""},
		{"four run of a job whose deployment failed", service, run(service, "a", "b", "c", "d"), "runs 4 allocations"},
		{"two run, and the deployment that failed was that of the version before", service, run(service, "a", "b"), "runs 2 allocations"},
		{"the last of the names twice", service, append(run(service, "a", "b"), allocOf(service, "c", "node0", named("service-000.group[b]"))), "service-000.group[b] runs 2 times"},

		{"a batch job that is done", batch, []*rpc.Allocation{allocOf(batch, "a", "node0", completed), allocOf(batch, "b", "node0", failed)}, ""},
		{"one of them by the version before", batch, []*rpc.Allocation{allocOf(batch, "a", "node0", completed), allocOf(batch, "b", "node0", completed, old)}, "runs 1 allocation"},
		{"or by the job that had its name before", batch, []*rpc.Allocation{allocOf(batch, "a", "node0", completed), allocOf(batch, "b", "node0", completed, before)}, "runs 1 allocation"},
		{"or one that was lost", batch, []*rpc.Allocation{allocOf(batch, "a", "node0", completed), allocOf(batch, "b", "node0", lost, stopped)}, "runs 1 allocation"},
		{"or one that failed and was stopped", batch, []*rpc.Allocation{allocOf(batch, "a", "node0", completed), allocOf(batch, "b", "node0", failed, stopped)}, "runs 1 allocation"},
		{"or one that a drain ended", batch, []*rpc.Allocation{allocOf(batch, "a", "node0"), allocOf(batch, "b", "node0", stopped, leaves)}, "runs 1 allocation"},
		{"or one that a drain ended, as it may", batch, []*rpc.Allocation{allocOf(batch, "a", "node0"), allocOf(batch, "b", "node0", stopped, leaves)}, ""},
		{"or one that was lost where a drain would end it, as it may", batch, []*rpc.Allocation{allocOf(batch, "a", "node0", completed), allocOf(batch, "b", "node0", lost, stopped)}, "runs 1 allocation"},
		{"done, and more of it out of reach", patientBatch, []*rpc.Allocation{
			allocOf(patientBatch, "a", "node0", completed), allocOf(patientBatch, "b", "node0", completed), allocOf(patientBatch, "c", "node0"),
			allocOf(patientBatch, "d", "node1", unknown), allocOf(patientBatch, "e", "node1", unknown)}, ""},

		{"a system job that failed on one node, where one was stopped since", system, []*rpc.Allocation{
			allocOf(system, "a", "node0"), allocOf(system, "b", "node1", failed), allocOf(system, "c", "node1", completed, stopped)}, ""},
		{"one that is out of reach, and outlives its node", system, []*rpc.Allocation{
			allocOf(system, "a", "node0"), allocOf(system, "b", "node1"), allocOf(system, "c", "gone", unknown)}, ""},
		{"or goes with its node", system, []*rpc.Allocation{
			allocOf(system, "a", "node0"), allocOf(system, "b", "node1"), allocOf(system, "c", "gone", unknown)}, "node gone, which is gone"},
		{"one that runs in the version before, while its deployment waits", system, []*rpc.Allocation{allocOf(system, "a", "node0"), allocOf(system, "b", "node1", old)}, ""},
		{"or whose deployment failed", system, []*rpc.Allocation{allocOf(system, "a", "node0"), allocOf(system, "b", "node1", old)}, ""},
		{"or has none, since that of the version before failed", system, []*rpc.Allocation{allocOf(system, "a", "node0"), allocOf(system, "b", "node1", old)}, ""},
		{"or was canceled", system, []*rpc.Allocation{allocOf(system, "a", "node0"), allocOf(system, "b", "node1", old)}, ""},
		{"but not if it succeeded", system, []*rpc.Allocation{allocOf(system, "a", "node0"), allocOf(system, "b", "node1", old)}, "runs version 9"},
		{"one that failed there in the version before", system, []*rpc.Allocation{
			allocOf(system, "a", "node0"), allocOf(system, "b", "node1", failed, old)}, "does not run on node node1"},
	} {
		o, id := withJob(t, c.job)
		o.wrong, o.wrongs = nil, 0
		o.waiting.DrainEndsBatch = strings.HasSuffix(c.name, "as it may")
		o.waiting.SystemsSurvive = strings.HasSuffix(c.name, "outlives its node")
		if !strings.Contains(c.name, "without deployments") {
			o.deploys[id] = &rpc.Deployment{ID: "d", Status: rpc.DeploymentRunning, JobVersion: c.job.Version}
		}
		switch {
		case strings.HasSuffix(c.name, "whose deployment failed"):
			o.deploys[id].Status = rpc.DeploymentFailed
		case strings.HasSuffix(c.name, "since that of the version before failed"):
			o.deploys[id].Status = rpc.DeploymentFailed
			o.deploys[id].JobVersion--
		case strings.HasSuffix(c.name, "or was canceled"):
			o.deploys[id].Status = rpc.DeploymentCancelled
			o.deploys[id].JobVersion--
		case strings.HasSuffix(c.name, "if it succeeded"):
			o.deploys[id].Status = rpc.DeploymentSuccessful
			o.deploys[id].JobVersion--
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
	for retried, want := range map[uint64]bool{10: false, 8: true} { // by the last evaluation that blocked, or by one before
		o, id := withJob(t, j)
		o.blocked[id], o.freed["node0"], o.retried[id] = 10, 20, retried
		if got := o.knowsOfRoom(id, o.nodes["node0"], &j.TaskGroups[0]); got != want {
			t.Errorf("tried again since %d, blocked since 10: %v, want %v", retried, got, want)
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

// TestStoppedJobsThatRunOn: what a stopped job runs is out of order, but for jobs of several groups in releases that stop one at a time.
func TestStoppedJobsThatRunOn(t *testing.T) {
	for _, c := range []struct {
		kind          string
		groups        int
		one, gone, ok bool
	}{
		{rpc.JobTypeService, 1, false, false, false},
		{rpc.JobTypeService, 1, true, false, false},
		{rpc.JobTypeService, 2, false, false, false},
		{rpc.JobTypeService, 2, true, false, true},
		{rpc.JobTypeBatch, 2, true, false, true},
		{rpc.JobTypeSystem, 2, true, false, false},
		{rpc.JobTypeService, 2, false, true, false},
		{rpc.JobTypeService, 2, true, true, true},
	} {
		j := job(c.kind, 0, 1)
		for len(j.TaskGroups) < c.groups {
			j.TaskGroups = append(j.TaskGroups, rpc.TaskGroup{Name: "other"})
		}
		j.Stop = true
		o := &oracle{waiting: cluster.Waiting{StopsOneGroup: c.one}}
		if c.gone {
			o.compareAlloc(&rpc.Allocation{JobType: c.kind}, nil)
		} else {
			o = consult(placed{jobs: []*rpc.Job{j}, allocs: []string{j.ID + "/node0"}}.snapshot(t), o.waiting)
		}
		if o.ok() != c.ok {
			t.Errorf("%+v: in order is %v: %v", c, o.ok(), o)
		}
	}
}
