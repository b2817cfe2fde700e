package leader

import (
	"slices"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// How long the deployment watcher gathers before it makes an evaluation: for one
// deployment (deployment_watcher.go, perJobEvalBatchPeriod), and then across all of them
// (deployments_watcher.go, CrossDeploymentUpdateBatchDuration).
const (
	deploymentBatch      = time.Second
	crossDeploymentBatch = 250 * time.Millisecond
)

// Deployments moves deployments along while the server leads: an allocation that
// turned healthy makes schedulers look at its job again, one that turned unhealthy is to
// be replaced, and a deployment without progress fails (nomad/deploymentwatcher). The
// state machine tells it what entries changed, and a server when it has read that.
type Deployments struct {
	log   Log
	batch *Batcher[fsm.DesiredTransitionRequest]

	mu      sync.Mutex
	watched map[string]*watchedDeployment // by ID; nil while the server does not lead
	timers  timers
}

type watchedDeployment struct {
	id       string
	job      broker.JobID
	deadline time.Time // zero: none yet
	expiry   *time.Timer
	// What clients reported.
	healthy   uint64   // the index at which an allocation last turned healthy
	unhealthy []string // allocations that turned unhealthy, and that schedulers were not asked to replace yet
	seen      uint64   // what lastLook last returned
	failing   bool     // the deployment is about to fail because of unhealthy allocations
	// progress is armed while an evaluation is about to be made.
	progress *time.Timer
	replace  []string
}

// NewDeployments returns a watcher that is stopped.
func NewDeployments(l Log) *Deployments {
	return &Deployments{log: l, batch: newTransitions(l, crossDeploymentBatch)}
}

// Start watches the deployments that go on. What clients said while nobody led is there to be read.
func (w *Deployments) Start(snap *state.Snapshot) {
	w.mu.Lock()
	w.watched = map[string]*watchedDeployment{}
	w.mu.Unlock()
	for d := range snap.Deployments() {
		if !d.Active() {
			continue
		}
		job := broker.JobID{Namespace: d.Namespace, ID: d.JobID}
		w.Changed(snap, []broker.JobID{job})
		w.Healths(snap, snap.AllocsByJob(job))
	}
}

// lastLook is the index of the newest state that an evaluation of the job was made for or
// processed with (deployment_watcher.go, jobEvalStatus). It does not go back while a deployment goes on.
func lastLook(snap *state.Snapshot, job broker.JobID) uint64 {
	index := uint64(0)
	for _, e := range snap.EvalsByJob(job) {
		if e.Status != broker.StatusCanceled {
			index = max(index, e.SnapshotIndex, e.CreateIndex)
		}
	}
	return index
}

// Stop forgets everything and waits for what is under way.
func (w *Deployments) Stop() {
	w.mu.Lock()
	for _, d := range w.watched {
		w.timers.disarm(d.expiry)
		w.timers.disarm(d.progress)
	}
	w.watched = nil
	w.mu.Unlock()
	w.timers.Wait()
	w.batch.Stop()
}

// Changed takes note of the deployments of jobs that an entry may have changed.
func (w *Deployments) Changed(snap *state.Snapshot, jobs []broker.JobID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watched == nil {
		return
	}
	for _, job := range jobs {
		now := snap.DeploymentOf(job)
		for id, d := range w.watched {
			if d.job == job && (!now.Active() || now.ID != id) {
				w.timers.disarm(d.expiry)
				w.timers.disarm(d.progress)
				delete(w.watched, id)
			}
		}
		if now.Active() {
			w.watch(now, job)
		}
	}
}

func (w *Deployments) watch(now *rpc.Deployment, job broker.JobID) {
	d := w.watched[now.ID]
	if d == nil {
		d = &watchedDeployment{id: now.ID, job: job}
		w.watched[now.ID] = d
	}
	if deadline := progressDeadline(now); !deadline.Equal(d.deadline) {
		w.timers.disarm(d.expiry)
		d.deadline, d.expiry = deadline, nil
		if !deadline.IsZero() {
			d.expiry = w.timers.after(until(w.log, deadline), func() { w.expired(d) })
		}
	}
}

// progressDeadline is when the deployment must have gone on, by the first of its
// unfinished groups (deployment_watcher.go, getDeploymentProgressCutoff).
func progressDeadline(d *rpc.Deployment) time.Time {
	first := int64(0)
	for _, g := range d.Groups {
		if g.Healthy < g.DesiredTotal && g.RequireProgressBy != 0 && (first == 0 || g.RequireProgressBy < first) {
			first = g.RequireProgressBy
		}
	}
	if first == 0 {
		return time.Time{}
	}
	return time.Unix(0, first)
}

// Healths takes note of what clients said of allocations, for Read.
func (w *Deployments) Healths(snap *state.Snapshot, reported []*rpc.Allocation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range reported {
		a := snap.AllocByID(r.ID)
		if a == nil {
			continue
		}
		switch d := w.watched[a.DeploymentID]; {
		case d == nil:
		case a.Health == rpc.AllocHealthy:
			d.healthy = max(d.healthy, a.HealthIndex)
		case a.Health == rpc.AllocUnhealthy && !a.Reschedule:
			d.unhealthy = append(d.unhealthy, a.ID)
		}
	}
}

// Read looks at the allocations of a job's deployment. If one of them is to be replaced, or has turned healthy since the last
// look, it asks for an evaluation a second later (deployment_watcher.go, handleAllocUpdate). An unhealthy one of a system job,
// which reschedules nothing, fails the deployment (shouldFailEarly).
func (w *Deployments) Read(snap *state.Snapshot, job broker.JobID) {
	now := snap.DeploymentOf(job)
	if now == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.watched[now.ID]
	if d == nil {
		return
	}
	if job := snap.JobByID(job.Namespace, job.ID); len(d.unhealthy) > 0 && job != nil && job.Type == rpc.JobTypeSystem {
		if !d.failing { // else that is under way
			d.failing = true
			w.timers.after(0, func() { w.fail(d, "Failed due to unhealthy allocations") })
		}
		return
	}
	d.unhealthy = slices.DeleteFunc(d.unhealthy, func(id string) bool {
		a := snap.AllocByID(id)
		return a == nil || a.Reschedule
	})
	d.replace = append(d.replace, d.unhealthy...) // at each Read, until the request is written
	if d.progress != nil {
		return
	}
	if d.healthy > d.seen {
		d.seen = lastLook(snap, job)
	}
	if d.healthy > d.seen || len(d.replace) > 0 {
		d.progress = w.timers.after(deploymentBatch, func() { w.evaluate(d) })
	}
}

// evaluate asks for an evaluation of the deployment's job, with those of other
// deployments.
func (w *Deployments) evaluate(d *watchedDeployment) {
	w.mu.Lock()
	going := w.watched[d.id] == d
	replace := d.replace
	d.progress, d.replace = nil, nil
	w.mu.Unlock()
	if now := w.log.Snapshot().DeploymentOf(d.job); going && now.Active() && now.ID == d.id {
		w.batch.Add("", fsm.DesiredTransitionRequest{Reschedule: replace, Evals: []*broker.Evaluation{w.eval(now)}})
	}
}

// expired fails a deployment that has made no progress for too long.
func (w *Deployments) expired(d *watchedDeployment) {
	now := w.log.Snapshot().DeploymentOf(d.job)
	unfinished := func(g rpc.DeploymentGroup) bool { return g.Healthy < g.DesiredTotal }
	if now.Active() && slices.ContainsFunc(now.Groups, unfinished) {
		w.fail(d, "Failed due to progress deadline")
	}
}

// fail fails a deployment, unless it is over.
func (w *Deployments) fail(d *watchedDeployment, why string) {
	now := w.log.Snapshot().DeploymentOf(d.job)
	if !now.Active() || now.ID != d.id {
		return
	}
	w.log.Because(fsm.DeploymentGivenUp)
	// The deployment stays as it is when the write fails: the next leader's watch fails it.
	_, _ = w.log.Write(fsm.DeploymentStatusUpdate.With(&fsm.DeploymentStatusRequest{
		Update: &rpc.DeploymentUpdate{
			Namespace: now.Namespace, JobID: now.JobID, DeploymentID: now.ID,
			Status: rpc.DeploymentFailed, StatusDescription: why,
		},
		Eval: w.eval(now),
	}))
}

func (w *Deployments) eval(d *rpc.Deployment) *broker.Evaluation {
	job := &rpc.Job{Namespace: d.Namespace, ID: d.JobID, Type: rpc.JobTypeService, Priority: d.Priority}
	if now := w.log.Snapshot().JobByID(d.Namespace, d.JobID); now != nil {
		job.Type = now.Type
	}
	e := PendingEval(w.log.NewID("deployment-eval", d.ID), broker.TriggeredByDeploymentWatcher, job)
	e.DeploymentID = d.ID
	return e
}
