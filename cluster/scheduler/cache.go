package scheduler

import (
	"slices"
	"strings"
	"sync"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Cache remembers at which index of one server's state each job was as wanted, so that the
// next evaluation of the job need only look at what has changed since. It changes no plan,
// and can be dropped. It is safe for concurrent use. The nil Cache remembers nothing.
type Cache struct {
	mu    sync.Mutex
	jobs  map[broker.JobID]*entry
	ready readyNodes
}

// entry records that a job was as wanted at an index: an attempt had nothing to do, or its
// plan was committed in full. What that plan changed lies after the index, and the next
// attempt looks at it.
type entry struct {
	// createIndex and jobModifyIndex tell the job from later ones with its name.
	createIndex, jobModifyIndex uint64
	index                       uint64
	// since is the lowest index of snapshots that the entry holds for: that of the plan, if
	// there was one.
	since uint64
	// open lists, in order, the nodes of a system job to look at even if they do not change:
	// placements without room, updates to come, allocations that wait for a time.
	open []string
	// waits is the same for a job that places by count: look even if nothing changes.
	waits bool
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{jobs: map[broker.JobID]*entry{}} }

// lookup returns the entry of the attempt's job, which must not be written to. It returns
// nil if there is none that holds: the attempt must look at everything.
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
	// Deleted rows cannot be found.
	if a.snap.NodeDeletedIndex() > e.index || a.snap.JobAllocs(a.eval.Job()).DeletedIndex > e.index {
		return nil
	}
	return e
}

// settle remembers that the job is as wanted, given the attempt's snapshot and the plan
// committed at an index; zero for none.
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

// jobIndexes returns what tells a job from others with its name; zeros if it was purged.
func (a *attempt) jobIndexes() (created, modified uint64) {
	if a.job == nil {
		return 0, 0
	}
	return a.job.CreateIndex, a.job.JobModifyIndex
}

// unchanged reports whether nothing that concerns the job has changed since its entry. For a
// job that places by count it leaves in a.changed what did.
func (a *attempt) unchanged(placesByCount bool) bool {
	k := a.known
	switch {
	case k == nil || k.waits || len(k.open) > 0:
		return false
	case a.deploymentSince(k.index):
		return false // a plan whose allocations were all refused leaves its deployment alone
	case a.snap.RefreshIndex() <= k.index:
		return true // neither a node nor an allocation changed
	case !placesByCount:
		return false // reconcileSystem looks at the changed nodes alone
	}
	ok := a.gatherChanged(k.index)
	return ok && len(a.changed) == 0
}

// deploymentSince reports whether the job's deployment has changed since an index.
func (a *attempt) deploymentSince(index uint64) bool {
	d := a.snap.DeploymentOf(a.eval.Job())
	return d != nil && d.ModifyIndex > index
}

// gatherChanged sets a.changed to the job's allocations, in the order of their IDs, that have
// changed since an index or whose nodes have. It gives up and reports false when it would
// take longer than a look at the whole job.
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
		for _, alloc := range on.Live {
			if a.owns(alloc) {
				found = append(found, alloc)
			}
		}
		found = append(found, on.TerminalOf(a.eval.Job())...)
	}
	slices.SortFunc(found, rpc.ByID)
	a.changed = slices.Compact(found)
	return true
}

func (a *attempt) owns(alloc *rpc.Allocation) bool {
	return alloc.JobID == a.eval.JobID && alloc.Namespace == a.eval.Namespace
}

// readyNodes lists the ready nodes as of an index, in the order of their IDs.
type readyNodes struct {
	known bool
	index uint64
	nodes []*rpc.Node // shared: replaced, never written to
}

// readyNodes returns the ready nodes of all datacenters in the order of their IDs. The
// caller must not write to the list.
func (c *Cache) readyNodes(snap *state.Snapshot) []*rpc.Node {
	if c == nil {
		return allReady(snap)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.ready
	switch {
	case r.known && r.index > snap.Index():
		return allReady(snap) // the snapshot is older than the list
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
