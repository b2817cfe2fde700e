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
)

// placed is a state of three nodes with room for three allocations each, the third down,
// and of jobs with allocations. Each is written "job/node", and may be followed by what is
// unusual about it.
type placed struct {
	jobs    []*rpc.Job
	allocs  []string
	blocked []string // jobs
	looked  []string // jobs that were evaluated in the end
	nodes   func(nodes []*rpc.Node)
}

func (p placed) snapshot(t *testing.T) *state.Snapshot {
	t.Helper()
	s := state.New()
	index := uint64(1)
	next := func() uint64 { index++; return index }
	var nodes []*rpc.Node
	for i := range 3 {
		nodes = append(nodes, &rpc.Node{
			ID: fmt.Sprint("node", i), Datacenter: "dc1", Status: rpc.NodeStatusReady, SchedulingEligibility: rpc.NodeEligible,
			Resources: rpc.Resources{CPUMHz: 3 * allocResources.CPUMHz, MemoryMB: 3 * allocResources.MemoryMB, DiskMB: 3 * allocResources.DiskMB},
		})
	}
	nodes[2].Status = rpc.NodeStatusDown
	if p.nodes != nil {
		p.nodes(nodes)
	}
	for _, n := range nodes {
		must(t, s.Update(next(), func(tx *state.Tx) error { return tx.UpsertNode(n) }))
	}
	byID := map[string]*rpc.Job{}
	for _, j := range p.jobs {
		must(t, s.Update(next(), func(tx *state.Tx) error { return tx.UpsertJob(j) }))
		byID[j.ID] = j
	}
	results := &state.PlanResults{EvalID: "e"}
	count := map[string]int{}
	for i, text := range p.allocs {
		where, unusual, _ := strings.Cut(text, " ")
		id, node, _ := strings.Cut(where, "/")
		a := &rpc.Allocation{
			ID: fmt.Sprintf("alloc-%02d", i), Namespace: rpc.DefaultNamespace, JobID: id, NodeID: node, TaskGroup: "group",
			Name: fmt.Sprintf("%s.group[%d]", id, count[id]), Resources: allocResources,
			DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientRunning,
		}
		if byID[id] != nil {
			a.JobType = byID[id].Type
		}
		if j := byID[id]; j != nil && (j.Type == rpc.JobTypeSystem || j.Type == rpc.JobTypeSysBatch) {
			a.Name = id + ".group[0]"
		}
		count[id]++
		switch unusual {
		case "":
		case "complete", "failed", "unknown", "pending":
			a.ClientStatus = unusual
		case "stop":
			a.DesiredStatus = rpc.AllocDesiredStop
		case "old and back":
			a.JobVersion, a.Reach = 7, &rpc.Reach{DisconnectedAt: 1}
		case "old":
			a.JobVersion = 7
		case "replaces":
			a.PreviousAllocation = results.AllocsUpdated[i-1].ID
		case "stranger":
			a.TaskGroup = "gone"
		case "again":
			a.Name = fmt.Sprintf("%s.group[0]", id)
		default:
			t.Fatalf("allocation %q: what is %q?", text, unusual)
		}
		results.AllocsUpdated = append(results.AllocsUpdated, a)
	}
	must(t, s.Update(next(), func(tx *state.Tx) error {
		return tx.UpsertEvals(eval("e", "j", broker.StatusComplete))
	}))
	must(t, s.Update(next(), func(tx *state.Tx) error { return tx.UpsertPlanResults(results) }))
	for _, j := range p.blocked {
		must(t, s.Update(next(), func(tx *state.Tx) error {
			return tx.UpsertEvals(eval("blocked-"+j, j, broker.StatusBlocked))
		}))
	}
	for _, j := range p.looked {
		e := eval("looked-"+j, j, broker.StatusComplete)
		e.SnapshotIndex = index
		must(t, s.Update(next(), func(tx *state.Tx) error { return tx.UpsertEvals(e) }))
	}
	return s.Snapshot()
}

