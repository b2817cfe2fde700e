package scenarios

import (
	"fmt"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions/operations"
	"github.com/simctl/simctl/scenarios/language"
)

// makeJobs makes the jobs of every job block.
func (b *builder) makeJobs() error {
	b.setting.Jobs = map[string][]*rpc.Job{}
	total := 0
	for _, j := range b.def.Jobs {
		b.setting.Blocks = append(b.setting.Blocks, j.Name)
		one := b.job(j)
		if len(one.Datacenters) == 0 {
			return b.def.Errorf(j.At, "Nowhere to run", "Job %s names no datacenter, and so would run nowhere.", j.Name)
		}
		if j.Every != 0 && (j.Type != rpc.JobTypeBatch && j.Type != rpc.JobTypeSysBatch || j.Every < time.Second) {
			return b.def.Errorf(j.At, "Cannot be periodic", "Job %s, a %s job, launches every %v: batch and sysbatch jobs can, once a second at most.", j.Name, j.Type, j.Every)
		}
		if j.Copies == nil {
			one.ID = j.Name
			b.setting.Jobs[j.Name] = []*rpc.Job{one}
			continue
		}
		if total += *j.Copies; total > maxJobs {
			return b.def.Errorf(j.At, "Too many jobs", "%d jobs: there must be %d at most.", total, maxJobs)
		}
		for i := range *j.Copies {
			copied := *one
			copied.ID = fmt.Sprintf("%s-%03d", j.Name, i)
			b.setting.Jobs[j.Name] = append(b.setting.Jobs[j.Name], &copied)
		}
	}
	return nil
}

func (b *builder) job(j language.Job) *rpc.Job {
	group := rpc.TaskGroup{
		Name: "group", Count: 1, Resources: operations.Resources(j.Resources, operations.AllocResources),
		MaxClientDisconnect: j.MaxClientDisconnect, MaxParallel: j.MaxParallel,
	}
	if j.Count != nil {
		group.Count = *j.Count
	}
	job := &rpc.Job{
		Namespace: rpc.DefaultNamespace, Type: j.Type, Priority: j.Priority, Datacenters: j.Datacenters,
		TaskGroups: []rpc.TaskGroup{group},
	}
	if j.Every != 0 {
		job.Periodic = &rpc.PeriodicConfig{Every: j.Every, ProhibitOverlap: j.ProhibitOverlap}
	}
	if job.Priority == 0 {
		job.Priority = 50 // structs.JobDefaultPriority
	}
	if j.Datacenters == nil {
		job.Datacenters = b.datacenters()
	}
	return job
}
