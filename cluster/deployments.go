package cluster

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
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

// deploymentWatcher moves deployments along while the server leads: an allocation that
// turned healthy makes schedulers look at its job again, one that turned unhealthy is to
// be replaced, and a deployment without progress fails (nomad/deploymentwatcher). The
// state machine tells it what entries changed.
type deploymentWatcher struct {
	srv   *server
	batch transitionBatcher

	mu      sync.Mutex
	watched map[string]*watchedDeployment // by ID; nil while the server does not lead
	wg      sync.WaitGroup                // timers that are armed or run
}

type watchedDeployment struct {
	id       string
	job      broker.JobID
	deadline time.Time // zero: none yet
	expiry   *time.Timer
	// progress is armed while an evaluation is about to be made.
	progress *time.Timer
	replace  []string
}

func newDeploymentWatcher(s *server) *deploymentWatcher {
	w := &deploymentWatcher{srv: s}
	w.batch = transitionBatcher{srv: s, window: crossDeploymentBatch}
	return w
}

// start watches the deployments that go on, and makes up for what happened while nobody
// led: allocations that turned healthy after the job was last looked at.
func (w *deploymentWatcher) start(snap *state.Snapshot) {
	w.mu.Lock()
	w.watched = map[string]*watchedDeployment{}
	w.mu.Unlock()
	for d := range snap.Deployments() {
		if !d.Active() {
			continue
		}
		job := broker.JobID{Namespace: d.Namespace, ID: d.JobID}
		seen := lastLook(snap, job)
		var news []*rpc.Allocation
		for _, a := range snap.AllocsByJob(job) {
			if a.DeploymentID == d.ID && (a.HealthIndex > seen || a.Health == rpc.AllocUnhealthy) {
				news = append(news, a)
			}
		}
		w.changed(snap, []broker.JobID{job})
		w.health(snap, news)
	}
}

// lastLook is the index of the newest state that an evaluation of the job was made for or
// processed with (deployment_watcher.go, jobEvalStatus).
func lastLook(snap *state.Snapshot, job broker.JobID) uint64 {
	index := uint64(0)
	for _, e := range snap.EvalsByJob(job) {
		if e.Status != broker.StatusCanceled {
			index = max(index, e.SnapshotIndex, e.CreateIndex)
		}
	}
	return index
}

// stop forgets everything and waits for what is under way.
func (w *deploymentWatcher) stop() {
	w.mu.Lock()
	for _, d := range w.watched {
		w.disarm(d.expiry)
		w.disarm(d.progress)
	}
	w.watched = nil
	w.mu.Unlock()
	w.wg.Wait()
	w.batch.stop()
}

func (w *deploymentWatcher) disarm(t *time.Timer) {
	if t != nil && t.Stop() {
		w.wg.Done()
	}
}

func (w *deploymentWatcher) after(d time.Duration, f func()) *time.Timer {
	w.wg.Add(1)
	return time.AfterFunc(d, func() {
		defer w.wg.Done()
		f()
	})
}

// changed takes note of the deployments of jobs that an entry may have changed.
func (w *deploymentWatcher) changed(snap *state.Snapshot, jobs []broker.JobID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watched == nil {
		return
	}
	for _, job := range jobs {
		now := snap.DeploymentOf(job)
		for id, d := range w.watched {
			if d.job == job && (!now.Active() || now.ID != id) {
				w.disarm(d.expiry)
				w.disarm(d.progress)
				delete(w.watched, id)
			}
		}
		if now.Active() {
			w.watch(now, job)
		}
	}
}

