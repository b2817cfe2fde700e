package state

import (
	"fmt"
	"slices"

	"github.com/hashicorp/go-memdb"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// Tx is one write to the store, at one Raft index. The objects handed to its methods
// belong to the store from then on: it sets their indexes, and nobody may change them.
//
// Changed rows are gathered first and written to memdb once each at the end. Reading
// from a memdb transaction that has written drops its cache of writable tree nodes, so
// that going back and forth would copy every path again for every row.
type Tx struct {
	base    *memdb.Txn // reads the state before the transaction
	index   uint64
	counts  counts
	strings *interner
	// copies says that the objects handed in stay the caller's (optimistic snapshots).
	copies bool
	// ownEvals says that counts.EvalsByStatus is this transaction's own already.
	ownEvals bool

	nodes       table[string, nodeRow]
	jobs        table[broker.JobID, rpc.Job]
	evals       table[string, broker.Evaluation]
	allocs      table[string, rpc.Allocation]
	nodeAllocs  table[string, NodeAllocs]
	summaries   map[broker.JobID]*jobSummary // changed ones; nil deletes
	deployments table[broker.JobID, rpc.Deployment]

	touched map[broker.JobID][]string // IDs of changed allocations, some of them twice
}

func begin(base *memdb.Txn, at *counts, index uint64) *Tx {
	tx := &Tx{base: base, index: index, counts: *at}
	tx.counts.Index = index
	return tx
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

// read returns the row as the transaction left it, or as it was before; nil if there
// is none.
func (t *table[K, R]) read(base *memdb.Txn, name string, key K, args ...any) (*R, error) {
	if row, ok := t.changed[key]; ok {
		return row, nil
	}
	raw, err := base.First(name, indexID, args...)
	if err != nil {
		return nil, fmt.Errorf("%s %v: %w", name, key, err)
	}
	row, _ := raw.(*R)
	return row, nil
}

func (t *table[K, R]) flush(txn, base *memdb.Txn, name string, args func(K) []any) error {
	for key, row := range t.changed {
		var err error
		if row != nil {
			err = txn.Insert(name, row)
		} else if old, lookupErr := base.First(name, indexID, args(key)...); lookupErr != nil {
			err = lookupErr
		} else if old != nil {
			err = txn.Delete(name, old)
		}
		if err != nil {
			return fmt.Errorf("%s %v: %w", name, key, err)
		}
	}
	return nil
}

// flush writes the changed rows to txn.
func (tx *Tx) flush(txn *memdb.Txn) error {
	if err := firstError(tx.logAllocs, tx.summarize); err != nil {
		return err
	}
	byString := func(id string) []any { return []any{id} }
	byJob := func(job broker.JobID) []any { return []any{job.Namespace, job.ID} }
	return firstError(
		func() error { return tx.nodes.flush(txn, tx.base, tableNodes, byString) },
		func() error { return tx.jobs.flush(txn, tx.base, tableJobs, byJob) },
		func() error { return tx.evals.flush(txn, tx.base, tableEvals, byString) },
		func() error { return tx.allocs.flush(txn, tx.base, tableAllocs, byString) },
		func() error { return tx.nodeAllocs.flush(txn, tx.base, tableNodeAllocs, byString) },
		func() error { return tx.deployments.flush(txn, tx.base, tableDeployments, byJob) },
	)
}

// summarize puts the changed rows of jobs in place, but those of jobs of which nothing is
// left.
func (tx *Tx) summarize() error {
	for job, s := range tx.summaries {
		if s.Evals.Count+s.Allocs.Live+s.Allocs.Terminal > 0 {
			continue
		}
		j, err := tx.job(job)
		if err != nil {
			return err
		}
		if j == nil {
			tx.summaries[job] = nil
		}
	}
	tx.counts.summaries = tx.counts.summaries.with(tx.summaries)
	return nil
}

func (tx *Tx) node(id string) (*nodeRow, error) { return tx.nodes.read(tx.base, tableNodes, id, id) }

func (tx *Tx) job(id broker.JobID) (*rpc.Job, error) {
	return tx.jobs.read(tx.base, tableJobs, id, id.Namespace, id.ID)
}

func (tx *Tx) eval(id string) (*broker.Evaluation, error) {
	return tx.evals.read(tx.base, tableEvals, id, id)
}

func (tx *Tx) alloc(id string) (*rpc.Allocation, error) {
	return tx.allocs.read(tx.base, tableAllocs, id, id)
}

// summary returns the job's row for writing.
func (tx *Tx) summary(job broker.JobID) *jobSummary {
	if s := tx.summaries[job]; s != nil {
		return s
	}
	s := &jobSummary{Job: job}
	if old := tx.counts.summaries.of(job); old != nil {
		*s = *old
	}
	if tx.summaries == nil {
		tx.summaries = make(map[broker.JobID]*jobSummary, 1)
	}
	tx.summaries[job] = s
	return s
}

// putEval stores now in place of old, which may be nil.
func (tx *Tx) putEval(old, now *broker.Evaluation) error {
	tx.strings.eval(now)
	tx.evals.put(now.ID, now)
	tx.countEval(old, now)
	s := tx.summary(now.Job())
	if old == nil {
		s.Evals.Count++
	}
	s.Evals.MaxModifyIndex = max(s.Evals.MaxModifyIndex, now.ModifyIndex)
	s.moveBlocked(old, now)
	return nil
}

func (tx *Tx) countEval(old, now *broker.Evaluation) {
	if !tx.ownEvals {
		tx.counts.EvalsByStatus = slices.Clone(tx.counts.EvalsByStatus)
		tx.ownEvals = true
	}
	tx.counts.eval(old, now)
	tx.counts.EvalsIndex = tx.index
}

// putAlloc stores now in place of old, which may be nil.
func (tx *Tx) putAlloc(old, now *rpc.Allocation) error {
	if old != nil && old.NodeID != now.NodeID {
		return fmt.Errorf("allocation %q is on node %q and cannot move to %q", now.ID, old.NodeID, now.NodeID)
	}
	tx.strings.alloc(now)
	tx.allocs.put(now.ID, now)
	if err := tx.deploymentSees(old, now); err != nil {
		return err
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
	job := broker.JobID{Namespace: of.Namespace, ID: of.JobID}
	s := tx.summary(job)
	if tx.touched == nil {
		tx.touched = map[broker.JobID][]string{}
	}
	tx.touched[job] = append(tx.touched[job], of.ID)
	countAlloc(&s.Allocs.Live, &s.Allocs.Terminal, old, now)
	if now == nil {
		s.Allocs.DeletedIndex = tx.index
	}
	tx.counts.alloc(old, now)
	tx.counts.AllocsIndex = tx.index
	return tx.updateNodeAllocs(of.NodeID, old, now)
}

// jobSummary counts what belongs to one job. A row lives as long as the job, its
// evaluations or its allocations do.
type jobSummary struct {
	Job    broker.JobID
	Evals  JobEvals
	Allocs JobAllocs
	// Launched is when a periodic job was last launched, or else registered, in Unix
	// nanoseconds; zero for other jobs.
	Launched int64
	// Blocked holds the IDs of the job's blocked evaluations, of which there are few at
	// any time: those that a completed evaluation cancels.
	Blocked []string

	log changeLog // of the allocations
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

// moveBlocked keeps Blocked in step with an evaluation's change; either may be nil. The
// list is shared with snapshots: a change makes a new one.
func (s *jobSummary) moveBlocked(old, now *broker.Evaluation) {
	was := old != nil && old.Status == broker.StatusBlocked
	is := now != nil && now.Status == broker.StatusBlocked
	switch {
	case is && !was:
		s.Blocked = append(slices.Clip(s.Blocked), now.ID)
	case was && !is:
		s.Blocked = slices.DeleteFunc(slices.Clone(s.Blocked), func(id string) bool { return id == old.ID })
	}
}

// Node returns a node as the transaction has left it so far; nil if there is none.
func (tx *Tx) Node(id string) (*rpc.Node, error) {
	row, err := tx.node(id)
	if row == nil {
		return nil, err
	}
	return row.node, nil
}

// Alloc returns an allocation as the transaction has left it so far; nil if there is none.
func (tx *Tx) Alloc(id string) (*rpc.Allocation, error) { return tx.alloc(id) }

// EvalCount counts the evaluations of one status so far.
func (tx *Tx) EvalCount(status string) int { return tx.counts.EvalsByStatus.of(status) }

// EvalTotal counts all evaluations so far.
func (tx *Tx) EvalTotal() int { return tx.counts.Evals }
