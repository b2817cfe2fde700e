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
	// NewID returns a UUID that depends on what it is for and on the present instant.
	NewID(parts ...string) string
}

// JobEval returns a pending evaluation of a job.
func JobEval(l Log, job *rpc.Job, trigger string) *broker.Evaluation {
	now := time.Now().UnixNano()
	return &broker.Evaluation{
		ID:        l.NewID("job-eval", job.Namespace, job.ID),
		Namespace: job.Namespace, JobID: job.ID, Type: job.Type, Priority: job.Priority,
		TriggeredBy: trigger, Status: broker.StatusPending, CreateTime: now, ModifyTime: now,
	}
}

// PurgedPriority is that of evaluations of jobs that are gone: allocations do not keep
// their jobs' (structs.go, JobDefaultPriority).
const PurgedPriority = 50

// AllocEval returns a pending evaluation of an allocation's job, which is nil if the job is
// gone.
func AllocEval(id, trigger string, a *rpc.Allocation, job *rpc.Job, now int64) *broker.Evaluation {
	e := &broker.Evaluation{
		ID: id, Namespace: a.Namespace, JobID: a.JobID, Type: a.JobType, Priority: PurgedPriority,
		TriggeredBy: trigger, Status: broker.StatusPending, CreateTime: now, ModifyTime: now,
	}
	if job != nil {
		e.Type, e.Priority = job.Type, job.Priority
	}
	return e
}
