package judge

import (
	"strings"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

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
		if got := o.deploys[broker.JobID{Namespace: "default", ID: id}]; got == nil || got.ID != "d"+id {
			t.Errorf("deployment %v of job %s", got, id)
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
	ended := func(id, status, why string) func(tx *state.Tx) error {
		return func(tx *state.Tx) error {
			e := eval(id, "system-000", status)
			e.StatusDescription = why
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
	system := job(rpc.JobTypeSystem, 0, 1)
	const refused = "maximum attempts reached (5)"
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
		{"the plans of a system job were refused", 0, []func(*state.Tx) error{jobs(system), node("n"), ended("e", broker.StatusFailed, refused)}, true},
		{"one was, and another evaluation was processed", 0, []func(*state.Tx) error{jobs(system), node("n"), ended("e", broker.StatusFailed, refused), ended("f", broker.StatusComplete, "")}, false},
		{"or shed", 0, []func(*state.Tx) error{jobs(system), node("n"), ended("e", broker.StatusFailed, refused), ended("f", broker.StatusCanceled, "")}, true},
		{"it failed for another reason", 0, []func(*state.Tx) error{jobs(system), node("n"), ended("e", broker.StatusFailed, "delivery limit")}, false},
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

// TestNamesThatRepeat: the first two allocations of each line run under one name, and the
// others are over. "a1<x" is a of version 1, in the place of x, and "x1!" was to leave its node.
func TestNamesThatRepeat(t *testing.T) {
	for _, c := range []struct {
		allocs string
		want   bool
	}{
		{"a1<x b1<x x0", true},
		{"a1<x b1<x", true},
		{"a2<x b1<x x1", true},
		{"a1<x b1<x x1", false},
		{"a1<x b1<x x1!", true},
		{"a1<x b1<y x1! y1!", false},
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
			a := allocOf(j, text[:1], "node", func(a *rpc.Allocation) {
				a.JobVersion, a.PreviousAllocation, a.Migrate = uint64(text[1]-'0'), previous, strings.HasSuffix(text, "!")
			})
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
		if o.replacedTwice(running[0], running[1]) != c.want || o.replacedTwice(running[1], running[0]) != c.want {
			t.Errorf("%s: replaced twice: %v", c.allocs, !c.want)
		}
		running = append(running, allocOf(j, "z", "node"))
		if want := map[bool]int{true: 2, false: 3}[c.want]; o.severally(running) != want {
			t.Errorf("%s and another count as %d, want %d", c.allocs, o.severally(running), want)
		}
		if o.waiting.NamesOnce = true; o.severally(running) != 3 {
			t.Errorf("%s and another count as %d where names do not repeat, want 3", c.allocs, o.severally(running))
		}
	}
	p := placed{jobs: []*rpc.Job{job(rpc.JobTypeService, 0, 3)}, allocs: []string{"service-000/node0", "service-000/node0", "service-000/node1 again"}}
	wantCheck(t, AsOracle("drain", p.snapshot(t), cluster.Waiting{}), InvariantOracle, false, "service-000.group[0] runs 2 times")
}

// TestUnevaluatedNodes: what nobody was told of may be missing on a node that came back, and be left on one that went. Outcomes
// can be compared as long as that made no difference.
func TestUnevaluatedNodes(t *testing.T) {
	all := []string{"system-000/node0", "system-000/node1"}
	for _, c := range []struct {
		name        string
		allocs      []string
		unevaluated string
		ok, alike   bool
	}{
		{"in order", all, "node1", true, true},
		{"missing on a node that came back", all[:1], "node1", true, false},
		{"missing on another", all[:1], "node0", false, true},
		{"left on a node that went", append(all[:2:2], "system-000/node2"), "node2", true, false},
		{"left on another", append(all[:2:2], "system-000/node2"), "node1", false, true},
	} {
		snap := placed{jobs: []*rpc.Job{job(rpc.JobTypeSystem, 0, 1)}, allocs: c.allocs}.snapshot(t)
		o := consult(snap, cluster.Waiting{Unevaluated: map[string]bool{c.unevaluated: true}})
		if alike := !strings.HasSuffix(o.outcome(), waitingJobs); o.ok() != c.ok || alike != c.alike {
			t.Errorf("%s: in order is %v, comparable %v; want %v, %v: %v", c.name, o.ok(), alike, c.ok, c.alike, o)
		}
	}
}
