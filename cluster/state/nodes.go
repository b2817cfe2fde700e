package state

import (
	"fmt"

	"github.com/simctl/simctl/cluster/rpc"
)

// MaxNodeEvents is how many events a node keeps (structs.go, MaxRetainedNodeEvents).
const MaxNodeEvents = 10

// NodeEvent is an event in a node's life, for people to read (structs.go, NodeEvent).
type NodeEvent struct {
	Message     string
	Timestamp   int64 // Unix seconds
	CreateIndex uint64
}

// LastDrain is the latest drain of a node (structs.go, DrainMetadata).
type LastDrain struct {
	StartedAt, UpdatedAt int64 // Unix seconds
	Status               string
	Meta                 []byte // what operators noted of it last, as they wrote it
}

// Statuses of a LastDrain.
const (
	Draining      = "draining"
	DrainComplete = "complete"
	DrainCanceled = "canceled"
)

// UpsertNode registers a node. A known node keeps its CreateIndex, eligibility, drain and
// events (state_store.go, upsertNodeTxn); a new one is eligible unless it says otherwise.
// The error is for a node without an ID.
func (tx *Tx) UpsertNode(node *rpc.Node) error {
	if node.ID == "" {
		return fmt.Errorf("cannot register node %q: it has no ID", node.Name)
	}
	old := tx.nodes.get(node.ID)
	if tx.copies {
		node = node.Copy()
	}
	row := &nodeRow{Node: node}
	node.ModifyIndex = tx.index
	if old == nil {
		node.CreateIndex = tx.index
		canonicalize(node)
		row.Events = addEvent(nil, tx.index, node.StatusUpdatedAt, "Node registered")
		if tx.nodeAllocs.get(node.ID) == nil {
			tx.putNodeAllocs(node.ID, &NodeAllocs{NodeID: node.ID})
		}
	} else {
		node.CreateIndex = old.Node.CreateIndex
		row.Missed, row.Reported, row.LastDrain = old.Missed, old.Reported, old.LastDrain
		if node.Unresponsive() && !old.Node.Unresponsive() {
			row.Missed = tx.index
		}
		node.SchedulingEligibility, node.Drain = old.Node.SchedulingEligibility, old.Node.Drain
		row.Events = old.Events
		if old.Node.Status == rpc.NodeStatusDown && node.Status != rpc.NodeStatusDown {
			row.Events = addEvent(row.Events, tx.index, node.StatusUpdatedAt, "Node re-registered")
		}
	}
	tx.putNode(old, row)
	return nil
}

// canonicalize gives a new node an eligibility (structs.go, Node.Canonicalize).
func canonicalize(n *rpc.Node) {
	switch {
	case n.Drain != nil:
		n.SchedulingEligibility = rpc.NodeIneligible
	case n.SchedulingEligibility == "":
		n.SchedulingEligibility = rpc.NodeEligible
	}
}

// UpdateNodeStatus sets a node's status and records the event unless it is empty.
// UpdatedAt is in Unix seconds. The error wraps rpc.ErrNodeNotFound.
func (tx *Tx) UpdateNodeStatus(nodeID, status string, updatedAt int64, event string) error {
	return tx.changeNode(nodeID, updatedAt, event, func(n *rpc.Node) error {
		n.Status = status
		return nil
	})
}

// UpdateNodeEligibility sets whether schedulers may place on the node; the rest is as in
// UpdateNodeStatus. The error may also be for a draining node, which cannot be eligible.
func (tx *Tx) UpdateNodeEligibility(nodeID, eligibility string, updatedAt int64, event string) error {
	return tx.changeNode(nodeID, updatedAt, event, func(n *rpc.Node) error {
		if n.Drain != nil && eligibility == rpc.NodeEligible {
			return fmt.Errorf("cannot make node %q eligible while it is draining: end the drain first", nodeID)
		}
		n.SchedulingEligibility = eligibility
		return nil
	})
}

// UpdateNodeDrain starts a drain or, given nil, ends it; the rest is as in
// UpdateNodeStatus. A drain makes the node ineligible. Its end makes the node eligible only
// if markEligible is set.
func (tx *Tx) UpdateNodeDrain(nodeID string, drain *rpc.DrainStrategy, markEligible bool, updatedAt int64, event string) error {
	return tx.changeRow(nodeID, updatedAt, event, func(row *nodeRow) error {
		n, was := row.Node, row.Node.Drain != nil
		n.Drain = drain
		switch {
		case drain != nil:
			n.SchedulingEligibility = rpc.NodeIneligible
		case markEligible:
			n.SchedulingEligibility = rpc.NodeEligible
		}
		if !was && drain == nil {
			return nil
		}
		last := LastDrain{StartedAt: updatedAt, Status: Draining}
		if was && row.LastDrain != nil {
			last = *row.LastDrain
		}
		if last.UpdatedAt = updatedAt; drain == nil {
			last.Status = DrainCanceled
		}
		row.LastDrain = &last
		return nil
	})
}

