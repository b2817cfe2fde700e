package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// What operators do to nodes (nomad/node_endpoint.go, UpdateEligibility and UpdateDrain).

// Events that are recorded with a change of a node.
const (
	eventEligible      = "Node marked as eligible for scheduling"
	eventIneligible    = "Node marked as ineligible for scheduling"
	eventDrainSet      = "Node drain strategy set"
	eventDrainUpdated  = "Node drain strategy updated"
	eventDrainDisabled = "Node drain disabled"
	eventDrainComplete = "Node drain complete"
)

type (
	nodeUpdateEligibilityRequest struct {
		NodeID      string
		Eligibility string
		UpdatedAt   int64 // Unix seconds
		Event       string
	}
	nodeUpdateDrainRequest struct {
		NodeID       string
		Drain        *rpc.DrainStrategy
		MarkEligible bool
		UpdatedAt    int64 // Unix seconds
		Event        string
	}
	// batchNodeUpdateDrainRequest ends the drains of nodes that are done.
	batchNodeUpdateDrainRequest struct {
		NodeIDs   []string
		UpdatedAt int64 // Unix seconds
		Event     string
	}
)

// SetEligibility says whether schedulers may place on a node. Nothing is written when
// that is so already; a node that becomes eligible gets evaluations like one that became
// ready. The error wraps rpc.ErrNodeNotFound if there is no such node; a draining node
// cannot be made eligible.
func (c *Cluster) SetEligibility(ctx context.Context, nodeID string, eligible bool) error {
	_, err := userCall(ctx, c, "Node.UpdateEligibility", nodeID, func(l *server) (struct{}, error) {
		return struct{}{}, l.setEligibility(nodeID, eligible)
	})
	return err
}

func (s *server) setEligibility(nodeID string, eligible bool) error {
	node, err := s.findNode(nodeID)
	if err != nil {
		return err
	}
	req := &nodeUpdateEligibilityRequest{NodeID: nodeID, Eligibility: rpc.NodeIneligible, UpdatedAt: time.Now().Unix(), Event: eventIneligible}
	if eligible {
		req.Eligibility, req.Event = rpc.NodeEligible, eventEligible
	}
	switch {
	case eligible && node.Drain != nil:
		return fmt.Errorf("cannot make node %s eligible while it is draining: end the drain first", nodeID)
	case node.SchedulingEligibility == req.Eligibility:
		return nil
	}
	s.happened(func(c *Causes) { c.EligibilitiesSet++ })
	index, err := s.raftApply(nodeUpdateEligibilityRequestType, req)
	if err != nil || !eligible {
		return err
	}
	return s.createNodeEvals(node, index, &rpc.NodeUpdateResponse{})
}

// DrainNode starts or changes a node's drain, or given nil ends it: then markEligible
// makes the node eligible again, which a node that finished draining is not by itself. The
// leader's drainer moves the allocations away. The error wraps rpc.ErrNodeNotFound if
// there is no such node.
func (c *Cluster) DrainNode(ctx context.Context, nodeID string, drain *rpc.DrainStrategy, markEligible bool) error {
	_, err := userCall(ctx, c, "Node.UpdateDrain", nodeID, func(l *server) (struct{}, error) {
		return struct{}{}, l.updateDrain(nodeID, drain, markEligible)
	})
	return err
}

func (s *server) updateDrain(nodeID string, drain *rpc.DrainStrategy, markEligible bool) error {
	node, err := s.findNode(nodeID)
	if err != nil {
		return err
	}
	now := time.Now()
	req := &nodeUpdateDrainRequest{NodeID: nodeID, MarkEligible: markEligible, UpdatedAt: now.Unix()}
	if drain != nil {
		d := *drain
		if d.Deadline > 0 {
			d.ForceDeadline = now.Add(d.Deadline).UnixNano()
		}
		req.Drain, req.Event = &d, eventDrainSet
	}
	switch was := node.Drain != nil; {
	case was && drain != nil:
		req.Event = eventDrainUpdated
	case was:
		req.Event = eventDrainDisabled
	}
	s.happened(func(c *Causes) { c.DrainsSet++ })
	index, err := s.raftApply(nodeUpdateDrainRequestType, req)
	if err != nil || drain != nil || !markEligible || node.SchedulingEligibility != rpc.NodeIneligible {
		return err
	}
	return s.createNodeEvals(node, index, &rpc.NodeUpdateResponse{})
}

func (s *server) findNode(id string) (*rpc.Node, error) {
	if node := s.store.Snapshot().NodeByID(id); node != nil {
		return node, nil
	}
	return nil, fmt.Errorf("node %s: %w", id, rpc.ErrNodeNotFound)
}

func (f *fsm) updateEligibility(index uint64, req *nodeUpdateEligibilityRequest) error {
	f.charge(1, f.srv.cfg.Costs.FSM.Node)
	if err := f.srv.store.Update(index, func(tx *state.Tx) error {
		return tx.UpdateNodeEligibility(req.NodeID, req.Eligibility, req.UpdatedAt, req.Event)
	}); err != nil {
		return err
	}
	if req.Eligibility == rpc.NodeEligible {
		f.srv.blocked.unblock(f.srv.store.Snapshot().NodeByID(req.NodeID), index)
	}
	return nil
}

func (f *fsm) updateDrain(index uint64, req *nodeUpdateDrainRequest) error {
	f.charge(1, f.srv.cfg.Costs.FSM.Node)
	if err := f.srv.store.Update(index, func(tx *state.Tx) error {
		return tx.UpdateNodeDrain(req.NodeID, req.Drain, req.MarkEligible, req.UpdatedAt, req.Event)
	}); err != nil {
		return err
	}
	f.srv.drains.nodeChanged(req.NodeID)
	return nil
}

func (f *fsm) completeDrains(index uint64, req *batchNodeUpdateDrainRequest) error {
	f.charge(len(req.NodeIDs), f.srv.cfg.Costs.FSM.Node)
	err := f.srv.store.Update(index, func(tx *state.Tx) error {
		for _, id := range slices.Sorted(slices.Values(req.NodeIDs)) {
			if err := tx.UpdateNodeDrain(id, nil, false, req.UpdatedAt, req.Event); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range req.NodeIDs {
		f.srv.drains.nodeChanged(id)
	}
	return nil
}
