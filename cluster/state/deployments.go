package state

import (
	"fmt"
	"iter"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// Deployments iterates over the latest deployment of each job that had any, in the order
// of namespace and job ID.
func (s *Snapshot) Deployments() iter.Seq[*rpc.Deployment] {
	return s.deployments.all()
}

// DeploymentOf returns the job's latest deployment, or nil.
func (s *Snapshot) DeploymentOf(job broker.JobID) *rpc.Deployment {
	return s.deployments.get(job)
}

// PastDeployments iterates over the deployments that a later one of their job has replaced, or whose job was deleted, in
// the order of their IDs.
func (s *Snapshot) PastDeployments() iter.Seq[*rpc.Deployment] {
	return s.pastDeployments.all()
}

// DeleteDeployments forgets deployments. It ignores unknown ones (state_store.go, DeleteDeploymentTxn).
func (tx *Tx) DeleteDeployments(ids ...string) {
	tx.counts.DeploymentsIndex = tx.index
	latest := map[string]*rpc.Deployment{}
	for d := range tx.deployments.all() {
		latest[d.ID] = d
	}
	for _, id := range ids {
		tx.pastDeployments.put(tx.owner, id, nil)
		if d := latest[id]; d != nil {
			tx.deployments.put(tx.owner, broker.JobID{Namespace: d.Namespace, ID: d.JobID}, nil)
		}
	}
}

// UpsertDeployment stores a deployment in place of the job's latest, which it may be itself. The
// error is for one without an ID.
func (tx *Tx) UpsertDeployment(d *rpc.Deployment) error {
	if d.ID == "" {
		return fmt.Errorf("cannot store a deployment of job %q: it has no ID", d.JobID)
	}
	if tx.copies {
		d = d.Copy()
	}
	d.CreateIndex = tx.index
	switch old := tx.deployments.get(broker.JobID{Namespace: d.Namespace, ID: d.JobID}); {
	case old == nil:
	case old.ID != d.ID:
		tx.pastDeployments.put(tx.owner, old.ID, old)
	default:
		d.CreateIndex = old.CreateIndex
		if tx.keepsReports {
			keepReports(d, old)
		}
	}
	tx.putDeployment(d)
	return nil
}

// keepReports copies from the stored deployment old to d what placements and clients' reports have changed in it
// (deployment.go, MergeClientValues).
func keepReports(d, old *rpc.Deployment) {
	for i := range d.Groups {
		if g, was := &d.Groups[i], old.Group(d.Groups[i].Name); was != nil {
			g.Placed, g.Healthy, g.Unhealthy, g.RequireProgressBy = was.Placed, was.Healthy, was.Unhealthy, was.RequireProgressBy
		}
	}
}

// UpdateDeployment changes the status of a deployment. It ignores one that has ended or
// is not the job's latest (state_store.go, updateDeploymentStatusImpl).
func (tx *Tx) UpdateDeployment(u *rpc.DeploymentUpdate) {
	old := tx.deployments.get(broker.JobID{Namespace: u.Namespace, ID: u.JobID})
	if !old.Active() || old.ID != u.DeploymentID {
		return
	}
	d := old.Copy()
	d.Status, d.StatusDescription = u.Status, u.StatusDescription
	tx.putDeployment(d)
}

// updateDeploymentWithAlloc counts the placement or the changed health of an allocation in
// its deployment (state_store.go, updateDeploymentWithAlloc). Old is nil for a new one.
func (tx *Tx) updateDeploymentWithAlloc(old, now *rpc.Allocation) {
	if now.DeploymentID == "" {
		return
	}
	was := tx.deployments.get(jobOf(now))
	if was == nil || was.ID != now.DeploymentID || was.Group(now.TaskGroup) == nil {
		return
	}
	placed := old == nil || old.DeploymentID != now.DeploymentID
	if !placed && (now.Health == "" || old.Health == now.Health) {
		return
	}
	d := was.Copy()
	g := d.Group(now.TaskGroup)
	deadline := now.ModifyTime + int64(g.ProgressDeadline)
	if placed {
		g.Placed++
		if g.RequireProgressBy == 0 {
			g.RequireProgressBy = deadline
		}
	} else {
		if old.Health == rpc.AllocHealthy {
			g.Healthy--
		}
		switch now.Health {
		case rpc.AllocHealthy:
			g.Healthy++
			g.RequireProgressBy = max(g.RequireProgressBy, deadline)
		case rpc.AllocUnhealthy:
			g.Unhealthy++
		}
	}
	tx.putDeployment(d)
}

func (tx *Tx) putDeployment(d *rpc.Deployment) {
	d.ModifyIndex, tx.counts.DeploymentsIndex = tx.index, tx.index
	job := broker.JobID{Namespace: d.Namespace, ID: d.JobID}
	recorded(tx, func(c *Changes) *[]*rpc.Deployment { return &c.Deployments }, tx.deployments.get(job), d)
	tx.deployments.put(tx.owner, job, d)
}
