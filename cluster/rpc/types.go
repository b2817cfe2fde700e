package rpc

import (
	"slices"
	"strings"
	"time"
)

// Node statuses and eligibilities (nomad/structs/structs.go, NodeStatus*, NodeScheduling*).
const (
	NodeStatusInit         = "initializing"
	NodeStatusReady        = "ready"
	NodeStatusDown         = "down"
	NodeStatusDisconnected = "disconnected"

	NodeEligible   = "eligible"
	NodeIneligible = "ineligible"
)

// Job types, which are also the scheduler types.
const (
	JobTypeService  = "service"
	JobTypeBatch    = "batch"
	JobTypeSystem   = "system"
	JobTypeSysBatch = "sysbatch"
	JobTypeCore     = "_core"
)

// Allocation statuses: what the servers want, and what the client says.
const (
	AllocDesiredRun   = "run"
	AllocDesiredStop  = "stop"
	AllocDesiredEvict = "evict"

	AllocClientPending  = "pending"
	AllocClientRunning  = "running"
	AllocClientComplete = "complete"
	AllocClientFailed   = "failed"
	AllocClientLost     = "lost"
	AllocClientUnknown  = "unknown"
)

// DefaultNamespace is the namespace of jobs that name none.
const DefaultNamespace = "default"

// Resources is an amount of what nodes offer and allocations use.
type Resources struct {
	CPUMHz   int
	MemoryMB int
	DiskMB   int
}

// Add returns the sum of r and o.
func (r Resources) Add(o Resources) Resources {
	return Resources{r.CPUMHz + o.CPUMHz, r.MemoryMB + o.MemoryMB, r.DiskMB + o.DiskMB}
}

// Sub returns r less o; a dimension may go negative.
func (r Resources) Sub(o Resources) Resources {
	return Resources{r.CPUMHz - o.CPUMHz, r.MemoryMB - o.MemoryMB, r.DiskMB - o.DiskMB}
}

// Fits reports whether o fits into r in every dimension.
func (r Resources) Fits(o Resources) bool {
	return o.CPUMHz <= r.CPUMHz && o.MemoryMB <= r.MemoryMB && o.DiskMB <= r.DiskMB
}

// Node is a client machine as the servers know it (structs.Node).
type Node struct {
	ID                    string
	SecretID              string
	Name                  string
	Datacenter            string
	NodeClass             string
	Attributes            map[string]string
	Resources             Resources
	Status                string
	StatusUpdatedAt       int64 // Unix seconds
	SchedulingEligibility string
	Drain                 *DrainStrategy // nil: the node does not drain

	CreateIndex uint64
	ModifyIndex uint64
}

// DrainStrategy is how a node drains (structs.DrainStrategy).
type DrainStrategy struct {
	// Deadline is how long allocations may take to move before they are stopped; zero means
	// as long as it takes, a negative one stops them at once.
	Deadline time.Duration
	// IgnoreSystemJobs leaves the allocations of system jobs alone.
	IgnoreSystemJobs bool
	// ForceDeadline is when the deadline is, in Unix nanoseconds; the servers set it.
	ForceDeadline int64
}

// Copy returns a shallow copy; Attributes and Drain are shared and must not be written to.
func (n *Node) Copy() *Node {
	c := *n
	return &c
}

// Ready reports whether schedulers may place on the node.
func (n *Node) Ready() bool {
	return n.Status == NodeStatusReady && n.Drain == nil && n.SchedulingEligibility == NodeEligible
}

// Job is what a user submitted (structs.Job).
type Job struct {
	Namespace   string
	ID          string
	Type        string
	Priority    int
	Datacenters []string
	Stop        bool
	TaskGroups  []TaskGroup
	Version     uint64
	// Periodic makes the job launch others like it, now and then, in place of running
	// itself; nil for a job that runs.
	Periodic *PeriodicConfig
	// ParentID is the periodic job that launched this one; empty if none did.
	ParentID string

	CreateIndex    uint64
	ModifyIndex    uint64
	JobModifyIndex uint64
}

