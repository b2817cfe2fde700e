package state

import (
	"fmt"
	"maps"

	"github.com/hashicorp/go-memdb"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// Tx is one write to the store, at one Raft index. The objects handed to its methods
// belong to the store from then on: it sets their indexes, and nobody may change them.
type Tx struct {
	txn     *memdb.Txn
	index   uint64
	counts  counts
	strings interner
	// copies says that the objects handed in stay the caller's (optimistic snapshots).
	copies bool
	// ownEvals says that counts.EvalsByStatus is this transaction's own already.
	ownEvals bool
	// summaries holds the rows changed so far: a batch of evaluations touches few jobs.
	summaries map[broker.JobID]*jobSummary
}

func begin(db *memdb.MemDB, at *counts, index uint64) *Tx {
	tx := &Tx{txn: db.Txn(true), index: index, counts: *at}
	tx.counts.Index = index
	return tx
}

// Index returns the Raft index being applied.
func (tx *Tx) Index() uint64 { return tx.index }

// jobSummary counts what belongs to one job. A row lives as long as the job, its
// evaluations or its allocations do.
type jobSummary struct {
	Job    broker.JobID
	Evals  JobEvals
	Allocs JobAllocs
}

// JobEvals is what is known of a job's evaluations without looking at them.
type JobEvals struct {
	Count int
	// MaxModifyIndex is the highest ModifyIndex any evaluation of the job ever had: a
	// worker's state must include it before the job is scheduled (eval_endpoint.go,
	// getWaitIndex). Nomad scans the evaluations that exist; one deleted since cannot
	// make anyone wait for more than an index that was applied already.
	MaxModifyIndex uint64
}

// JobAllocs is what is known of a job's allocations without looking at them.
type JobAllocs struct {
	Live, Terminal int // split by rpc.Allocation.Terminal
	// DeletedIndex is the last index that deleted one; zero means that none was.
	DeletedIndex uint64
}

// summary returns the job's row for writing.
func (tx *Tx) summary(job broker.JobID) (*jobSummary, error) {
	if s := tx.summaries[job]; s != nil {
		return s, nil
	}
	raw, err := tx.txn.First(tableSummaries, indexID, job.Namespace, job.ID)
	if err != nil {
		return nil, fmt.Errorf("summary of job %q: %w", job.ID, err)
	}
	s := &jobSummary{Job: job}
	if raw != nil {
		*s = *raw.(*jobSummary)
	}
	if tx.summaries == nil {
		tx.summaries = make(map[broker.JobID]*jobSummary, 1)
	}
	tx.summaries[job] = s
	return s, nil
}

// flush writes the summaries back; the transaction is complete then.
func (tx *Tx) flush() error {
	for _, s := range tx.summaries {
		if err := tx.putSummary(s); err != nil {
			return fmt.Errorf("summary of job %q: %w", s.Job.ID, err)
		}
	}
	return nil
}

func (tx *Tx) putSummary(s *jobSummary) error {
	if s.Evals.Count+s.Allocs.Live+s.Allocs.Terminal > 0 {
		return tx.txn.Insert(tableSummaries, s)
	}
	job, err := tx.txn.First(tableJobs, indexID, s.Job.Namespace, s.Job.ID)
	if err != nil {
		return err
	}
	if job != nil {
		return tx.txn.Insert(tableSummaries, s)
	}
	old, err := tx.txn.First(tableSummaries, indexID, s.Job.Namespace, s.Job.ID)
	if err != nil || old == nil {
		return err
	}
	return tx.txn.Delete(tableSummaries, old)
}

// putEval stores now in place of old, which may be nil.
func (tx *Tx) putEval(old, now *broker.Evaluation) error {
	tx.strings.eval(now)
	if err := tx.txn.Insert(tableEvals, now); err != nil {
		return fmt.Errorf("evaluation %q: %w", now.ID, err)
	}
	tx.countEval(old, now)
	s, err := tx.summary(now.Job())
	if err != nil {
		return err
	}
	if old == nil {
		s.Evals.Count++
	}
	s.Evals.MaxModifyIndex = max(s.Evals.MaxModifyIndex, now.ModifyIndex)
	tx.counts.EvalsIndex = tx.index
	return nil
}

func (tx *Tx) countEval(old, now *broker.Evaluation) {
	if !tx.ownEvals {
		tx.counts.EvalsByStatus = maps.Clone(tx.counts.EvalsByStatus)
		tx.ownEvals = true
	}
	tx.counts.eval(old, now)
}

// putAlloc stores now in place of old, which may be nil.
func (tx *Tx) putAlloc(old, now *rpc.Allocation) error {
	tx.strings.alloc(now)
	if old != nil && old.NodeID != now.NodeID {
		return fmt.Errorf("allocation %q is on node %q and cannot move to %q", now.ID, old.NodeID, now.NodeID)
	}
	if err := tx.txn.Insert(tableAllocs, now); err != nil {
		return fmt.Errorf("allocation %q: %w", now.ID, err)
	}
	return tx.allocChanged(old, now)
}

// allocChanged carries an allocation's change into the counts and per-node and per-job
// rows; either may be nil, not both.
func (tx *Tx) allocChanged(old, now *rpc.Allocation) error {
	of := now
	if of == nil {
		of = old
	}
	s, err := tx.summary(broker.JobID{Namespace: of.Namespace, ID: of.JobID})
	if err != nil {
		return err
	}
	countAlloc(&s.Allocs.Live, &s.Allocs.Terminal, old, now)
	if now == nil {
		s.Allocs.DeletedIndex = tx.index
	}
	tx.counts.alloc(old, now)
	tx.counts.AllocsIndex = tx.index
	return tx.updateNodeAllocs(of.NodeID, old, now)
}
