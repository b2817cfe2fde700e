package rpc

import (
	"path"
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

// Job types, which are also the types of schedulers.
const (
	JobTypeService  = "service"
	JobTypeBatch    = "batch"
	JobTypeSystem   = "system"
	JobTypeSysBatch = "sysbatch"
	JobTypeCore     = "_core"
)

// Allocation statuses: what the servers want, and what the client reports.
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

// Resources is what a node offers or an allocation uses.
type Resources struct {
	CPUMHz   int
	MemoryMB int
	DiskMB   int
}

// Add returns the sum of r and o.
func (r Resources) Add(o Resources) Resources {
	return Resources{r.CPUMHz + o.CPUMHz, r.MemoryMB + o.MemoryMB, r.DiskMB + o.DiskMB}
}

// Sub returns r less o; dimensions may be negative.
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
	Drain                 *DrainStrategy // nil unless the node drains

	CreateIndex uint64
	ModifyIndex uint64
}

// DrainStrategy is how a node drains (structs.DrainStrategy).
type DrainStrategy struct {
	// Deadline is how long allocations may take to move before they are stopped. Zero means
	// no deadline; a negative value stops them at once.
	Deadline time.Duration
	// IgnoreSystemJobs keeps the allocations of system jobs running.
	IgnoreSystemJobs bool
	// ForceDeadline is when Deadline ends, in Unix nanoseconds. The servers set it.
	ForceDeadline int64
}

// Copy returns a shallow copy: neither may write to Attributes or Drain.
func (n *Node) Copy() *Node { return new(*n) }

// Unresponsive reports whether the servers have lost touch with the node.
func (n *Node) Unresponsive() bool {
	return n.Status == NodeStatusDown || n.Status == NodeStatusDisconnected
}

// Ready reports whether schedulers may place on the node.
func (n *Node) Ready() bool {
	return n.Status == NodeStatusReady && n.Drain == nil && n.SchedulingEligibility == NodeEligible
}

// Job is a job as a user registered it (structs.Job).
type Job struct {
	Namespace   string
	ID          string
	Type        string
	Priority    int
	Datacenters []string
	Stop        bool
	TaskGroups  []TaskGroup
	Version     uint64
	// Periodic makes the job launch children at intervals and not run itself; nil for others.
	Periodic *PeriodicConfig
	// ParentID is the periodic job that launched this one; empty for others.
	ParentID string
	// Definition is the job as its user wrote it, with what the cluster does not model, in a form
	// that only the package which registered it reads; nil for most jobs. In an entry of the log it
	// comes after all else, so that an entry of a job without one has not become longer.
	Definition []byte `codec:"-"`
	// SubmitTime is when the job was registered, in Unix nanoseconds. The entry has it.
	SubmitTime int64 `codec:"-"`

	CreateIndex    uint64
	ModifyIndex    uint64
	JobModifyIndex uint64
}

// PeriodicConfig makes a job launch at every multiple of Every since the Unix epoch, as cron
// expressions such as "*/5 * * * *" do (structs.PeriodicConfig).
type PeriodicConfig struct {
	Every time.Duration `scale:"floor=1s"`
	// ProhibitOverlap skips launches while an earlier one runs.
	ProhibitOverlap bool
}

// Next returns the time of the first launch after a time.
func (p PeriodicConfig) Next(after time.Time) time.Time {
	return time.Unix(0, (after.UnixNano()/int64(p.Every)+1)*int64(p.Every))
}

// Copy returns a shallow copy: neither may write to what both point to.
func (j *Job) Copy() *Job { return new(*j) }

// RunsIn reports whether the job names the datacenter.
func (j *Job) RunsIn(datacenter string) bool { return NamesDatacenter(j.Datacenters, datacenter) }

// NamesDatacenter reports whether a list, in which "*" stands for any text as in path.Match,
// names a datacenter.
func NamesDatacenter(list []string, datacenter string) bool {
	return slices.ContainsFunc(list, func(name string) bool {
		if name == datacenter || !strings.Contains(name, "*") {
			return name == datacenter
		}
		found, err := path.Match(name, datacenter)
		return found && err == nil
	})
}

