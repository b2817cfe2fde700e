package rpc

import "time"

// Statuses of a deployment (nomad/structs/structs.go, DeploymentStatus*).
const (
	DeploymentRunning    = "running"
	DeploymentSuccessful = "successful"
	DeploymentFailed     = "failed"
	DeploymentCancelled  = "cancelled"
)

// Health of an allocation of a deployment (structs.AllocDeploymentStatus).
const (
	AllocHealthy   = "healthy"
	AllocUnhealthy = "unhealthy"
)

// DefaultProgressDeadline is the progress deadline of groups without one
// (structs.DefaultUpdateStrategy).
const DefaultProgressDeadline = 10 * time.Minute

// SchedulerConfig is what operators can change while servers run
// (structs.SchedulerConfiguration).
type SchedulerConfig struct {
	// PauseEvalBroker disables the leader's broker.
	PauseEvalBroker bool
}

// Deployment changes a service job from one version to the next, some allocations at a time
// (structs.Deployment). The state keeps a job's earlier deployments, too, until they are collected.
type Deployment struct {
	ID                string
	Namespace         string
	JobID             string
	JobVersion        uint64
	JobCreateIndex    uint64
	Priority          int // of its evaluations
	Status            string
	StatusDescription string
	Groups            []DeploymentGroup // in the order of the job's

	CreateIndex uint64
	ModifyIndex uint64
}

// DeploymentGroup is the progress of one task group (structs.DeploymentState).
type DeploymentGroup struct {
	Name             string
	ProgressDeadline time.Duration
	DesiredTotal     int
	Placed           int
	Healthy          int
	Unhealthy        int
	// RequireProgressBy is when the deployment fails if no other allocation is healthy by
	// then, in Unix nanoseconds; zero until the first is placed.
	RequireProgressBy int64
}

// Active reports whether the deployment runs. A nil deployment does not.
func (d *Deployment) Active() bool { return d != nil && d.Status == DeploymentRunning }

// Copy returns a deep copy.
func (d *Deployment) Copy() *Deployment {
	c := *d
	c.Groups = append([]DeploymentGroup(nil), d.Groups...)
	return &c
}

// Group returns the group with that name, or nil.
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
