package state

import (
	"cmp"
	"encoding/binary"
	"iter"
	"strings"

	"github.com/tidwall/btree"

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
	// Missed is the index at which the node became unresponsive, zero once it is ready again.
	// Reported is that of the last report of its allocations that counts.
	Missed, Reported uint64
	LastDrain        *LastDrain // nil if there was none
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

// rows is a table in the order of its keys. Copying the value copies the table: put writes
// to no tree that another value of rows holds.
type rows[K, R any] struct {
	order *order[K]
	tree  *btree.BTreeG[item[K, R]]
	owner *owner // the transaction that made the tree, and may write to it
}

type item[K, R any] struct {
	prefix uint64
	key    K
	row    *R
}

// owner stands for one transaction. Its address is all there is to it.
type owner struct{ _ byte }

// degree is half of what a node can hold. A write copies the nodes on its path: smaller
// ones make less garbage, and longer paths.
const degree = 12

func newRows[R, K any](o *order[K]) rows[K, R] {
	less := func(a, b item[K, R]) bool {
		if a.prefix != b.prefix {
			return a.prefix < b.prefix
		}
		return o.compare(a.key, b.key) < 0
	}
	return rows[K, R]{order: o, tree: btree.NewBTreeGOptions(less, btree.Options{Degree: degree, NoLocks: true})}
}

func (t rows[K, R]) len() int { return t.tree.Len() }

// get returns the row, or nil.
func (t rows[K, R]) get(key K) *R {
	found, _ := t.tree.Get(item[K, R]{prefix: t.order.prefix(key), key: key})
	return found.row
}

// put stores the row under its key, or deletes what is there if row is nil.
func (t *rows[K, R]) put(tx *owner, key K, row *R) {
	if t.owner != tx {
		// Copy writes to the tree that it copies, which other goroutines may be copying, too.
		shared := *t.tree
		t.tree, t.owner = shared.Copy(), tx
	}
	it := item[K, R]{t.order.prefix(key), key, row}
	if row == nil {
		t.tree.Delete(it)
	} else {
		t.tree.Set(it)
	}
}

// all iterates over the rows in the order of their keys.
func (t rows[K, R]) all() iter.Seq[*R] {
	return func(yield func(*R) bool) {
		t.tree.Scan(func(it item[K, R]) bool { return yield(it.row) })
	}
}

// order is one of keys. Keys of different prefixes are in the order of these: comparing
// numbers that lie side by side is faster than comparing text that lies elsewhere.
type order[K any] struct {
	prefix  func(K) uint64
	compare func(a, b K) int
}

var (
	byID = &order[string]{
		func(id string) uint64 {
			var first [8]byte
			copy(first[:], id)
			return binary.BigEndian.Uint64(first[:])
		},
		strings.Compare,
	}
	byJob = &order[broker.JobID]{
		func(broker.JobID) uint64 { return 0 },
		compareJobs,
	}
)

func compareJobs(a, b broker.JobID) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.ID, b.ID))
}
