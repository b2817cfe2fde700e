package leader

import (
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Log is the replicated log and the state it has led to, as the parts of a leader see
// their server.
type Log interface {
	// Leads reports whether Raft considers the server to be the leader.
	Leads() bool
	// Snapshot returns the server's state.
	Snapshot() *state.Snapshot
	// Write appends an entry and returns its index once it is applied on this server.
	Write(fsm.Command) (index uint64, err error)
	// Because counts events that should cost entries, before those are written.
	Because(...fsm.Cause)
	// Compute spends the server's CPU time. Callers at one instant must have different keys.
	Compute(key string, d time.Duration)
	// Wall returns what the server's wall clock says.
	Wall() time.Time
	// NewID returns a UUID that depends on what it is for and on the present instant.
	NewID(parts ...string) string
}

// PendingEval returns a pending evaluation of a job, made at the present instant.
func PendingEval(id, trigger string, job *rpc.Job) *broker.Evaluation {
	now := time.Now().UnixNano()
	return &broker.Evaluation{
		ID: id, Namespace: job.Namespace, JobID: job.ID, Type: job.Type, Priority: job.Priority,
		TriggeredBy: trigger, Status: broker.StatusPending, CreateTime: now, ModifyTime: now,
	}
}

// JobEval is PendingEval with an ID for a call about the job.
func JobEval(l Log, job *rpc.Job, trigger string) *broker.Evaluation {
	return PendingEval(l.NewID("job-eval", job.Namespace, job.ID), trigger, job)
}

// PurgedPriority is that of evaluations of jobs that are gone: allocations do not keep
// their jobs' (structs.go, JobDefaultPriority).
const PurgedPriority = 50

// JobOf returns an allocation's job. Of one that is gone it returns what evaluations need.
func JobOf(snap *state.Snapshot, a *rpc.Allocation) *rpc.Job {
	if job := snap.JobByID(a.Namespace, a.JobID); job != nil {
		return job
	}
	return &rpc.Job{Namespace: a.Namespace, ID: a.JobID, Type: a.JobType, Priority: PurgedPriority}
}
