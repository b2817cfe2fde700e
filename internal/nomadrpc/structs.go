package nomadrpc

import "time"

// Node is a client machine.
type Node struct {
	ID                    string
	SecretID              string
	Datacenter            string
	Name                  string
	HTTPAddr              string
	TLSEnabled            bool
	Attributes            map[string]string
	NodeResources         *NodeResources
	ReservedResources     *NodeReservedResources
	Links                 map[string]string
	Meta                  map[string]string
	NodeClass             string
	NodePool              string // since 1.6
	ComputedClass         string
	DrainStrategy         *DrainStrategy
	SchedulingEligibility string
	Status                string
	StatusDescription     string
	StatusUpdatedAt       int64
	Events                []*NodeEvent
	Drivers               map[string]*DriverInfo
	CreateIndex           uint64
	ModifyIndex           uint64
}

// NodeResources is what a node has. Servers since 1.7 work out the processors, which clients
// report since then, from Cpu.
type NodeResources struct {
	Cpu            NodeCPUResources
	Memory         NodeMemoryResources
	Disk           NodeDiskResources
	Networks       []*NetworkResource
	NodeNetworks   []*NodeNetworkResource
	MinDynamicPort int
	MaxDynamicPort int
}

// NodeCPUResources is the part of NodeResources for processors.
type NodeCPUResources struct {
	CpuShares          int64
	TotalCpuCores      uint16
	ReservableCpuCores []uint16
}

// NodeMemoryResources is the part of NodeResources for memory.
type NodeMemoryResources struct{ MemoryMB int64 }

// NodeDiskResources is the part of NodeResources for disks.
type NodeDiskResources struct{ DiskMB int64 }

// NetworkResource is an address of a node, as before 0.12.
type NetworkResource struct {
	Mode   string
	Device string
	CIDR   string
	IP     string
	MBits  int
}

// NodeNetworkResource is a network of a node.
type NodeNetworkResource struct {
	Mode       string
	Device     string
	MacAddress string
	Speed      int
	Addresses  []NodeNetworkAddress
}

// NodeNetworkAddress is an address in a network of a node.
type NodeNetworkAddress struct {
	Family  string
	Alias   string
	Address string
	Gateway string
}

// NodeReservedResources is what of a node is not for tasks.
type NodeReservedResources struct {
	Cpu    NodeReservedCPUResources
	Memory NodeMemoryResources
	Disk   NodeDiskResources
}

// NodeReservedCPUResources is the part of NodeReservedResources for processors.
type NodeReservedCPUResources struct {
	CpuShares        uint64
	ReservedCpuCores []uint16
}

// DriverInfo is what a node says of one of its drivers.
type DriverInfo struct {
	Attributes        map[string]string
	Detected          bool
	Healthy           bool
	HealthDescription string
	UpdateTime        time.Time
}

// NodeEvent is something that happened to a node.
type NodeEvent struct {
	Message     string
	Subsystem   string
	Details     map[string]string
	Timestamp   time.Time
	CreateIndex uint64
}

// DrainStrategy is how a node drains. The fields of DrainSpec are among its own.
type DrainStrategy struct {
	DrainSpec
	ForceDeadline time.Time
	StartedAt     time.Time
}

// DrainSpec is what an operator asks of a drain.
type DrainSpec struct {
	Deadline         time.Duration
	IgnoreSystemJobs bool
}

// Allocation is an instance of a task group on a node. Zeros are not sent, as in Nomad.
type Allocation struct {
	//lint:ignore U1000 the codec reads the tag
	_struct            bool `codec:",omitempty"`
	ID                 string
	Namespace          string
	EvalID             string
	Name               string
	NodeID             string
	NodeName           string
	JobID              string
	Job                *Job
	TaskGroup          string
	AllocatedResources *AllocatedResources
	DesiredStatus      string
	DesiredDescription string
	DesiredTransition  DesiredTransition
	ClientStatus       string
	ClientDescription  string
	TaskStates         map[string]*TaskState
	PreviousAllocation string
	NextAllocation     string
	DeploymentID       string
	DeploymentStatus   *AllocDeploymentStatus
	FollowupEvalID     string
	CreateIndex        uint64
	ModifyIndex        uint64
	AllocModifyIndex   uint64
	CreateTime         int64
	ModifyTime         int64
}

// DesiredTransition is what servers want to become of an allocation.
type DesiredTransition struct {
	Migrate         *bool
	Reschedule      *bool
	ForceReschedule *bool
}

