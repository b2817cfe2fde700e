package fsm

import (
	"slices"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

var NodeRegister = Declare("NodeRegisterRequestType", oneNode,
	func(tx *state.Tx, r *rpc.NodeRegisterRequest, fx *Effects) error {
		if err := tx.UpsertNode(r.Node); err != nil {
			return err
		}
		if n := tx.Node(r.Node.ID); n != nil && isReady(n) {
			fx.Registered = n
		}
		return nil
	})

// NodeRegistered counts calls, of new nodes and of known ones.
var NodeRegistered = NodeRegister.because("registrations of nodes")

var NodeUpdateStatus = Declare("NodeUpdateStatusRequestType", oneNode,
	func(tx *state.Tx, r *rpc.NodeUpdateStatusRequest, fx *Effects) error {
		if err := tx.UpdateNodeStatus(r.NodeID, r.Status, r.UpdatedAt, r.NodeEvent); err != nil {
			return err
		}
		if r.Status == rpc.NodeStatusDown {
			fx.Counters.NodesDown++
		}
		fx.room(tx, r.NodeID, isReady)
		return nil
	})

var (
	NodeHeard  = NodeUpdateStatus.because("heartbeats of nodes that were not ready")
	NodeMissed = NodeUpdateStatus.because("nodes whose time to live ran out")
)

// NodeEvents is what one node reports.
type NodeEvents struct {
	NodeID string
	Events []state.NodeEvent
}

// EmitNodeEventsRequest is Node.EmitEvents's argument.
type EmitNodeEventsRequest struct {
	Nodes []NodeEvents // in the order of their IDs
}

var UpsertNodeEvents = Declare("UpsertNodeEventsType",
	perNode(func(r *EmitNodeEventsRequest) int { return len(r.Nodes) }),
	func(tx *state.Tx, r *EmitNodeEventsRequest, _ *Effects) error {
		for _, n := range r.Nodes {
			if err := tx.AddNodeEvents(n.NodeID, n.Events...); err != nil {
				return err
			}
		}
		return nil
	})

var NodeEventsReported = UpsertNodeEvents.because("batches of nodes' events")

// NodeUpdateEligibilityRequest says whether schedulers may place on a node.
type NodeUpdateEligibilityRequest struct {
	NodeID      string
	Eligibility string
	UpdatedAt   int64 // Unix seconds
	Event       string
}

var NodeUpdateEligibility = Declare("NodeUpdateEligibilityRequestType", oneNode,
	func(tx *state.Tx, r *NodeUpdateEligibilityRequest, fx *Effects) error {
		if err := tx.UpdateNodeEligibility(r.NodeID, r.Eligibility, r.UpdatedAt, r.Event); err != nil {
			return err
		}
		if r.Eligibility == rpc.NodeEligible {
			fx.room(tx, r.NodeID, always)
		}
		return nil
	})

var EligibilitySet = NodeUpdateEligibility.because("eligibilities set")

// NodeUpdateDrainRequest begins, changes or ends the drain of a node.
type NodeUpdateDrainRequest struct {
	NodeID       string
	Drain        *rpc.DrainStrategy
	MarkEligible bool
	UpdatedAt    int64 // Unix seconds
	Event        string
	// Meta is what the operator notes of the drain, in whatever form. It follows the rest of the entry.
	Meta []byte `codec:"-"`
}

func (r *NodeUpdateDrainRequest) trailer() *[]byte { return &r.Meta }

var NodeUpdateDrain = Declare("NodeUpdateDrainRequestType", oneNode,
	func(tx *state.Tx, r *NodeUpdateDrainRequest, fx *Effects) error {
		fx.Drains = []string{r.NodeID}
		before := tx.Node(r.NodeID)
		if err := tx.UpdateNodeDrain(r.NodeID, r.Drain, r.MarkEligible, r.UpdatedAt, r.Event); err != nil {
			return err
		}
		if len(r.Meta) > 0 {
			if err := tx.NoteDrain(r.NodeID, r.Meta, false); err != nil {
				return err
			}
		}
		if r.MarkEligible && before.SchedulingEligibility == rpc.NodeIneligible {
			fx.Undrained = tx.Node(r.NodeID)
		}
		return nil
	})

var DrainSet = NodeUpdateDrain.because("drains set")

// BatchNodeUpdateDrainRequest ends the drains of nodes that are done.
type BatchNodeUpdateDrainRequest struct {
	NodeIDs   []string
	UpdatedAt int64 // Unix seconds
	Event     string
}

var BatchNodeUpdateDrain = Declare("BatchNodeUpdateDrainRequestType",
	perNode(func(r *BatchNodeUpdateDrainRequest) int { return len(r.NodeIDs) }),
	func(tx *state.Tx, r *BatchNodeUpdateDrainRequest, fx *Effects) error {
		fx.Drains = r.NodeIDs
		for _, id := range slices.Sorted(slices.Values(r.NodeIDs)) {
			drained := tx.Node(id) != nil && tx.Node(id).Drain != nil
			if err := tx.UpdateNodeDrain(id, nil, false, r.UpdatedAt, r.Event); err != nil {
				return err
			}
			if drained {
				if err := tx.NoteDrain(id, nil, true); err != nil {
					return err
				}
			}
		}
		return nil
	})

var DrainsDone = BatchNodeUpdateDrain.because("batches of drains done")
