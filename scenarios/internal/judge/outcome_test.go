package judge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/metrics"
)

// TestComparable: how many allocations of a group two brokers must agree on.
func TestComparable(t *testing.T) {
	child := job(rpc.JobTypeBatch, 0, 5)
	child.ParentID = "parent"
	stopped := job(rpc.JobTypeBatch, 0, 5)
	stopped.Stop = true
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
		{"a job that was stopped", stopped, "group", 3},
		{"a sysbatch job", job(rpc.JobTypeSysBatch, 0, 1), "group", 0},
		{"a batch job that wants one more", job(rpc.JobTypeBatch, 0, 5), "group", 1},
		{"a batch job that has enough, as one that was collected", job(rpc.JobTypeBatch, 0, 2), "group", 0},
		{"a service with two that failed in its deployment", job(rpc.JobTypeService, 0, 5), "group", 5},
		{"a service with more than its count, of which some are out of reach", job(rpc.JobTypeService, 0, 2), "group", 2},
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
		{[]metrics.Invariant{check(InvariantOracle, "after the run: 3 nodes; outcome 1-2; and more")}, "1-2"},
		{[]metrics.Invariant{check(InvariantOracle, "after drain: outcome 1-2"), check(InvariantOracle, "after the run: outcome 3-4")}, "3-4"},
		{[]metrics.Invariant{check(InvariantOracle, "after drain: outcome 1-2")}, ""},
		{[]metrics.Invariant{check(InvariantConserved, "after the run: outcome 3-4")}, ""},
		{[]metrics.Invariant{check(InvariantOracle, "after the run: nothing of the kind")}, ""},
	} {
		if got := OutcomeOf(&metrics.Result{Invariants: c.invariants}); got != c.want {
			t.Errorf("%v: %q, want %q", c.invariants, got, c.want)
		}
	}
}
