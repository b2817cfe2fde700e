package rpc

import "time"

// Statuses of a deployment (nomad/structs/structs.go, DeploymentStatus*).
const (
	DeploymentRunning    = "running"
	DeploymentSuccessful = "successful"
	DeploymentFailed     = "failed"
	DeploymentCancelled  = "cancelled"
)

// What a client says of an allocation of a deployment (structs.AllocDeploymentStatus).
const (
	AllocHealthy   = "healthy"
	AllocUnhealthy = "unhealthy"
)

// DefaultProgressDeadline is the progress deadline of groups that name none
// (structs.DefaultUpdateStrategy).
const DefaultProgressDeadline = 10 * time.Minute

// SchedulerConfig is what operators can set of the schedulers while they run
// (structs.SchedulerConfiguration).
type SchedulerConfig struct {
	// PauseEvalBroker stops the leader's broker without a change of leadership.
	PauseEvalBroker bool
}

// Deployment is the change of a service job from one version to the next, some
// allocations at a time (structs.Deployment). Nomad keeps old ones for an hour; here a job
// has its latest only.
type Deployment struct {
	ID                string
	Namespace         string
	JobID             string
	JobVersion        uint64
	JobCreateIndex    uint64
	Priority          int // of its evaluations
	Status            string
	StatusDescription string
	Groups            []DeploymentGroup // in the order of the job

	CreateIndex uint64
	ModifyIndex uint64
}

// DeploymentGroup is how far one task group is (structs.DeploymentState).
type DeploymentGroup struct {
	Name             string
	ProgressDeadline time.Duration
	DesiredTotal     int
	Placed           int
	Healthy          int
	Unhealthy        int
	// RequireProgressBy is when the deployment fails unless another allocation is healthy
	// by then, in Unix nanoseconds; zero until one was placed.
	RequireProgressBy int64
}

// Active reports whether the deployment goes on. There is none to ask: nil is not active.
func (d *Deployment) Active() bool { return d != nil && d.Status == DeploymentRunning }

// Copy returns a copy that shares nothing.
func (d *Deployment) Copy() *Deployment {
	c := *d
	c.Groups = append([]DeploymentGroup(nil), d.Groups...)
	return &c
}

// Group looks a group up by name; nil means that it is not part of the deployment.
func (d *Deployment) Group(name string) *DeploymentGroup {
	for i := range d.Groups {
		if d.Groups[i].Name == name {
			return &d.Groups[i]
		}
	}
	return nil
}

// DeploymentUpdate changes the status of a job's deployment
// (structs.DeploymentStatusUpdate).
type DeploymentUpdate struct {
	Namespace         string
	JobID             string
	DeploymentID      string
	Status            string
	StatusDescription string
}
