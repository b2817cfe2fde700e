package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simctl/simctl/cluster/rpc"
)

// NodeAllocs is all that runs, and ran, on one node. It takes the place of an index of
// allocations by node: one row answers what is on the node and how much of it is used,
// and its watch channel wakes the node's client alone. The row outlives the node while
// there are allocations.
type NodeAllocs struct {
	NodeID string
	// Live and Terminal split the node's allocations by Terminal; both are in the order
	// of their IDs and must not be written to.
	Live, Terminal []*rpc.Allocation
	// Used is the sum of the live allocations' resources.
	Used rpc.Resources
	// Index is the last one that changed any of this; zero when nothing ever did.
	Index uint64
}

// All returns the live and the terminal allocations together, in the order of their IDs.
func (n *NodeAllocs) All() []*rpc.Allocation {
	all := make([]*rpc.Allocation, 0, len(n.Live)+len(n.Terminal))
	all = append(append(all, n.Live...), n.Terminal...)
	slices.SortFunc(all, byID)
	return all
}

// ensureNodeAllocs makes the row of a new node, so that it can be watched.
func (tx *Tx) ensureNodeAllocs(nodeID string) error {
	row, err := tx.nodeAllocs(nodeID)
	if err != nil || row != nil {
		return err
	}
	return tx.putNodeAllocs(&NodeAllocs{NodeID: nodeID})
}

// dropNodeAllocs removes the row of a deleted node once it is empty.
func (tx *Tx) dropNodeAllocs(nodeID string) error {
	row, err := tx.nodeAllocs(nodeID)
	if err != nil || row == nil || len(row.Live)+len(row.Terminal) > 0 {
		return err
	}
	return tx.deleteNodeAllocs(row)
}

// updateNodeAllocs replaces old by now in the node's row; either may be nil.
func (tx *Tx) updateNodeAllocs(nodeID string, old, now *rpc.Allocation) error {
	was, err := tx.nodeAllocs(nodeID)
	if err != nil {
		return err
	}
	if was == nil {
		was = &NodeAllocs{NodeID: nodeID}
	}
	row := *was
	row.Index = tx.index
	switch {
	case old != nil && now != nil && old.Terminal() == now.Terminal():
		set := row.set(old)
		*set = replaced(*set, now)
	default:
		if old != nil {
			set := row.set(old)
			*set = without(*set, old)
		}
		if now != nil {
			set := row.set(now)
			*set = with(*set, now)
		}
	}
	if old != nil && !old.Terminal() {
		row.Used = row.Used.Sub(old.Resources)
	}
	if now != nil && !now.Terminal() {
		row.Used = row.Used.Add(now.Resources)
	}
	if len(row.Live)+len(row.Terminal) == 0 {
		if node, err := tx.nodeRow(nodeID); err != nil {
			return err
		} else if node == nil {
			return tx.deleteNodeAllocs(was)
		}
	}
	return tx.putNodeAllocs(&row)
}

func (n *NodeAllocs) set(a *rpc.Allocation) *[]*rpc.Allocation {
	if a.Terminal() {
		return &n.Terminal
	}
	return &n.Live
}

func (tx *Tx) nodeAllocs(nodeID string) (*NodeAllocs, error) {
	raw, err := tx.txn.First(tableNodeAllocs, indexID, nodeID)
	if err != nil {
		return nil, fmt.Errorf("allocations of node %q: %w", nodeID, err)
	}
	row, _ := raw.(*NodeAllocs)
	return row, nil
}

func (tx *Tx) putNodeAllocs(row *NodeAllocs) error {
	tx.strings.share(&row.NodeID)
	if err := tx.txn.Insert(tableNodeAllocs, row); err != nil {
		return fmt.Errorf("allocations of node %q: %w", row.NodeID, err)
	}
	return nil
}

func (tx *Tx) deleteNodeAllocs(row *NodeAllocs) error {
	raw, err := tx.txn.First(tableNodeAllocs, indexID, row.NodeID)
	if err == nil && raw != nil {
		err = tx.txn.Delete(tableNodeAllocs, raw)
	}
	if err != nil {
		return fmt.Errorf("allocations of node %q: %w", row.NodeID, err)
	}
	return nil
}

// The sets below are shared with snapshots: a change makes a new one.

func byID(a, b *rpc.Allocation) int { return strings.Compare(a.ID, b.ID) }

func find(set []*rpc.Allocation, id string) (int, bool) {
	return slices.BinarySearchFunc(set, id, func(a *rpc.Allocation, id string) int { return strings.Compare(a.ID, id) })
}

func with(set []*rpc.Allocation, a *rpc.Allocation) []*rpc.Allocation {
	at, _ := find(set, a.ID)
	grown := make([]*rpc.Allocation, len(set)+1)
	copy(grown, set[:at])
	grown[at] = a
	copy(grown[at+1:], set[at:])
	return grown
}

func without(set []*rpc.Allocation, a *rpc.Allocation) []*rpc.Allocation {
	at, ok := find(set, a.ID)
	if !ok {
		return set
	}
	shrunk := make([]*rpc.Allocation, 0, len(set)-1)
	return append(append(shrunk, set[:at]...), set[at+1:]...)
}

func replaced(set []*rpc.Allocation, a *rpc.Allocation) []*rpc.Allocation {
	clone := slices.Clone(set)
	if at, ok := find(set, a.ID); ok {
		clone[at] = a
	}
	return clone
}
