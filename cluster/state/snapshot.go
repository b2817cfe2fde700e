package state

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// Snapshot is the state as of one Raft index: rows, counts and per-job rows. It never
// changes, is safe for concurrent use and refers to no Store, so that several Stores can
// hold it. What it returns is shared and must not be written to.
type Snapshot struct {
	tables
	counts counts

	// base is the index of the state this one was made from. changedNodes lists, in order,
	// the IDs of the nodes that differ between the two, or whose allocations do.
	base         uint64
	changedNodes []string
	changes      *Changes // from base; nil unless recorded
}

// noBase is the base of a state that was not made from another.
const noBase = math.MaxUint64

func emptySnapshot() *Snapshot {
	return &Snapshot{tables: emptyTables(), counts: counts{Datacenters: map[string]DCCount{}}, base: noBase}
}

// next returns the state after one write at index, and leaves s as it is. The caller sets
// the options of tx and next all the rest. The error is write's.
func (s *Snapshot) next(tx *Tx, index uint64, write func(*Tx) error) (*Snapshot, error) {
	tx.tables, tx.owner, tx.index, tx.counts = s.tables, new(owner), index, s.counts
	tx.counts.Index = index
	if err := write(tx); err != nil {
		return nil, err
	}
	tx.finish()
	return &Snapshot{tables: tx.tables, counts: tx.counts, base: s.Index(), changedNodes: tx.wake, changes: tx.changes}, nil
}

// Optimistic returns the state as it will be if Raft commits a plan at index. The plan
// applier verifies the next plan against it meanwhile (plan_apply.go, planApply). The
// allocations in r remain the caller's. The error is that of Tx.UpsertPlanResults.
func (s *Snapshot) Optimistic(index uint64, r *PlanResults) (*Snapshot, error) {
	return s.next(&Tx{copies: true}, index, func(tx *Tx) error { return tx.UpsertPlanResults(r) })
}

// Index returns the latest index the snapshot includes.
func (s *Snapshot) Index() uint64 { return s.counts.Index }

// Changes returns what the latest entry wrote; nil unless the store records that.
func (s *Snapshot) Changes() *Changes { return s.changes }

// NodeByID returns the node, or nil.
func (s *Snapshot) NodeByID(id string) *rpc.Node {
	if row := s.nodes.get(id); row != nil {
		return row.Node
	}
	return nil
}

// NodeEvents returns the node's last MaxNodeEvents events, the oldest first.
func (s *Snapshot) NodeEvents(id string) []NodeEvent {
	if row := s.nodes.get(id); row != nil {
		return row.Events
	}
	return nil
}

// LastDrain returns the latest drain of a node, which may be under way; nil if there was none.
func (s *Snapshot) LastDrain(id string) *LastDrain {
	if row := s.nodes.get(id); row != nil {
		return row.LastDrain
	}
	return nil
}

// Nodes iterates over all nodes in the order of their IDs.
func (s *Snapshot) Nodes() iter.Seq[*rpc.Node] {
	return nodesOf(s.nodeRows())
}

func (s *Snapshot) nodeRows() iter.Seq[*nodeRow] {
	return s.nodes.all()
}

// NodesChangedSince iterates over the nodes whose ModifyIndex is above index, in the order
// of that. It does not see deleted nodes: compare NodeDeletedIndex.
func (s *Snapshot) NodesChangedSince(index uint64) iter.Seq[*rpc.Node] {
	return slices.Values(s.nodeLog.since(index))
}

// JobByID returns the job, or nil.
func (s *Snapshot) JobByID(namespace, id string) *rpc.Job {
	return s.jobs.get(broker.JobID{Namespace: namespace, ID: id})
}

// Jobs iterates over all jobs in the order of namespace and ID.
func (s *Snapshot) Jobs() iter.Seq[*rpc.Job] { return s.jobs.all() }

// JobsByType returns the jobs of one type in the order of namespace and ID.
func (s *Snapshot) JobsByType(jobType string) []*rpc.Job {
	if of := s.jobsOfType.get(jobType); of != nil {
		return slices.Collect(of.jobs.all())
	}
	return nil
}

// JobEvals returns the counts of the job's evaluations.
func (s *Snapshot) JobEvals(job broker.JobID) JobEvals { return s.summary(job).Evals }

// JobChangedAt returns the index of the last change of a job, its deployment or one of its
// allocations.
func (s *Snapshot) JobChangedAt(id broker.JobID) uint64 {
	sum := s.summary(id)
	index := sum.Allocs.DeletedIndex
	if last := sum.log.last; last != nil {
		index = max(index, last.index)
	}
	if job := s.jobs.get(id); job != nil {
		index = max(index, job.ModifyIndex)
	}
	if d := s.DeploymentOf(id); d != nil {
		index = max(index, d.ModifyIndex)
	}
	return index
}