func (w *deploymentWatcher) watch(now *rpc.Deployment, job broker.JobID) {
	d := w.watched[now.ID]
	if d == nil {
		d = &watchedDeployment{id: now.ID, job: job}
		w.watched[now.ID] = d
	}
	if deadline := progressDeadline(now); !deadline.Equal(d.deadline) {
		w.disarm(d.expiry)
		d.deadline, d.expiry = deadline, nil
		if !deadline.IsZero() {
			d.expiry = w.after(time.Until(deadline), func() { w.expired(d) })
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

// health takes what clients said of allocations (deployment_watcher.go,
// handleAllocUpdate).
func (w *deploymentWatcher) health(snap *state.Snapshot, reported []*rpc.Allocation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watched == nil {
		return
	}
	for _, r := range reported {
		a := snap.AllocByID(r.ID)
		if a == nil {
			continue
		}
		d := w.watched[a.DeploymentID]
		if d == nil || a.Health == "" || a.Health == rpc.AllocUnhealthy && a.Reschedule {
			continue
		}
		if a.Health == rpc.AllocUnhealthy {
			d.replace = append(d.replace, a.ID)
		}
		if d.progress == nil {
			d.progress = w.after(deploymentBatch, func() { w.evaluate(d) })
		}
	}
}

// evaluate asks for an evaluation of the deployment's job, with those of other
// deployments.
func (w *deploymentWatcher) evaluate(d *watchedDeployment) {
	w.mu.Lock()
	going := w.watched != nil && w.watched[d.id] == d
	replace := d.replace
	d.progress, d.replace = nil, nil
	w.mu.Unlock()
	if now := w.srv.store.Snapshot().DeploymentOf(d.job); going && now.Active() && now.ID == d.id {
		w.batch.add(desiredTransitionRequest{Reschedule: replace, Evals: []*broker.Evaluation{w.srv.deploymentEval(now)}})
	}
}

// expired fails a deployment that has made no progress for too long.
func (w *deploymentWatcher) expired(d *watchedDeployment) {
	now := w.srv.store.Snapshot().DeploymentOf(d.job)
	unfinished := func(g rpc.DeploymentGroup) bool { return g.Healthy < g.DesiredTotal }
	if !now.Active() || now.ID != d.id || !slices.ContainsFunc(now.Groups, unfinished) {
		return
	}
	w.srv.happened(func(c *Causes) { c.Deployments++ })
	// The deployment stays as it is when the write fails: the next leader's watch fails it.
	_, _ = w.srv.raftApply(deploymentStatusUpdateRequestType, &deploymentStatusRequest{
		Update: &rpc.DeploymentUpdate{
			Namespace: now.Namespace, JobID: now.JobID, DeploymentID: now.ID,
			Status: rpc.DeploymentFailed, StatusDescription: "Failed due to progress deadline",
		},
		Eval: w.srv.deploymentEval(now),
	})
}

func (s *server) deploymentEval(d *rpc.Deployment) *broker.Evaluation {
	now := time.Now().UnixNano()
	return &broker.Evaluation{
		ID: s.uuid("deployment-eval", d.ID), Namespace: d.Namespace, JobID: d.JobID,
		Type: rpc.JobTypeService, Priority: d.Priority, TriggeredBy: broker.TriggeredByDeploymentWatcher,
		DeploymentID: d.ID, Status: broker.StatusPending, CreateTime: now, ModifyTime: now,
	}
}

// planned tells the watcher of a plan's deployments.
func (f *fsm) planned(req *state.PlanResults) {
	var jobs []broker.JobID
	add := func(namespace, id string) {
		if job := (broker.JobID{Namespace: namespace, ID: id}); !slices.Contains(jobs, job) {
			jobs = append(jobs, job)
		}
	}
	if d := req.Deployment; d != nil {
		add(d.Namespace, d.JobID)
	}
	for _, u := range req.DeploymentUpdates {
		add(u.Namespace, u.JobID)
	}
	for _, a := range req.AllocsUpdated {
		if a.DeploymentID != "" {
			add(a.Namespace, a.JobID)
		}
	}
	if len(jobs) > 0 {
		f.srv.deployments.changed(f.srv.store.Snapshot(), jobs)
	}
}

// reported tells the watcher of the health that clients reported.
func (f *fsm) reported(updates []*rpc.Allocation) {
	if !slices.ContainsFunc(updates, func(u *rpc.Allocation) bool { return u.Health != "" }) {
		return
	}
	var news []*rpc.Allocation
	var jobs []broker.JobID
	snap := f.srv.store.Snapshot()
	for _, u := range updates {
		if u.Health == "" {
			continue
		}
		if a := snap.AllocByID(u.ID); a != nil && a.DeploymentID != "" {
			news = append(news, a)
			jobs = append(jobs, broker.JobID{Namespace: a.Namespace, ID: a.JobID})
		}
	}
	if len(news) > 0 {
		f.srv.deployments.changed(snap, jobs)
		f.srv.deployments.health(snap, news)
	}
}

func (f *fsm) updateTransitions(index uint64, req *desiredTransitionRequest) error {
	f.charge(len(req.Evals), f.srv.cfg.Costs.FSM.Eval)
	return f.writeEvals(index, req.Evals, func(tx *state.Tx) error {
		return tx.RequestTransitions(req.Migrate, req.Reschedule)
	})
}

func (f *fsm) updateDeployment(index uint64, req *deploymentStatusRequest) error {
	evals := some(req.Eval)
	f.charge(len(evals), f.srv.cfg.Costs.FSM.Eval)
	if err := f.writeEvals(index, evals, func(tx *state.Tx) error { return tx.UpdateDeployment(req.Update) }); err != nil {
		return fmt.Errorf("deployment %s: %w", req.Update.DeploymentID, err)
	}
	f.srv.deployments.changed(f.srv.store.Snapshot(), []broker.JobID{{Namespace: req.Update.Namespace, ID: req.Update.JobID}})
	return nil
}