// AllocDeploymentStatus is the health of an allocation of a deployment.
type AllocDeploymentStatus struct {
	Healthy     *bool
	Timestamp   time.Time
	Canary      bool
	ModifyIndex uint64
}

// TaskState is how a task of an allocation does.
type TaskState struct {
	State       string // pending, running or dead
	Failed      bool
	Restarts    uint64
	LastRestart time.Time
	StartedAt   time.Time
	FinishedAt  time.Time
}

// AllocatedResources is what an allocation was given.
type AllocatedResources struct {
	Tasks  map[string]*AllocatedTaskResources
	Shared AllocatedSharedResources
}

// AllocatedTaskResources is what a task was given.
type AllocatedTaskResources struct {
	Cpu    AllocatedCPUResources
	Memory AllocatedMemoryResources
}

// AllocatedCPUResources is the part of AllocatedTaskResources for processors.
type AllocatedCPUResources struct {
	CpuShares     int64
	ReservedCores []uint16
}

// AllocatedMemoryResources is the part of AllocatedTaskResources for memory.
type AllocatedMemoryResources struct {
	MemoryMB    int64
	MemoryMaxMB int64
}

// AllocatedSharedResources is what the tasks of an allocation were given together.
type AllocatedSharedResources struct{ DiskMB int64 }

// Job is a job as servers send it with an allocation.
type Job struct {
	Region         string
	Namespace      string
	ID             string
	Name           string
	ParentID       string
	Type           string
	Priority       int
	Datacenters    []string
	NodePool       string // since 1.6
	TaskGroups     []*TaskGroup
	Stop           bool
	Status         string
	Version        uint64
	SubmitTime     int64
	CreateIndex    uint64
	ModifyIndex    uint64
	JobModifyIndex uint64
}

// TaskGroup is the part of a job that an allocation runs.
type TaskGroup struct {
	Name             string
	Count            int
	Tasks            []*Task
	EphemeralDisk    *EphemeralDisk
	RestartPolicy    *RestartPolicy
	ReschedulePolicy *ReschedulePolicy
	Update           *UpdateStrategy
}

// Task is a process of an allocation.
type Task struct {
	Name        string
	Driver      string
	Config      map[string]any
	Resources   *Resources
	LogConfig   *LogConfig
	KillTimeout time.Duration
}

// Resources is what a task asks for.
type Resources struct {
	CPU         int
	Cores       int
	MemoryMB    int
	MemoryMaxMB int
	DiskMB      int
}

// EphemeralDisk is what the tasks of a group ask for together.
type EphemeralDisk struct {
	Sticky  bool
	SizeMB  int
	Migrate bool
}

// RestartPolicy is how often a client restarts a task.
type RestartPolicy struct {
	Attempts int
	Interval time.Duration
	Delay    time.Duration
	Mode     string
}

// ReschedulePolicy is how often servers replace an allocation that failed.
type ReschedulePolicy struct {
	Attempts      int
	Interval      time.Duration
	Delay         time.Duration
	DelayFunction string
	MaxDelay      time.Duration
	Unlimited     bool
}

// UpdateStrategy is how a group changes from one version to the next.
type UpdateStrategy struct {
	Stagger          time.Duration
	MaxParallel      int
	HealthCheck      string
	MinHealthyTime   time.Duration
	HealthyDeadline  time.Duration
	ProgressDeadline time.Duration
}

// LogConfig is what a client keeps of a task's output.
type LogConfig struct {
	MaxFiles      int
	MaxFileSizeMB int
	Disabled      bool
}

// Evaluation is an evaluation as workers get it.
type Evaluation struct {
	ID          string
	Namespace   string
	Priority    int
	Type        string
	TriggeredBy string
	JobID       string
	NodeID      string
	Status      string
	CreateIndex uint64
	ModifyIndex uint64
}

// Plan is what a worker wants of nodes.
type Plan struct {
	EvalID         string
	EvalToken      string
	Priority       int
	Job            *Job
	JobInfo        *PlanJob // since 1.11.2, in place of Job
	NodeUpdate     map[string][]*Allocation
	NodeAllocation map[string][]*Allocation
	SnapshotIndex  uint64
}

// PlanJob says which job a plan is for.
type PlanJob struct{ Namespace, ID string }

// PlanResult is what came of a plan.
type PlanResult struct {
	NodeUpdate     map[string][]*Allocation
	NodeAllocation map[string][]*Allocation
	RefreshIndex   uint64
	AllocIndex     uint64
}
