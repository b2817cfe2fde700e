package state

import (
	"fmt"
	"slices"

	"github.com/hashicorp/go-memdb"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// Tx is one write to the state, at one Raft index. Objects that are handed to its methods
// belong to the state from then on: the methods set their indexes, and nobody may change
// them. Every method that changes rows returns an error, so that it can be all of an
// Update; after an error the Tx must be dropped.
//
// A Tx gathers the changed rows and writes each to memdb once, at the end. Reading from a
// memdb transaction that has written drops its cache of writable tree nodes: reads and
// writes in turn would copy every path again for every row.
type Tx struct {
	base    *Snapshot // the state before the transaction
	index   uint64
	counts  counts
	strings *interner
	// copies makes methods copy the objects they are handed (Snapshot.Optimistic).
	copies bool
	// ownEvals means that counts.EvalsByStatus is not shared with base any more.
	ownEvals bool

	nodes       table[string, nodeRow]
	jobs        table[broker.JobID, rpc.Job]
	evals       table[string, broker.Evaluation]
	allocs      table[string, rpc.Allocation]
	nodeAllocs  table[string, NodeAllocs]
	deployments table[broker.JobID, rpc.Deployment]
	summaries   map[broker.JobID]*jobSummary // changed ones; nil deletes

	touched map[broker.JobID][]string // IDs of changed allocations, with repetitions
}

// Index returns the Raft index being applied.
func (tx *Tx) Index() uint64 { return tx.index }

// table holds the rows of one table that the transaction changed; nil deletes.
type table[K comparable, R any] struct{ changed map[K]*R }

func (t *table[K, R]) put(key K, row *R) {
	if t.changed == nil {
		t.changed = make(map[K]*R, 1)
	}
	t.changed[key] = row
}

// read returns the row as the transaction left it, or else as base has it; nil if there
// is none.
func (t *table[K, R]) read(base *Snapshot, name string, key K) *R {
	if row, ok := t.changed[key]; ok {
		return row
	}
	row, _ := base.first(name, indexID, key).(*R)
	return row
}

func (t *table[K, R]) flush(txn *memdb.Txn, base *Snapshot, name string) {
	for key, row := range t.changed {
		if row != nil {
			must(txn.Insert(name, row))
		} else if old := base.first(name, indexID, key); old != nil {
			must(txn.Delete(name, old))
		}
	}
}

// flush writes the changed rows to db, and those of jobs to the counts.
func (tx *Tx) flush(db *memdb.MemDB) {
	tx.logAllocs()
	for job, s := range tx.summaries {
		if s.empty() && tx.job(job) == nil {
			tx.summaries[job] = nil
		}
	}
	tx.counts.summaries = tx.counts.summaries.with(tx.summaries)
	txn := db.Txn(true)
	tx.nodes.flush(txn, tx.base, tableNodes)
	tx.jobs.flush(txn, tx.base, tableJobs)
	tx.evals.flush(txn, tx.base, tableEvals)
	tx.allocs.flush(txn, tx.base, tableAllocs)
	tx.nodeAllocs.flush(txn, tx.base, tableNodeAllocs)
	tx.deployments.flush(txn, tx.base, tableDeployments)
	txn.Commit()
}

func (tx *Tx) node(id string) *nodeRow           { return tx.nodes.read(tx.base, tableNodes, id) }
func (tx *Tx) job(id broker.JobID) *rpc.Job      { return tx.jobs.read(tx.base, tableJobs, id) }
func (tx *Tx) eval(id string) *broker.Evaluation { return tx.evals.read(tx.base, tableEvals, id) }
func (tx *Tx) alloc(id string) *rpc.Allocation   { return tx.allocs.read(tx.base, tableAllocs, id) }

func (tx *Tx) deployment(job broker.JobID) *rpc.Deployment {
	return tx.deployments.read(tx.base, tableDeployments, job)
}

func (tx *Tx) onNode(nodeID string) *NodeAllocs {
	return tx.nodeAllocs.read(tx.base, tableNodeAllocs, nodeID)
}

// putEval stores now in place of old, which is nil for a new evaluation.
func (tx *Tx) putEval(old, now *broker.Evaluation) {
	tx.strings.eval(now)
	tx.evals.put(now.ID, now)
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
	of := now
	if of == nil {
		of = old
	}
	s := tx.summary(of.Job())
	s.evalChanged(old, now)
	return s
}

// putAlloc stores now in place of old, which is nil for a new allocation.
func (tx *Tx) putAlloc(old, now *rpc.Allocation) error {
	if old != nil && old.NodeID != now.NodeID {
		return fmt.Errorf("allocation %q is on node %q and cannot move to %q", now.ID, old.NodeID, now.NodeID)
	}
	tx.strings.alloc(now)
	tx.allocs.put(now.ID, now)
	tx.updateDeploymentWithAlloc(old, now)
	tx.allocChanged(old, now)
	return nil
}

// allocChanged updates the counts and the per-node and per-job rows for the change of an
// allocation from old to now. One of them may be nil.
func (tx *Tx) allocChanged(old, now *rpc.Allocation) {
	of := now
	if of == nil {
		of = old
	}
	job := jobOf(of)
	if tx.touched == nil {
		tx.touched = map[broker.JobID][]string{}
	}
	tx.touched[job] = append(tx.touched[job], of.ID)
	s := tx.summary(job)
	countAlloc(&s.Allocs.Live, &s.Allocs.Terminal, old, now)
	if now == nil {
		s.Allocs.DeletedIndex = tx.index
	}
	countAlloc(&tx.counts.AllocsLive, &tx.counts.AllocsTerminal, old, now)
	tx.counts.AllocsIndex = tx.index
	tx.updateNodeAllocs(of.NodeID, old, now)
}

func jobOf(a *rpc.Allocation) broker.JobID { return broker.JobID{Namespace: a.Namespace, ID: a.JobID} }

// Node returns a node as the transaction has left it so far; nil if there is none.
func (tx *Tx) Node(id string) *rpc.Node {
	if row := tx.node(id); row != nil {
		return row.Node
	}
	return nil
}

// Alloc returns an allocation as the transaction has left it so far; nil if there is none.
func (tx *Tx) Alloc(id string) *rpc.Allocation { return tx.alloc(id) }

// EvalCount counts the evaluations of one status so far.
func (tx *Tx) EvalCount(status string) int { return tx.counts.EvalsByStatus.of(status) }

// EvalTotal counts all evaluations so far.
func (tx *Tx) EvalTotal() int { return tx.counts.Evals }
