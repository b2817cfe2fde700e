package server

import (
	"fmt"

	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
)

// What operators do to nodes (nomad/node_endpoint.go, UpdateEligibility and UpdateDrain).

// SetEligibility answers Node.UpdateEligibility on the leader.
func (s *Server) SetEligibility(nodeID string, eligible bool) error {
	node, err := s.findNode(nodeID)
	if err != nil {
		return err
	}
	req := &fsm.NodeUpdateEligibilityRequest{NodeID: nodeID, Eligibility: rpc.NodeIneligible, UpdatedAt: s.Wall().Unix(), Event: "Node marked as ineligible for scheduling"}
	if eligible {
		req.Eligibility, req.Event = rpc.NodeEligible, "Node marked as eligible for scheduling"
	}
	switch {
	case eligible && node.Drain != nil:
		return fmt.Errorf("cannot make node %s eligible while it is draining: end the drain first", nodeID)
	case node.SchedulingEligibility == req.Eligibility:
		return nil
	}
	s.Because(fsm.EligibilitySet)
	index, err := s.changeNode(nodeID, fsm.NodeUpdateEligibility.With(req))
	if err != nil || !eligible {
		return err
	}
	return s.createNodeEvals(node, index)
}

// UpdateDrain answers Node.UpdateDrain on the leader. Meta is what the operator notes of the drain.
func (s *Server) UpdateDrain(nodeID string, drain *rpc.DrainStrategy, markEligible bool, meta []byte) error {
	node, err := s.findNode(nodeID)
	if err != nil {
		return err
	}
	now := s.Wall()
	req := &fsm.NodeUpdateDrainRequest{NodeID: nodeID, MarkEligible: markEligible, UpdatedAt: now.Unix(), Meta: meta}
	if drain != nil {
		d := *drain
		if d.Deadline > 0 {
			d.ForceDeadline = now.Add(d.Deadline).UnixNano()
		}
		req.Drain, req.Event = &d, "Node drain strategy set"
	}
	switch was := node.Drain != nil; {
	case was && drain != nil:
		req.Event = "Node drain strategy updated"
	case was:
		req.Event = "Node drain disabled"
	}
	s.Because(fsm.DrainSet)
	index, err := s.changeNode(nodeID, fsm.NodeUpdateDrain.With(req))
	if err != nil || drain != nil || !markEligible || node.SchedulingEligibility != rpc.NodeIneligible {
		return err
	}
	return s.createNodeEvals(node, index)
}

func (s *Server) findNode(id string) (*rpc.Node, error) {
	if node := s.Snapshot().NodeByID(id); node != nil {
		return node, nil
	}
	return nil, fmt.Errorf("node %s: %w", id, rpc.ErrNodeNotFound)
}

// EvaluateNode answers Node.Evaluate on the leader (nomad/node_endpoint.go).
func (s *Server) EvaluateNode(nodeID string) error {
	node, err := s.findNode(nodeID)
	if err != nil {
		return err
	}
	return s.createNodeEvals(node, node.ModifyIndex)
}

// DeregisterNodes answers Node.BatchDeregister on the leader: one entry, and one more for
// the evaluations of each node (nomad/node_endpoint.go, deregister).
func (s *Server) DeregisterNodes(ids []string) error {
	snap := s.Snapshot()
	var nodes []*rpc.Node
	for _, id := range ids {
		node := snap.NodeByID(id)
		if node == nil {
			return fmt.Errorf("deregister node %s: %w", id, rpc.ErrNodeNotFound)
		}
		nodes = append(nodes, node)
	}
	s.Because(fsm.NodesCollected)
	index, err := s.Write(fsm.NodeBatchDeregister.With(&fsm.NodeBatchDeregisterRequest{NodeIDs: ids}))
	if err != nil {
		return err
	}
	for _, n := range nodes {
		s.beats.Clear(n.ID)
		if err := s.createNodeEvals(n, index); err != nil {
			return err
		}
	}
	return nil
}

// EmitEvents answers Node.EmitEvents on the leader (nomad/node_endpoint.go).
func (s *Server) EmitEvents(events fsm.NodeEvents) error {
	s.Because(fsm.NodeEventsReported)
	_, err := s.Write(fsm.UpsertNodeEvents.With(&fsm.EmitNodeEventsRequest{Nodes: []fsm.NodeEvents{events}}))
	return err
}
