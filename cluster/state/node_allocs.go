package state

import (
	"slices"
	"strings"

	"github.com/simctl/simctl/cluster/rpc"
)

// NodeAllocs is the row of all allocations of one node. It replaces an index of
// allocations by node, and knows how much of the node they use. The row outlives the node
// while there are allocations.
type NodeAllocs struct {
	NodeID string
	// Live and Terminal split the allocations by rpc.Allocation.Terminal, both in the order
	// of their IDs.
	Live, Terminal []*rpc.Allocation
	// Used is the sum of the live allocations' resources.
	Used rpc.Resources
	// Index is that of the last change to any of them; zero if there was none.
	Index uint64
}

// All returns the live and the terminal allocations in the order of their IDs.
func (n *NodeAllocs) All() []*rpc.Allocation {
	live, terminal := n.Live, n.Terminal // both are in that order
	all := make([]*rpc.Allocation, 0, len(live)+len(terminal))
	for len(live) > 0 && len(terminal) > 0 {
		if rpc.ByID(live[0], terminal[0]) < 0 {
			all, live = append(all, live[0]), live[1:]
		} else {
			all, terminal = append(all, terminal[0]), terminal[1:]
		}
	}
	return append(append(all, live...), terminal...)
}

// ModifyIndex returns the index of the last change by a server, not by the client. It is at
// least 1, since zero in a query would mean that its sender knows nothing.
func (n *NodeAllocs) ModifyIndex() uint64 {
	index := uint64(1)
	for _, set := range [...][]*rpc.Allocation{n.Live, n.Terminal} {
		for _, a := range set {
			index = max(index, a.AllocModifyIndex)
		}
	}
	return index
}

// LiveByID returns the live allocation, or nil.
func (n *NodeAllocs) LiveByID(id string) *rpc.Allocation {
	if at, ok := find(n.Live, id); ok {
		return n.Live[at]
	}
	return nil
}

// updateNodeAllocs replaces old by now in the node's row; one of them may be nil. It
// removes the row when both the node and its allocations are gone.
func (tx *Tx) updateNodeAllocs(nodeID string, old, now *rpc.Allocation) {
	row := &NodeAllocs{NodeID: nodeID}
	if was := tx.nodeAllocs.get(nodeID); was != nil {
		*row = *was
	}
	row.Index = tx.index
	row.replace(old, now)
	if row.empty() && tx.nodes.get(nodeID) == nil {
		row = nil
	}
	tx.putNodeAllocs(nodeID, row)
}

func (n *NodeAllocs) empty() bool { return len(n.Live)+len(n.Terminal) == 0 }

// replace puts now in the place of old; one of them may be nil. It does not write to the
// lists, which snapshots share, but makes new ones.
func (n *NodeAllocs) replace(old, now *rpc.Allocation) {
	if old != nil && now != nil && old.Terminal() == now.Terminal() {
		set := n.set(old)
		*set = slices.Clone(*set)
		if at, ok := find(*set, now.ID); ok {
			(*set)[at] = now
		}
	} else {
		if old != nil {
			set := n.set(old)
			if at, ok := find(*set, old.ID); ok {
				*set = slices.Concat((*set)[:at], (*set)[at+1:])
			}
		}
		if now != nil {
			set := n.set(now)
			at, _ := find(*set, now.ID)
			*set = slices.Concat((*set)[:at], []*rpc.Allocation{now}, (*set)[at:])
		}
	}
	if old != nil && !old.Terminal() {
		n.Used = n.Used.Sub(old.Resources)
	}
	if now != nil && !now.Terminal() {
		n.Used = n.Used.Add(now.Resources)
	}
}

// set returns the list that the allocation belongs to.
func (n *NodeAllocs) set(a *rpc.Allocation) *[]*rpc.Allocation {
	if a.Terminal() {
		return &n.Terminal
	}
	return &n.Live
}

func find(set []*rpc.Allocation, id string) (int, bool) {
	return slices.BinarySearchFunc(set, id, func(a *rpc.Allocation, id string) int { return strings.Compare(a.ID, id) })
}
