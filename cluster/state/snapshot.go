package state

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/hashicorp/go-memdb"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// Snapshot is the state as of one index. What it returns is shared with the store and
// must not be written to. Use it from one goroutine at a time.
//
// Its readers return no errors: a lookup can only fail when this package names a table
// or an index that its schema does not have, and then it panics.
type Snapshot struct {
	db         *memdb.MemDB // the snapshot's own: nobody else writes to it
	txn        *memdb.Txn   // reads db
	counts     *counts
	optimistic bool
}

// Index returns the latest index the snapshot includes.
func (s *Snapshot) Index() uint64 { return s.counts.Index }

// NodeByID returns the node, or nil.
func (s *Snapshot) NodeByID(id string) *rpc.Node {
	if row, ok := s.first(tableNodes, indexID, id).(*nodeRow); ok {
		return row.node
	}
	return nil
}

// NodeEvents returns what happened to the node lately, the oldest first.
func (s *Snapshot) NodeEvents(id string) []NodeEvent {
	if row, ok := s.first(tableNodes, indexID, id).(*nodeRow); ok {
		return row.events
	}
	return nil
}

// Nodes goes through all nodes in the order of their IDs.
func (s *Snapshot) Nodes() iter.Seq[*rpc.Node] {
	return nodesOf(s.get(tableNodes, indexID))
}

// NodesChangedSince goes through the nodes whose ModifyIndex is above index, in that
// order. Deleted ones cannot be seen: compare NodeDeletedIndex.
func (s *Snapshot) NodesChangedSince(index uint64) iter.Seq[*rpc.Node] {
	return nodesOf(s.lowerBound(tableNodes, indexModify, index+1))
}

// JobByID returns the job, or nil.
func (s *Snapshot) JobByID(namespace, id string) *rpc.Job {
	job, _ := s.first(tableJobs, indexID, namespace, id).(*rpc.Job)
	return job
}

// Jobs goes through all jobs in the order of namespace and ID.
func (s *Snapshot) Jobs() iter.Seq[*rpc.Job] { return rows[*rpc.Job](s.get(tableJobs, indexID)) }

// JobsByType returns the jobs of one type in the order of namespace and ID.
func (s *Snapshot) JobsByType(jobType string) []*rpc.Job {
	return slices.Collect(rows[*rpc.Job](s.get(tableJobs, indexType, jobType)))
}

// JobEvals counts the job's evaluations.
func (s *Snapshot) JobEvals(job broker.JobID) JobEvals { return s.summary(job).Evals }

// LastLaunch returns when a periodic job was last launched or, if it never was,
// registered; the Unix epoch for other jobs.
func (s *Snapshot) LastLaunch(job broker.JobID) time.Time {
	return time.Unix(0, s.summary(job).Launched)
}

// JobAllocs counts the job's allocations.
func (s *Snapshot) JobAllocs(job broker.JobID) JobAllocs { return s.summary(job).Allocs }

func (s *Snapshot) summary(job broker.JobID) jobSummary {
	if sum := s.counts.summaries.of(job); sum != nil {
		return *sum
	}
	return jobSummary{}
}

// EvalByID returns the evaluation, or nil.
func (s *Snapshot) EvalByID(id string) *broker.Evaluation {
	e, _ := s.first(tableEvals, indexID, id).(*broker.Evaluation)
	return e
}

// Evals goes through all evaluations in the order of their IDs.
func (s *Snapshot) Evals() iter.Seq[*broker.Evaluation] {
	return rows[*broker.Evaluation](s.get(tableEvals, indexID))
}

// EvalsByStatus returns the evaluations of one status in the order of their IDs. It looks
// at every evaluation there is; to count them use EvalCount.
func (s *Snapshot) EvalsByStatus(status string) []*broker.Evaluation {
	return s.evalsWhere(func(e *broker.Evaluation) bool { return e.Status == status })
}

// EvalsByJob returns the job's evaluations in the order of their IDs. It looks at every
// evaluation there is: what the control plane itself asks of a job's evaluations is in
// JobEvals.
func (s *Snapshot) EvalsByJob(job broker.JobID) []*broker.Evaluation {
	return s.evalsWhere(func(e *broker.Evaluation) bool { return e.Job() == job })
}

func (s *Snapshot) evalsWhere(want func(*broker.Evaluation) bool) []*broker.Evaluation {
	var found []*broker.Evaluation
	for e := range s.Evals() {
		if want(e) {
			found = append(found, e)
		}
	}
	return found
}

// AllocByID returns the allocation, or nil.
func (s *Snapshot) AllocByID(id string) *rpc.Allocation {
	a, _ := s.first(tableAllocs, indexID, id).(*rpc.Allocation)
	return a
}

// Allocs goes through all allocations in the order of their IDs.
func (s *Snapshot) Allocs() iter.Seq[*rpc.Allocation] {
	return rows[*rpc.Allocation](s.get(tableAllocs, indexID))
}

// NodeAllocs returns what is on the node; all zero when nothing is.
func (s *Snapshot) NodeAllocs(nodeID string) *NodeAllocs {
	if row, ok := s.first(tableNodeAllocs, indexID, nodeID).(*NodeAllocs); ok {
		return row
	}
	return &NodeAllocs{NodeID: nodeID}
}

// AllocsByNode returns the node's allocations, live and terminal, in the order of their
// IDs.
func (s *Snapshot) AllocsByNode(nodeID string) []*rpc.Allocation {
	return s.NodeAllocs(nodeID).All()
}

func (s *Snapshot) first(table, index string, args ...any) any {
	raw, err := s.txn.First(table, index, args...)
	must(err)
	return raw
}

func (s *Snapshot) get(table, index string, args ...any) memdb.ResultIterator {
	it, err := s.txn.Get(table, index, args...)
	must(err)
	return it
}

func (s *Snapshot) lowerBound(table, index string, args ...any) memdb.ResultIterator {
	it, err := s.txn.LowerBound(table, index, args...)
	must(err)
	return it
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("state: a lookup does not match the schema: %v", err))
	}
}

// rows goes through a memdb iterator, once.
func rows[T any](it memdb.ResultIterator) iter.Seq[T] {
	return func(yield func(T) bool) {
		for raw := it.Next(); raw != nil; raw = it.Next() {
			if !yield(raw.(T)) {
				return
			}
		}
	}
}

func nodesOf(it memdb.ResultIterator) iter.Seq[*rpc.Node] {
	return func(yield func(*rpc.Node) bool) {
		for raw := it.Next(); raw != nil; raw = it.Next() {
			if !yield(raw.(*nodeRow).node) {
				return
			}
		}
	}
}
