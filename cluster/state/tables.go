package state

import (
	"cmp"
	"encoding/binary"
	"iter"
	"strings"
	"sync"

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
	// pastDeployments has the deployments that a later one of their job replaced, or whose job was purged, by ID.
	pastDeployments rows[string, rpc.Deployment]
	summaries       rows[broker.JobID, jobSummary]

	// jobsOfType has the jobs by type, to find the system jobs.
	jobsOfType rows[string, jobsOfType]
	// nodeLog finds the nodes that changed since an index.
	nodeLog changeLog[rpc.Node]
	// endLog finds the evaluations that ended before an index.
	endLog changeLog[broker.Evaluation]
}

func emptyTables() tables {
	return tables{
		nodes:      newRows(byID(nodeID)),
		jobs:       newRows(jobsByID()),
		evals:      newRows(byID(func(e *broker.Evaluation) *string { return &e.ID })),
		allocs:     newRows(byID(func(a *rpc.Allocation) *string { return &a.ID })),
		nodeAllocs: newRows(byID(func(n *NodeAllocs) *string { return &n.NodeID })),
		deployments: newRows(byJob(
			func(d *rpc.Deployment) broker.JobID { return broker.JobID{Namespace: d.Namespace, ID: d.JobID} },
			func(d *rpc.Deployment, id broker.JobID) { d.Namespace, d.JobID = id.Namespace, id.ID },
		)),
		pastDeployments: newRows(byID(func(d *rpc.Deployment) *string { return &d.ID })),
		summaries:       newRows(byJob(func(s *jobSummary) broker.JobID { return s.Job }, func(s *jobSummary, id broker.JobID) { s.Job = id })),
		jobsOfType:      newRows(byID(func(j *jobsOfType) *string { return &j.jobType })),
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

// nodeID returns a pointer to the ID in a row. It makes the node of a row that has none, such as a new probe.
func nodeID(r *nodeRow) *string {
	if r.Node == nil {
		r.Node = new(rpc.Node)
	}
	return &r.Node.ID
}

func evalID(e *broker.Evaluation) string { return e.ID }

func allocID(a *rpc.Allocation) string { return a.ID }

type jobsOfType struct {
	jobType string
	jobs    rows[broker.JobID, rpc.Job]
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
	of := jobsOfType{jobType, newRows(jobsByID())}
	if had := t.jobsOfType.get(jobType); had != nil {
		of = *had
	}
	of.jobs.put(tx, id, job)
	t.jobsOfType.put(tx, jobType, &of)
}

func jobsByID() *order[broker.JobID, rpc.Job] {
	return byJob(idOf, func(j *rpc.Job, id broker.JobID) { j.Namespace, j.ID = id.Namespace, id.ID })
}

func idOf(j *rpc.Job) broker.JobID { return broker.JobID{Namespace: j.Namespace, ID: j.ID} }

// rows is a table in the order of its keys. Copying the value copies the table: put writes
// to no tree that another value of rows holds.
type rows[K, R any] struct {
	order *order[K, R]
	tree  tree[R]
	owner *owner // the transaction that made the tree, and may write to it
}

// item is a row in a tree. Its key is in the row: the smaller items are, the less garbage a write makes.
type item[R any] struct {
	prefix uint64
	row    *R
}

// owner stands for one transaction. Its address is all there is to it.
type owner struct{ _ byte }

// degree is half of what a node can hold. A write copies the nodes on its path: smaller
// ones make less garbage, and longer paths.
const degree = 8

// order is one of rows by their keys. Keys of different prefixes are in the order of these: comparing
// numbers that lie side by side is faster than comparing text that lies elsewhere.
type order[K, R any] struct {
	key     func(*R) K
	setKey  func(*R, K)
	prefix  func(K) uint64
	compare func(a, b K) int
	probes  sync.Pool // of rows with nothing but a key, which is what the tree looks for
}

func byID[R any](id func(*R) *string) *order[string, R] {
	return &order[string, R]{
		key: func(r *R) string { return *id(r) }, setKey: func(r *R, key string) { *id(r) = key },
		prefix: firstBytes, compare: strings.Compare,
	}
}

func firstBytes(id string) uint64 {
	if len(id) >= 8 { // without a call
		return binary.BigEndian.Uint64([]byte(id[:8]))
	}
	var first [8]byte
	copy(first[:], id)
	return binary.BigEndian.Uint64(first[:])
}

func byJob[R any](key func(*R) broker.JobID, setKey func(*R, broker.JobID)) *order[broker.JobID, R] {
	return &order[broker.JobID, R]{key: key, setKey: setKey, prefix: func(broker.JobID) uint64 { return 0 }, compare: compareJobs}
}

func compareJobs(a, b broker.JobID) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.ID, b.ID))
}

