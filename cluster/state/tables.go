package state

import (
	"cmp"
	"encoding/binary"
	"iter"
	"strings"

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
	jobsOfType rows[string, jobsOfType]
	// nodeLog finds the nodes that changed since an index.
	nodeLog changeLog[rpc.Node]
}

func emptyTables() tables {
	return tables{
		nodes:       newRows(byID(func(r *nodeRow) string { return r.Node.ID })),
		jobs:        newRows(byJob(idOf)),
		evals:       newRows(byID(func(e *broker.Evaluation) string { return e.ID })),
		allocs:      newRows(byID(func(a *rpc.Allocation) string { return a.ID })),
		nodeAllocs:  newRows(byID(func(n *NodeAllocs) string { return n.NodeID })),
		deployments: newRows(byJob(func(d *rpc.Deployment) broker.JobID { return broker.JobID{Namespace: d.Namespace, ID: d.JobID} })),
		summaries:   newRows(byJob(func(s *jobSummary) broker.JobID { return s.Job })),
		jobsOfType:  newRows(byID(func(j *jobsOfType) string { return j.jobType })),
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
	of := jobsOfType{jobType, newRows(byJob(idOf))}
	if had := t.jobsOfType.get(jobType); had != nil {
		of = *had
	}
	of.jobs.put(tx, id, job)
	t.jobsOfType.put(tx, jobType, &of)
}

func idOf(j *rpc.Job) broker.JobID { return broker.JobID{Namespace: j.Namespace, ID: j.ID} }

func (t *tables) isNode(n *rpc.Node) bool {
	row := t.nodes.get(n.ID)
	return row != nil && row.Node == n
}

func (t *tables) isAlloc(a *rpc.Allocation) bool { return t.allocs.get(a.ID) == a }

// rows is a table in the order of its keys: a B-tree with all rows in its leaves. Copying the value
// copies the table: put writes to no node that another value of rows holds.
type rows[K, R any] struct {
	order *order[K, R]
	root  *node[K, R] // nil in an empty table
	count int
}

// order is one of rows by their keys. Keys of different prefixes are in the order of these: comparing
// numbers that lie side by side is faster than comparing text that lies elsewhere.
type order[K, R any] struct {
	key     func(*R) K
	prefix  func(K) uint64
	compare func(a, b K) int
}

func byID[R any](key func(*R) string) *order[string, R] {
	return &order[string, R]{key, firstBytes, strings.Compare}
}

func firstBytes(id string) uint64 {
	var first [8]byte
	copy(first[:], id)
	return binary.BigEndian.Uint64(first[:])
}

func byJob[R any](key func(*R) broker.JobID) *order[broker.JobID, R] {
	return &order[broker.JobID, R]{key, func(broker.JobID) uint64 { return 0 }, compareJobs}
}

func compareJobs(a, b broker.JobID) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.ID, b.ID))
}

// owner stands for one transaction. Its address is all there is to it.
type owner struct{ _ byte }

// node is a leaf or a branch of a tree. Entry i of a branch is the first of its child i.
type node[K, R any] struct {
	owner    *owner // the transaction that made the node, and may write to it
	count    int
	prefixes [width]uint64
	rows     [width]*R
	children *[width]*node[K, R] // nil in a leaf
}

// width is what a node can hold. A write copies the nodes on its path: smaller ones make less
// garbage, and longer paths.
const width = 16

// branch is a node and its children in one piece.
type branch[K, R any] struct {
	node[K, R]
	of [width]*node[K, R]
}

func newRows[K, R any](o *order[K, R]) rows[K, R] { return rows[K, R]{order: o} }

func (t rows[K, R]) len() int { return t.count }

// get returns the row, or nil.
func (t rows[K, R]) get(key K) *R {
	prefix := t.order.prefix(key)
	for n := t.root; n != nil; {
		i, found := n.find(t.order, prefix, key)
		switch {
		case found:
			return n.rows[i]
		case n.children == nil || i == 0:
			return nil
		}
		n = n.children[i-1]
	}
	return nil
}

// put stores the row under its key, or deletes what is there if row is nil.
func (t *rows[K, R]) put(tx *owner, key K, row *R) {
	prefix := t.order.prefix(key)
	switch {
	case row != nil:
		if t.root == nil {
			t.root = &node[K, R]{owner: tx}
		}
		root, right, added := t.root.set(tx, t.order, prefix, key, row)
		if t.root = root; right != nil {
			b := &branch[K, R]{node: node[K, R]{owner: tx, count: 2}}
			b.children = &b.of
			b.place(0, root)
			b.place(1, right)
			t.root = &b.node
		}
		if added {
			t.count++
		}
	case t.get(key) != nil:
		t.count--
		t.root = t.root.delete(tx, t.order, prefix, key)
		for t.root != nil && t.root.count == 1 && t.root.children != nil {
			t.root = t.root.children[0]
		}
	}
}

