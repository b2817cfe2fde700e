package scheduler

import (
	"slices"
	"strings"
	"sync"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Cache remembers, for one server's state, up to which index each job was found in
// order, so that the next evaluation of the job need only look at what changed since.
// Dropping it costs time and changes no plan. It is safe for concurrent use; a nil
// Cache remembers nothing.
type Cache struct {
	mu    sync.Mutex
	jobs  map[broker.JobID]*entry
	ready readyNodes
}

// entry says that a job was as wanted at an index: by a run that had nothing to do, or
// one whose plan was committed in full. What that plan changed lies after the index and
// is looked at again.
type entry struct {
	// Which job: one registered again under the same name, or changed, is another.
	createIndex, jobModifyIndex uint64
	index                       uint64
	// since is the lowest index a snapshot must have to be compared with: that of the
	// plan, if there was one.
	since uint64
	// open lists, in order, the nodes of a system job where more is to be done although
	// nothing may change: placements without room, updates held back, waiting for a time.
	open []string
	// waits says the same of a job that places by count.
	waits bool
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{jobs: map[broker.JobID]*entry{}} }

// lookup returns what is known of the attempt's job that still holds; nil makes the
// attempt look at everything. Entries are never written to.
func (c *Cache) lookup(a *attempt) *entry {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	e := c.jobs[a.eval.Job()]
	c.mu.Unlock()
	if e == nil || e.since > a.snap.Index() {
		return nil
	}
	if created, modified := a.jobIndexes(); e.createIndex != created || e.jobModifyIndex != modified {
		return nil
	}
	// A deleted row leaves no trace to find it by.
	if a.snap.NodeDeletedIndex() > e.index || a.snap.JobAllocs(a.eval.Job()).DeletedIndex > e.index {
		return nil
	}
	return e
}

// settle remembers that the job is in order as of the attempt's snapshot and the plan
// that was committed at the given index; zero for none.
func (a *attempt) settle(committed uint64) {
	if a.cache == nil {
		return
	}
	e := &entry{index: a.snap.Index(), since: max(a.snap.Index(), committed), open: a.open, waits: a.waits}
	e.createIndex, e.jobModifyIndex = a.jobIndexes()
	a.cache.mu.Lock()
	defer a.cache.mu.Unlock()
	if old := a.cache.jobs[a.eval.Job()]; old == nil || old.index <= e.index {
		a.cache.jobs[a.eval.Job()] = e
	}
}

// jobIndexes tells one incarnation of a job from another; both are zero once it is purged.
func (a *attempt) jobIndexes() (created, modified uint64) {
	if a.job == nil {
		return 0, 0
	}
	return a.job.CreateIndex, a.job.JobModifyIndex
}

// untouched reports whether nothing that matters to the job changed since it was known
// to be in order. For a job that places by count, it leaves in a.changed what did.
func (a *attempt) untouched(placesByCount bool) bool {
	k := a.known
	switch {
	case k == nil || k.waits || len(k.open) > 0:
		return false
	case a.snap.RefreshIndex() <= k.index:
		return true // neither a node nor an allocation changed
	case !placesByCount:
		return false // reconcileSystem looks at the changed nodes alone
	}
	ok := a.gatherChanged(k.index)
	return ok && len(a.changed) == 0
}

// gatherChanged collects the job's allocations that changed since an index, or are on
// nodes that did, in the order of their IDs. It gives up, leaving none, when going
// through the whole job is as good.
func (a *attempt) gatherChanged(since uint64) bool {
	var found []*rpc.Allocation
	budget := a.work.LiveAllocs + a.work.TerminalAllocs
	for alloc := range a.snap.AllocsChangedSince(a.eval.Job(), since) {
		found = append(found, alloc)
	}
	for node := range a.snap.NodesChangedSince(since) {
		if budget--; budget < len(found) {
			return false
		}
		on := a.snap.NodeAllocs(node.ID)
		for _, list := range [][]*rpc.Allocation{on.Live, on.Terminal} {
			for _, alloc := range list {
				if a.owns(alloc) {
					found = append(found, alloc)
				}
			}
		}
	}
	slices.SortFunc(found, rpc.ByID)
	a.changed = slices.Compact(found)
	return true
}

func (a *attempt) owns(alloc *rpc.Allocation) bool {
	return alloc.JobID == a.eval.JobID && alloc.Namespace == a.eval.Namespace
}

// readyNodes is the list of nodes schedulers may place on, as of an index and in the
// order of their IDs.
type readyNodes struct {
	known bool
	index uint64
	nodes []*rpc.Node // replaced, never written to
}

// readyNodes returns the ready nodes of the snapshot, in any datacenter, in the order of
// their IDs. The list is shared and must not be written to.
func (c *Cache) readyNodes(snap *state.Snapshot) []*rpc.Node {
	if c == nil {
		return allReady(snap)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.ready
	switch {
	case r.known && r.index > snap.Index():
		return allReady(snap) // an old snapshot: keep what is newer
	case !r.known || snap.NodeDeletedIndex() > r.index:
		r.nodes = allReady(snap)
	case snap.NodesIndex() > r.index:
		r.nodes = updateReady(r.nodes, snap, r.index)
	}
	r.known, r.index = true, snap.Index()
	return r.nodes
}

func allReady(snap *state.Snapshot) []*rpc.Node {
	var nodes []*rpc.Node
	for n := range snap.Nodes() {
		if n.Ready() {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func updateReady(nodes []*rpc.Node, snap *state.Snapshot, since uint64) []*rpc.Node {
	nodes = slices.Clone(nodes)
	for n := range snap.NodesChangedSince(since) {
		at, found := slices.BinarySearchFunc(nodes, n.ID, func(x *rpc.Node, id string) int { return strings.Compare(x.ID, id) })
		switch {
		case found && n.Ready():
			nodes[at] = n
		case found:
			nodes = slices.Delete(nodes, at, at+1)
		case n.Ready():
			nodes = slices.Insert(nodes, at, n)
		}
	}
	return nodes
}
