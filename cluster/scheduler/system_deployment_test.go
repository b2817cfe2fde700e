package scheduler

import (
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// plan runs the scheduler once for a system job, and commits its plan if it has one.
func (w *world) planOnce(id string, deploys bool) *Plan {
	w.t.Helper()
	s, err := New(w.eval(id, rpc.JobTypeSystem, broker.TriggeredByNodeUpdate), w.cache, w.rand)
	w.ok(err)
	s.SystemDeployments = deploys
	plan := s.Plan(w.store.Snapshot(), w.now).Plan
	if plan == nil {
		return nil
	}
	result := EvaluatePlan(w.store.Snapshot(), plan)
	w.want("result without effect", result.IsNoOp(), false)
	w.update(func(tx *state.Tx) error { return tx.UpsertPlanResults(result.Commit(plan.EvalID, w.now.UnixNano())) })
	result.AllocIndex = w.index
	s.Committed(result)
	return plan
}

// TestSystemEvaluationsThatChangeNothing: since 1.11.0 they submit a plan, whatever has become
// of the job's deployment.
func TestSystemEvaluationsThatChangeNothing(t *testing.T) {
	one := newWorld(t)
	one.nodes(1)
	one.register(job(rpc.JobTypeSystem, "sys", 0))
	one.want("deployment on one node", one.planOnce("sys", true).Deployment != nil, true)
	for _, deploys := range []bool{false, true} {
		w := newWorld(t)
		w.nodes(3)
		w.register(job(rpc.JobTypeSystem, "sys", 0))
		first := w.planOnce("sys", deploys)
		w.want("first plan begins a deployment", first.Deployment != nil, deploys)
		for range 3 {
			plan := w.planOnce("sys", deploys)
			w.want("plan that changes nothing", plan != nil, deploys)
			if deploys {
				w.want("size", plan.Size(), 0)
				w.want("allocations in the deployment", plan.Deployment.Groups[0].DesiredTotal, 3)
				w.want("one deployment", plan.Deployment.ID, first.Deployment.ID)
			}
		}
		if !deploys {
			continue
		}
		w.want("status before all are healthy", w.deployment("sys").Status, rpc.DeploymentRunning)
		for _, a := range w.live("sys") {
			healthy := &rpc.Allocation{ID: a.ID, NodeID: a.NodeID, ClientStatus: rpc.AllocClientRunning, Health: rpc.AllocHealthy}
			w.want("deployment of "+a.Name, a.DeploymentID, first.Deployment.ID)
			w.update(func(tx *state.Tx) error { tx.UpdateAllocsFromClient(healthy); return nil })
		}
		w.planOnce("sys", true)
		w.want("status", w.store.Snapshot().DeploymentOf(broker.JobID{Namespace: rpc.DefaultNamespace, ID: "sys"}).Status, rpc.DeploymentSuccessful)
		w.want("plan after success", w.planOnce("sys", true) != nil, true)
		w.want("status after it", w.store.Snapshot().DeploymentOf(broker.JobID{Namespace: rpc.DefaultNamespace, ID: "sys"}).Status, rpc.DeploymentSuccessful)
		for _, id := range []string{"n00", "n01", "n02"} {
			w.status(id, rpc.NodeStatusDown)
		}
		w.planOnce("sys", true)
		w.want("plan once nothing runs", w.planOnce("sys", true) == nil, true)
	}
}

// TestSystemDeploymentsBeginWithVersions: a new version's begins with its first update, and a
// replacement begins none.
func TestSystemDeploymentsBeginWithVersions(t *testing.T) {
	w := newWorld(t)
	w.nodes(2)
	w.register(job(rpc.JobTypeSystem, "sys", 0))
	first := w.planOnce("sys", true).Deployment.ID
	w.node("n02")
	plan := w.planOnce("sys", true)
	w.want("deployment of another node's allocation", plan.Deployment.ID, first)
	w.want("placements", plan.Size(), 1)
	w.change("sys", group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz++ }))
	second := w.planOnce("sys", true)
	w.want("another deployment", second.Deployment.ID == first, false)
	for _, places := range second.NodeAllocation {
		w.want("placements of the version", slices.ContainsFunc(places, func(a *rpc.Allocation) bool { return a.DeploymentID != second.Deployment.ID }), false)
	}
}

