package scheduler

import (
	"slices"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

func rolling(parallel int) func(*rpc.Job) {
	return group(func(tg *rpc.TaskGroup) { tg.MaxParallel = parallel })
}

func changed(tg *rpc.TaskGroup) { tg.Resources.CPUMHz++ }

func (w *world) deployment(job string) *rpc.Deployment {
	return w.store.Snapshot().DeploymentOf(broker.JobID{Namespace: rpc.DefaultNamespace, ID: job})
}

func (w *world) ofVersion(job string, version uint64) int {
	return len(slices.DeleteFunc(w.live(job), func(a *rpc.Allocation) bool { return a.JobVersion != version }))
}

func TestRollingUpdate(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeService, "svc", 5, rolling(2)))
	w.change("svc", group(changed))
	for i, left := range []int{3, 1, 0} {
		w.runJob("svc")
		w.want("left to replace", w.ofVersion("svc", 0), left)
		for _, a := range w.live("svc") {
			w.want("is replaced, in the order of names: "+a.Name, a.JobVersion == 1, nameNumber(a.Name) < 5-left)
		}
		d := w.deployment("svc").Groups[0]
		w.want("desired, placed, healthy", []int{d.DesiredTotal, d.Placed, d.Healthy}, []int{5, 5 - left, 2 * i})
		w.want("plans before the new ones are healthy", len(w.runJob("svc").plans), 0)
		w.report("svc", rpc.AllocClientRunning, nil)
	}
	w.want("going on", w.deployment("svc").Active(), true)
	w.want("plan that ends it", len(w.runJob("svc").plans), 1)
	w.want("status", w.deployment("svc").Status, rpc.DeploymentSuccessful)
	w.want("plans when done", len(w.runJob("svc").plans), 0)
	w.want("names", w.names("svc"), "[svc.g[0] svc.g[1] svc.g[2] svc.g[3] svc.g[4]]")
}

// TestRollingUpdateStopsAtAFailure: an unhealthy allocation stops the update until the
// deployment watcher asks for a replacement. A failed deployment never continues.
func TestRollingUpdateStopsAtAFailure(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeService, "svc", 3, rolling(1)))
	w.change("svc", group(changed))
	w.runJob("svc")
	isNew := func(a *rpc.Allocation) bool { return a.JobVersion == 1 }
	w.report("svc", rpc.AllocClientFailed, isNew)
	w.want("stops while one is unhealthy", stops(w.runJob("svc")), "[]")

	failed := slices.DeleteFunc(w.allocs("svc"), func(a *rpc.Allocation) bool { return !isNew(a) })[0]
	w.update(func(tx *state.Tx) error { tx.RequestTransitions(nil, []string{failed.ID}); return nil })
	next := w.runJob("svc").created[0]
	w.now = next.WaitUntil
	w.run(next)
	w.want("replaced", w.ofVersion("svc", 1), 1)
	w.want("the rest waits", w.ofVersion("svc", 0), 2)

	d := w.deployment("svc")
	w.update(func(tx *state.Tx) error {
		tx.UpdateDeployment(&rpc.DeploymentUpdate{Namespace: d.Namespace, JobID: d.JobID, DeploymentID: d.ID, Status: rpc.DeploymentFailed})
		return nil
	})
	w.report("svc", rpc.AllocClientRunning, nil)
	w.want("plans of a failed deployment", len(w.runJob("svc").plans), 0)

	w.change("svc", group(changed))
	w.runJob("svc")
	w.want("a new version begins anew", w.deployment("svc").Active(), true)
}

func TestDeploymentEndsWithItsJob(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeService, "svc", 3, rolling(1)))
	w.change("svc", group(changed))
	w.runJob("svc")
	w.change("svc", group(changed))
	first := w.deployment("svc").ID
	w.runJob("svc")
	w.want("another took its place", w.deployment("svc").ID != first && w.deployment("svc").Active(), true)
	w.update(func(tx *state.Tx) error { return tx.StopJob(rpc.DefaultNamespace, "svc") })
	w.runJob("svc")
	w.want("cancelled", w.deployment("svc").Status, rpc.DeploymentCancelled)
}

// TestUpdateInPlaceDeploys: allocations that are updated in place must become healthy again.
func TestUpdateInPlaceDeploys(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeService, "svc", 3, rolling(1)))
	w.change("svc", func(j *rpc.Job) { j.Priority++ })
	r := w.runJob("svc")
	d := w.deployment("svc")
	w.want("of the new version", w.ofVersion("svc", 1), 3)
	w.want("desired, placed, healthy", []int{d.Groups[0].DesiredTotal, d.Groups[0].Placed, d.Groups[0].Healthy}, []int{3, 3, 0})
	for _, a := range w.live("svc") {
		w.want("evaluation, deployment and health", []string{a.EvalID, a.DeploymentID, a.Health}, []string{r.final.ID, d.ID, ""})
	}
}

// TestADeploymentWithoutAllocations: all that a late plan of the version before places may be refused, and its
// deployment stays. The scheduler that has found the stopped job as wanted ends it.
func TestADeploymentWithoutAllocations(t *testing.T) {
	w := running(t, 3, job(rpc.JobTypeService, "svc", 2, rolling(1)))
	w.change("svc", func(j *rpc.Job) { j.Stop = true })
	w.runJob("svc")
	w.report("svc", rpc.AllocClientComplete, nil)
	w.runJob("svc")
	late := &rpc.Deployment{ID: "late", Namespace: rpc.DefaultNamespace, JobID: "svc", Status: rpc.DeploymentRunning}
	w.update(func(tx *state.Tx) error { return tx.UpsertPlanResults(&state.PlanResults{Deployment: late}) })
	w.want("plans", len(w.runJob("svc").plans), 1)
	w.want("status", w.deployment("svc").Status, rpc.DeploymentCancelled)
}