func TestTheReferenceFindsEveryDifference(t *testing.T) {
	system, service, batch := job(rpc.JobTypeSystem, 0, 1), job(rpc.JobTypeService, 0, 3), job(rpc.JobTypeBatch, 0, 2)
	changed := func(j *rpc.Job, change func(*rpc.Job)) *rpc.Job {
		c := j.Copy()
		c.TaskGroups = append([]rpc.TaskGroup(nil), j.TaskGroups...)
		change(c)
		return c
	}
	stopped := changed(system, func(j *rpc.Job) { j.Stop = true })
	elsewhere := changed(system, func(j *rpc.Job) { j.Datacenters = []string{"dc2"} })
	patient := changed(service, func(j *rpc.Job) { j.TaskGroups[0].MaxClientDisconnect = time.Minute })
	patientSystem := changed(system, func(j *rpc.Job) { j.TaskGroups[0].MaxClientDisconnect = time.Minute })
	sysbatch := job(rpc.JobTypeSysBatch, 0, 1)
	rolling := changed(service, func(j *rpc.Job) { j.TaskGroups[0].MaxParallel = 1 })
	big := changed(service, func(j *rpc.Job) { j.TaskGroups[0].Count = 9 })
	periodic := changed(batch, func(j *rpc.Job) { j.Periodic = &rpc.PeriodicConfig{Every: time.Hour} })
	bigBatch := changed(batch, func(j *rpc.Job) { j.TaskGroups[0].Count = 9 })
	allReady := func(n []*rpc.Node) { n[2].Status = rpc.NodeStatusReady }
	disconnected := func(n []*rpc.Node) { n[1].Status = rpc.NodeStatusDisconnected }
	cases := []struct {
		name  string
		state placed
		want  string // a difference; empty = none
	}{
		{"a system job on both ready nodes", placed{jobs: []*rpc.Job{system}, allocs: []string{"system-000/node0", "system-000/node1"}}, ""},
		{"missing on one", placed{jobs: []*rpc.Job{system}, allocs: []string{"system-000/node1"}}, "system-000 does not run on node node0"},
		{"missing on one that is not eligible", placed{jobs: []*rpc.Job{system}, allocs: []string{"system-000/node1"},
			nodes: func(n []*rpc.Node) { n[0].SchedulingEligibility = rpc.NodeIneligible }}, ""},
		{"twice on one", placed{jobs: []*rpc.Job{system}, allocs: []string{"system-000/node0", "system-000/node0", "system-000/node1"}}, "2 times on node node0"},
		{"on the node that is down", placed{jobs: []*rpc.Job{system}, allocs: []string{"system-000/node0", "system-000/node1", "system-000/node2"}}, "node2, which is gone"},
		{"on a node nobody knows", placed{jobs: []*rpc.Job{system}, allocs: []string{"system-000/node0", "system-000/node1", "system-000/node9"}}, "node9, which is gone"},
		{"in another datacenter", placed{jobs: []*rpc.Job{elsewhere}, allocs: []string{"system-000/node0"}}, "in datacenter dc1, where its job does not"},
		{"of a stopped job", placed{jobs: []*rpc.Job{stopped}, allocs: []string{"system-000/node0"}}, "its job does not"},
		{"of a job that was purged", placed{allocs: []string{"gone/node0"}}, "its job does not"},
		{"stopped with its job", placed{jobs: []*rpc.Job{stopped}, allocs: []string{"system-000/node0 stop"}}, ""},
		{"of an old version", placed{jobs: []*rpc.Job{system}, allocs: []string{"system-000/node0", "system-000/node1 old"}}, "version 7 of its job"},

		{"of a group that is gone", placed{jobs: []*rpc.Job{system}, allocs: []string{"system-000/node0", "system-000/node1 stranger"}}, "its job has no group gone"},
		{"of an old version on a node that accepts nothing", placed{jobs: []*rpc.Job{system}, allocs: []string{"system-000/node0", "system-000/node1 old"},
			nodes: func(n []*rpc.Node) { n[1].SchedulingEligibility = rpc.NodeIneligible }}, ""},
		{"in another datacenter on a node that accepts nothing", placed{jobs: []*rpc.Job{elsewhere}, allocs: []string{"system-000/node0"},
			nodes: func(n []*rpc.Node) { n[0].SchedulingEligibility = rpc.NodeIneligible }}, ""},
		{"missing on the last node", placed{jobs: []*rpc.Job{system}, allocs: []string{"system-000/node0", "system-000/node1"}, nodes: allReady}, "does not run on node node2"},
		{"missing where there is no room, and waiting", placed{jobs: []*rpc.Job{system, service}, blocked: []string{"system-000"}, allocs: []string{
			"system-000/node0", "service-000/node1", "service-000/node1", "service-000/node1"}}, ""},
		{"missing where there is no room, and not waiting", placed{jobs: []*rpc.Job{system, service}, allocs: []string{
			"system-000/node0", "service-000/node1", "service-000/node1", "service-000/node1"}}, "system-000 does not run on node node1"},
		{"missing where there is room, and waiting", placed{jobs: []*rpc.Job{system}, blocked: []string{"system-000"}, allocs: []string{"system-000/node0"}},
			"system-000 does not run on node node1"},
		{"of an old version while its job waits for room", placed{jobs: []*rpc.Job{system}, blocked: []string{"system-000"}, allocs: []string{
			"system-000/node0", "system-000/node1 old"}}, "version 7 of its job"},

		{"a service with its count", placed{jobs: []*rpc.Job{service}, allocs: []string{"service-000/node0", "service-000/node0", "service-000/node1"}}, ""},
		{"one short", placed{jobs: []*rpc.Job{service}, allocs: []string{"service-000/node0", "service-000/node0"}}, "runs 2 allocations of group, 3 wanted, and does not wait"},
		{"one finished", placed{jobs: []*rpc.Job{service}, allocs: []string{"service-000/node0", "service-000/node0", "service-000/node1 complete"}}, "runs 2 allocations"},
		{"one too many", placed{jobs: []*rpc.Job{service}, allocs: []string{"service-000/node0", "service-000/node0", "service-000/node1", "service-000/node1"}}, "runs 4 allocations of group, 3 wanted"},
		{"one name twice", placed{jobs: []*rpc.Job{service}, allocs: []string{"service-000/node0", "service-000/node0", "service-000/node1 again"}}, "service-000.group[0] runs 2 times"},
		{"short for want of room", placed{jobs: []*rpc.Job{big}, blocked: []string{"service-000"}, allocs: []string{
			"service-000/node0", "service-000/node0", "service-000/node0", "service-000/node1", "service-000/node1", "service-000/node1"}}, ""},
		{"waiting for room that is there", placed{jobs: []*rpc.Job{big}, blocked: []string{"service-000"}, allocs: []string{
			"service-000/node0", "service-000/node0", "service-000/node0", "service-000/node1"}}, "node node1 has room"},
		{"room on the last node", placed{jobs: []*rpc.Job{big}, blocked: []string{"service-000"}, nodes: allReady, allocs: []string{
			"service-000/node0", "service-000/node0", "service-000/node0", "service-000/node1", "service-000/node1", "service-000/node1"}}, "node node2 has room"},
		{"room in another datacenter", placed{jobs: []*rpc.Job{big}, blocked: []string{"service-000"}, allocs: []string{
			"service-000/node0", "service-000/node0", "service-000/node0", "service-000/node1", "service-000/node1", "service-000/node1"},
			nodes: func(n []*rpc.Node) { n[2].Status, n[2].Datacenter = rpc.NodeStatusReady, "dc2" }}, ""},
		{"of an old version", placed{jobs: []*rpc.Job{service}, allocs: []string{"service-000/node0", "service-000/node0", "service-000/node1 old"}}, "version 7 of its job"},
		{"of an old version while it waits for room", placed{jobs: []*rpc.Job{big}, blocked: []string{"service-000"}, allocs: []string{
			"service-000/node0", "service-000/node0", "service-000/node0", "service-000/node1", "service-000/node1", "service-000/node1 old"}}, ""},
		{"a batch job of an old version while it waits for room", placed{jobs: []*rpc.Job{bigBatch}, blocked: []string{"batch-000"}, allocs: []string{
			"batch-000/node0", "batch-000/node0", "batch-000/node0", "batch-000/node1", "batch-000/node1", "batch-000/node1 old"}}, ""},
		{"more than fits on the last node", placed{jobs: []*rpc.Job{changed(service, func(j *rpc.Job) { j.TaskGroups[0].Count = 4 })}, nodes: allReady, allocs: []string{
			"service-000/node2", "service-000/node2", "service-000/node2", "service-000/node2"}}, "node node2 holds"},
		{"more than fits", placed{jobs: []*rpc.Job{changed(service, func(j *rpc.Job) { j.TaskGroups[0].Count = 4 })}, allocs: []string{
			"service-000/node0", "service-000/node0", "service-000/node0", "service-000/node0"}}, "node node0 holds"},
		{"an old version that was out of reach meanwhile", placed{jobs: []*rpc.Job{patient}, allocs: []string{"service-000/node0", "service-000/node0", "service-000/node1 old and back"}}, ""},
		{"an old version in a rolling update", placed{jobs: []*rpc.Job{rolling}, allocs: []string{"service-000/node0", "service-000/node0", "service-000/node1 old"}}, ""},

		{"unknown while it may come back, and replaced", placed{jobs: []*rpc.Job{patient}, nodes: disconnected, allocs: []string{
			"service-000/node0", "service-000/node0", "service-000/node1 unknown", "service-000/node0 again"}}, ""},
		{"unknown while it may come back, and replaced twice", placed{jobs: []*rpc.Job{patient}, nodes: disconnected, allocs: []string{
			"service-000/node0", "service-000/node0", "service-000/node1 unknown", "service-000/node0 again", "service-000/node0 again"}},
			"runs 4 allocations of group, 3 wanted"},
		{"unknown while it may come back", placed{jobs: []*rpc.Job{patient}, nodes: disconnected, allocs: []string{
			"service-000/node0", "service-000/node0", "service-000/node1 unknown"}}, ""},
		{"running out of reach", placed{jobs: []*rpc.Job{patient}, nodes: disconnected, allocs: []string{
			"service-000/node0", "service-000/node0", "service-000/node1"}}, "is running on node node1, which is disconnected"},
		{"unknown, but its job does not allow that", placed{jobs: []*rpc.Job{service}, nodes: disconnected, allocs: []string{
			"service-000/node0", "service-000/node0", "service-000/node1 unknown"}}, "is unknown on node node1, which is disconnected"},

		{"a system job that cannot be out of reach, on a disconnected node", placed{jobs: []*rpc.Job{system}, nodes: disconnected, allocs: []string{
			"system-000/node0", "system-000/node1"}}, ""},
		{"a system job that can, and runs there", placed{jobs: []*rpc.Job{patientSystem}, nodes: disconnected, allocs: []string{
			"system-000/node0", "system-000/node1"}}, "is running on node node1, which is disconnected"},
		{"unknown there", placed{jobs: []*rpc.Job{patientSystem}, nodes: disconnected, allocs: []string{
			"system-000/node0", "system-000/node1 unknown"}}, ""},
		{"never heard of there", placed{jobs: []*rpc.Job{patientSystem}, nodes: disconnected, allocs: []string{
			"system-000/node0", "system-000/node1 pending"}}, ""},
		{"a service never heard of on a disconnected node", placed{jobs: []*rpc.Job{patient}, nodes: disconnected, allocs: []string{
			"service-000/node0", "service-000/node0", "service-000/node1 pending"}}, "is pending on node node1, which is disconnected"},

		{"a system job that failed on one node", placed{jobs: []*rpc.Job{system}, allocs: []string{"system-000/node0", "system-000/node1 failed"}}, ""},
		{"a system job that ended on one node", placed{jobs: []*rpc.Job{system}, allocs: []string{"system-000/node0", "system-000/node1 stop"}}, "system-000 does not run on node node1"},
		{"a sysbatch job, done on one node and stopped on the other", placed{jobs: []*rpc.Job{sysbatch}, allocs: []string{
			"sysbatch-000/node0 complete", "sysbatch-000/node1 stop"}}, ""},
		{"a sysbatch job that has nothing on one node", placed{jobs: []*rpc.Job{sysbatch}, looked: []string{"sysbatch-000"}, allocs: []string{
			"sysbatch-000/node0 complete"}}, "sysbatch-000 does not run on node node1"},
		{"a sysbatch job that nobody looked at since", placed{jobs: []*rpc.Job{sysbatch}, allocs: []string{"sysbatch-000/node0 complete"}}, ""},

		{"a sysbatch job that runs on a disconnected node", placed{jobs: []*rpc.Job{sysbatch}, nodes: disconnected, allocs: []string{
			"sysbatch-000/node0", "sysbatch-000/node1"}}, ""},

		{"a batch job that is done", placed{jobs: []*rpc.Job{batch}, allocs: []string{"batch-000/node0 complete", "batch-000/node2 failed"}}, ""},
		{"a periodic job, which runs nothing itself", placed{jobs: []*rpc.Job{periodic}}, ""},
		{"a periodic job that runs", placed{jobs: []*rpc.Job{periodic}, allocs: []string{"batch-000/node0"}}, "its job does not"},
		{"a batch job with more done than it asks for", placed{jobs: []*rpc.Job{batch}, allocs: []string{
			"batch-000/node0 complete", "batch-000/node0 complete", "batch-000/node1 complete"}}, ""},
		{"a batch job that runs too often", placed{jobs: []*rpc.Job{batch}, allocs: []string{
			"batch-000/node0", "batch-000/node0", "batch-000/node1"}}, "batch-000 runs 3 allocations of group, 2 wanted"},
		{"a batch job with one more that ended", placed{jobs: []*rpc.Job{batch}, allocs: []string{
			"batch-000/node0", "batch-000/node0", "batch-000/node1 complete"}}, ""},
		{"a batch job with one done and replaced", placed{jobs: []*rpc.Job{batch}, allocs: []string{
			"batch-000/node0 complete", "batch-000/node1 replaces"}}, "batch-000 runs 1 allocation of group, 2 wanted"},
		{"a batch job half done", placed{jobs: []*rpc.Job{batch}, allocs: []string{"batch-000/node0 complete"}}, "batch-000 runs 1 allocation of group, 2 wanted"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := []string{"after drain"}
			if got := AsOracle("drain", c.state.snapshot(t), cluster.Waiting{}).Detail; c.want == "" && strings.Contains(got, "from the oracle") {
				t.Errorf("no difference, and yet %s", got)
			}
			if c.want != "" {
				want = append(want, "from the oracle", c.want)
			}
			wantCheck(t, AsOracle("drain", c.state.snapshot(t), cluster.Waiting{}), InvariantOracle, c.want == "", want...)
		})
	}
}

