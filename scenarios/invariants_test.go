package scenarios

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

// world of tests that check a state without a cluster.
func checker() *run { return &run{world: wallWorld{time.Now()}} }

func wantCheck(t *testing.T, got []metrics.Invariant, name string, ok bool, parts ...string) {
	t.Helper()
	for _, c := range got {
		if c.Name != name {
			continue
		}
		if c.OK != ok {
			t.Errorf("%q is %v: %s; want %v", name, c.OK, c.Detail, ok)
		}
		for _, p := range parts {
			if !strings.Contains(c.Detail, p) {
				t.Errorf("%q does not say %q: %s", name, p, c.Detail)
			}
		}
		return
	}
	t.Errorf("%q was not checked", name)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func eval(id, job, status string) *broker.Evaluation {
	return &broker.Evaluation{ID: id, Namespace: rpc.DefaultNamespace, JobID: job, Type: "system", Status: status}
}

func TestConservation(t *testing.T) {
	store := state.New()
	must(t, store.UpsertEvals(10, []*broker.Evaluation{
		eval("a", "j", broker.StatusComplete), eval("b", "j", broker.StatusCanceled), eval("c", "j", broker.StatusFailed),
	}))
	acked := map[evalKey]struct{}{keyOf("a"): {}}
	good := cluster.Counters{EvalsCreated: 3, EvalsProcessed: 1, EvalsCanceled: 1, EvalsFailed: 1}
	cases := []struct {
		name   string
		counts cluster.Counters
		seen   seen
		ok     bool
		want   string
	}{
		{"all accounts agree", good, seen{acks: 1, acked: acked}, true, "3 created = 1 complete + 1 canceled + 1 failed + 0 blocked + 0 pending; 1 processed"},
		{"one vanished", cluster.Counters{EvalsCreated: 4, EvalsProcessed: 1, EvalsCanceled: 1, EvalsFailed: 1},
			seen{acks: 1, acked: acked}, false, "state holds 3, but 4 were created"},
		{"one was canceled unseen", cluster.Counters{EvalsCreated: 3, EvalsProcessed: 1, EvalsFailed: 1},
			seen{acks: 1, acked: acked}, false, "state holds 1 canceled, but 0 were canceled"},
		{"one failed unseen", cluster.Counters{EvalsCreated: 3, EvalsProcessed: 1, EvalsCanceled: 1},
			seen{acks: 1, acked: acked}, false, "state holds 1 failed, but 0 failed"},
		{"an ack was counted twice", cluster.Counters{EvalsCreated: 3, EvalsProcessed: 2, EvalsCanceled: 1, EvalsFailed: 1},
			seen{acks: 1, acked: acked}, false, "1 acks were seen, but 2 evaluations processed"},
		{"one completed without a worker", cluster.Counters{EvalsCreated: 3, EvalsCanceled: 1, EvalsFailed: 1},
			seen{}, false, "1 are complete, but were never acked"},
		{"that is possible when the leader changed", cluster.Counters{EvalsCreated: 3, EvalsCanceled: 1, EvalsFailed: 1},
			seen{flushes: 1}, true, "0 processed"},
		{"one was acked that never was", good,
			seen{acks: 1, acked: map[evalKey]struct{}{keyOf("x"): {}}, flushes: 1}, false, "1 evaluations were acked, of which state holds 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := checker()
			r.checkConserved(store.Snapshot(), c.counts, c.seen)
			wantCheck(t, r.checks, InvariantConserved, c.ok, c.want)
		})
	}
}

func TestOneInFlightIsJudged(t *testing.T) {
	r := checker()
	r.checkOneInFlight(seen{acks: 7})
	wantCheck(t, r.checks, InvariantOneInFlight, true, "7 acks")
	r = checker()
	r.checkOneInFlight(seen{acks: 7, twice: 2, first: "b beside a"})
	wantCheck(t, r.checks, InvariantOneInFlight, false, "2 evaluations", "b beside a")
}

func TestServersThatDiffer(t *testing.T) {
	same, other := state.New(), state.New()
	for i, s := range []*state.Store{same, other} {
		must(t, s.UpsertEvals(10, []*broker.Evaluation{eval("a", "j", []string{broker.StatusComplete, broker.StatusPending}[i])}))
	}
	r := checker()
	r.checkServersSame([]*state.Snapshot{same.Snapshot(), same.Snapshot(), same.Snapshot()})
	wantCheck(t, r.checks, InvariantServersSame, true, "3 servers at index 10")
	r = checker()
	r.checkServersSame([]*state.Snapshot{same.Snapshot(), same.Snapshot(), other.Snapshot()})
	wantCheck(t, r.checks, InvariantServersSame, false, "servers 1 and 3 differ", "evaluation a")
}

