package scheduler

import (
	"cmp"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/uuid"
)

// carriesDeployment reports whether the attempt's plan will have a deployment although nothing
// changes: that of the job, of whatever version and status (scheduler_system.go,
// computeJobAllocs, v1.11.0). A successful one is left out once nothing of the job runs.
func (a *attempt) carriesDeployment() bool {
	if !a.deploys || a.job == nil {
		return false
	}
	d := a.snap.DeploymentOf(a.eval.Job())
	return d != nil && (d.Status != rpc.DeploymentSuccessful || a.snap.JobAllocs(a.eval.Job()).Live > 0)
}

// takeDeployment returns the deployment that the plan will have, or nil: the job's or, if that succeeded or was
// of an earlier version, one for this version (reconcile_node.go, cancelUnnededSystemDeployments and createDeployment,
// v1.11.0). One of an earlier version that failed or was canceled stays, and none begins (nomad #28538). Every group of
// a system job deploys, for the API gives each an update block.
func (s *systemRun) takeDeployment() *rpc.Deployment {
	if !s.deploys || s.job == nil {
		return nil
	}
	d := s.snap.DeploymentOf(s.eval.Job())
	ofVersion := d != nil && d.JobVersion == s.job.Version && d.JobCreateIndex == s.job.CreateIndex
	allocs := s.snap.JobAllocs(s.eval.Job())
	first := d == nil && allocs.Live+allocs.Terminal == 0 && len(s.places) > 0
	next := d != nil && !ofVersion && (d.Active() || d.Status == rpc.DeploymentSuccessful) &&
		(allocs.Live > 0 || s.snap.NodesIn(s.job.Datacenters).Ready > 0)
	switch {
	case !s.stopped() && (first || next):
		d = &rpc.Deployment{
			ID: uuid.Random(s.rand), Namespace: s.job.Namespace, JobID: s.job.ID, JobVersion: s.job.Version,
			JobCreateIndex: s.job.CreateIndex, Priority: s.eval.Priority,
			Status: rpc.DeploymentRunning, StatusDescription: descDeploymentRunning,
		}
		for _, tg := range s.job.TaskGroups {
			d.Groups = append(d.Groups, rpc.DeploymentGroup{Name: tg.Name, ProgressDeadline: cmp.Or(tg.ProgressDeadline, rpc.DefaultProgressDeadline)})
		}
	case d == nil:
		return nil
	default:
		d = d.Copy()
	}
	if d.Active() {
		s.deploymentID = d.ID
	}
	return d
}

// joinDeployment makes allocations that the plan updates in place part of the deployment, or of none. Nobody knows
// how well they run (util.go, inplaceUpdate, v1.11.0).
func (s *systemRun) joinDeployment(d *rpc.Deployment) {
	if !s.deploys {
		return
	}
	id := ""
	if d != nil {
		id = d.ID
	}
	for _, a := range s.inPlace {
		a.DeploymentID, a.Health, a.HealthIndex = id, "", 0
	}
}

// deployLimits returns how many allocations of each group may be replaced (scheduler_system.go, evictAndPlace, v1.11.0): by
// default one, as the API has it. Those that have yet to be healthy take their places.
func (s *systemRun) deployLimits() map[string]*int {
	limits := map[string]*int{}
	for _, tg := range s.job.TaskGroups {
		limits[tg.Name] = new(cmp.Or(tg.MaxParallel, 1))
	}
	d := s.snap.DeploymentOf(s.eval.Job())
	if d == nil || !s.habits.PendingCounts {
		return limits
	}
	for _, a := range s.snap.AllocsByJob(s.eval.Job()) {
		if limit := limits[a.TaskGroup]; limit != nil && !a.Terminal() && a.DeploymentID == d.ID && a.Health == "" && s.current(a) {
			*limit--
		}
	}
	return limits
}

// carryDeployment puts the deployment into the plan, with as many allocations as the job will have, and declares it
// successful if all of them are healthy, or if there are none. That of a stopped job is canceled if any of it
// still runs, and successful otherwise.
func (s *systemRun) carryDeployment(d *rpc.Deployment) {
	if d == nil {
		return
	}
	live := s.snap.JobAllocs(s.eval.Job()).Live
	for _, stops := range s.plan.NodeUpdate {
		for _, a := range stops {
			if old := s.snap.AllocByID(a.ID); old != nil && !old.Terminal() {
				live--
			}
		}
	}
	for _, places := range s.plan.NodeAllocation {
		for _, a := range places {
			if s.snap.AllocByID(a.ID) == nil {
				live++
			}
		}
	}
	if live == 0 && d.Status == rpc.DeploymentSuccessful {
		return
	}
	if s.stopped() {
		s.plan.Deployment = d
		s.endDeployment(d, s.snap.JobAllocs(s.eval.Job()).Live > 0)
		return
	}
	healthy := true
	for i := range d.Groups {
		// Each group runs on every node.
		d.Groups[i].DesiredTotal = live / len(d.Groups)
		healthy = healthy && d.Groups[i].Healthy >= d.Groups[i].DesiredTotal
	}
	s.plan.Deployment = d
	if d.Active() {
		s.waits = true // what has changed does not show the end of a deployment
		if healthy {   // nodes without room are not waited for (scheduler_system.go, computePlacements)
			s.endDeployment(d, false)
		}
	}
}

// endDeployment has the plan end a deployment that goes on: it is canceled, or has succeeded.
func (s *systemRun) endDeployment(d *rpc.Deployment, canceled bool) {
	if !d.Active() {
		return
	}
	u := &rpc.DeploymentUpdate{
		Namespace: d.Namespace, JobID: d.JobID, DeploymentID: d.ID,
		Status: rpc.DeploymentSuccessful, StatusDescription: descDeploymentSuccessful,
	}
	if canceled {
		u.Status, u.StatusDescription = rpc.DeploymentCancelled, descDeploymentStopped
	}
	s.plan.DeploymentUpdates = append(s.plan.DeploymentUpdates, u)
}
