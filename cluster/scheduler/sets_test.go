package scheduler

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// groupOf returns the work on the first group of a job, and a function that makes its allocations.
func (w *world) groupOf(j *rpc.Job) (*genericRun, func(id string, n int, change ...func(*rpc.Allocation)) *rpc.Allocation) {
	g := &genericRun{
		attempt: &attempt{
			snap: w.store.Snapshot(), now: w.now, job: j, rand: rand.New(rand.NewPCG(1, 1)), eval: &broker.Evaluation{ID: "e", Namespace: j.Namespace, JobID: j.ID},
			plan: &Plan{NodeUpdate: map[string][]*rpc.Allocation{}, NodeAllocation: map[string][]*rpc.Allocation{}},
		},
		nodes: map[string]*rpc.Node{},
	}
	tg := &j.TaskGroups[0]
	return g, func(id string, n int, change ...func(*rpc.Allocation)) *rpc.Allocation {
		a := &rpc.Allocation{
			ID: id, Namespace: j.Namespace, JobID: j.ID, JobType: j.Type, JobVersion: j.Version, TaskGroup: tg.Name, Name: allocName(j.ID, tg.Name, n), NodeID: "n00",
			Resources: tg.Resources, DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientRunning, CreateIndex: w.index,
		}
		for _, f := range change {
			f(a)
		}
		return a
	}
}

func hasFailed(a *rpc.Allocation) { a.ClientStatus = rpc.AllocClientFailed }

// stops lists the allocations that the plan stops on a node, in order, with the reasons.
func (p *Plan) stops(node string) (list []string) {
	for _, a := range p.NodeUpdate[node] {
		list = append(list, a.ID+": "+a.DesiredDescription)
	}
	return list
}

// TestWhatIsTooMany: of one that came back and its replacement the latter stops, and otherwise the
// highest names; if these belong to what is lost, others.
func TestWhatIsTooMany(t *testing.T) {
	w := newWorld(t)
	w.nodes(1)
	j := w.register(job(rpc.JobTypeService, "svc", 2))
	stops := func(what string, fill func(s *groupState, alloc func(string, int, ...func(*rpc.Allocation)) *rpc.Allocation), want string) {
		t.Helper()
		g, alloc := w.groupOf(j)
		s := &groupState{tg: &j.TaskGroups[0]}
		fill(s, alloc)
		s.names = newNameIndex(j.ID, s.tg.Name, s.tg.Count, s.kept, s.lost)
		g.stopSurplus(s)
		w.want(what, g.plan.stops("n00"), want)
	}
	stops("one that came back", func(s *groupState, alloc func(string, int, ...func(*rpc.Allocation)) *rpc.Allocation) {
		s.reconnecting = append(s.reconnecting, alloc("back", 0, func(a *rpc.Allocation) { a.SetDisconnectedAt(1) }))
		s.kept = append(s.kept, alloc("instead", 0), alloc("other", 1))
	}, "[instead: "+allocReconnected+"]")
	stops("one that came back and was placed worse", func(s *groupState, alloc func(string, int, ...func(*rpc.Allocation)) *rpc.Allocation) {
		s.reconnecting = append(s.reconnecting, alloc("back", 0, func(a *rpc.Allocation) { a.SetDisconnectedAt(1) }))
		s.kept = append(s.kept, alloc("instead", 0, func(a *rpc.Allocation) { a.Reach = &rpc.Reach{Score: 0.1} }), alloc("other", 1))
	}, "[back: "+allocNotNeeded+"]")
	stops("the highest", func(s *groupState, alloc func(string, int, ...func(*rpc.Allocation)) *rpc.Allocation) {
		s.kept = append(s.kept, alloc("a", 0), alloc("b", 1), alloc("c", 2))
	}, "[c: "+allocNotNeeded+"]")
	stops("names of what is lost", func(s *groupState, alloc func(string, int, ...func(*rpc.Allocation)) *rpc.Allocation) {
		s.lost = append(s.lost, alloc("lost", 5))
		s.kept = append(s.kept, alloc("a", 0), alloc("b", 1), alloc("c", 2))
	}, "[lost: "+allocLost+" a: "+allocNotNeeded+"]")
	newNameIndex("svc", "g", 5).free("svc.g[5]") // of which there is none
}