// TestJobsThatNodesLeaveAlone: where changes of nodes make no evaluations of system and sysbatch jobs, their
// allocations stay on nodes that have gone until the job is looked at; those of others do not.
func TestJobsThatNodesLeaveAlone(t *testing.T) {
	disconnected := func(nodes []*rpc.Node) { nodes[2].Status = rpc.NodeStatusDisconnected }
	for _, c := range []struct {
		kind   string
		left   bool // alone
		where  string
		nodes  func([]*rpc.Node)
		looked bool
		ok     bool

		patient bool // its group lets allocations survive a disconnection
	}{
		{rpc.JobTypeSysBatch, true, "node2", disconnected, false, true, true},
		{rpc.JobTypeSysBatch, true, "node2", disconnected, true, false, true},
		{rpc.JobTypeSysBatch, true, "node2", nil, false, true, false},
		{rpc.JobTypeSysBatch, true, "node2", disconnected, false, true, false},
		{rpc.JobTypeSysBatch, true, "gone", nil, false, true, false},
		{rpc.JobTypeSysBatch, true, "node2", nil, true, false, false},
		{rpc.JobTypeSysBatch, false, "node2", nil, false, false, false},
		{rpc.JobTypeSysBatch, false, "gone", nil, false, false, false},
		{rpc.JobTypeBatch, true, "node2", nil, false, false, false},
		{rpc.JobTypeSystem, true, "node2", nil, false, true, false},
		{rpc.JobTypeSystem, true, "gone", nil, false, true, false},
		{rpc.JobTypeSystem, true, "node2", nil, true, false, false},
		{rpc.JobTypeSystem, false, "node2", nil, false, false, false},
	} {
		j := job(c.kind, 0, 1)
		if c.patient {
			j.TaskGroups[0].MaxClientDisconnect = time.Hour
		}
		p := placed{jobs: []*rpc.Job{j}, nodes: c.nodes, allocs: []string{j.ID + "/" + c.where}}
		if c.kind != rpc.JobTypeBatch {
			p.allocs = append(p.allocs, j.ID+"/node0", j.ID+"/node1")
		}
		if c.looked {
			p.looked = []string{j.ID}
		}
		if o := consult(p.snapshot(t), cluster.Waiting{SysBatchLeftAlone: c.left, SystemLeftAlone: c.left}); o.ok() != c.ok {
			t.Errorf("%+v: in order is %v: %v", c, o.ok(), o)
		}
	}
}