// TaskGroup returns the group with that name, or nil.
func (j *Job) TaskGroup(name string) *TaskGroup {
	for i := range j.TaskGroups {
		if j.TaskGroups[i].Name == name {
			return &j.TaskGroups[i]
		}
	}
	return nil
}

// UpdateStagger is the pause between the steps of a rolling update of a system job
// (structs.go, DefaultUpdateStrategy).
const UpdateStagger = 30 * time.Second

// MaxCount is the most allocations that a group may have: a typing error must not take all memory.
const MaxCount = 1_000_000

// TaskGroup is the unit of placement (structs.TaskGroup).
type TaskGroup struct {
	Name      string
	Count     int // system and sysbatch jobs ignore it: they place one on each eligible node
	Resources Resources
	// MaxClientDisconnect is how long allocations of a disconnected node are unknown before
	// they are lost; zero means that they are lost at once.
	MaxClientDisconnect time.Duration
	// MaxParallel is how many allocations a rolling update replaces at a time; zero means
	// all. If it is set, changes of a service are deployments (structs.UpdateStrategy).
	MaxParallel int
	// ProgressDeadline is how long a deployment may go without a newly healthy allocation
	// before it fails; zero means DefaultProgressDeadline.
	ProgressDeadline time.Duration `scale:"zero=10m"`
}

// Allocation is an instance of a task group on a node (structs.Allocation).
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
	// Reach is kept of an allocation that its group may keep out of reach; nil of any other. What it points to does not change.
	Reach *Reach

	// DeploymentID is the deployment that placed the allocation or updated it in place;
	// empty for none.
	DeploymentID string
	// Health is AllocHealthy or AllocUnhealthy once the client has reported it, at
	// HealthIndex, for an allocation of a deployment.
	Health      string
	HealthIndex uint64
	// Migrate asks schedulers to move the allocation to another node, and Reschedule to
	// replace it even while its deployment runs (structs.DesiredTransition).
	Migrate    bool
	Reschedule bool

	CreateIndex      uint64
	ModifyIndex      uint64
	AllocModifyIndex uint64 // last change by a server, not by the client
	CreateTime       int64  // Unix nanoseconds
	ModifyTime       int64  // Unix nanoseconds
}

// Reach is what decides about an allocation that its group may keep out of reach (max_client_disconnect).
type Reach struct {
	// Score is how well the node suited the allocation when it was placed, the higher the better
	// (structs.AllocMetric, MaxNormScore).
	Score float64
	// DisconnectedAt is when the servers marked the allocation unknown, in Unix nanoseconds.
	// It is zero once the allocation has reconnected, stopped or been lost. It replaces
	// the allocation states of structs.Allocation, which serve nothing else.
	DisconnectedAt int64
}

// Copy returns a copy.
func (a *Allocation) Copy() *Allocation { return new(*a) }

// Score is that of the allocation's Reach; zero if it has none.
func (a *Allocation) Score() float64 {
	if a.Reach == nil {
		return 0
	}
	return a.Reach.Score
}

// DisconnectedAt is that of the allocation's Reach; zero if it has none.
func (a *Allocation) DisconnectedAt() int64 {
	if a.Reach == nil {
		return 0
	}
	return a.Reach.DisconnectedAt
}

// SetDisconnectedAt sets what DisconnectedAt returns. It replaces Reach, which copies of the allocation share.
func (a *Allocation) SetDisconnectedAt(at int64) {
	if at != a.DisconnectedAt() {
		a.Reach = &Reach{Score: a.Score(), DisconnectedAt: at}
	}
}

// ByID compares allocations by ID, for sorting and searching.
func ByID(a, b *Allocation) int { return strings.Compare(a.ID, b.ID) }

// ServerTerminal reports whether the servers want the allocation stopped.
func (a *Allocation) ServerTerminal() bool {
	return a.DesiredStatus == AllocDesiredStop || a.DesiredStatus == AllocDesiredEvict
}

// ClientTerminal reports whether the allocation has ended on its client or is lost.
func (a *Allocation) ClientTerminal() bool {
	switch a.ClientStatus {
	case AllocClientComplete, AllocClientFailed, AllocClientLost:
		return true
	}
	return false
}

// Terminal reports whether the servers or the client ended the allocation
// (structs.Allocation.TerminalStatus).
func (a *Allocation) Terminal() bool { return a.ServerTerminal() || a.ClientTerminal() }