// TestOverAndOfAnOldVersion: what is over is not updated.
func TestOverAndOfAnOldVersion(t *testing.T) {
	w := newWorld(t)
	w.nodes(1)
	j := w.register(job(rpc.JobTypeService, "svc", 2))
	j.Version = 3
	g, alloc := w.groupOf(j)
	old := func(a *rpc.Allocation) { a.JobVersion = 2 }
	s := &groupState{tg: &j.TaskGroups[0], kept: []*rpc.Allocation{alloc("over", 0, old, hasFailed), alloc("runs", 1, old)}}
	w.want("destructive updates", len(g.update(s)), 0)
	if places := g.plan.NodeAllocation["n00"]; len(places) != 1 || places[0].ID != "runs" {
		t.Errorf("%d updates in place, want that of what runs", len(places))
	}
}

// TestFailedDeployments: what failed and is not of the failed deployment is replaced, and stops.
func TestFailedDeployments(t *testing.T) {
	w := newWorld(t)
	w.nodes(1)
	j := w.register(job(rpc.JobTypeService, "svc", 2, rolling(1)))
	g, alloc := w.groupOf(j)
	g.roll.deployment = &rpc.Deployment{ID: "d", Status: rpc.DeploymentFailed, Groups: []rpc.DeploymentGroup{{Name: "other"}, {Name: "g", Healthy: 7}}}
	of := func(id string) func(*rpc.Allocation) {
		return func(a *rpc.Allocation) { a.DeploymentID = id }
	}
	s := &groupState{tg: &j.TaskGroups[0], failed: []*rpc.Allocation{alloc("of it", 0, hasFailed, of("d")), alloc("older", 1, hasFailed, of("c"))}}
	var missing []placement
	for _, a := range s.failed {
		missing = append(missing, placement{tg: s.tg, name: a.Name, previous: a})
	}
	g.placeMissing(s, missing)
	if w.want("stops", g.plan.stops("n00"), "[older: "+allocRescheduled+"]"); len(g.places) != 1 || g.places[0].previous.ID != "older" {
		t.Errorf("%d placements, want that of the older", len(g.places))
	}
	if part := g.groupDeployment(s.tg); part == nil || part.Healthy != 7 {
		t.Errorf("the group's part is %+v", part)
	}
	g.roll.deployment = nil
	if part := g.groupDeployment(s.tg); part != nil {
		t.Errorf("without a deployment the group's part is %+v", part)
	}
}

// TestUpdatesJoinTheDeployment: what is updated in place is of the deployment, and has no health there.
func TestUpdatesJoinTheDeployment(t *testing.T) {
	w := newWorld(t)
	w.nodes(1)
	j := w.register(job(rpc.JobTypeService, "svc", 2, rolling(1)))
	g, alloc := w.groupOf(j)
	healthy := func(of string) func(*rpc.Allocation) {
		return func(a *rpc.Allocation) { a.DeploymentID, a.Health, a.HealthIndex = of, rpc.AllocHealthy, 9 }
	}
	before, in := alloc("before", 0, healthy("c")), alloc("in", 1, healthy("d"))
	g.roll.deployment, g.roll.begun = &rpc.Deployment{ID: "d", Status: rpc.DeploymentRunning}, true
	g.roll.inPlace = []*rpc.Allocation{before, in}
	g.finishDeployment()
	if before.DeploymentID != "d" || before.Health != "" || before.HealthIndex != 0 || in.Health != rpc.AllocHealthy || in.HealthIndex != 9 {
		t.Errorf("%+v and %+v", before, in)
	}
}

