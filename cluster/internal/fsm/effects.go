package fsm

import (
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Effects is what applying an entry means to the parts of a server that are not its state.
// All of it but the counters is for the leader's parts, which ignore it while the server
// does not lead.
type Effects struct {
	// Counters is what the entry adds to those of the run.
	Counters Counters
	// Evals are the evaluations written, in the order of the entry: each is queued, blocked
	// or ends what was blocked of its job (nomad/fsm.go, handleUpsertedEval).
	Evals []*broker.Evaluation
	// Ended are the IDs of evaluations that need not wait any more, since what they wait for is back.
	Ended []string
	// Jobs are those registered, stopped or forgotten, for the periodic dispatcher.
	Jobs []JobChange
	// Deployments are the jobs whose deployment may have changed, and Healths the
	// allocations of deployments whose health a client reported.
	Deployments []broker.JobID
	Healths     []*rpc.Allocation
	// DeploymentAllocs are the jobs with an allocation of a deployment that may have changed.
	DeploymentAllocs []broker.JobID
	// Drains are the IDs of nodes whose drain may have changed. Allocs says that some
	// allocation has.
	Drains []string
	Allocs bool
	// Room lists the nodes that may have room now: blocked evaluations are tried again.
	Room []*rpc.Node
	// Registered is a node that is ready and was registered: what its class suits is tried again, but not what found
	// the node itself full (nomad/fsm.go, applyUpsertNode).
	Registered *rpc.Node
	// Undrained is the node that the end of its drain made eligible. Older releases try nothing
	// again for it.
	Undrained *rpc.Node
}

// JobChange is a job as an entry left it; nil if it was stopped or forgotten.
type JobChange struct {
	ID  broker.JobID
	Job *rpc.Job
}

// writeEvals stores evaluations and notes what becomes of them. A completed one may cancel
// others, so that canceled ones are counted in the state and not in the list.
func writeEvals(tx *state.Tx, fx *Effects, evals ...*broker.Evaluation) error {
	canceled, failed := tx.EvalCount(broker.StatusCanceled), tx.EvalCount(broker.StatusFailed)
	if err := tx.UpsertEvals(evals...); err != nil {
		return err
	}
	fx.Counters.EvalsCanceled += uint64(tx.EvalCount(broker.StatusCanceled) - canceled)
	fx.Counters.EvalsFailed += uint64(tx.EvalCount(broker.StatusFailed) - failed)
	for _, e := range evals {
		if e.CreateIndex == tx.Index() {
			fx.Counters.EvalsCreated++
		}
	}
	fx.Evals = append(fx.Evals, evals...)
	return nil
}

// writeJobEvals is writeEvals for evaluations that come with a change of their job.
func writeJobEvals(tx *state.Tx, fx *Effects, evals ...*broker.Evaluation) error {
	for _, e := range evals {
		e.JobModifyIndex = tx.Index()
	}
	return writeEvals(tx, fx, evals...)
}

// oneOrNone is a list of the evaluation, empty if there is none.
func oneOrNone(e *broker.Evaluation) []*broker.Evaluation {
	if e == nil {
		return nil
	}
	return []*broker.Evaluation{e}
}

// room notes that a node has room, if the condition holds for it.
func (fx *Effects) room(tx *state.Tx, nodeID string, holds func(*rpc.Node) bool) {
	if n := tx.Node(nodeID); n != nil && holds(n) {
		fx.Room = append(fx.Room, n)
	}
}

func isReady(n *rpc.Node) bool { return n.Status == rpc.NodeStatusReady }
func always(*rpc.Node) bool    { return true }

// deployment notes that the deployment of a job may have changed.
func (fx *Effects) deployment(namespace, job string) {
	fx.Deployments = with(fx.Deployments, broker.JobID{Namespace: namespace, ID: job})
}

// deployed notes that an allocation may have changed, and reports whether it is of a deployment; nil is not.
func (fx *Effects) deployed(a *rpc.Allocation) bool {
	if a == nil || a.DeploymentID == "" {
		return false
	}
	fx.DeploymentAllocs = with(fx.DeploymentAllocs, broker.JobID{Namespace: a.Namespace, ID: a.JobID})
	return true
}

// with returns the jobs with one that may be among them.
func with(jobs []broker.JobID, id broker.JobID) []broker.JobID {
	if slices.Contains(jobs, id) {
		return jobs
	}
	return append(jobs, id)
}