// NoteDrain adds to the record of a node's latest drain. It records what the operator notes, unless meta is empty, and,
// if complete is set, that the drain is complete. It comes after UpdateNodeDrain in the same transaction, and does
// nothing for a node that has never drained.
func (tx *Tx) NoteDrain(nodeID string, meta []byte, complete bool) error {
	old, err := tx.mustNode(nodeID)
	if err != nil || old.LastDrain == nil {
		return err
	}
	row, last := new(*old), *old.LastDrain
	if len(meta) > 0 {
		last.Meta = meta
	}
	if complete {
		last.Status = DrainComplete
	}
	row.LastDrain = &last
	tx.putNode(old, row)
	return nil
}

// AddNodeEvents records events on a node. It leaves the node's ModifyIndex as it is, since
// schedulers need not look at the node again. The error wraps rpc.ErrNodeNotFound.
func (tx *Tx) AddNodeEvents(nodeID string, events ...NodeEvent) error {
	old, err := tx.mustNode(nodeID)
	if err != nil {
		return err
	}
	row := new(*old)
	for _, e := range events {
		row.Events = addEvent(row.Events, tx.index, e.Timestamp, e.Message)
	}
	tx.putNode(old, row)
	return nil
}

// reported notes that a node's client has reported allocations since the node was last
// unresponsive. Only the first report is noted, since nobody asks when the last one came.
func (tx *Tx) reported(nodeID string) {
	if old := tx.nodes.get(nodeID); old != nil && old.Reported <= old.Missed {
		row := new(*old)
		row.Reported = tx.index
		tx.putNode(old, row)
	}
}

// NodeReported reports whether a node's client has reported allocations since the node was
// last unresponsive.
func (s *Snapshot) NodeReported(id string) bool {
	row := s.nodes.get(id)
	return row != nil && row.Reported > row.Missed
}

// DeleteNode removes nodes. Their allocations stay, and schedulers declare them lost. The
// error wraps rpc.ErrNodeNotFound.
func (tx *Tx) DeleteNode(nodeIDs ...string) error {
	for _, id := range nodeIDs {
		old, err := tx.mustNode(id)
		if err != nil {
			return err
		}
		tx.nodes.put(tx.owner, id, nil)
		tx.changedNodes.put(old.Node, nil)
		recorded(tx, func(c *Changes) *[]*rpc.Node { return &c.Nodes }, old.Node, old.Node)
		tx.counts.node(old.Node, nil)
		tx.counts.NodesIndex, tx.counts.NodeDeleted = tx.index, tx.index
		tx.wake = append(tx.wake, id)
		if row := tx.nodeAllocs.get(id); row != nil && len(row.All) == 0 {
			tx.putNodeAllocs(id, nil)
		}
	}
	return nil
}

func (tx *Tx) changeNode(nodeID string, updatedAt int64, event string, change func(*rpc.Node) error) error {
	return tx.changeRow(nodeID, updatedAt, event, func(row *nodeRow) error { return change(row.Node) })
}

// changeRow is changeNode for what of a node is no part of it.
func (tx *Tx) changeRow(nodeID string, updatedAt int64, event string, change func(*nodeRow) error) error {
	old, err := tx.mustNode(nodeID)
	if err != nil {
		return err
	}
	row := new(*old)
	row.Node = old.Node.Copy()
	if err := change(row); err != nil {
		return err
	}
	switch is, was := row.Node, old.Node; {
	case is.Unresponsive() && !was.Unresponsive():
		row.Missed = tx.index
	case is.Status == rpc.NodeStatusReady && was.Status != is.Status:
		row.Missed = 0
	}
	row.Node.StatusUpdatedAt = updatedAt
	row.Node.ModifyIndex = tx.index
	if event != "" {
		row.Events = addEvent(row.Events, tx.index, updatedAt, event)
	}
	tx.putNode(old, row)
	return nil
}

func (tx *Tx) putNode(old, now *nodeRow) {
	n := now.Node
	var was *rpc.Node
	if old != nil {
		was = old.Node
	}
	if n != was { // else others are reading it
		tx.strings.node(n)
		tx.changedNodes.put(was, n)
	}
	tx.nodes.put(tx.owner, n.ID, now)
	recorded(tx, func(c *Changes) *[]*rpc.Node { return &c.Nodes }, was, n)
	tx.counts.node(was, n)
	tx.counts.NodesIndex = tx.index
	tx.wake = append(tx.wake, n.ID)
}

func (tx *Tx) mustNode(id string) (*nodeRow, error) {
	row := tx.nodes.get(id)
	if row == nil {
		return nil, fmt.Errorf("node %q: %w", id, rpc.ErrNodeNotFound)
	}
	return row, nil
}

// addEvent returns a new list with the event, since snapshots may share the old one.
func addEvent(events []NodeEvent, index uint64, timestamp int64, message string) []NodeEvent {
	drop := max(0, len(events)+1-MaxNodeEvents)
	grown := make([]NodeEvent, 0, len(events)+1-drop)
	grown = append(grown, events[drop:]...)
	return append(grown, NodeEvent{Message: message, Timestamp: timestamp, CreateIndex: index})
}