// The outcome is what two brokers must agree on: not on which nodes a service runs, but how
// often, and in what condition every node is.
func TestOutcomesAreEqualOrNot(t *testing.T) {
	service := job(rpc.JobTypeService, 0, 3)
	base := placed{jobs: []*rpc.Job{service}, allocs: []string{"service-000/node0", "service-000/node0", "service-000/node1"}}
	outcome := func(p placed) string { return consult(p.snapshot(t), cluster.Waiting{}).outcome() }
	same := base
	same.allocs = []string{"service-000/node1", "service-000/node1", "service-000/node0"}
	if !Agree(outcome(base), outcome(same)) {
		t.Error("the outcome depends on which nodes a service runs on")
	}
	short := base
	short.allocs, short.blocked = base.allocs[:2], []string{"service-000"}
	if !Agree(outcome(base), outcome(short)) || !Agree(outcome(short), outcome(base)) {
		t.Error("a job that waits for room on one side only does not agree with the other")
	}
	fewer, other := base, base
	fewer.allocs = base.allocs[:2]
	other.nodes = func(n []*rpc.Node) { n[2].Status = rpc.NodeStatusInit }
	for name, p := range map[string]placed{"an allocation less": fewer, "a node in another condition": other} {
		if Agree(outcome(base), outcome(p)) {
			t.Errorf("%s has the same outcome", name)
		}
	}
}

