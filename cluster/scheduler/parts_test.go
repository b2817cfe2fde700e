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

// TestSplit: into which set an allocation comes, by its client, its node and its group
// (reconcile_util.go, filterByTainted).
func TestSplit(t *testing.T) {
	type change = func(*rpc.Allocation)
	client := func(status string) change { return func(a *rpc.Allocation) { a.ClientStatus = status } }
	stop := func(a *rpc.Allocation) { a.DesiredStatus = rpc.AllocDesiredStop }
	leave := func(a *rpc.Allocation) { a.Migrate = true }
	old := func(a *rpc.Allocation) { a.JobVersion = 1 }
	complete, failed, unknown, pending := client(rpc.AllocClientComplete), client(rpc.AllocClientFailed), client(rpc.AllocClientUnknown), client(rpc.AllocClientPending)
	w := newWorld(t)
	away := func(since time.Duration) change {
		return func(a *rpc.Allocation) { a.SetDisconnectedAt(w.now.Add(-since).UnixNano()) }
	}
	short, long := away(10*time.Second), away(time.Hour)
	drains := func(n *rpc.Node) { n.Drain = &rpc.DrainStrategy{} }
	w.node("ready")
	w.node("drains", drains)
	w.node("down", func(n *rpc.Node) { n.Status = rpc.NodeStatusDown })
	w.node("drained down", drains, func(n *rpc.Node) { n.Status = rpc.NodeStatusDown })
	w.node("away", func(n *rpc.Node) { n.Status = rpc.NodeStatusDisconnected })
	j := w.register(job(rpc.JobTypeService, "svc", 1))
	j.Version = 2
	for _, c := range []struct {
		node    string
		patient bool // its group lets allocations survive a disconnection
		batch   bool
		changes []change
		want    string
	}{
		{"ready", false, false, nil, "kept"},
		{"ready", true, false, nil, "kept"},
		{"drains", false, false, nil, "kept"},
		{"ready", false, false, []change{leave}, "migrate"},
		{"down", false, false, []change{leave}, "migrate"},
		{"down", false, false, nil, "lost"},
		{"gone", false, false, nil, "lost"},
		{"down", false, false, []change{complete}, "kept"},
		{"down", false, false, []change{failed}, "kept"},
		{"ready", false, false, []change{complete, old}, "kept"},
		{"ready", false, true, []change{complete}, "kept"},
		{"ready", false, true, []change{complete, old}, ""},
		{"ready", false, true, []change{old}, "kept"},

		{"away", false, false, nil, "lost"},
		{"away", true, false, nil, "disconnecting"},
		{"away", true, false, []change{pending}, "lost"},
		{"away", true, false, []change{unknown, short}, "waits"},
		{"away", true, false, []change{unknown, short, stop}, "kept"},
		{"away", true, false, []change{unknown, long}, "lost"},

		{"down", true, false, []change{unknown, short}, "waits"},
		{"drained down", true, false, []change{unknown, short}, "waits"},
		{"down", true, false, []change{unknown, short, stop}, "lost"},
		{"down", true, false, []change{unknown, long}, "lost"},
		{"ready", false, false, []change{unknown, short}, "kept"},
		{"ready", true, false, []change{short}, "reconnecting"},
		{"ready", true, false, []change{short, stop}, "reconnecting"},
		{"ready", true, false, []change{short, failed}, "reconnecting"},
		{"ready", true, false, []change{short, failed, stop}, ""},
		{"ready", true, false, []change{unknown, long}, "lost"},
		{"ready", true, false, []change{unknown, long, leave}, "migrate"},
		{"drains", true, false, []change{unknown, long, leave}, "lost"},
		{"drains", true, false, []change{unknown, short}, "reconnecting"},
		{"drains", true, false, []change{short, leave}, "reconnecting"},
	} {
		a := &rpc.Allocation{ID: "a", Namespace: j.Namespace, JobID: j.ID, NodeID: c.node, JobVersion: 2, CreateIndex: w.index, DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientRunning}
		for _, f := range c.changes {
			f(a)
		}
		tg := j.TaskGroups[0]
		if c.patient {
			tg.MaxClientDisconnect = time.Minute
		}
		g := &genericRun{attempt: &attempt{snap: w.store.Snapshot(), now: w.now, job: j}, batch: c.batch, nodes: map[string]*rpc.Node{}}
		s := &groupState{tg: &tg}
		g.split(s, []*rpc.Allocation{a})
		got := ""
		for set, has := range map[string]bool{
			"kept": len(s.kept) > 0, "migrate": len(s.migrate) > 0, "lost": len(s.lost) > 0, "disconnecting": len(s.disconnecting) > 0,
			"reconnecting": len(s.reconnecting) > 0, "waits": g.waits,
		} {
			if has {
				got += set
			}
		}
		if got != c.want {
			t.Errorf("on a node that is %s, of a group that is patient %v, batch %v, %s, %s, away since %d, to leave %v: %q, want %q",
				c.node, c.patient, c.batch, a.ClientStatus, a.DesiredStatus, a.DisconnectedAt(), a.Migrate, got, c.want)
		}
	}
}

// TestIsReplaced: an allocation is if any of the job is in its place.
func TestIsReplaced(t *testing.T) {
	w := newWorld(t)
	j := w.register(job(rpc.JobTypeBatch, "b", 3))
	var allocs []*rpc.Allocation
	for _, id := range []string{"a", "b", "c"} {
		allocs = append(allocs, &rpc.Allocation{ID: id, Namespace: j.Namespace, JobID: j.ID, NodeID: "n", PreviousAllocation: "before " + id})
	}
	w.update(func(tx *state.Tx) error { return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: allocs}) })
	g := &genericRun{attempt: &attempt{snap: w.store.Snapshot(), eval: &broker.Evaluation{Namespace: j.Namespace, JobID: j.ID}}}
	for _, a := range allocs {
		if g.isReplaced(a) || !g.isReplaced(&rpc.Allocation{ID: a.PreviousAllocation}) {
			t.Errorf("%s is replaced: %v, and what it replaced: %v", a.ID, g.isReplaced(a), !g.isReplaced(a))
		}
	}
}
