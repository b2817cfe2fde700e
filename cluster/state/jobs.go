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
	old, err := tx.job(job.Namespace, job.ID)
	if err != nil {
		return err
	}
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
	tx.strings.share(&job.Namespace, &job.ID, &job.Type)
	if err := tx.txn.Insert(tableJobs, job); err != nil {
		return fmt.Errorf("job %q: %w", job.ID, err)
	}
	tx.counts.JobsIndex = tx.index
	_, err = tx.summary(broker.JobID{Namespace: job.Namespace, ID: job.ID}) // makes the row
	return err
}

// SpecChanged reports whether two versions of a job differ in what their user asked for
// (structs.go, Job.SpecChanged).
func SpecChanged(a, b *rpc.Job) bool {
	return a.Type != b.Type || a.Priority != b.Priority || a.Stop != b.Stop ||
		!slices.Equal(a.Datacenters, b.Datacenters) || !slices.Equal(a.TaskGroups, b.TaskGroups)
}

// StopJob sets Stop on a job: it stays in the store, and schedulers stop its allocations
// (job_endpoint.go, Deregister without purge). It is no error if there is no such job.
func (tx *Tx) StopJob(namespace, id string) error {
	old, err := tx.job(namespace, id)
	if err != nil || old == nil {
		return err
	}
	stopped := old.Copy()
	stopped.Stop = true
	return tx.UpsertJob(stopped)
}

// DeleteJob removes a job; its allocations and evaluations stay, and schedulers stop the
// former (job_endpoint.go, Deregister with purge). It is no error if there is no such
// job.
func (tx *Tx) DeleteJob(namespace, id string) error {
	old, err := tx.job(namespace, id)
	if err != nil || old == nil {
		return err
	}
	if err := tx.txn.Delete(tableJobs, old); err != nil {
		return fmt.Errorf("job %q: %w", id, err)
	}
	tx.counts.Jobs--
	tx.counts.JobsIndex = tx.index
	_, err = tx.summary(broker.JobID{Namespace: namespace, ID: id}) // dropped when nothing is left
	return err
}

func (tx *Tx) job(namespace, id string) (*rpc.Job, error) {
	raw, err := tx.txn.First(tableJobs, indexID, namespace, id)
	if err != nil {
		return nil, fmt.Errorf("job %q: %w", id, err)
	}
	job, _ := raw.(*rpc.Job)
	return job, nil
}