// TestSystemDeploymentsOfTwoGroups: a deployment has succeeded when the allocations of each group are healthy.
func TestSystemDeploymentsOfTwoGroups(t *testing.T) {
	for _, first := range []string{"g", "h"} {
		w := newWorld(t)
		w.nodes(2)
		w.register(job(rpc.JobTypeSystem, "sys", 0, func(j *rpc.Job) {
			other := j.TaskGroups[0]
			other.Name = "h"
			j.TaskGroups = append(j.TaskGroups, other)
		}))
		w.planOnce("sys", true)
		healthy := func(of func(*rpc.Allocation) bool) {
			w.update(func(tx *state.Tx) error {
				for _, a := range w.live("sys") {
					if of(a) {
						tx.UpdateAllocsFromClient(&rpc.Allocation{ID: a.ID, NodeID: a.NodeID, ClientStatus: rpc.AllocClientRunning, Health: rpc.AllocHealthy})
					}
				}
				return nil
			})
			w.planOnce("sys", true)
		}
		healthy(func(a *rpc.Allocation) bool { return a.TaskGroup == first })
		w.want("status when group "+first+" is healthy", w.deployment("sys").Status, rpc.DeploymentRunning)
		healthy(func(a *rpc.Allocation) bool { return a.TaskGroup != first })
		w.want("status when both are", w.store.Snapshot().DeploymentOf(broker.JobID{Namespace: rpc.DefaultNamespace, ID: "sys"}).Status, rpc.DeploymentSuccessful)
	}
}

// TestSystemRollsByHealth: an evaluation replaces as many allocations of each group as its max_parallel, by default one. Since 1.11.2 those
// that have yet to be healthy count. No evaluation waits for the stagger.
func TestSystemRollsByHealth(t *testing.T) {
	for _, c := range []struct {
		parallel int
		pending  bool
		replaced string // by evaluation: the first two without a report between them
	}{
		{2, false, "[2 2 1]"}, {2, true, "[2 0 2 1]"}, {0, false, "[1 1 1 1 1]"}, {0, true, "[1 0 1 1 1 1]"}, {9, true, "[5]"},
	} {
		w := newWorld(t)
		w.habits = Habits{SystemDeployments: true, PendingCounts: c.pending}
		w.nodes(5)
		w.register(job(rpc.JobTypeSystem, "sys", 0, group(func(tg *rpc.TaskGroup) { tg.MaxParallel = c.parallel })))
		w.runJob("sys")
		w.report("sys", rpc.AllocClientRunning, nil)
		w.runJob("sys")
		w.want("first deployment", w.deployment("sys").Status, rpc.DeploymentSuccessful)
		w.change("sys", group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz++ }))
		var replaced []int
		for i := 0; w.ofVersion("sys", 1) < 5; i++ {
			r := w.runJob("sys")
			replaced = append(replaced, len(stops(r)))
			w.want("evaluations made", len(r.created), 0)
			if i > 0 {
				w.report("sys", rpc.AllocClientRunning, nil)
			}
			if i > 9 {
				t.Fatalf("%+v: %v were replaced, and the update goes on", c, replaced)
			}
		}
		w.want("replaced", replaced, c.replaced)
	}
}

// TestSystemDeploymentOfAStoppedJob: the evaluation that stops what a system job runs cancels its deployment.
func TestSystemDeploymentOfAStoppedJob(t *testing.T) {
	w := newWorld(t)
	w.habits.SystemDeployments = true
	w.nodes(2)
	w.register(job(rpc.JobTypeSystem, "sys", 0))
	w.runJob("sys")
	w.update(func(tx *state.Tx) error { return tx.StopJob(rpc.DefaultNamespace, "sys") })
	r := w.runJob("sys")
	w.want("stops", len(stops(r)), 2)
	w.want("deployment", w.deployment("sys").Status, rpc.DeploymentCancelled)
}

// TestSystemDeploymentAfterOneThatFailed: a new version begins no deployment if that of the version before failed. Then an evaluation replaces
// max_parallel allocations, and nothing makes another (nomad #28538).
func TestSystemDeploymentAfterOneThatFailed(t *testing.T) {
	for _, c := range []struct {
		status string
		begins bool
	}{{rpc.DeploymentRunning, true}, {rpc.DeploymentSuccessful, true}, {rpc.DeploymentFailed, false}, {rpc.DeploymentCancelled, false}} {
		w := newWorld(t)
		w.habits.SystemDeployments = true
		w.nodes(3)
		w.register(job(rpc.JobTypeSystem, "sys", 0))
		w.runJob("sys")
		first := w.deployment("sys").ID
		w.update(func(tx *state.Tx) error {
			tx.UpdateDeployment(&rpc.DeploymentUpdate{Namespace: rpc.DefaultNamespace, JobID: "sys", DeploymentID: first, Status: c.status})
			return nil
		})
		w.change("sys", group(func(tg *rpc.TaskGroup) { tg.Resources.CPUMHz++ }))
		w.want("replaced", len(stops(w.runJob("sys"))), 1)
		d := w.deployment("sys")
		w.want(c.status+": another begins", d.ID != first, c.begins)
		for _, a := range w.live("sys") {
			if a.JobVersion == 1 {
				w.want("its allocation has it", a.DeploymentID, map[bool]string{true: d.ID}[c.begins])
			}
		}
	}
}

