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
	for _, g := range j.TaskGroups {
		task := api.NewTask("task", driver)
		task.Config = map[string]any{"run_for": "24h"}
		task.LogConfig = &api.LogConfig{MaxFiles: at(1), MaxFileSizeMB: at(1)}
		task.Resources = &api.Resources{CPU: at(g.Resources.CPUMHz), MemoryMB: at(g.Resources.MemoryMB)}
		group := api.NewTaskGroup(g.Name, g.Count)
		group.Tasks = []*api.Task{task}
		group.EphemeralDisk = &api.EphemeralDisk{SizeMB: at(g.Resources.DiskMB)}
		// A max_parallel of zero leaves out deployments.
		group.Update = &api.UpdateStrategy{MaxParallel: at(g.MaxParallel)}
		if g.MaxParallel > 0 && g.ProgressDeadline > 0 {
			group.Update.ProgressDeadline = at(g.ProgressDeadline)
			group.Update.HealthyDeadline = at(min(g.ProgressDeadline-time.Second, 5*time.Minute))
		}
		switch {
		case g.MaxClientDisconnect == 0:
		case semver.Compare("v"+c.Version, "v1.8.0") < 0:
			//lint:ignore SA1019 servers before 1.8 know nothing else
			group.MaxClientDisconnect = at(g.MaxClientDisconnect)
		default:
			group.Disconnect = &api.DisconnectStrategy{LostAfter: at(g.MaxClientDisconnect)}
		}
		if j.Type == rpc.JobTypeBatch || j.Type == rpc.JobTypeSysBatch {
			group.Update = nil // which batch jobs must not have
		}
		job.TaskGroups = append(job.TaskGroups, group)
	}
	return job
}

func at[T any](v T) *T { return &v }
