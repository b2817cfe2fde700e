package state

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"github.com/simctl/simctl/broker"
)

// rows is a table. Copying the value copies the table: put writes to no node that another
// value of rows can reach.
//
// It is a trie of the keys' hashes. A node has either one child for each value of the next
// bits of the hash, or a few entries; put copies the nodes on the path to an entry. It has
// no order, which few readers need: all sorts.
type rows[K comparable, R any] struct {
	root *node[K, R]
	len  int
}

type node[K comparable, R any] struct {
	owner    *owner // the transaction that made the node, and may write to it
	children *[fanOut]*node[K, R]
	entries  []entry[K, R] // in no order
}

type entry[K comparable, R any] struct {
	hash uint64
	key  K
	row  *R
}

// owner stands for one transaction. Its address is all there is to it.
type owner struct{ _ byte }

const (
	hashBits   = 4 // that select a child
	fanOut     = 1 << hashBits
	maxEntries = 8 // more go to children, as long as there are bits left
)

// hashSeed differs from process to process. Only the place of an entry depends on it.
var hashSeed = maphash.MakeSeed()

// get returns the row, or nil.
func (t rows[K, R]) get(key K) *R { return t.find(maphash.Comparable(hashSeed, key), key) }

func (t rows[K, R]) find(hash uint64, key K) *R {
	n, left := t.root, hash
	for ; n != nil && n.children != nil; left >>= hashBits {
		n = n.children[left%fanOut]
	}
	if n != nil {
		if at := n.at(hash, key); at >= 0 {
			return n.entries[at].row
		}
	}
	return nil
}

func (n *node[K, R]) at(hash uint64, key K) int {
	for i := range n.entries {
		if e := &n.entries[i]; e.hash == hash && e.key == key {
			return i
		}
	}
	return -1
}

// put stores the row under its key, or deletes what is there if row is nil.
func (t *rows[K, R]) put(tx *owner, key K, row *R) {
	t.root = t.insert(tx, t.root, 0, entry[K, R]{maphash.Comparable(hashSeed, key), key, row})
}

// insert returns node n, which used bits of the hash lead to, with the entry in it.
func (t *rows[K, R]) insert(tx *owner, n *node[K, R], used uint, e entry[K, R]) *node[K, R] {
	n = n.writable(tx)
	if n.children != nil {
		child := &n.children[e.hash>>used%fanOut]
		*child = t.insert(tx, *child, used+hashBits, e)
		return n
	}
	at := n.at(e.hash, e.key)
	switch {
	case at >= 0 && e.row != nil:
		n.entries[at] = e
	case at >= 0:
		n.entries = slices.Delete(n.entries, at, at+1)
		t.len--
	case e.row == nil:
	case len(n.entries) < maxEntries || used >= 64:
		n.entries = append(n.entries, e)
		t.len++
	default:
		full := n.entries
		n.entries, n.children = nil, new([fanOut]*node[K, R])
		t.len -= len(full)
		for _, e := range append(full, e) {
			t.insert(tx, n, used, e)
		}
	}
	return n
}

// writable returns n if tx made it, else a copy.
func (n *node[K, R]) writable(tx *owner) *node[K, R] {
	switch {
	case n == nil:
		return &node[K, R]{owner: tx}
	case n.owner == tx:
		return n
	case n.children == nil:
		return &node[K, R]{owner: tx, entries: append(make([]entry[K, R], 0, len(n.entries)+1), n.entries...)}
	default:
		children := *n.children
		return &node[K, R]{owner: tx, children: &children}
	}
}

func (n *node[K, R]) walk(visit func(entry[K, R])) {
	if n == nil {
		return
	}
	for _, e := range n.entries {
		visit(e)
	}
	if n.children != nil {
		for _, c := range n.children {
			c.walk(visit)
		}
	}
}

// all iterates over the rows that want accepts, in the order of their keys; nil accepts
// all.
func (t rows[K, R]) all(in order[K], want func(*R) bool) iter.Seq[*R] {
	return func(yield func(*R) bool) {
		var found []entry[K, R]
		if want == nil {
			found = make([]entry[K, R], 0, t.len)
		}
		t.root.walk(func(e entry[K, R]) {
			if want == nil || want(e.row) {
				e.hash = in.prefix(e.key) // the hash has served
				found = append(found, e)
			}
		})
		slices.SortFunc(found, func(a, b entry[K, R]) int {
			if a.hash != b.hash {
				return cmp.Compare(a.hash, b.hash)
			}
			return in.compare(a.key, b.key)
		})
		for _, e := range found {
			if !yield(e.row) {
				return
			}
		}
	}
}

// order is one of keys. Keys of different prefixes are in the order of these: comparing
// numbers that lie side by side is faster than comparing text that lies elsewhere.
type order[K any] struct {
	prefix  func(K) uint64
	compare func(a, b K) int
}

var (
	byID = order[string]{
		func(id string) uint64 {
			var first [8]byte
			copy(first[:], id)
			return binary.BigEndian.Uint64(first[:])
		},
		strings.Compare,
	}
	byJob = order[broker.JobID]{func(broker.JobID) uint64 { return 0 }, compareJobs}
)

func compareJobs(a, b broker.JobID) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.ID, b.ID))
}
