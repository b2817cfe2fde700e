package fsm

import (
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// NodesDownRequest marks nodes as down and writes what schedulers are to look at for it. No
// release of Nomad has such an entry (config.DesignConfig, DownWindow).
type NodesDownRequest struct {
	Nodes []rpc.NodeUpdateStatusRequest
	Evals []*broker.Evaluation
}

var NodesDown = Declare("NodesDownRequestType",
	func(r *NodesDownRequest, c config.FSMCosts, _ *state.Store) config.Work {
		return config.Work{Few: c.Entry + time.Duration(len(r.Nodes))*c.Node + time.Duration(len(r.Evals))*c.Eval}
	},
	func(tx *state.Tx, r *NodesDownRequest, fx *Effects) error {
		for _, n := range r.Nodes {
			if err := tx.UpdateNodeStatus(n.NodeID, n.Status, n.UpdatedAt, n.NodeEvent); err != nil {
				return err
			}
			fx.Counters.NodesDown++
		}
		return writeEvals(tx, fx, r.Evals...)
	})

var (
	NodesMissed = NodesDown.because("batches of nodes whose time to live ran out")
	// EvalJoined is for updates that join the entry of another (config.DesignConfig,
	// UpdateWindow).
	EvalJoined = EvalUpdate.less("of these written in the entry of another")
	// EvalUnwritten is for servers that write no evaluations (config.DesignConfig, WorkQueue).
	EvalUnwritten = EvalUpdate.less("of these only told to the leader's queue of jobs")
)
