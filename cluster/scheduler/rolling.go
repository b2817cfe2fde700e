package scheduler

import (
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// RollingUpdate reports whether a rolling update of a service is under way: there are
// allocations of an older version, and a limit on how many are replaced at a time. Then
// each allocation of the new version that starts to run calls for an evaluation,
// triggered by the deployment watcher, to replace the next
// (nomad/deploymentwatcher/deployment_watcher.go).
func RollingUpdate(snap *state.Snapshot, job *rpc.Job) bool {
	if job == nil || job.Stop || job.Type != rpc.JobTypeService || rollingLimit(job) < 0 {
		return false
	}
	allocs := snap.AllocsByJob(broker.JobID{Namespace: job.Namespace, ID: job.ID})
	return slices.ContainsFunc(allocs, func(a *rpc.Allocation) bool { return !a.Terminal() && !current(a, job) })
}

// current reports whether an allocation is of the job's version, and of this job rather
// than of an earlier one of the same name.
func current(a *rpc.Allocation, job *rpc.Job) bool {
	return a.JobVersion == job.Version && a.CreateIndex >= job.CreateIndex
}
