package state

import (
	"maps"
	"slices"
	"strings"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// DCCount counts the nodes of one datacenter.
type DCCount struct {
	Nodes int // of any status
	Ready int // those with rpc.Node.Ready
}

// counts is what a snapshot knows without looking at rows. A transaction works on a copy,
// and clones maps and slices before it writes to them. Snapshots persist the exported
// fields, in their order.
type counts struct {
	Index uint64 // the latest that was applied

	// The last index that changed each table, as in Nomad's "index" table.
	NodesIndex, JobsIndex, EvalsIndex, AllocsIndex, DeploymentsIndex uint64
	// NodeDeleted is the last index that deleted a node. NodesChangedSince cannot tell.
	NodeDeleted uint64

	// Scheduler is the scheduler configuration, the only row of its table in Nomad.
	Scheduler rpc.SchedulerConfig

	Jobs                       int
	AllocsLive, AllocsTerminal int

	Evals         int
	EvalsByStatus tally
	NodesByStatus tally
	Datacenters   map[string]DCCount
}

// node counts now in place of old. One of them may be nil.
func (c *counts) node(old, now *rpc.Node) {
	if old == nil || now == nil || old.Datacenter != now.Datacenter || old.Ready() != now.Ready() {
		c.Datacenters = maps.Clone(c.Datacenters)
		c.addDC(old, -1)
		c.addDC(now, 1)
	}
	c.NodesByStatus = slices.Clone(c.NodesByStatus)
	if old != nil {
		c.NodesByStatus.add(old.Status, -1)
	}
	if now != nil {
		c.NodesByStatus.add(now.Status, 1)
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

// eval counts now in place of old. One of them may be nil. EvalsByStatus must not be
// shared.
func (c *counts) eval(old, now *broker.Evaluation) {
	if old != nil {
		c.Evals--
		c.EvalsByStatus.add(old.Status, -1)
	}
	if now != nil {
		c.Evals++
		c.EvalsByStatus.add(now.Status, 1)
	}
}

// countAlloc counts now in place of old. One of them may be nil.
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

// tally counts things by kind, in the order of the kinds. There are few: a tally is
// cloned for every write, which a map would make dear.
type tally []tallied

type tallied struct {
	Kind string
	N    int
}

func (t tally) of(kind string) int {
	for i := range t {
		if t[i].Kind == kind {
			return t[i].N
		}
	}
	return 0
}

func (t tally) total() int {
	n := 0
	for i := range t {
		n += t[i].N
	}
	return n
}

// add changes the count of a kind in place, and removes the kind when nothing is left.
func (t *tally) add(kind string, by int) {
	at, ok := slices.BinarySearchFunc(*t, kind, func(x tallied, kind string) int { return strings.Compare(x.Kind, kind) })
	if !ok {
		*t = slices.Insert(*t, at, tallied{Kind: kind})
	}
	if (*t)[at].N += by; (*t)[at].N == 0 {
		*t = slices.Delete(*t, at, at+1)
	}
}

// EvalsByStatusCount counts the evaluations by status, without those that none has.
func (s *Snapshot) EvalsByStatusCount() map[string]uint64 {
	m := make(map[string]uint64, len(s.counts.EvalsByStatus))
	for _, x := range s.counts.EvalsByStatus {
		m[x.Kind] = uint64(x.N)
	}
	return m
}

// EvalTotal counts all evaluations.
func (s *Snapshot) EvalTotal() int { return s.counts.Evals }

// NodesByStatusCount counts the nodes by status, without those that none has.
func (s *Snapshot) NodesByStatusCount() map[string]int {
	m := make(map[string]int, len(s.counts.NodesByStatus))
	for _, x := range s.counts.NodesByStatus {
		m[x.Kind] = x.N
	}
	return m
}

// NodeCount counts all nodes.
func (s *Snapshot) NodeCount() int { return s.counts.NodesByStatus.total() }

// NodesIn counts the nodes of datacenters, none of which may be given twice. Their names may
// have "*" as those of jobs may.
func (s *Snapshot) NodesIn(datacenters []string) DCCount {
	var sum DCCount
	add := func(c DCCount) {
		sum.Nodes += c.Nodes
		sum.Ready += c.Ready
	}
	if slices.ContainsFunc(datacenters, func(dc string) bool { return strings.Contains(dc, "*") }) {
		for dc, c := range s.counts.Datacenters {
			if rpc.NamesDatacenter(datacenters, dc) {
				add(c)
			}
		}
		return sum
	}
	for _, dc := range datacenters {
		add(s.counts.Datacenters[dc])
	}
	return sum
}

// SchedulerConfig returns the scheduler configuration.
func (s *Snapshot) SchedulerConfig() rpc.SchedulerConfig { return s.counts.Scheduler }

// NodeDeletedIndex returns the last index that deleted a node; zero if none did.
func (s *Snapshot) NodeDeletedIndex() uint64 { return s.counts.NodeDeleted }

// NodesIndex returns the last index that changed any node.
func (s *Snapshot) NodesIndex() uint64 { return s.counts.NodesIndex }

// DeploymentsIndex returns the last index that changed or deleted any deployment.
func (s *Snapshot) DeploymentsIndex() uint64 { return s.counts.DeploymentsIndex }

// JobsIndex returns the last index that changed any job.
func (s *Snapshot) JobsIndex() uint64 { return s.counts.JobsIndex }

// EvalsIndex returns the last index that changed any evaluation.
func (s *Snapshot) EvalsIndex() uint64 { return s.counts.EvalsIndex }

// AllocsIndex returns the last index that changed any allocation.
func (s *Snapshot) AllocsIndex() uint64 { return s.counts.AllocsIndex }

// RefreshIndex returns the last index that changed any node or allocation. A scheduler
// whose plan was refused must see it before it tries again (plan_apply.go, refreshIndex).
func (s *Snapshot) RefreshIndex() uint64 { return max(s.counts.NodesIndex, s.counts.AllocsIndex) }
