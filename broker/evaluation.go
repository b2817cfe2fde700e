package broker

import (
	"strings"
	"time"
)

// Evaluation statuses (nomad/structs/structs.go, EvalStatus*).
const (
	StatusPending  = "pending"
	StatusBlocked  = "blocked"
	StatusComplete = "complete"
	StatusFailed   = "failed"
	StatusCanceled = "canceled"
)

// Statuses are all that an evaluation can have.
var Statuses = []string{StatusPending, StatusBlocked, StatusComplete, StatusFailed, StatusCanceled}

// Reasons an evaluation was created (nomad/structs/structs.go, EvalTrigger*).
const (
	TriggeredByJobRegister         = "job-register"
	TriggeredByJobDeregister       = "job-deregister"
	TriggeredByJobScaling          = "job-scaling"
	TriggeredByPeriodicJob         = "periodic-job"
	TriggeredByNodeDrain           = "node-drain"
	TriggeredByNodeUpdate          = "node-update"
	TriggeredByScheduled           = "scheduled"
	TriggeredByRollingUpdate       = "rolling-update"
	TriggeredByDeploymentWatcher   = "deployment-watcher"
	TriggeredByFailedFollowUp      = "failed-follow-up"
	TriggeredByMaxPlans            = "max-plan-attempts"
	TriggeredByRetryFailedAlloc    = "alloc-failure"
	TriggeredByQueuedAllocs        = "queued-allocs"
	TriggeredByPreemption          = "preemption"
	TriggeredByMaxDisconnectExpiry = "max-disconnect-timeout"
	TriggeredByReconnect           = "reconnect"
	TriggeredByAllocReschedule     = "alloc-reschedule"
)

// JobID names a job inside its namespace: the key evaluations are serialised by.
type JobID struct {
	Namespace string
	ID        string
}

// Evaluation asks a scheduler to look at one job again. The field names, and the
// names on the wire, are those of structs.Evaluation in nomad/structs/structs.go.
//
// The broker keeps the pointers it is given and never writes to them: treat an
// Evaluation as immutable once it was enqueued or stored, and Copy it to change it.
type Evaluation struct {
	ID                string
	Namespace         string
	JobID             string
	Type              string // scheduler type: service, batch, system, sysbatch, _core
	Priority          int
	TriggeredBy       string
	NodeID            string
	NodeModifyIndex   uint64
	JobModifyIndex    uint64
	DeploymentID      string
	Status            string
	StatusDescription string

	// Wait delays the first delivery by this long after Enqueue; zero means at once.
	Wait time.Duration
	// WaitUntil delays the first delivery to an absolute time; the zero time means at once.
	WaitUntil time.Time

	NextEval     string
	PreviousEval string
	BlockedEval  string

	// FailedTGAllocs counts, by task group, the placements that found no room.
	FailedTGAllocs map[string]int
	// ClassEligibility says which computed node classes were found feasible.
	ClassEligibility     map[string]bool
	EscapedComputedClass bool
	QueuedAllocations    map[string]int

	// SnapshotIndex is the state index the evaluation was last processed at; zero
	// means that no scheduler has seen it.
	SnapshotIndex uint64
	CreateIndex   uint64
	ModifyIndex   uint64
	CreateTime    int64 // Unix nanoseconds
	ModifyTime    int64 // Unix nanoseconds
}

// Job returns the key by which the broker serialises the evaluation.
func (e *Evaluation) Job() JobID { return JobID{Namespace: e.Namespace, ID: e.JobID} }

// ByID compares evaluations by ID, for sorting and searching.
func ByID(a, b *Evaluation) int { return strings.Compare(a.ID, b.ID) }

// Copy returns a shallow copy; the maps are shared and must not be written to.
func (e *Evaluation) Copy() *Evaluation {
	c := *e
	return &c
}

// Waits reports whether the first delivery waits for a time.
func (e *Evaluation) Waits() bool { return e.Wait > 0 || !e.WaitUntil.IsZero() }

// ShouldEnqueue reports whether the broker should hold the evaluation.
func (e *Evaluation) ShouldEnqueue() bool { return e.Status == StatusPending }

// ShouldBlock reports whether the blocked-evaluations tracker should hold it.
func (e *Evaluation) ShouldBlock() bool { return e.Status == StatusBlocked }

// Terminal reports whether no scheduler will look at the evaluation again.
func (e *Evaluation) Terminal() bool {
	return e.Status == StatusComplete || e.Status == StatusFailed || e.Status == StatusCanceled
}
