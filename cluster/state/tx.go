package state

import (
	"cmp"
	"slices"
	"strings"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// Tx is one write to the state, at one Raft index. Objects that are handed to its methods
// belong to the state from then on: the methods set their indexes, and nobody may change
// them. Every method that changes rows returns an error, so that it can be all of an
// Update; after an error the Tx must be dropped.
type Tx struct {
	tables  // as the transaction has left them so far
	owner   *owner
	index   uint64
	counts  counts
	strings *interner
	// copies makes methods copy the objects they are handed (Snapshot.Optimistic).
	copies bool
	// returnEndsWaits, keepsReports and skipsStopped are the store's ReturnEndsWaits, KeepsReports and SkipsStopped.
	returnEndsWaits, keepsReports, skipsStopped bool
	// ownEvals means that counts.EvalsByStatus is not shared with a snapshot any more.
	ownEvals bool

	changedJobs  map[broker.JobID]*jobSummary
	changedNodes written[rpc.Node]
	ended        written[broker.Evaluation]
	wake         []string // IDs of nodes that changed, or whose allocations changed; may have duplicates

	changes *Changes // nil: they are not recorded
}

// Changes lists the rows that an entry of the log wrote, as it left them. A node that was
// deleted is as it was; other deleted rows are missing.
type Changes struct {
	Nodes       []*rpc.Node
	Jobs        []*rpc.Job
	Evals       []*broker.Evaluation
	Allocs      []*rpc.Allocation
	Deployments []*rpc.Deployment
}

// recorded appends a row to one of the lists of changes, in place of the same row before.
func recorded[R any](tx *Tx, list func(*Changes) *[]*R, old, now *R) {
	if tx.changes == nil {
		return
	}
	rows := list(tx.changes)
	if at := slices.Index(*rows, old); old != nil && at >= 0 {
		*rows = slices.Delete(*rows, at, at+1)
	}
	*rows = append(*rows, now)
}

// Index returns the Raft index being applied.
func (tx *Tx) Index() uint64 { return tx.index }

// finish stores what the transaction gathered meanwhile.
func (tx *Tx) finish() {
	tx.putSummaries()
	tx.nodeLog.add(tx.index, tx.changedNodes.left(func(n *rpc.Node) string { return n.ID }), tx.changedNodes.gone, tx.nodes.len())
	over := tx.counts.Evals - tx.EvalCount(broker.StatusPending) - tx.EvalCount(broker.StatusBlocked)
	tx.endLog.add(tx.index, tx.ended.left(evalID), tx.ended.gone, over)
	slices.Sort(tx.wake)
	tx.wake = slices.Clip(slices.Compact(tx.wake))
}

// sorted returns rows in the order of their IDs. The beginnings of IDs are sorted without a look at the rows,
// which takes less than half the time with a million of them.
func sorted[R any](rows []*R, id func(*R) string) []*R {
	items := make([]item[R], len(rows))
	for i, r := range rows {
		items[i] = item[R]{firstBytes(id(r)), r}
	}
	slices.SortFunc(items, func(a, b item[R]) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return strings.Compare(id(a.row), id(b.row))
	})
	inOrder := make([]*R, len(rows))
	for i, it := range items {
		inOrder[i] = it.row
	}
	return inOrder
}

func (tx *Tx) putNodeAllocs(nodeID string, row *NodeAllocs) {
	tx.nodeAllocs.put(tx.owner, nodeID, row)
	tx.wake = append(tx.wake, nodeID)
}

// putEval stores now in place of old, which is nil for a new evaluation.
func (tx *Tx) putEval(old, now *broker.Evaluation) {
	tx.strings.eval(old, now)
	recorded(tx, func(c *Changes) *[]*broker.Evaluation { return &c.Evals }, old, now)
	tx.evals.put(tx.owner, now.ID, now)
	s := tx.evalChanged(old, now)
	s.Evals.MaxModifyIndex = max(s.Evals.MaxModifyIndex, now.ModifyIndex)
}

// evalChanged updates the counts and the per-job row, which it returns, for the change of
// an evaluation from old to now. One of them may be nil.
func (tx *Tx) evalChanged(old, now *broker.Evaluation) *jobSummary {
	if !tx.ownEvals {
		tx.counts.EvalsByStatus = slices.Clone(tx.counts.EvalsByStatus)
		tx.ownEvals = true
	}
	tx.counts.eval(old, now)
	tx.counts.EvalsIndex = tx.index
	tx.ended.put(ended(old), ended(now))
	of := now
	if of == nil {
		of = old
	}
	s := tx.summary(of.Job())
	s.evalChanged(old, now)
	return s
}

// ended returns an evaluation that has ended, and nil for others.
func ended(e *broker.Evaluation) *broker.Evaluation {
	if e == nil || !e.Terminal() {
		return nil
	}
	return e
}

// putAlloc stores now in place of old, which is nil for a new allocation and else on the same node.
func (tx *Tx) putAlloc(old, now *rpc.Allocation) {
	tx.strings.alloc(old, now)
	recorded(tx, func(c *Changes) *[]*rpc.Allocation { return &c.Allocs }, old, now)
	tx.allocs.put(tx.owner, now.ID, now)
	tx.updateDeploymentWithAlloc(old, now)
	tx.allocChanged(old, now)
}

// allocChanged updates the counts and the per-node and per-job rows for the change of an
// allocation from old to now. One of them may be nil.
func (tx *Tx) allocChanged(old, now *rpc.Allocation) {
	of := now
	if of == nil {
		of = old
	}
	s := tx.summary(jobOf(of))
	countAlloc(&s.Allocs.Live, &s.Allocs.Terminal, old, now)
	s.changed.put(old, now)
	switch {
	case now == nil:
		s.Allocs.DeletedIndex = tx.index
	case old == nil || old.EvalID != now.EvalID:
		s.placed = tx.index
	}
	countAlloc(&tx.counts.AllocsLive, &tx.counts.AllocsTerminal, old, now)
	tx.counts.AllocsIndex = tx.index
	tx.updateNodeAllocs(of.NodeID, old, now)
}

func jobOf(a *rpc.Allocation) broker.JobID { return broker.JobID{Namespace: a.Namespace, ID: a.JobID} }

// Node returns a node as the transaction has left it so far; nil if there is none.
func (tx *Tx) Node(id string) *rpc.Node {
	if row := tx.nodes.get(id); row != nil {
		return row.Node
	}
	return nil
}

// Alloc returns an allocation as the transaction has left it so far; nil if there is none.
func (tx *Tx) Alloc(id string) *rpc.Allocation { return tx.allocs.get(id) }

// EvalCount counts the evaluations of one status so far.
func (tx *Tx) EvalCount(status string) int { return tx.counts.EvalsByStatus.of(status) }

// EvalTotal counts all evaluations so far.
func (tx *Tx) EvalTotal() int { return tx.counts.Evals }