// all iterates over the rows in the order of their keys.
func (t rows[K, R]) all() iter.Seq[*R] {
	return func(yield func(*R) bool) {
		if t.root != nil {
			t.root.all(yield)
		}
	}
}

func (n *node[K, R]) all(yield func(*R) bool) bool {
	for i := range n.count {
		if n.children == nil && !yield(n.rows[i]) || n.children != nil && !n.children[i].all(yield) {
			return false
		}
	}
	return true
}

// find returns the place of the first entry that is not before a key, and whether it has that key.
func (n *node[K, R]) find(o *order[K, R], prefix uint64, key K) (i int, found bool) {
	for i < n.count && n.prefixes[i] < prefix {
		i++
	}
	for ; i < n.count && n.prefixes[i] == prefix; i++ {
		if c := o.compare(o.key(n.rows[i]), key); c >= 0 {
			return i, c == 0
		}
	}
	return i, false
}

// own returns the node, or a copy of it, for a transaction to write to.
func (n *node[K, R]) own(tx *owner) *node[K, R] {
	if n.owner == tx {
		return n
	}
	return n.copy(tx)
}

func (n *node[K, R]) copy(tx *owner) *node[K, R] {
	if n.children == nil {
		leaf := *n
		leaf.owner = tx
		return &leaf
	}
	b := &branch[K, R]{*n, *n.children}
	b.owner, b.children = tx, &b.of
	return &b.node
}

// set stores a row below a node. It returns what takes the node's place: a second one, too, if
// there was no room.
func (n *node[K, R]) set(tx *owner, o *order[K, R], prefix uint64, key K, row *R) (now, right *node[K, R], added bool) {
	n = n.own(tx)
	i, found := n.find(o, prefix, key)
	if n.children == nil {
		if found {
			n.rows[i] = row
			return n, nil, false
		}
		return n, n.insert(tx, i, prefix, row, nil), true
	}
	if !found && i > 0 {
		i--
	}
	child, split, added := n.children[i].set(tx, o, prefix, key, row)
	n.place(i, child)
	if split != nil {
		right = n.insert(tx, i+1, split.prefixes[0], split.rows[0], split)
	}
	return n, right, added
}

// place makes a node the child i of a branch.
func (n *node[K, R]) place(i int, child *node[K, R]) {
	n.prefixes[i], n.rows[i], n.children[i] = child.prefixes[0], child.rows[0], child
}

// insert makes an entry i. If there is no room it first moves half of the entries to a second node, which it
// returns.
func (n *node[K, R]) insert(tx *owner, i int, prefix uint64, row *R, child *node[K, R]) (right *node[K, R]) {
	if n.count == width {
		right = n.copy(tx)
		right.cut(0, width/2)
		n.cut(width/2, width)
		if i > n.count {
			right.insert(tx, i-n.count, prefix, row, child)
			return right
		}
	}
	copy(n.prefixes[i+1:], n.prefixes[i:])
	copy(n.rows[i+1:], n.rows[i:])
	n.prefixes[i], n.rows[i] = prefix, row
	if child != nil {
		copy(n.children[i+1:], n.children[i:])
		n.children[i] = child
	}
	n.count++
	return right
}

// cut drops the entries from i on and before j.
func (n *node[K, R]) cut(i, j int) {
	copy(n.prefixes[i:], n.prefixes[j:n.count])
	copy(n.rows[i:], n.rows[j:n.count])
	count := n.count - (j - i)
	clear(n.rows[count:])
	if n.children != nil {
		copy(n.children[i:], n.children[j:n.count])
		clear(n.children[count:])
	}
	n.count = count
}

// delete deletes a row that is there. It returns what takes the node's place; nil if that is empty.
// Nodes that have few entries stay: most of what is deleted makes room for the like.
func (n *node[K, R]) delete(tx *owner, o *order[K, R], prefix uint64, key K) *node[K, R] {
	n = n.own(tx)
	i, found := n.find(o, prefix, key)
	if n.children != nil {
		if !found {
			i--
		}
		if child := n.children[i].delete(tx, o, prefix, key); child != nil {
			n.place(i, child)
			return n
		}
	}
	if n.cut(i, i+1); n.count == 0 {
		return nil
	}
	return n
}