// LastLaunch returns when a periodic job was last launched, or when it was registered if
// it never was. For other jobs it returns the Unix epoch.
func (s *Snapshot) LastLaunch(job broker.JobID) time.Time {
	return time.Unix(0, s.summary(job).Launched)
}

// JobAllocs returns the counts of the job's allocations.
func (s *Snapshot) JobAllocs(job broker.JobID) JobAllocs { return s.summary(job).Allocs }

func (s *Snapshot) summary(job broker.JobID) jobSummary {
	if sum := s.summaries.get(job); sum != nil {
		return *sum
	}
	return jobSummary{}
}

// Evals iterates over all evaluations in the order of their IDs.
func (s *Snapshot) Evals() iter.Seq[*broker.Evaluation] {
	return s.evals.all()
}

// EvalsEnded returns the evaluations that are terminal and have not changed after an index, in the
// order of their IDs. It does not look at the others.
func (s *Snapshot) EvalsEnded(index uint64) []*broker.Evaluation {
	return sorted(s.endLog.through(index), evalID)
}

// EvalByID returns the evaluation, or nil.
func (s *Snapshot) EvalByID(id string) *broker.Evaluation { return s.evals.get(id) }

// EvalsByStatus returns the evaluations of one status in the order of their IDs. It scans
// all evaluations; to count them use EvalCount.
func (s *Snapshot) EvalsByStatus(status string) []*broker.Evaluation {
	return s.evalsWhere(func(e *broker.Evaluation) bool { return e.Status == status })
}

// EvalsByJob returns the job's evaluations in the order of their IDs. It scans all
// evaluations: the control plane itself makes do with JobEvals.
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
	return s.allocs.get(id)
}

// Allocs iterates over all allocations in the order of their IDs.
func (s *Snapshot) Allocs() iter.Seq[*rpc.Allocation] {
	return s.allocs.all()
}

// NodeAllocs returns the node's allocations; none if the node is unknown.
func (s *Snapshot) NodeAllocs(nodeID string) *NodeAllocs {
	if row := s.nodeAllocs.get(nodeID); row != nil {
		return row
	}
	return &NodeAllocs{NodeID: nodeID}
}

// NodesWithAllocs iterates over all nodes, each with its allocations, in the order of their IDs. A node
// that is gone and still has allocations is nil.
func (s *Snapshot) NodesWithAllocs() iter.Seq2[*rpc.Node, *NodeAllocs] {
	return func(yield func(*rpc.Node, *NodeAllocs) bool) {
		nodes := slices.AppendSeq(make([]*nodeRow, 0, s.nodes.len()), s.nodes.all())
		for on := range s.nodeAllocs.all() {
			var node *rpc.Node
			if len(nodes) > 0 && nodes[0].Node.ID == on.NodeID {
				node, nodes = nodes[0].Node, nodes[1:]
			}
			if !yield(node, on) {
				return
			}
		}
	}
}

// Diff describes the first difference between the rows of two states in one line; it is
// empty when they are equal.
func Diff(a, b *Snapshot) string {
	return cmp.Or(
		diffRows("node", a.Nodes(), b.Nodes(), func(n *rpc.Node) string { return n.ID }),
		diffRows("job", a.Jobs(), b.Jobs(), func(j *rpc.Job) string { return j.Namespace + "/" + j.ID }),
		diffRows("evaluation", a.Evals(), b.Evals(), func(e *broker.Evaluation) string { return e.ID }),
		diffRows("allocation", a.Allocs(), b.Allocs(), func(x *rpc.Allocation) string { return x.ID }),
		diffRows("deployment of job", a.Deployments(), b.Deployments(), func(d *rpc.Deployment) string { return d.Namespace + "/" + d.JobID }),
		diffRows("past deployment", a.PastDeployments(), b.PastDeployments(), func(d *rpc.Deployment) string { return d.ID }),
	)
}

// diffRows compares two tables, each in the order of id.
func diffRows[T any](kind string, a, b iter.Seq[*T], id func(*T) string) string {
	rest := slices.Collect(b)
	for x := range a {
		switch {
		case len(rest) == 0 || id(x) < id(rest[0]):
			return fmt.Sprintf("%s %s is in the first state only", kind, id(x))
		case id(x) > id(rest[0]):
			return fmt.Sprintf("%s %s is in the second state only", kind, id(rest[0]))
		case x != rest[0] && !reflect.DeepEqual(x, rest[0]):
			return fmt.Sprintf("%s %s is %+v in the first state and %+v in the second", kind, id(x), *x, *rest[0])
		}
		rest = rest[1:]
	}
	if len(rest) > 0 {
		return fmt.Sprintf("%s %s is in the second state only", kind, id(rest[0]))
	}
	return ""
}

func nodesOf(rows iter.Seq[*nodeRow]) iter.Seq[*rpc.Node] {
	return func(yield func(*rpc.Node) bool) {
		for row := range rows {
			if !yield(row.Node) {
				return
			}
		}
	}
}