// TestSystemDeploymentWithoutUpdates: a version that replaces nothing begins a deployment all the same, as when a job is started again.
func TestSystemDeploymentWithoutUpdates(t *testing.T) {
	w := newWorld(t)
	w.habits.SystemDeployments = true
	w.nodes(2)
	w.register(job(rpc.JobTypeSystem, "sys", 0))
	w.runJob("sys")
	w.report("sys", rpc.AllocClientRunning, nil)
	w.runJob("sys")
	first := w.deployment("sys")
	w.want("first", first.Status, rpc.DeploymentSuccessful)
	w.update(func(tx *state.Tx) error { return tx.StopJob(rpc.DefaultNamespace, "sys") })
	w.runJob("sys")
	w.change("sys", func(j *rpc.Job) { j.Stop = false })
	w.runJob("sys")
	d := w.deployment("sys")
	w.want("next", []any{d.ID != first.ID, d.Status}, []any{true, rpc.DeploymentRunning})
	for _, a := range w.live("sys") {
		w.want("deployment of "+a.NodeID, a.DeploymentID, d.ID)
	}
}

// TestSystemDeploymentWithoutRoom: a deployment for which no node has room has succeeded at once. What is placed later is of none.
func TestSystemDeploymentWithoutRoom(t *testing.T) {
	w := newWorld(t)
	w.habits.SystemDeployments = true
	w.node("n00", func(n *rpc.Node) { n.Resources.CPUMHz = 50 })
	w.register(job(rpc.JobTypeSystem, "sys", 0))
	w.runJob("sys")
	w.want("without room", w.deployment("sys").Status, rpc.DeploymentSuccessful)
	w.node("n00")
	w.runJob("sys")
	w.want("with room", []any{w.places("sys"), w.live("sys")[0].DeploymentID}, []any{"[sys.g[0] on n00]", ""})
}

// TestSystemUpdateInPlaceJoinsTheDeployment: what a new version changes in place, or what is back, is of the job's deployment, and nobody knows
// how well it runs.
func TestSystemUpdateInPlaceJoinsTheDeployment(t *testing.T) {
	w := newWorld(t)
	w.habits.SystemDeployments = true
	w.nodes(2)
	survives := func(limit time.Duration) func(*rpc.Job) {
		return group(func(tg *rpc.TaskGroup) { tg.MaxClientDisconnect = limit })
	}
	w.register(job(rpc.JobTypeSystem, "sys", 0, survives(time.Minute)))
	w.runJob("sys")
	w.report("sys", rpc.AllocClientRunning, nil)
	w.runJob("sys")
	first := w.deployment("sys").ID
	w.change("sys", survives(time.Hour))
	w.runJob("sys")
	second := w.deployment("sys")
	w.want("another deployment", second.ID != first, true)
	for _, a := range w.live("sys") {
		w.want("changed in place", []any{a.JobVersion, a.DeploymentID, a.Health}, []any{1, second.ID, ""})
	}
	w.want("placed, healthy, wanted", []any{second.Groups[0].Placed, second.Groups[0].Healthy, second.Groups[0].DesiredTotal}, "[2 0 2]")
	w.report("sys", rpc.AllocClientRunning, nil)
	w.runJob("sys")
	w.want("once healthy", w.deployment("sys").Status, rpc.DeploymentSuccessful)

	w.status("n01", rpc.NodeStatusDisconnected)
	w.runJob("sys")
	w.status("n01", rpc.NodeStatusReady)
	w.update(func(tx *state.Tx) error {
		for _, a := range w.live("sys") {
			tx.UpdateAllocsFromClient(&rpc.Allocation{ID: a.ID, ClientStatus: rpc.AllocClientRunning})
		}
		return nil
	})
	w.runJob("sys")
	for _, a := range w.live("sys") {
		health := map[string]string{"n00": rpc.AllocHealthy}[a.NodeID]
		w.want("back on "+a.NodeID, []any{a.DisconnectedAt(), a.DeploymentID, a.Health}, []any{0, second.ID, health})
	}
	w.want("healthy still", w.deployment("sys").Groups[0].Healthy, 2)
}
