package apitypes

import (
	"cmp"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Alloc returns an allocation with its job, which it leaves out if job is nil. The job may be of a later version
// than the one that the allocation runs.
func Alloc(s *state.Snapshot, a *rpc.Allocation, job *api.Job) *api.Allocation {
	return &api.Allocation{
		ID: a.ID, Namespace: a.Namespace, EvalID: a.EvalID, Name: a.Name, NodeID: a.NodeID, NodeName: nodeName(s, a.NodeID),
		JobID: a.JobID, Job: job, TaskGroup: a.TaskGroup, Resources: resources(a.Resources),
		TaskResources: taskResources(a, job), AllocatedResources: allocated(a, job), Metrics: &api.AllocationMetric{},
		DesiredStatus: a.DesiredStatus, DesiredDescription: a.DesiredDescription,
		DesiredTransition: api.DesiredTransition{Migrate: set(a.Migrate), Reschedule: set(a.Reschedule)},
		ClientStatus:      a.ClientStatus, ClientDescription: a.ClientDescription, TaskStates: taskStates(a, job),
		DeploymentID: a.DeploymentID, DeploymentStatus: health(a), FollowupEvalID: a.FollowupEvalID,
		PreviousAllocation: a.PreviousAllocation, CreateIndex: a.CreateIndex, ModifyIndex: a.ModifyIndex,
		AllocModifyIndex: a.AllocModifyIndex, CreateTime: a.CreateTime, ModifyTime: a.ModifyTime,
	}
}

// JobOf returns the job of an allocation. In Nomad an allocation carries its job, even a purged one, and clients and tools
// look for the task group there. If the state has forgotten a purged job, JobOf makes one up from what the allocation has.
func JobOf(s *state.Snapshot, a *rpc.Allocation) *rpc.Job {
	return cmp.Or(s.JobByID(a.Namespace, a.JobID), s.PurgedJob(broker.JobID{Namespace: a.Namespace, ID: a.JobID}), &rpc.Job{
		ID: a.JobID, Namespace: a.Namespace, Type: a.JobType, Version: a.JobVersion, Stop: true,
		TaskGroups: []rpc.TaskGroup{{Name: a.TaskGroup, Count: 1, Resources: a.Resources}},
	})
}

// AllocStub returns an allocation as lists have it.
func AllocStub(s *state.Snapshot, a *rpc.Allocation) *api.AllocationListStub {
	return &api.AllocationListStub{
		ID: a.ID, EvalID: a.EvalID, Name: a.Name, Namespace: a.Namespace, NodeID: a.NodeID, NodeName: nodeName(s, a.NodeID),
		JobID: a.JobID, JobType: a.JobType, JobVersion: a.JobVersion, TaskGroup: a.TaskGroup,
		DesiredStatus: a.DesiredStatus, DesiredDescription: a.DesiredDescription,
		ClientStatus: a.ClientStatus, ClientDescription: a.ClientDescription, TaskStates: map[string]*api.TaskState{},
		DeploymentStatus: health(a), FollowupEvalID: a.FollowupEvalID,
		CreateIndex: a.CreateIndex, ModifyIndex: a.ModifyIndex, CreateTime: a.CreateTime, ModifyTime: a.ModifyTime,
	}
}

func nodeName(s *state.Snapshot, id string) string {
	if n := s.NodeByID(id); n != nil {
		return n.Name
	}
	return ""
}

// set returns a pointer to true, or nil.
func set(is bool) *bool {
	if !is {
		return nil
	}
	return new(true)
}

func health(a *rpc.Allocation) *api.AllocDeploymentStatus {
	if a.Health == "" {
		return nil
	}
	return &api.AllocDeploymentStatus{
		Healthy: new(a.Health == rpc.AllocHealthy), Timestamp: time.Unix(0, a.ModifyTime).UTC(), ModifyIndex: a.HealthIndex,
	}
}

// tasksOf returns the tasks of an allocation; none if its job is not known.
func tasksOf(a *rpc.Allocation, job *api.Job) []*api.Task {
	if job == nil {
		return nil
	}
	if g := job.LookupTaskGroup(a.TaskGroup); g != nil {
		return g.Tasks
	}
	return nil
}

func taskResources(a *rpc.Allocation, job *api.Job) map[string]*api.Resources {
	of := map[string]*api.Resources{}
	for _, t := range tasksOf(a, job) {
		of[t.Name] = t.Resources
	}
	return of
}

func allocated(a *rpc.Allocation, job *api.Job) *api.AllocatedResources {
	of := &api.AllocatedResources{Tasks: map[string]*api.AllocatedTaskResources{}, Shared: api.AllocatedSharedResources{DiskMB: int64(a.Resources.DiskMB)}}
	for _, t := range tasksOf(a, job) {
		of.Tasks[t.Name] = &api.AllocatedTaskResources{
			Cpu:    api.AllocatedCpuResources{CpuShares: int64(*t.Resources.CPU)},
			Memory: api.AllocatedMemoryResources{MemoryMB: int64(*t.Resources.MemoryMB)},
		}
	}
	return of
}

// taskStates says of each task what its client says of the allocation.
func taskStates(a *rpc.Allocation, job *api.Job) map[string]*api.TaskState {
	of := map[string]*api.TaskState{}
	state := "pending"
	switch {
	case a.ClientTerminal():
		state = "dead"
	case a.ClientStatus == rpc.AllocClientRunning:
		state = "running"
	}
	for _, t := range tasksOf(a, job) {
		of[t.Name] = &api.TaskState{State: state, Failed: a.ClientStatus == rpc.AllocClientFailed}
	}
	return of
}
