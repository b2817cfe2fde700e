package apitypes

import (
	"encoding/json"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Region is the region of every cluster.
const Region = api.GlobalRegion

// nodePool is the pool of every node, and so of jobs that name none.
const nodePool = "default"

// mockDriver is the driver of the tasks of jobs without a definition.
const mockDriver = "mock_driver"

// Job returns a job as its user wrote it, with what the cluster made of that.
func Job(j *rpc.Job, status string) *api.Job {
	def := definition(j)
	def.ID, def.Namespace, def.Region, def.Type = new(j.ID), new(j.Namespace), new(Region), new(j.Type)
	def.ParentID, def.Priority, def.Stop, def.Datacenters = new(j.ParentID), new(j.Priority), new(j.Stop), j.Datacenters
	def.Status, def.StatusDescription, def.Stable, def.Version = new(status), new(""), new(false), new(j.Version)
	def.SubmitTime = new(j.SubmitTime)
	def.CreateIndex, def.ModifyIndex, def.JobModifyIndex = new(j.CreateIndex), new(j.ModifyIndex), new(j.JobModifyIndex)
	if j.Periodic == nil {
		def.Periodic = nil
	}
	if def.NodePool == nil || *def.NodePool == "" {
		def.NodePool = new(nodePool)
	}
	for _, g := range def.TaskGroups {
		if group := j.TaskGroup(*g.Name); group != nil {
			g.Count = new(group.Count) // users scale jobs without a new definition
		}
	}
	def.Canonicalize()
	return def
}

// definition returns what the user of a job wrote or, for jobs of a scenario, might have.
func definition(j *rpc.Job) *api.Job {
	def := new(api.Job)
	if err := json.Unmarshal(j.Definition, def); err == nil {
		return def
	}
	def = &api.Job{Name: new(j.ID)}
	if p := j.Periodic; p != nil {
		def.Periodic = &api.PeriodicConfig{Spec: new("@every " + p.Every.String()), ProhibitOverlap: new(p.ProhibitOverlap)}
	}
	for _, g := range j.TaskGroups {
		task := api.NewTask("task", mockDriver)
		task.Config = map[string]any{"run_for": (24 * time.Hour).String()}
		task.Resources = &api.Resources{CPU: new(g.Resources.CPUMHz), MemoryMB: new(g.Resources.MemoryMB)}
		group := api.NewTaskGroup(g.Name, g.Count).AddTask(task)
		group.EphemeralDisk = &api.EphemeralDisk{SizeMB: new(g.Resources.DiskMB)}
		if g.MaxParallel > 0 {
			group.Update = &api.UpdateStrategy{MaxParallel: new(g.MaxParallel)}
			if g.ProgressDeadline > 0 {
				group.Update.ProgressDeadline = new(g.ProgressDeadline)
			}
		}
		if g.MaxClientDisconnect > 0 {
			group.Disconnect = &api.DisconnectStrategy{LostAfter: new(g.MaxClientDisconnect)}
		}
		def.TaskGroups = append(def.TaskGroups, group)
	}
	return def
}

// JobStub returns a job as lists have it.
func JobStub(j *rpc.Job, status string, summary *api.JobSummary) *api.JobListStub {
	return &api.JobListStub{
		ID: j.ID, ParentID: j.ParentID, Name: j.ID, Namespace: j.Namespace, Datacenters: j.Datacenters, Type: j.Type,
		Priority: j.Priority, Periodic: j.Periodic != nil, Stop: j.Stop, Status: status, JobSummary: summary,
		CreateIndex: j.CreateIndex, ModifyIndex: j.ModifyIndex, JobModifyIndex: j.JobModifyIndex, SubmitTime: j.SubmitTime,
	}
}

// JobFacts is the part of jobs' statuses and summaries that can only be found by going through all
// evaluations and all jobs, so it is gathered once for many jobs.
type JobFacts struct {
	evals    map[broker.JobID]*evalFacts
	children map[broker.JobID][]*rpc.Job
}

type evalFacts struct {
	pending bool
	newest  *broker.Evaluation // with numbers of queued allocations
}

// NewJobFacts looks at a state once, for any number of its jobs.
func NewJobFacts(s *state.Snapshot) *JobFacts {
	f := &JobFacts{evals: map[broker.JobID]*evalFacts{}, children: map[broker.JobID][]*rpc.Job{}}
	for e := range s.Evals() {
		of := f.evals[e.Job()]
		if of == nil {
			of = &evalFacts{}
			f.evals[e.Job()] = of
		}
		of.pending = of.pending || !e.Terminal()
		if e.QueuedAllocations != nil && (of.newest == nil || of.newest.ModifyIndex < e.ModifyIndex) {
			of.newest = e
		}
	}
	for j := range s.Jobs() {
		if j.ParentID != "" {
			parent := broker.JobID{Namespace: j.Namespace, ID: j.ParentID}
			f.children[parent] = append(f.children[parent], j)
		}
	}
	return f
}

// Status returns the status of a job (state_store.go, getJobStatus).
func (f *JobFacts) Status(s *state.Snapshot, j *rpc.Job) string {
	id := broker.JobID{Namespace: j.Namespace, ID: j.ID}
	evals, allocs := f.evals[id], s.JobAllocs(id)
	switch {
	case j.Type == rpc.JobTypeSystem || j.Periodic != nil:
		if j.Stop {
			return "dead"
		}
		return "running"
	case allocs.Live > 0:
		return "running"
	case evals == nil && allocs.Terminal == 0, evals != nil && evals.pending:
		return "pending"
	}
	return "dead"
}

// Summary counts the allocations of a job.
func (f *JobFacts) Summary(s *state.Snapshot, j *rpc.Job) *api.JobSummary {
	id := broker.JobID{Namespace: j.Namespace, ID: j.ID}
	sum := &api.JobSummary{
		JobID: j.ID, Namespace: j.Namespace, Summary: map[string]api.TaskGroupSummary{}, Children: &api.JobChildrenSummary{},
		CreateIndex: j.CreateIndex, ModifyIndex: j.ModifyIndex,
	}
	for _, g := range j.TaskGroups {
		of := api.TaskGroupSummary{}
		if known := f.evals[id]; known != nil && known.newest != nil {
			of.Queued = known.newest.QueuedAllocations[g.Name]
		}
		sum.Summary[g.Name] = of
	}
	for _, a := range s.AllocsByJob(id) {
		of := sum.Summary[a.TaskGroup]
		count(&of, a.ClientStatus)
		sum.Summary[a.TaskGroup] = of
		sum.ModifyIndex = max(sum.ModifyIndex, a.ModifyIndex)
	}
	for _, child := range f.children[id] {
		switch f.Status(s, child) {
		case "pending":
			sum.Children.Pending++
		case "running":
			sum.Children.Running++
		default:
			sum.Children.Dead++
		}
	}
	return sum
}

func count(of *api.TaskGroupSummary, clientStatus string) {
	switch clientStatus {
	case rpc.AllocClientPending:
		of.Starting++
	case rpc.AllocClientRunning:
		of.Running++
	case rpc.AllocClientComplete:
		of.Complete++
	case rpc.AllocClientFailed:
		of.Failed++
	case rpc.AllocClientLost:
		of.Lost++
	case rpc.AllocClientUnknown:
		of.Unknown++
	}
}