// TestWaitsFor: what an allocation with an evaluation to follow waits for.
func TestWaitsFor(t *testing.T) {
	w := newWorld(t)
	w.nodes(1)
	j := w.register(job(rpc.JobTypeService, "svc", 2, group(func(tg *rpc.TaskGroup) { tg.MaxClientDisconnect = time.Minute })))
	g, alloc := w.groupOf(j)
	follows := func(a *rpc.Allocation) { a.FollowupEvalID = "e" }
	at := w.now.UnixNano()
	for _, c := range []struct {
		what    string
		alloc   *rpc.Allocation
		trigger string
		until   time.Duration
	}{
		{"runs", alloc("a", 0, follows), "", 0},
		{"failed", alloc("a", 0, follows, hasFailed, func(a *rpc.Allocation) { a.ModifyTime = at }), broker.TriggeredByRetryFailedAlloc, 30 * time.Second},
		{"failed, and nothing follows", alloc("a", 0, hasFailed), "", 0},
		{"failed and was stopped", alloc("a", 0, follows, hasFailed, func(a *rpc.Allocation) { a.DesiredStatus = rpc.AllocDesiredStop }), "", 0},
		{"failed in a group that is gone", alloc("a", 0, follows, hasFailed, func(a *rpc.Allocation) { a.TaskGroup = "gone" }), "", 0},
		{"unknown", alloc("a", 0, follows, func(a *rpc.Allocation) {
			a.ClientStatus, a.Reach = rpc.AllocClientUnknown, &rpc.Reach{DisconnectedAt: at}
		}), broker.TriggeredByMaxDisconnectExpiry, time.Minute},
	} {
		trigger, until := g.waitsFor(c.alloc)
		if trigger != c.trigger || trigger != "" && until.Sub(w.now) != c.until {
			t.Errorf("one that %s waits for %q in %v, want %q in %v", c.what, trigger, until.Sub(w.now), c.trigger, c.until)
		}
	}
}

// TestScores: the parts of a node's score are averaged.
func TestScores(t *testing.T) {
	w := newWorld(t)
	w.nodes(2)
	j := w.register(job(rpc.JobTypeService, "svc", 4))
	_, alloc := w.groupOf(j)
	w.update(func(tx *state.Tx) error {
		return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{alloc("a", 0, func(a *rpc.Allocation) { a.NodeID = "n01" })}})
	})
	g, _ := w.groupOf(j)
	score := func(node string, previous *rpc.Allocation) float64 {
		s, ok := g.score(g.node(node), g.snap.NodeAllocs(node), placement{tg: &j.TaskGroups[0], previous: previous}, map[string]int{})
		if !ok {
			t.Fatalf("%s has no room", node)
		}
		return s
	}
	fits := func(share float64) float64 { return (20 - 2*math.Pow(10, 1-share)) / maxFitScore }
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"an empty node", score("n00", nil), fits(0.1)},
		{"one on which it failed", score("n00", alloc("b", 1, hasFailed)), (fits(0.1) - 1) / 2},
		{"one on which it ran", score("n00", alloc("b", 1)), fits(0.1)},
		{"another than that on which it failed", score("n01", alloc("b", 1, hasFailed)), (fits(0.2) - 2./4) / 2},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s scores %g, want %g", c.what, c.got, c.want)
		}
	}
}

// TestSkippedNodes: three nodes with a bad score are skipped, and then two are enough for a batch job.
func TestSkippedNodes(t *testing.T) {
	w := newWorld(t)
	w.nodes(12)
	j := w.register(job(rpc.JobTypeBatch, "b", 1))
	_, alloc := w.groupOf(j)
	var allocs []*rpc.Allocation
	for n := range w.store.Snapshot().Nodes() {
		allocs = append(allocs, alloc("on "+n.ID, 0, func(a *rpc.Allocation) { a.NodeID = n.ID }))
	}
	w.update(func(tx *state.Tx) error { return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: allocs}) })
	g, _ := w.groupOf(j)
	g.batch = true
	order := newShuffle(g.rand, (&Cache{}).readyNodes(g.snap))
	if n, _ := g.choose(order, placement{tg: &j.TaskGroups[0]}, map[string]int{}); n == nil || g.work.Scored != maxSkip+2 {
		t.Errorf("%d nodes were considered, want %d; chosen: %v", g.work.Scored, maxSkip+2, n)
	}
}

// TestListsOfNodesStay: who has a list of ready nodes keeps it as it is.
func TestListsOfNodesStay(t *testing.T) {
	w := newWorld(t)
	w.nodes(3)
	ids := func(nodes []*rpc.Node) (list []string) {
		for _, n := range nodes {
			list = append(list, n.ID+" "+n.NodeClass)
		}
		return list
	}
	before := w.cache.readyNodes(w.store.Snapshot())
	w.node("n01", func(n *rpc.Node) { n.NodeClass = "c2" })
	w.want("after a change", ids(w.cache.readyNodes(w.store.Snapshot())), "[n00 c1 n01 c2 n02 c1]")
	w.status("n00", rpc.NodeStatusDown)
	w.want("without one", ids(w.cache.readyNodes(w.store.Snapshot())), "[n01 c2 n02 c1]")
	w.want("the first list", ids(before), "[n00 c1 n01 c1 n02 c1]")
}

