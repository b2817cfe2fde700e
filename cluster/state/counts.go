package state

import (
	"maps"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// DCCount counts the nodes of one datacenter.
type DCCount struct {
	Nodes int // all of them, whatever their status
	Ready int // those that schedulers may place on
}

// counts is what a snapshot knows without looking at a row. A transaction works on its
// own copy, so every snapshot sees the counts of its index. The maps are copied before
// they are written to.
type counts struct {
	Index uint64 // latest applied

	// The last index that changed a table, as in Nomad's "index" table.
	NodesIndex, JobsIndex, EvalsIndex, AllocsIndex uint64
	// NodeDeleted is the last index that deleted a node. A deleted row cannot be found
	// through indexModify, so whoever works by difference compares with this.
	NodeDeleted uint64

	Jobs                       int
	AllocsLive, AllocsTerminal int

	Evals         int
	EvalsByStatus map[string]uint64
	NodesByStatus map[string]int
	Datacenters   map[string]DCCount
}

func newCounts() *counts {
	return &counts{
		EvalsByStatus: map[string]uint64{},
		NodesByStatus: map[string]int{},
		Datacenters:   map[string]DCCount{},
	}
}

// node moves the counts from old to now; either may be nil.
func (c *counts) node(old, now *rpc.Node) {
	c.NodesByStatus = maps.Clone(c.NodesByStatus)
	if old == nil || now == nil || old.Datacenter != now.Datacenter || old.Ready() != now.Ready() {
		c.Datacenters = maps.Clone(c.Datacenters)
		c.addDC(old, -1)
		c.addDC(now, 1)
	}
	if old != nil {
		addTo(c.NodesByStatus, old.Status, -1)
	}
	if now != nil {
		addTo(c.NodesByStatus, now.Status, 1)
	}
}

func (c *counts) addDC(n *rpc.Node, by int) {
	if n == nil {
		return
	}
	dc := c.Datacenters[n.Datacenter]
	dc.Nodes += by
	if n.Ready() {
		dc.Ready += by
	}
	if dc == (DCCount{}) {
		delete(c.Datacenters, n.Datacenter)
		return
	}
	c.Datacenters[n.Datacenter] = dc
}

// eval moves the counts from old to now; either may be nil. EvalsByStatus must be the
// transaction's own.
func (c *counts) eval(old, now *broker.Evaluation) {
	if old != nil {
		c.Evals--
		addTo(c.EvalsByStatus, old.Status, ^uint64(0))
	}
	if now != nil {
		c.Evals++
		addTo(c.EvalsByStatus, now.Status, 1)
	}
}

// alloc moves the counts from old to now; either may be nil.
func (c *counts) alloc(old, now *rpc.Allocation) {
	countAlloc(&c.AllocsLive, &c.AllocsTerminal, old, now)
}

func countAlloc(live, terminal *int, old, now *rpc.Allocation) {
	for _, step := range [2]struct {
		alloc *rpc.Allocation
		by    int
	}{{old, -1}, {now, 1}} {
		switch {
		case step.alloc == nil:
		case step.alloc.Terminal():
			*terminal += step.by
		default:
			*live += step.by
		}
	}
}

// addTo adds by to m[key], and forgets the key at zero.
func addTo[N int | uint64](m map[string]N, key string, by N) {
	if m[key] += by; m[key] == 0 {
		delete(m, key)
	}
}
