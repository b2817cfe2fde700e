package state

import (
	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// tables are the rows of one state. Copying the value copies them all (see rows).
type tables struct {
	nodes       rows[string, nodeRow]
	jobs        rows[broker.JobID, rpc.Job]
	evals       rows[string, broker.Evaluation]
	allocs      rows[string, rpc.Allocation]
	nodeAllocs  rows[string, NodeAllocs] // by node ID
	deployments rows[broker.JobID, rpc.Deployment]
	summaries   rows[broker.JobID, jobSummary]

	// jobsOfType has the jobs by type, to find the system jobs.
	jobsOfType rows[string, rows[broker.JobID, rpc.Job]]
	// nodeLog finds the nodes that changed since an index.
	nodeLog changeLog[rpc.Node]
}

func emptyTables() tables {
	return tables{
		nodes:       newRows[nodeRow](byID),
		jobs:        newRows[rpc.Job](byJob),
		evals:       newRows[broker.Evaluation](byID),
		allocs:      newRows[rpc.Allocation](byID),
		nodeAllocs:  newRows[NodeAllocs](byID),
		deployments: newRows[rpc.Deployment](byJob),
		summaries:   newRows[jobSummary](byJob),
		jobsOfType:  newRows[rows[broker.JobID, rpc.Job]](byID),
	}
}

// nodeRow is a row of the nodes table. Snapshots persist it.
type nodeRow struct {
	Node   *rpc.Node
	Events []NodeEvent
}

// putJob stores now in place of old. One of them may be nil.
func (t *tables) putJob(tx *owner, old, now *rpc.Job) {
	if old != nil && (now == nil || now.Type != old.Type) {
		t.putJobOfType(tx, old.Type, idOf(old), nil)
	}
	if now == nil {
		t.jobs.put(tx, idOf(old), nil)
		return
	}
	t.jobs.put(tx, idOf(now), now)
	t.putJobOfType(tx, now.Type, idOf(now), now)
}

func (t *tables) putJobOfType(tx *owner, jobType string, id broker.JobID, job *rpc.Job) {
	jobs := newRows[rpc.Job](byJob)
	if had := t.jobsOfType.get(jobType); had != nil {
		jobs = *had
	}
	jobs.put(tx, id, job)
	t.jobsOfType.put(tx, jobType, &jobs)
}

func idOf(j *rpc.Job) broker.JobID { return broker.JobID{Namespace: j.Namespace, ID: j.ID} }

func (t *tables) isNode(n *rpc.Node) bool {
	row := t.nodes.get(n.ID)
	return row != nil && row.Node == n
}

func (t *tables) isAlloc(a *rpc.Allocation) bool { return t.allocs.get(a.ID) == a }
