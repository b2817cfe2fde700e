package state

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// UpsertJob registers a job. If its specification differs from the registered one it gets
// the next Version and a new JobModifyIndex, else it keeps both (job_endpoint.go,
// Register, and state_store.go, upsertJobImpl). The error is for a job without an ID.
func (tx *Tx) UpsertJob(job *rpc.Job) error {
	if job.ID == "" {
		return fmt.Errorf("cannot register a %s job: it has no ID", job.Type)
	}
	if tx.copies {
		job = job.Copy()
	}
	if job.Namespace == "" {
		job.Namespace = rpc.DefaultNamespace
	}
	id := broker.JobID{Namespace: job.Namespace, ID: job.ID}
	old := tx.jobs.get(id)
	job.ModifyIndex = tx.index
	switch {
	case old == nil:
		job.CreateIndex, job.JobModifyIndex = tx.index, tx.index
		tx.counts.Jobs++
	case specChanged(old, job):
		job.CreateIndex, job.JobModifyIndex = old.CreateIndex, tx.index
		job.Version = max(job.Version, old.Version+1)
	default:
		job.CreateIndex, job.JobModifyIndex, job.Version = old.CreateIndex, old.JobModifyIndex, old.Version
	}
	tx.strings.job(job)
	recorded(tx, func(c *Changes) *[]*rpc.Job { return &c.Jobs }, old, job)
	tx.putJob(tx.owner, old, job)
	tx.counts.JobsIndex = tx.index
	tx.summary(id).purged = nil // every job has a row
	return nil
}

// NoteLaunch records when a periodic job was launched, in Unix nanoseconds. If launched is
// false the job was only registered, and a launch that is on record stays (state_store.go,
// UpsertPeriodicLaunch). It ignores unknown jobs.
func (tx *Tx) NoteLaunch(id broker.JobID, at int64, launched bool) {
	if tx.jobs.get(id) == nil {
		return // it was deregistered meanwhile
	}
	s := tx.summary(id)
	if launched || s.Launched == 0 {
		s.Launched = at
	}
}

// SetSchedulerConfig replaces the scheduler configuration.
func (tx *Tx) SetSchedulerConfig(c rpc.SchedulerConfig) { tx.counts.Scheduler = c }

// specChanged reports whether two versions of a job differ in what their user asked for
// (structs.go, Job.SpecChanged).
func specChanged(a, b *rpc.Job) bool {
	if (a.Periodic == nil) != (b.Periodic == nil) || a.Periodic != nil && *a.Periodic != *b.Periodic {
		return true
	}
	return !bytes.Equal(a.Definition, b.Definition) || a.Type != b.Type || a.Priority != b.Priority || a.Stop != b.Stop ||
		!slices.Equal(a.Datacenters, b.Datacenters) || !slices.Equal(a.TaskGroups, b.TaskGroups)
}

// StopJob sets Stop on a job, whose allocations schedulers then stop (job_endpoint.go,
// Deregister without purge). It ignores unknown jobs.
func (tx *Tx) StopJob(namespace, id string) error {
	old := tx.jobs.get(broker.JobID{Namespace: namespace, ID: id})
	if old == nil {
		return nil
	}
	stopped := old.Copy()
	stopped.Stop = true
	return tx.UpsertJob(stopped)
}

// DeleteJob removes a job, and makes its deployment a past one. Its evaluations stay, and so do
// its allocations, which schedulers then stop (job_endpoint.go, Deregister with purge). It
// ignores unknown jobs.
func (tx *Tx) DeleteJob(namespace, id string) error {
	job := broker.JobID{Namespace: namespace, ID: id}
	old := tx.jobs.get(job)
	if old == nil {
		return nil
	}
	tx.putJob(tx.owner, old, nil)
	if d := tx.deployments.get(job); d != nil {
		tx.pastDeployments.put(tx.owner, d.ID, d)
		tx.deployments.put(tx.owner, job, nil)
	}
	tx.counts.Jobs--
	tx.counts.JobsIndex = tx.index
	tx.summary(job).purged = old // finish drops the row of a job with nothing left
	return nil
}