// TestBlockedAgainForClasses: an evaluation that finds no room again waits for the classes that it has
// considered now.
func TestBlockedAgainForClasses(t *testing.T) {
	w := newWorld(t)
	w.node("n00")
	w.register(job(rpc.JobTypeService, "svc", 11))
	e := w.eval("svc", rpc.JobTypeService, broker.TriggeredByJobRegister)
	first := w.run(e)
	if len(first.created) != 1 {
		t.Fatalf("%d evaluations, want one that is blocked", len(first.created))
	}
	w.node("n01", func(n *rpc.Node) { n.NodeClass, n.Resources = "c2", rpc.Resources{CPUMHz: 1} })
	again := w.run(first.created[0])
	if again.reblock == nil || !again.reblock.ClassEligibility["c2"] || first.created[0].ClassEligibility["c2"] {
		t.Errorf("blocked again: %+v", again.reblock)
	}
	w.want("index of the state that it looked at", again.reblock.SnapshotIndex, w.store.Index())
}

// TestUnknownUntilItExpires: a system job's evaluation that leaves an unknown allocation alone does not
// forget it.
func TestUnknownUntilItExpires(t *testing.T) {
	w := newWorld(t)
	w.nodes(2)
	w.register(job(rpc.JobTypeSystem, "sys", 0, group(func(tg *rpc.TaskGroup) { tg.MaxClientDisconnect = time.Minute })))
	w.runJob("sys")
	w.report("sys", rpc.AllocClientRunning, nil)
	w.status("n00", rpc.NodeStatusDisconnected)
	for range 3 {
		w.runJob("sys")
	}
	w.want("while it may come back", w.places("sys"), "[sys.g[0] on n00 sys.g[0] on n01]")
	w.now = w.now.Add(2 * time.Minute)
	w.runJob("sys")
	w.want("afterwards", w.places("sys"), "[sys.g[0] on n01]")
}

// TestDeploymentsOfSystemJobs: which deployment a plan has, and when that is over.
func TestDeploymentsOfSystemJobs(t *testing.T) {
	w := newWorld(t)
	w.nodes(3)
	j := w.register(job(rpc.JobTypeSystem, "sys", 0))
	run := func() *systemRun {
		a := &attempt{
			snap: w.store.Snapshot(), job: w.store.Snapshot().JobByID(j.Namespace, j.ID), rand: w.rand, deploys: true,
			eval: &broker.Evaluation{Namespace: j.Namespace, JobID: j.ID, Type: rpc.JobTypeSystem},
			plan: &Plan{NodeUpdate: map[string][]*rpc.Allocation{}, NodeAllocation: map[string][]*rpc.Allocation{}},
		}
		return &systemRun{attempt: a}
	}
	deployment := func(status string) {
		w.update(func(tx *state.Tx) error {
			return tx.UpsertDeployment(&rpc.Deployment{ID: "d", Namespace: j.Namespace, JobID: j.ID, JobCreateIndex: j.CreateIndex, Status: status, Groups: []rpc.DeploymentGroup{{Name: "g"}}})
		})
	}
	if d := run().takeDeployment(); d != nil || run().carriesDeployment() {
		t.Errorf("nothing to place or to update makes %+v", d)
	}
	s := run()
	s.places = []systemPlace{{}}
	if d := s.takeDeployment(); d == nil || !d.Active() || s.deploymentID != d.ID {
		t.Errorf("the first placements make %+v, of which new allocations are: %q", d, s.deploymentID)
	}
	for status, c := range map[string]struct{ carries, ends, of bool }{
		rpc.DeploymentRunning: {true, true, true}, rpc.DeploymentFailed: {true, false, false}, rpc.DeploymentSuccessful: {false, false, false},
	} {
		deployment(status)
		s := run()
		d := s.takeDeployment()
		s.carryDeployment(d)
		if d == nil || s.carriesDeployment() != c.carries || len(s.plan.DeploymentUpdates) > 0 != c.ends || (s.deploymentID == "d") != c.of || s.plan.Deployment != nil != c.carries {
			t.Errorf("nothing runs, and the deployment is %s: carried %v, ended by %d updates, of new allocations %q", status, s.carriesDeployment(), len(s.plan.DeploymentUpdates), s.deploymentID)
		}
	}
}

