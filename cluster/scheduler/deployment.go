package scheduler

import (
	"cmp"
	"slices"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/uuid"
)

// Descriptions of deployments (structs.go, DeploymentStatusDescription*).
const (
	descDeploymentRunning    = "Deployment is running"
	descDeploymentSuccessful = "Deployment completed successfully"
	descDeploymentStopped    = "Cancelled because job is stopped"
	descDeploymentNewer      = "Cancelled due to newer version of job"
)

// rollout is the state of the job's deployment during a run (reconcile.go, allocReconciler).
type rollout struct {
	deployment *rpc.Deployment   // of the job's version, unless it was successful; nil = none
	begun      bool              // this run makes the deployment
	inPlace    []*rpc.Allocation // that this run updates in place
	incomplete bool              // some group has something left to do
}

// takeDeployment finds the job's deployment, and cancels one that is not needed any more
// (reconcile.go, cancelUnneededDeployments).
func (g *genericRun) takeDeployment() {
	d := g.snap.DeploymentOf(g.eval.Job())
	switch {
	case d == nil:
	case g.stopped():
		g.endDeployment(d, rpc.DeploymentCancelled, descDeploymentStopped)
	case d.JobCreateIndex != g.job.CreateIndex || d.JobVersion != g.job.Version:
		g.endDeployment(d, rpc.DeploymentCancelled, descDeploymentNewer)
	case d.Status != rpc.DeploymentSuccessful:
		g.roll.deployment = d
	}
}

func (g *genericRun) endDeployment(d *rpc.Deployment, status, description string) {
	if d.Active() {
		g.plan.DeploymentUpdates = append(g.plan.DeploymentUpdates, &rpc.DeploymentUpdate{
			Namespace: d.Namespace, JobID: d.JobID, DeploymentID: d.ID, Status: status, StatusDescription: description,
		})
	}
}

// deploysGroup reports whether changes of the group are deployments: that is so in services
// that set MaxParallel.
func (g *genericRun) deploysGroup(tg *rpc.TaskGroup) bool { return !g.batch && tg.MaxParallel > 0 }

// groupDeployment returns the group's part in the deployment, or nil.
func (g *genericRun) groupDeployment(tg *rpc.TaskGroup) *rpc.DeploymentGroup {
	if g.roll.deployment == nil {
		return nil
	}
	return g.roll.deployment.Group(tg.Name)
}

// deploymentFailed reports whether the job's deployment failed, which ends its placements.
func (g *genericRun) deploymentFailed() bool {
	return g.roll.deployment != nil && g.roll.deployment.Status == rpc.DeploymentFailed
}

// beginDeployment makes a deployment, or adds the group to the one that this run made, if the
// job runs for the first time or its specification has changed (reconcile.go,
// createDeployment).
func (g *genericRun) beginDeployment(tg *rpc.TaskGroup, all []*rpc.Allocation, desired int, changed bool) {
	if !g.deploysGroup(tg) || desired == 0 || g.groupDeployment(tg) != nil {
		return
	}
	if !changed && slices.ContainsFunc(all, g.current) {
		return // the group runs already
	}
	if g.roll.deployment != nil && !g.roll.begun {
		return // the groups of a version, and so of a deployment, never change
	}
	if !g.roll.begun {
		g.roll.begun = true
		g.roll.deployment = &rpc.Deployment{
			ID: uuid.Random(g.rand), Namespace: g.job.Namespace, JobID: g.job.ID, JobVersion: g.job.Version,
			JobCreateIndex: g.job.CreateIndex, Priority: g.eval.Priority,
			Status: rpc.DeploymentRunning, StatusDescription: descDeploymentRunning,
		}
		g.plan.Deployment = g.roll.deployment
	}
	g.roll.deployment.Groups = append(g.roll.deployment.Groups, rpc.DeploymentGroup{
		Name: tg.Name, DesiredTotal: desired, ProgressDeadline: cmp.Or(tg.ProgressDeadline, rpc.DefaultProgressDeadline),
	})
}

// finishDeployment assigns new allocations, and those updated in place, to the deployment. It
// declares the deployment successful if no group has anything left to do and all
// allocations it wants are healthy (reconcile.go, computeDeploymentComplete and
// isDeploymentComplete).
func (g *genericRun) finishDeployment() {
	d := g.roll.deployment
	if d.Active() {
		g.deploymentID = d.ID
		g.waits = true // AllocsChangedSince does not show the end of a deployment
	}
	for _, alloc := range g.roll.inPlace {
		if alloc.DeploymentID != g.deploymentID {
			alloc.DeploymentID, alloc.Health, alloc.HealthIndex = g.deploymentID, "", 0
		}
	}
	unhealthy := func(part rpc.DeploymentGroup) bool { return part.Healthy < part.DesiredTotal }
	if d != nil && !g.roll.begun && !g.roll.incomplete && !slices.ContainsFunc(d.Groups, unhealthy) {
		g.endDeployment(d, rpc.DeploymentSuccessful, descDeploymentSuccessful)
	}
}

// heldByDeployment reports whether a failed allocation is not replaced before the deployment
// watcher asks for that (reconcile_util.go, updateByReschedulable).
func (g *genericRun) heldByDeployment(alloc *rpc.Allocation) bool {
	d := g.roll.deployment
	return d.Active() && !g.roll.begun && alloc.DeploymentID == d.ID && !alloc.Reschedule
}

// updateRoom returns how many allocations this attempt may replace (reconcile.go,
// computeUnderProvisionedBy).
func (g *genericRun) updateRoom(s *groupState, destructive []*rpc.Allocation) int {
	switch d := g.roll.deployment; {
	case !g.deploysGroup(s.tg) || len(destructive)+len(s.migrate) == 0:
		return s.tg.Count
	case d == nil || g.roll.begun:
		return s.tg.MaxParallel
	case g.deploymentFailed():
		return 0
	}
	room := s.tg.MaxParallel
	for _, alloc := range s.kept {
		switch {
		case alloc.DeploymentID != g.roll.deployment.ID || alloc.Health == rpc.AllocHealthy:
		case alloc.Health == rpc.AllocUnhealthy:
			return 0
		default:
			room--
		}
	}
	return max(0, room)
}
