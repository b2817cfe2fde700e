package state

import (
	"cmp"
	"slices"
	"strings"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// NodeAllocs is the row of all allocations of one node. It replaces an index of
// allocations by node, and knows how much of the node they use. The row outlives the node
// while there are allocations.
type NodeAllocs struct {
	NodeID string
	// All are the allocations, and Live those that are not rpc.Allocation.Terminal, both in the
	// order of their IDs.
	All, Live     []*rpc.Allocation
	terminalByJob []*rpc.Allocation // the others, in the order of their jobs
	// Used is the sum of the live allocations' resources.
	Used rpc.Resources
	// Index is that of the last change to any of them; zero if there was none.
	Index    uint64
	modified uint64 // the highest ModifyIndex
	asked    uint64 // the highest AllocModifyIndex
}

// TerminalOf returns the terminal allocations of a job in the order of their IDs.
func (n *NodeAllocs) TerminalOf(job broker.JobID) []*rpc.Allocation {
	of := n.terminalByJob
	byJob := func(a *rpc.Allocation, job broker.JobID) int { return compareJobs(jobOf(a), job) }
	first, _ := slices.BinarySearchFunc(of, job, byJob)
	end := first
	for end < len(of) && jobOf(of[end]) == job {
		end++
	}
	return of[first:end:end]
}

// LiveByID returns the live allocation, or nil.
func (n *NodeAllocs) LiveByID(id string) *rpc.Allocation {
	at, ok := slices.BinarySearchFunc(n.Live, id, func(a *rpc.Allocation, id string) int { return strings.Compare(a.ID, id) })
	if !ok {
		return nil
	}
	return n.Live[at]
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
	if len(row.All) == 0 && tx.nodes.get(nodeID) == nil {
		row = nil
	}
	tx.putNodeAllocs(nodeID, row)
}

// replace puts now in the place of old; one of them may be nil.
func (n *NodeAllocs) replace(old, now *rpc.Allocation) {
	was, is := split(old), split(now)
	n.Live = replaced(n.Live, was.live, is.live, rpc.ByID)
	n.All = replaced(n.All, old, now, rpc.ByID)
	n.terminalByJob = replaced(n.terminalByJob, was.terminal, is.terminal, byJobAndID)
	if was.live != nil {
		n.Used = n.Used.Sub(old.Resources)
	}
	if is.live != nil {
		n.Used = n.Used.Add(now.Resources)
	}
	if now != nil {
		n.modified, n.asked = max(n.modified, now.ModifyIndex), max(n.asked, now.AllocModifyIndex)
	} else if old.ModifyIndex == n.modified || old.AllocModifyIndex == n.asked {
		n.modified, n.asked = 0, 0
		for _, a := range n.All {
			n.modified, n.asked = max(n.modified, a.ModifyIndex), max(n.asked, a.AllocModifyIndex)
		}
	}
}

// AskedSince reports whether the servers have changed any of the allocations after an index.
func (n *NodeAllocs) AskedSince(index uint64) bool { return n.asked > index }

// nearest returns what a node's ID has in common with that of the node with allocations that has most in common with it.
func (s *Snapshot) nearest(nodeID string) string {
	common := 0
	look := func(n *NodeAllocs) (further bool) {
		if len(n.All) == 0 {
			return true
		}
		i := 0
		for i < min(len(nodeID), len(n.NodeID)) && n.NodeID[i] == nodeID[i] {
			i++
		}
		common = max(common, i)
		return false
	}
	s.nodeAllocs.around(nodeID, look)
	return nodeID[:common]
}

// part is an allocation, or nil, in the list that it belongs to.
type part struct{ live, terminal *rpc.Allocation }

func split(a *rpc.Allocation) part {
	if a != nil && a.Terminal() {
		return part{terminal: a}
	}
	return part{live: a}
}

// replaced returns the list with now in the place of old; both may be nil. It does not write
// to the list, which snapshots share.
func replaced(list []*rpc.Allocation, old, now *rpc.Allocation, order func(a, b *rpc.Allocation) int) []*rpc.Allocation {
	switch {
	case old != nil: // compares pointers, and reads none of the rows
		i := slices.Index(list, old)
		if now == nil {
			return slices.Concat(list[:i], list[i+1:])
		}
		list = slices.Clone(list)
		list[i] = now
	case now != nil:
		i, _ := slices.BinarySearchFunc(list, now, order)
		list = slices.Concat(list[:i], []*rpc.Allocation{now}, list[i:])
	}
	return list
}

func byJobAndID(a, b *rpc.Allocation) int {
	return cmp.Or(compareJobs(jobOf(a), jobOf(b)), rpc.ByID(a, b))
}