// BenchmarkOracle is the oracle on the published benchmark's final state: 5,000 nodes
// with ten system jobs.
func BenchmarkOracle(b *testing.B) {
	const nodes, jobs = 5000, 10
	s := state.New()
	results := &state.PlanResults{EvalID: "e"}
	for i := range nodes {
		n := &rpc.Node{ID: fmt.Sprintf("node-%05d", i), Datacenter: "dc1", Status: rpc.NodeStatusReady, SchedulingEligibility: rpc.NodeEligible,
			Resources: rpc.Resources{CPUMHz: 4000, MemoryMB: 8192, DiskMB: 9999}}
		if err := s.Update(uint64(i+1), func(tx *state.Tx) error { return tx.UpsertNode(n) }); err != nil {
			b.Fatal(err)
		}
		for j := range jobs {
			id := fmt.Sprintf("system-%03d", j)
			results.AllocsUpdated = append(results.AllocsUpdated, &rpc.Allocation{
				ID: fmt.Sprintf("%05d-%d", i, j), Namespace: rpc.DefaultNamespace, JobID: id, NodeID: n.ID, TaskGroup: "group",
				Name: id + ".group[0]", Resources: allocResources, DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientRunning,
			})
		}
	}
	for j := range jobs {
		if err := s.Update(uint64(nodes+j+1), func(tx *state.Tx) error { return tx.UpsertJob(job(rpc.JobTypeSystem, j, 1)) }); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Update(nodes+100, func(tx *state.Tx) error {
		return tx.UpsertEvals(eval("e", "j", broker.StatusComplete))
	}); err != nil {
		b.Fatal(err)
	}
	if err := s.Update(nodes+101, func(tx *state.Tx) error { return tx.UpsertPlanResults(results) }); err != nil {
		b.Fatal(err)
	}
	snap := s.Snapshot()
	for b.Loop() {
		if o := consult(snap, cluster.Waiting{}); !o.ok() {
			b.Fatal(o)
		}
	}
}
