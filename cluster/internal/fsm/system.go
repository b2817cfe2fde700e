package fsm

import (
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/state"
)

// What garbage collection writes, and Raft.

// EvalDeleteRequest deletes evaluations and allocations that are over.
type EvalDeleteRequest struct {
	Evals  []string
	Allocs []string
}

// mostTracked is how many evaluations Nomad's state can delete in one transaction before it
// compares all that it has. Its trees (go-immutable-radix, Txn.trackChannel) keep track of 8,192
// changed nodes; with more they walk the whole tree from before and the one after (slowNotify).
// Measured on the state of 1.4.3: 1,200 are below it, 1,300 above.
const mostTracked = 1250

var EvalDelete = Declare("EvalDeleteRequestType",
	func(r *EvalDeleteRequest, c config.FSMCosts, store *state.Store) config.Work {
		snap := store.Snapshot()
		evals, allocs := 0, 0 // that are there: several workers may collect the same at a time
		for _, id := range r.Evals {
			if snap.EvalByID(id) != nil {
				evals++
			}
		}
		for _, id := range r.Allocs {
			if snap.AllocByID(id) != nil {
				allocs++
			}
		}
		gone := len(r.Evals) - evals + len(r.Allocs) - allocs
		cost := c.Entry + time.Duration(evals+allocs)*c.Eval + time.Duration(gone)*c.Gone
		if evals > mostTracked {
			cost += time.Duration(snap.EvalTotal()) * c.Walk
		}
		return config.Work{Few: cost}
	},
	func(tx *state.Tx, r *EvalDeleteRequest, fx *Effects) error {
		before := tx.EvalTotal()
		if err := tx.DeleteEvals(r.Evals, r.Allocs); err != nil {
			return err
		}
		fx.Counters.EvalsCollected += uint64(before - tx.EvalTotal())
		return nil
	})

var (
	EvalsCollected = EvalDelete.because("batches of collected evaluations and allocations")
	EvalsDeleted   = EvalDelete.because("batches of evaluations that operators deleted")
)

// JobBatchDeregisterRequest forgets jobs, and brings the evaluations that stop what they
// may still run.
type JobBatchDeregisterRequest struct {
	Jobs  []broker.JobID
	Evals []*broker.Evaluation
}

var JobBatchDeregister = Declare("JobBatchDeregisterRequestType",
	perEval(func(r *JobBatchDeregisterRequest) int { return len(r.Evals) }),
	func(tx *state.Tx, r *JobBatchDeregisterRequest, fx *Effects) error {
		for _, id := range r.Jobs {
			fx.Jobs = append(fx.Jobs, JobChange{id, nil})
			if err := tx.DeleteJob(id.Namespace, id.ID); err != nil {
				return err
			}
		}
		return writeJobEvals(tx, fx, r.Evals...)
	})

var JobsCollected = JobBatchDeregister.because("batches of collected jobs")

// NodeBatchDeregisterRequest forgets nodes.
type NodeBatchDeregisterRequest struct{ NodeIDs []string }

var NodeBatchDeregister = Declare("NodeBatchDeregisterRequestType",
	perNode(func(r *NodeBatchDeregisterRequest) int { return len(r.NodeIDs) }),
	func(tx *state.Tx, r *NodeBatchDeregisterRequest, fx *Effects) error {
		fx.Counters.NodesCollected += uint64(len(r.NodeIDs))
		fx.Drains = r.NodeIDs
		return tx.DeleteNode(r.NodeIDs...)
	})

var NodesCollected = NodeBatchDeregister.because("batches of collected nodes")

// DeploymentDeleteRequest forgets deployments.
type DeploymentDeleteRequest struct{ Deployments []string }

var DeploymentDelete = Declare("DeploymentDeleteRequestType", flat[DeploymentDeleteRequest],
	func(tx *state.Tx, r *DeploymentDeleteRequest, _ *Effects) error {
		tx.DeleteDeployments(r.Deployments...)
		return nil
	})

var DeploymentsCollected = DeploymentDelete.because("batches of collected deployments")

// OneTimeTokenExpireRequest is written every ten minutes, and when garbage is collected by force, whether there are
// one-time tokens or not.
type OneTimeTokenExpireRequest struct {
	Timestamp int64 // Unix nanoseconds
}

var OneTimeTokenExpire = Declare("OneTimeTokenExpireRequestType", flat[OneTimeTokenExpireRequest],
	func(*state.Tx, *OneTimeTokenExpireRequest, *Effects) error { return nil })

var TokensExpired = OneTimeTokenExpire.because("ticks that expire one-time tokens")

// Entries that Raft writes of its own accord, which no state machine gets to see.
var (
	raftNoop          = register(kind{name: "raft:Noop"})
	raftBarrier       = register(kind{name: "raft:Barrier"})
	raftConfiguration = register(kind{name: "raft:Configuration"})

	LeaderElected  = raftNoop.because("leaders elected")
	LeaderCaughtUp = raftBarrier.because("waits of new leaders for their state")
)
