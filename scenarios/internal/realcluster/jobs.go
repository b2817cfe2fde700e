package realcluster

import (
	"time"

	"github.com/hashicorp/nomad/api"
	"golang.org/x/mod/semver"

	"github.com/simctl/simctl/cluster/rpc"
)

// driver is the task driver that the fleet's clients pretend to have.
const driver = "mock_driver"

// asJob returns a job as real servers take it. Its tasks are run by nobody. Servers demand some
// disk and that logs fit into it.
func (c *Cluster) asJob(j *rpc.Job) *api.Job {
	job := &api.Job{ID: &j.ID, Name: &j.ID, Type: &j.Type, Priority: &j.Priority, Namespace: at(c.namespace(j.Namespace))}
	job.Datacenters, job.Meta = j.Datacenters, map[string]string{jobMark: c.cfg.Run}
	if c.note != "" {
		job.Meta[jobMemo] = c.note
	}
	inJob := j.Type == rpc.JobTypeSystem && semver.Compare("v"+c.Version, "v1.11.0") < 0 // where servers look for a rolling update
	for _, g := range j.TaskGroups {
		task := api.NewTask("task", driver)
		task.Config = map[string]any{"run_for": "24h"}
		task.LogConfig = &api.LogConfig{MaxFiles: at(1), MaxFileSizeMB: at(1)}
		task.Resources = &api.Resources{CPU: at(g.Resources.CPUMHz), MemoryMB: at(g.Resources.MemoryMB)}
		group := api.NewTaskGroup(g.Name, g.Count)
		group.Tasks = []*api.Task{task}
		group.EphemeralDisk = &api.EphemeralDisk{SizeMB: at(g.Resources.DiskMB)}
		group.Update = update(j.Type, g)
		switch {
		case g.MaxClientDisconnect == 0:
		case semver.Compare("v"+c.Version, "v1.8.0") < 0:
			//lint:ignore SA1019 servers before 1.8 know nothing else
			group.MaxClientDisconnect = at(g.MaxClientDisconnect)
		default:
			group.Disconnect = &api.DisconnectStrategy{LostAfter: at(g.MaxClientDisconnect)}
		}
		job.TaskGroups = append(job.TaskGroups, group)
		if n := g.MaxParallel; inJob && n > 0 && (job.Update == nil || n < *job.Update.MaxParallel) {
			job.Update = &api.UpdateStrategy{MaxParallel: at(n), Stagger: at(30 * time.Second)}
		}
	}
	return job
}

// update returns how a group is updated; nil: as servers have it. They give system jobs deployments
// since 1.11 unless told otherwise, and batch jobs must not have any.
func update(jobType string, g rpc.TaskGroup) *api.UpdateStrategy {
	switch {
	case jobType == rpc.JobTypeBatch, jobType == rpc.JobTypeSysBatch, jobType == rpc.JobTypeSystem && g.MaxParallel == 0:
		return nil
	}
	u := &api.UpdateStrategy{MaxParallel: at(g.MaxParallel)} // zero leaves out deployments
	if g.MaxParallel > 0 && g.ProgressDeadline > 0 {
		u.ProgressDeadline = at(g.ProgressDeadline)
		u.HealthyDeadline = at(min(g.ProgressDeadline-time.Second, 5*time.Minute))
	}
	return u
}

func at[T any](v T) *T { return &v }
