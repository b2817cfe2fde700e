package judge

import (
	"strings"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// TestOverlookedAllocations: a node may hold as much more than it has room for as the plan applier did
// not know of, and the invariant says so.
func TestOverlookedAllocations(t *testing.T) {
	for _, c := range []struct {
		name       string
		count      int
		overlooked int // of them
		ok         bool
	}{
		{"what fits", 3, 0, true}, {"one too many that nobody overlooked", 4, 0, false}, {"one too many, and overlooked", 4, 1, true},
		{"two too many, one of them overlooked", 5, 1, false}, {"two too many, and overlooked", 5, 2, true},
	} {
		p := placed{jobs: []*rpc.Job{job(rpc.JobTypeService, 0, c.count)}}
		for range c.count {
			p.allocs = append(p.allocs, "service-000/node0")
		}
		snap, overlooked := p.snapshot(t), map[string]bool{}
		for a := range snap.Allocs() {
			if len(overlooked) < c.overlooked {
				overlooked[a.ID] = true
			}
		}
		o := consult(snap, cluster.Waiting{Overlooked: overlooked})
		if says := strings.Contains(o.String(), "1 node holds more than fits"); o.ok() != c.ok || says != (c.ok && c.overlooked > 0) {
			t.Errorf("%s: in order is %v, want %v: %v", c.name, o.ok(), c.ok, o)
		}
	}
}

// TestRoomThatNobodyAnnounced: a job that waits since before the leader led is told of room that
// appears, not of such as is there.
func TestRoomThatNobodyAnnounced(t *testing.T) {
	p := placed{jobs: []*rpc.Job{job(rpc.JobTypeService, 0, 4)}, blocked: []string{"service-000"}, allocs: []string{"service-000/node0", "service-000/node0"}}
	snap := p.snapshot(t)
	if o := consult(snap, cluster.Waiting{Since: snap.Index() + 1}); !o.ok() {
		t.Errorf("room from before the leader led: %v", o)
	}
	if o := consult(snap, cluster.Waiting{Since: 2}); o.ok() {
		t.Errorf("room that appeared under this leader counts as unknown: %v", o)
	}
}

// TestRoomThatNobodyIsToldOf: a job that was planned before two nodes got room does not know of it,
// unless somebody was told of one of the nodes; one that was planned since saw it.
func TestRoomThatNobodyIsToldOf(t *testing.T) {
	p := placed{jobs: []*rpc.Job{job(rpc.JobTypeService, 0, 4)}, blocked: []string{"service-000"}, allocs: []string{"service-000/node0", "service-000/node0"}}
	for _, c := range []struct {
		untold map[string]uint64
		ok     bool
	}{
		{map[string]uint64{"node0": 1, "node1": 2}, true}, {map[string]uint64{"node0": 1}, false}, {map[string]uint64{"node1": 1}, false}, {nil, false},
	} {
		if o := consult(p.snapshot(t), cluster.Waiting{Untold: c.untold}); o.ok() != c.ok {
			t.Errorf("untold %v: in order is %v, want %v: %v", c.untold, o.ok(), c.ok, o)
		}
	}
	full := placed{jobs: []*rpc.Job{job(rpc.JobTypeService, 0, 7)}, allocs: []string{
		"service-000/node0", "service-000/node0", "service-000/node0", "service-000/node1", "service-000/node1", "service-000/node1"}}
	waits := map[broker.JobID]uint64{{Namespace: rpc.DefaultNamespace, ID: "service-000"}: 3}
	if o := consult(full.snapshot(t), cluster.Waiting{Unwritten: waits}); !o.ok() {
		t.Errorf("a job that waits for room without an evaluation: %v", o)
	}
	for _, c := range []struct {
		planned [2]uint64 // of two evaluations that are blocked
		ok      bool
	}{{[2]uint64{5, 2}, false}, {[2]uint64{2, 5}, false}, {[2]uint64{2, 3}, true}} {
		s := state.New()
		s.Adopt(p.snapshot(t))
		must(t, s.Update(s.Index()+1, func(tx *state.Tx) error {
			one, two := eval("one", "service-000", broker.StatusBlocked), eval("two", "service-000", broker.StatusBlocked)
			one.SnapshotIndex, two.SnapshotIndex = c.planned[0], c.planned[1]
			return tx.UpsertEvals(one, two)
		}))
		if o := consult(s.Snapshot(), cluster.Waiting{Untold: map[string]uint64{"node0": 4, "node1": 4}}); o.ok() != c.ok {
			t.Errorf("planned at %d, and room since 4: in order is %v, want %v: %v", c.planned, o.ok(), c.ok, o)
		}
	}
	saw := cluster.Waiting{Untold: map[string]uint64{"node0": 3, "node1": 3}, Unwritten: map[broker.JobID]uint64{{Namespace: rpc.DefaultNamespace, ID: "service-000"}: 3}}
	if o := consult(p.snapshot(t), saw); o.ok() {
		t.Errorf("room that was there when the job was planned counts as unknown: %v", o)
	}
}
