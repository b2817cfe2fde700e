package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// TestRescheduleTimes: how long a failed allocation waits for its replacement, by how many
// failed in a row before it and how long it ran.
func TestRescheduleTimes(t *testing.T) {
	const hour = time.Hour
	failedAt := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		batch    bool
		before   int    // failed ones, each replaced by the next
		first    string // the client status of the one before those; empty: it is not there
		ran      time.Duration
		delay    time.Duration
		replaced bool
	}{
		{false, 0, "", 2 * hour, 30 * time.Second, true},
		{false, 1, "", time.Minute, time.Minute, true},
		{false, 2, "", 2 * hour, 2 * time.Minute, true}, // starts over only once the delay is at its longest
		{false, 2, rpc.AllocClientComplete, time.Minute, 2 * time.Minute, true},
		{false, 2, rpc.AllocClientFailed, time.Minute, 4 * time.Minute, true},
		{false, 6, "", time.Minute, 32 * time.Minute, true},
		{false, 7, "", time.Minute, hour, true},
		{false, 9, "", time.Minute, hour, true},
		{false, 7, "", hour, hour, true},
		{false, 7, "", hour + 1, 30 * time.Second, true},
		{true, 0, "", time.Minute, 5 * time.Second, true},
		{true, 0, rpc.AllocClientComplete, time.Minute, 5 * time.Second, true},
		{true, 1, "", time.Minute, 5 * time.Second, false},
		{true, 1, "", 24 * hour, 5 * time.Second, true}, // the replacement is a day old
		{true, 1, "", 24*hour - 1, 5 * time.Second, false},
	} {
		s := state.New()
		var allocs []*rpc.Allocation
		add := func(status string) {
			a := &rpc.Allocation{ID: fmt.Sprint(len(allocs)), JobID: "j", NodeID: "n", ClientStatus: status, ModifyTime: failedAt.UnixNano(), CreateTime: failedAt.Add(-c.ran).UnixNano()}
			if len(allocs) > 0 {
				a.PreviousAllocation = allocs[len(allocs)-1].ID
			} else {
				a.PreviousAllocation = "collected"
			}
			allocs = append(allocs, a)
		}
		if c.first != "" {
			add(c.first)
		}
		for range c.before + 1 {
			add(rpc.AllocClientFailed)
		}
		if err := s.Update(1, func(tx *state.Tx) error { return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: allocs}) }); err != nil {
			t.Fatal(err)
		}
		g := &genericRun{attempt: &attempt{snap: s.Snapshot()}, batch: c.batch}
		at, ok := g.rescheduleTime(allocs[len(allocs)-1])
		if at.Sub(failedAt) != c.delay || ok != c.replaced {
			t.Errorf("%+v: replaced is %v after %v", c, ok, at.Sub(failedAt))
		}
	}
}

// TestSystemDeploymentCounts: the deployment that a plan carries counts what runs, what the plan
// stops and what it places, in each group; and a plan does not write to the state's row.
func TestSystemDeploymentCounts(t *testing.T) {
	w := newWorld(t)
	w.nodes(3)
	w.register(job(rpc.JobTypeSystem, "sys", 0, func(j *rpc.Job) {
		second := j.TaskGroups[0]
		second.Name = "h"
		j.TaskGroups = append(j.TaskGroups, second)
	}))
	desired := func(want int) {
		t.Helper()
		before := w.store.Snapshot()
		stored := before.DeploymentOf(broker.JobID{Namespace: rpc.DefaultNamespace, ID: "sys"})
		var was rpc.Deployment
		if stored != nil {
			was = *stored.Copy()
		}
		plan := w.planOnce("sys", true)
		for _, g := range plan.Deployment.Groups {
			w.want("allocations that group "+g.Name+" wants", g.DesiredTotal, want)
		}
		if stored != nil {
			w.want("the deployment of the state before", fmt.Sprintf("%+v", *stored), fmt.Sprintf("%+v", was))
		}
	}
	desired(3)
	w.node("n90")
	w.node("n91")
	desired(5)
	w.status("n00", rpc.NodeStatusDown)
	desired(4)
	w.status("n00", rpc.NodeStatusReady)
	desired(5)
}

// TestLossInARollingService: replacing what was lost of the running version begins no deployment.
func TestLossInARollingService(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeService, "svc", 3, rolling(1)))
	w.runJob("svc")
	first := w.deployment("svc").ID
	w.status(w.live("svc")[0].NodeID, rpc.NodeStatusDown)
	w.runJob("svc")
	w.want("names", w.names("svc"), "[svc.g[0] svc.g[1] svc.g[2]]")
	w.want("the deployment is another", w.deployment("svc").ID != first, false)
}

// TestStopping: an allocation that the plan stops does not count against its node.
func TestStopping(t *testing.T) {
	a, b := &rpc.Allocation{ID: "a", NodeID: "n"}, &rpc.Allocation{ID: "b", NodeID: "n"}
	g := &genericRun{attempt: &attempt{plan: &Plan{NodeUpdate: map[string][]*rpc.Allocation{"n": {{ID: "a"}}, "m": {{ID: "b"}}}}}}
	if !g.stopping(a) || g.stopping(b) {
		t.Errorf("a stops: %v, b stops: %v; want a alone", g.stopping(a), g.stopping(b))
	}
}

// TestUpdateRoom: how many allocations an attempt may replace at once.
func TestUpdateRoom(t *testing.T) {
	tg := &rpc.TaskGroup{Name: "g", Count: 9, MaxParallel: 3}
	of := func(deployment, health string) *rpc.Allocation {
		return &rpc.Allocation{DeploymentID: deployment, Health: health}
	}
	running, failed := &rpc.Deployment{ID: "d", Status: rpc.DeploymentRunning}, &rpc.Deployment{ID: "d", Status: rpc.DeploymentFailed}
	one := []*rpc.Allocation{of("", "")}
	for _, c := range []struct {
		name                       string
		batch                      bool
		roll                       rollout
		kept, migrate, destructive []*rpc.Allocation
		want                       int
	}{
		{"a batch job", true, rollout{}, nil, nil, one, 9},
		{"nothing to replace", false, rollout{deployment: failed}, nil, nil, nil, 9},
		{"some to migrate", false, rollout{deployment: failed}, nil, one, nil, 0},
		{"no deployment", false, rollout{}, nil, nil, one, 3},
		{"one that this attempt begins", false, rollout{deployment: running, begun: true}, []*rpc.Allocation{of("d", "")}, nil, one, 3},
		{"one that failed", false, rollout{deployment: failed}, nil, nil, one, 0},
		{"two of it are new", false, rollout{deployment: running}, []*rpc.Allocation{of("d", ""), of("d", "")}, nil, one, 1},
		{"more of it than may be", false, rollout{deployment: running}, []*rpc.Allocation{of("d", ""), of("d", ""), of("d", ""), of("d", "")}, nil, one, 0},
		{"those are healthy, or of another", false, rollout{deployment: running}, []*rpc.Allocation{of("d", rpc.AllocHealthy), of("e", ""), of("e", rpc.AllocUnhealthy)}, nil, one, 3},
		{"the last is unhealthy", false, rollout{deployment: running}, []*rpc.Allocation{of("d", rpc.AllocHealthy), of("d", rpc.AllocUnhealthy)}, nil, one, 0},
	} {
		g := &genericRun{attempt: &attempt{}, batch: c.batch, roll: c.roll}
		if got := g.updateRoom(&groupState{tg: tg, kept: c.kept, migrate: c.migrate}, c.destructive); got != c.want {
			t.Errorf("%s: %d may be replaced, want %d", c.name, got, c.want)
		}
	}
}