// placement is a state of three nodes, the third down, and jobs of which some run.
func placement(t *testing.T, jobs []*rpc.Job, allocs map[string][]int, blocked ...string) *state.Snapshot {
	t.Helper()
	s := state.New()
	index := uint64(1)
	next := func() uint64 { index++; return index }
	for i := range 3 {
		n := &rpc.Node{ID: fmt.Sprint("node", i), Datacenter: "dc1", Status: rpc.NodeStatusReady, SchedulingEligibility: rpc.NodeEligible}
		if i == 2 {
			n.Status = rpc.NodeStatusDown
		}
		must(t, s.UpsertNode(next(), n))
	}
	results := &state.PlanResults{EvalID: "e"}
	for _, j := range jobs {
		must(t, s.UpsertJob(next(), j))
		for k, node := range allocs[j.ID] {
			results.AllocsUpdated = append(results.AllocsUpdated, &rpc.Allocation{
				ID: fmt.Sprint(j.ID, "-", k), Namespace: j.Namespace, JobID: j.ID, NodeID: fmt.Sprint("node", node),
				TaskGroup: "group", DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientRunning,
			})
		}
	}
	must(t, s.UpsertEvals(next(), []*broker.Evaluation{eval("e", "j", broker.StatusComplete)}))
	must(t, s.UpsertPlanResults(next(), results))
	for _, j := range blocked {
		e := eval("blocked-"+j, j, broker.StatusBlocked)
		must(t, s.UpsertEvals(next(), []*broker.Evaluation{e}))
	}
	return s.Snapshot()
}

func TestSystemJobPlacement(t *testing.T) {
	elsewhere := job(rpc.JobTypeSystem, 1, 1)
	elsewhere.Datacenters = []string{"dc2"}
	stopped := job(rpc.JobTypeSystem, 2, 1)
	stopped.Stop = true
	jobs := []*rpc.Job{job(rpc.JobTypeSystem, 0, 1), elsewhere, stopped}
	cases := []struct {
		name   string
		allocs map[string][]int
		ok     bool
		want   string
	}{
		{"on both ready nodes", map[string][]int{"system-000": {0, 1}}, true, "2 allocations run, 0 are missing, 0 are elsewhere, 0 are there twice"},
		{"missing on one", map[string][]int{"system-000": {1}}, false, "1 are missing"},
		{"on the node that is down", map[string][]int{"system-000": {0, 1, 2}}, false, "1 are elsewhere"},
		{"twice on one", map[string][]int{"system-000": {0, 0, 1}}, false, "1 are there twice"},
		{"in another datacenter", map[string][]int{"system-000": {0, 1}, "system-001": {0}}, false, "1 are elsewhere"},
		{"of a stopped job", map[string][]int{"system-000": {0, 1}, "system-002": {1}}, false, "1 are elsewhere"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := checker()
			r.checkPlacementIn("drain", placement(t, jobs, c.allocs))
			wantCheck(t, r.checks, InvariantSystemJobs, c.ok, "after drain", c.want)
		})
	}
}

func TestServiceJobPlacement(t *testing.T) {
	jobs := []*rpc.Job{job(rpc.JobTypeService, 0, 3)}
	cases := []struct {
		name    string
		nodes   []int
		blocked []string
		ok      bool
		want    string
	}{
		{"all run", []int{0, 0, 1}, nil, true, "1 job run 3 of 3 allocations"},
		{"one short", []int{0, 1}, nil, false, "1 job short without waiting for room"},
		{"one short, for want of room", []int{0, 1}, []string{"service-000"}, true, "run 2 of 3"},
		{"one too many", []int{0, 0, 1, 1}, nil, false, "1 above their count"},
		{"one on a node that is down", []int{0, 1, 2}, nil, false, "1 of them on nodes that are not ready"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := checker()
			r.checkPlacementIn("storm", placement(t, jobs, map[string][]int{"service-000": c.nodes}, c.blocked...))
			wantCheck(t, r.checks, InvariantServiceJobs, c.ok, "after storm", c.want)
		})
	}
}