// find calls fn with an item that is neither before nor after that of the key.
func (o *order[K, R]) find(key K, fn func(item[R])) {
	probe, ok := o.probes.Get().(*R)
	if !ok {
		probe = new(R)
	}
	o.setKey(probe, key)
	fn(item[R]{o.prefix(key), probe})
	o.probes.Put(probe)
}

func newRows[K, R any](o *order[K, R]) rows[K, R] {
	less := func(a, b item[R]) bool {
		if a.prefix != b.prefix {
			return a.prefix < b.prefix
		}
		if a.row == b.row {
			return false // without reading the row, which is seldom in a cache
		}
		return o.compare(o.key(a.row), o.key(b.row)) < 0
	}
	return rows[K, R]{order: o, tree: btreeOf[R]{btree.NewBTreeGOptions(less, btree.Options{Degree: degree, NoLocks: true})}}
}

// tree is what a table needs of a B-tree. It is an interface for the compiler's sake: no package
// owns an instance of a generic type, so each package that imports this one would compile all methods
// of all trees anew, in four seconds of five.
type tree[R any] interface {
	Len() int
	Get(item[R]) (item[R], bool)
	Set(item[R])
	Delete(item[R])
	Scan(func(item[R]) bool)
	Ascend(item[R], func(item[R]) bool)
	Descend(item[R], func(item[R]) bool)
	copied() tree[R]
}

type btreeOf[R any] struct{ b *btree.BTreeG[item[R]] }

func (t btreeOf[R]) Len() int                       { return t.b.Len() }
func (t btreeOf[R]) Get(it item[R]) (item[R], bool) { return t.b.Get(it) }
func (t btreeOf[R]) Set(it item[R])                 { t.b.Set(it) }
func (t btreeOf[R]) Delete(it item[R])              { t.b.Delete(it) }
func (t btreeOf[R]) Scan(yield func(item[R]) bool)  { t.b.Scan(yield) }

func (t btreeOf[R]) Ascend(from item[R], yield func(item[R]) bool)  { t.b.Ascend(from, yield) }
func (t btreeOf[R]) Descend(from item[R], yield func(item[R]) bool) { t.b.Descend(from, yield) }

// copied returns a copy. Copy writes to the tree that it copies, which other goroutines may be
// copying, too.
func (t btreeOf[R]) copied() tree[R] {
	shared := *t.b
	return btreeOf[R]{shared.Copy()}
}

func (t rows[K, R]) len() int { return t.tree.Len() }

// get returns the row, or nil.
func (t rows[K, R]) get(key K) (row *R) {
	t.order.find(key, func(it item[R]) {
		found, _ := t.tree.Get(it)
		row = found.row
	})
	return row
}

// around calls yield with the rows from the key on while it returns true, and then with those from the key back.
func (t rows[K, R]) around(key K, yield func(*R) bool) {
	t.order.find(key, func(it item[R]) {
		t.tree.Ascend(it, func(it item[R]) bool { return yield(it.row) })
		t.tree.Descend(it, func(it item[R]) bool { return yield(it.row) })
	})
}

// put stores the row under its key, or deletes what is there if row is nil.
func (t *rows[K, R]) put(tx *owner, key K, row *R) {
	if t.owner != tx {
		t.tree, t.owner = t.tree.copied(), tx
	}
	if row == nil {
		t.order.find(key, func(it item[R]) { t.tree.Delete(it) })
	} else {
		t.tree.Set(item[R]{t.order.prefix(key), row})
	}
}

// all iterates over the rows in the order of their keys.
func (t rows[K, R]) all() iter.Seq[*R] {
	return func(yield func(*R) bool) {
		t.tree.Scan(func(it item[R]) bool { return yield(it.row) })
	}
}