// TestDeploymentOfOneGroup: it wants what runs, without what the plan stops.
func TestDeploymentOfOneGroup(t *testing.T) {
	w := newWorld(t)
	w.nodes(3)
	w.register(job(rpc.JobTypeSystem, "sys", 0))
	for _, want := range []int{3, 2} {
		if got := w.planOnce("sys", true).Deployment.Groups[0].DesiredTotal; got != want {
			t.Errorf("%d are wanted, want %d", got, want)
		}
		w.status("n00", rpc.NodeStatusDown)
	}
}

// TestWhichBatchAllocationsCount: one that was told to stop counts if it had run to its end before.
func TestWhichBatchAllocationsCount(t *testing.T) {
	w := newWorld(t)
	w.nodes(1)
	g, alloc := w.groupOf(w.register(job(rpc.JobTypeBatch, "bat", 1)))
	g.batch = true
	for _, tt := range []struct {
		desired, client    string
		counts, mayReplace bool
	}{
		{rpc.AllocDesiredRun, rpc.AllocClientRunning, true, false},
		{rpc.AllocDesiredRun, rpc.AllocClientFailed, true, true},
		{rpc.AllocDesiredStop, rpc.AllocClientRunning, false, false},
		{rpc.AllocDesiredStop, rpc.AllocClientFailed, false, false},
		{rpc.AllocDesiredStop, rpc.AllocClientComplete, true, false},
		{rpc.AllocDesiredEvict, rpc.AllocClientComplete, false, false},
	} {
		a := alloc("a", 0, func(a *rpc.Allocation) { a.DesiredStatus, a.ClientStatus = tt.desired, tt.client })
		if counts, mayReplace := g.counts(a); counts != tt.counts || mayReplace != tt.mayReplace {
			t.Errorf("to %s, %s: counts %v, may be replaced %v", tt.desired, tt.client, counts, mayReplace)
		}
	}
}

// TestWhichDeploymentGoesOn: that of the job's version, until it has succeeded.
func TestWhichDeploymentGoesOn(t *testing.T) {
	for _, tt := range []struct {
		status  string
		version uint64
		want    bool
	}{
		{rpc.DeploymentRunning, 0, true}, {rpc.DeploymentFailed, 0, true}, {rpc.DeploymentSuccessful, 0, false}, {rpc.DeploymentRunning, 1, false},
	} {
		w := newWorld(t)
		j := w.register(job(rpc.JobTypeService, "svc", 2, rolling(1)))
		w.update(func(tx *state.Tx) error {
			return tx.UpsertDeployment(&rpc.Deployment{
				ID: "d", Namespace: j.Namespace, JobID: j.ID, JobCreateIndex: w.store.Snapshot().JobByID(j.Namespace, j.ID).CreateIndex, JobVersion: tt.version, Status: tt.status,
			})
		})
		g, _ := w.groupOf(w.store.Snapshot().JobByID(j.Namespace, j.ID))
		g.takeDeployment()
		if got := g.roll.deployment != nil; got != tt.want {
			t.Errorf("%s, of version %d: it goes on: %v", tt.status, tt.version, got)
		}
	}
}

// TestOwnsByNamespace: a job of another namespace may have the same name.
func TestOwnsByNamespace(t *testing.T) {
	a := &attempt{eval: &broker.Evaluation{Namespace: "one", JobID: "svc"}}
	for of, want := range map[broker.JobID]bool{{Namespace: "one", ID: "svc"}: true, {Namespace: "two", ID: "svc"}: false, {Namespace: "one", ID: "web"}: false} {
		if got := a.owns(&rpc.Allocation{Namespace: of.Namespace, JobID: of.ID}); got != want {
			t.Errorf("an allocation of %+v is of the job: %v", of, got)
		}
	}
}
