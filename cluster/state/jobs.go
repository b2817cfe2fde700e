package state

import (
	"fmt"
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// UpsertJob registers a job. A changed specification gets the next Version and a new
// JobModifyIndex; one that is the same keeps both (job_endpoint.go, Register, and
// state_store.go, upsertJobImpl).
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
	old := tx.job(id)
	job.ModifyIndex = tx.index
	switch {
	case old == nil:
		job.CreateIndex, job.JobModifyIndex = tx.index, tx.index
		tx.counts.Jobs++
	case SpecChanged(old, job):
		job.CreateIndex, job.JobModifyIndex = old.CreateIndex, tx.index
		job.Version = max(job.Version, old.Version+1)
	default:
		job.CreateIndex, job.JobModifyIndex, job.Version = old.CreateIndex, old.JobModifyIndex, old.Version
	}
	tx.strings.job(job)
	tx.jobs.put(id, job)
	tx.counts.JobsIndex = tx.index
	tx.summary(id) // makes the row
	return nil
}

// NoteLaunch records when a periodic job was launched. Without launched it was only
// registered, which says nothing if a time is known (state_store.go,
// UpsertPeriodicLaunch).
func (tx *Tx) NoteLaunch(id broker.JobID, at int64, launched bool) error {
	if tx.job(id) == nil {
		return nil // deregistered meanwhile
	}
	s := tx.summary(id)
	if launched || s.Launched == 0 {
		s.Launched = at
	}
	return nil
}

// SetSchedulerConfig replaces the scheduler configuration.
func (tx *Tx) SetSchedulerConfig(c rpc.SchedulerConfig) { tx.counts.Scheduler = c }

// SpecChanged reports whether two versions of a job differ in what their user asked for
// (structs.go, Job.SpecChanged).
func SpecChanged(a, b *rpc.Job) bool {
	if (a.Periodic == nil) != (b.Periodic == nil) || a.Periodic != nil && *a.Periodic != *b.Periodic {
		return true
	}
	return a.Type != b.Type || a.Priority != b.Priority || a.Stop != b.Stop ||
		!slices.Equal(a.Datacenters, b.Datacenters) || !slices.Equal(a.TaskGroups, b.TaskGroups)
}

// StopJob sets Stop on a job: it stays in the store, and schedulers stop its allocations
// (job_endpoint.go, Deregister without purge). It is no error if there is no such job.
func (tx *Tx) StopJob(namespace, id string) error {
	old := tx.job(broker.JobID{Namespace: namespace, ID: id})
	if old == nil {
		return nil
	}
	stopped := old.Copy()
	stopped.Stop = true
	return tx.UpsertJob(stopped)
}

// DeleteJob removes a job; its allocations and evaluations stay, and schedulers stop the
// former (job_endpoint.go, Deregister with purge). It is no error if there is no such
// job.
func (tx *Tx) DeleteJob(namespace, id string) error {
	job := broker.JobID{Namespace: namespace, ID: id}
	if tx.job(job) == nil {
		return nil
	}
	tx.jobs.put(job, nil)
	tx.deployments.put(job, nil)
	tx.counts.Jobs--
	tx.counts.JobsIndex = tx.index
	tx.summary(job) // dropped when nothing is left
	return nil
}