// PeriodicConfig says when a periodic job launches (structs.PeriodicConfig): at every
// multiple of Every since the Unix epoch, as the cron expressions "*/5 * * * *" do.
type PeriodicConfig struct {
	Every time.Duration `scale:"floor=1s"`
	// ProhibitOverlap skips a launch while an earlier one runs.
	ProhibitOverlap bool
}

// Next returns the first launch after a time.
func (p PeriodicConfig) Next(after time.Time) time.Time {
	return time.Unix(0, (after.UnixNano()/int64(p.Every)+1)*int64(p.Every))
}

// Copy returns a shallow copy; what it points to is shared and must not be written to.
func (j *Job) Copy() *Job {
	c := *j
	return &c
}

// RunsIn reports whether the job names the datacenter.
func (j *Job) RunsIn(datacenter string) bool {
	return slices.Contains(j.Datacenters, datacenter)
}

// TaskGroup looks a group up by name; nil means that the job has none of that name.
func (j *Job) TaskGroup(name string) *TaskGroup {
	for i := range j.TaskGroups {
		if j.TaskGroups[i].Name == name {
			return &j.TaskGroups[i]
		}
	}
	return nil
}

// TaskGroup is the unit of placement. Count is ignored by system and sysbatch jobs,
// which place one allocation on every eligible node.
type TaskGroup struct {
	Name      string
	Count     int
	Resources Resources
	// MaxClientDisconnect keeps allocations of a disconnected node as unknown for
	// this long before they are lost; zero means that they are lost at once.
	MaxClientDisconnect time.Duration
	// MaxParallel bounds how many allocations a rolling update replaces at a time;
	// zero means all at once. For a service it also says that changes of the group are
	// deployments (structs.UpdateStrategy).
	MaxParallel int
	// ProgressDeadline fails a deployment that goes without a newly healthy allocation
	// for so long; zero means ten minutes.
	ProgressDeadline time.Duration `scale:"zero=10m"`
}

// Allocation is one task group placed on one node (structs.Allocation).
type Allocation struct {
	ID                 string
	Namespace          string
	EvalID             string
	Name               string
	NodeID             string
	JobID              string
	JobVersion         uint64
	JobType            string
	TaskGroup          string
	Resources          Resources
	DesiredStatus      string
	DesiredDescription string
	ClientStatus       string
	ClientDescription  string
	PreviousAllocation string
	FollowupEvalID     string
	// DisconnectedAt is when the servers last marked the allocation unknown, in Unix
	// nanoseconds; zero once it reconnected, stopped or was lost. It stands for the
	// allocation states of structs.Allocation, of which nothing else is asked.
	DisconnectedAt int64

	// DeploymentID is the deployment that placed the allocation or carried it over; empty
	// when none did.
	DeploymentID string
	// Health is what the client found of an allocation of a deployment, once it had run
	// for long enough or failed before; HealthIndex is when it said so.
	Health      string
	HealthIndex uint64
	// Migrate asks schedulers to move the allocation to another node, Reschedule to replace
	// it although its deployment is under way (structs.DesiredTransition).
	Migrate    bool
	Reschedule bool

	CreateIndex      uint64
	ModifyIndex      uint64
	AllocModifyIndex uint64 // last change by a server, as opposed to by the client
	CreateTime       int64  // Unix nanoseconds
	ModifyTime       int64  // Unix nanoseconds
}

// Copy returns a copy.
func (a *Allocation) Copy() *Allocation {
	c := *a
	return &c
}

// ByID compares allocations by ID, for sorting and searching.
func ByID(a, b *Allocation) int { return strings.Compare(a.ID, b.ID) }

// ServerTerminal reports whether the servers want the allocation stopped.
func (a *Allocation) ServerTerminal() bool {
	return a.DesiredStatus == AllocDesiredStop || a.DesiredStatus == AllocDesiredEvict
}

// ClientTerminal reports whether the client says that the allocation has ended.
func (a *Allocation) ClientTerminal() bool {
	switch a.ClientStatus {
	case AllocClientComplete, AllocClientFailed, AllocClientLost:
		return true
	}
	return false
}

// Terminal reports whether either side has ended the allocation
// (structs.Allocation.TerminalStatus).
func (a *Allocation) Terminal() bool { return a.ServerTerminal() || a.ClientTerminal() }
