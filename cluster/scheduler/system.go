package scheduler

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// systemRun reconciles a system or sysbatch job (scheduler_system.go). Apart from the limit
// of a rolling update, what to do on a node depends on that node alone, so it is enough to
// look at the nodes that have changed.
type systemRun struct {
	*attempt
	required map[string]*rpc.TaskGroup // by allocation name
	names    []string                  // the keys of required, in the order of the job's groups
	sysbatch bool

	updates []systemUpdate
	inPlace []*rpc.Allocation // of the updates, as planned
	places  []systemPlace
}

type systemUpdate struct {
	alloc *rpc.Allocation
	tg    *rpc.TaskGroup
	node  *rpc.Node
}

type systemPlace struct {
	tg       *rpc.TaskGroup
	name     string
	node     *rpc.Node
	previous *rpc.Allocation // the last of that name on the node; nil = none
}

func reconcileSystem(a *attempt) {
	s := &systemRun{attempt: a, required: map[string]*rpc.TaskGroup{}, sysbatch: a.eval.Type == rpc.JobTypeSysBatch}
	if !a.stopped() {
		for i := range a.job.TaskGroups {
			tg := &a.job.TaskGroups[i]
			name := allocName(a.job.ID, tg.Name, 0)
			s.required[name] = tg
			s.names = append(s.names, name)
		}
	}
	nodes := s.snap.NodesWithAllocs()
	if k := s.known; k != nil {
		nodes = s.snap.ChangedNodes(s.eval.Job(), k.index, k.open)
	}
	for node, on := range nodes {
		s.node(node, on)
	}
	s.update()
	for _, p := range s.places {
		s.queued[p.tg.Name]++
	}
	s.work.Placements = len(s.places)
	d := s.takeDeployment()
	s.joinDeployment(d)
	for _, p := range s.places {
		s.tryPlace(p)
	}
	s.carryDeployment(d)
	slices.Sort(s.open)
	s.open = slices.Compact(s.open)
}

func allocName(job, group string, n int) string { return fmt.Sprintf("%s.%s[%d]", job, group, n) }

func (s *systemRun) eligible(n *rpc.Node) bool {
	return n != nil && n.Ready() && s.job.RunsIn(n.Datacenter)
}

// node decides what to do on one node (util.go, diffSystemAllocsForNode). It declares those allocations lost
// that were told to stop and cannot report that they did (util.go, updateNonTerminalAllocsToLost).
func (s *systemRun) node(node *rpc.Node, on *state.NodeAllocs) {
	var live []string // names
	for _, alloc := range on.Live {
		if s.owns(alloc) {
			live = append(live, alloc.Name)
			s.existing(alloc, node)
		}
	}
	ended := on.TerminalOf(s.eval.Job())
	for _, alloc := range ended {
		if stopLost(alloc, node) {
			s.stop(alloc, allocLost, rpc.AllocClientLost)
		}
	}
	for _, name := range s.names {
		if !slices.Contains(live, name) {
			s.missing(name, newest(ended, name), node)
		}
	}
}

// newest returns the allocation of a name that was made last, the first of several; nil if there is none.
func newest(allocs []*rpc.Allocation, name string) (last *rpc.Allocation) {
	for _, alloc := range allocs {
		if alloc.Name == name && (last == nil || last.CreateIndex < alloc.CreateIndex) {
			last = alloc
		}
	}
	return last
}

// stopLost reports whether an allocation was told to stop and cannot report that it did,
// because its node is down or deleted.
func stopLost(alloc *rpc.Allocation, node *rpc.Node) bool {
	return (node == nil || node.Status == rpc.NodeStatusDown) && alloc.ServerTerminal() &&
		(alloc.ClientStatus == rpc.AllocClientRunning || alloc.ClientStatus == rpc.AllocClientPending)
}

// existing decides what to do with a live allocation.
func (s *systemRun) existing(alloc *rpc.Allocation, node *rpc.Node) {
	tg := s.required[alloc.Name]
	if tg == nil {
		s.stop(alloc, allocNotNeeded, "")
		return
	}
	c := contactOf(alloc, tg, s.now)
	if s.habits.SystemsSurvive { // but without a time that would run out
		c.survives, c.reconnects = true, alloc.DisconnectedAt() != 0
	}
	switch {
	case alloc.Migrate:
		s.stop(alloc, allocNodeTainted, "")
	case c.expired:
		s.stop(alloc, allocLost, rpc.AllocClientLost)
	case c.survives && alloc.ClientStatus == rpc.AllocClientUnknown:
		s.wait(alloc.NodeID) // until it reconnects or expires
	case c.reconnects && !tainted(node):
		back := alloc.Copy()
		back.SetDisconnectedAt(0)
		s.updates = append(s.updates, systemUpdate{back, tg, node})
	case node == nil || node.Status == rpc.NodeStatusDown:
		s.stop(alloc, allocLost, rpc.AllocClientLost)
	case node.Status == rpc.NodeStatusDisconnected && c.survives && alloc.ClientStatus == rpc.AllocClientRunning:
		s.plan.place(disconnected(alloc, s.now))
		s.wait(alloc.NodeID)
	case !node.Ready():
		// It stays as it is until the node is ready again, or is stopped (reconcile_node.go, computeForNode, v1.11.0).
		if s.habits.StopsOutdated && !tainted(node) && !s.current(alloc) {
			s.stop(alloc, allocNotNeeded, "")
		}
	case !s.job.RunsIn(node.Datacenter):
		s.stop(alloc, allocNotNeeded, "")
	case !s.current(alloc):
		s.updates = append(s.updates, systemUpdate{alloc, tg, node})
	}
}

// missing decides whether to place a task group that has no live allocation on the node.
func (s *systemRun) missing(name string, last *rpc.Allocation, node *rpc.Node) {
	if !s.eligible(node) {
		return
	}
	tg := s.required[name]
	if s.sysbatch && last != nil {
		// It has run. It runs again only if what it runs changes.
		if !s.current(last) && s.destructive(last, tg) {
			s.updates = append(s.updates, systemUpdate{last, tg, node})
		}
		return
	}
	s.places = append(s.places, systemPlace{tg, name, node, last})
}

// update plans to update allocations in place where that is possible, and to replace as many
// of the others as a rolling update does at a time (util.go, evictAndPlace).
func (s *systemRun) update() {
	if len(s.updates) == 0 {
		return
	}
	limits := rollingLimits(s.job)
	if s.deploys {
		limits = s.deployLimits()
	}
	if slices.ContainsFunc(s.updates, func(u systemUpdate) bool { return *limits[u.tg.Name] < len(s.updates) }) {
		// Which go first is chance: Nomad looks at nodes in the order of a map.
		s.rand.Shuffle(len(s.updates), func(i, j int) { s.updates[i], s.updates[j] = s.updates[j], s.updates[i] })
	}
	for _, u := range s.updates {
		if planned := s.updateInPlace(u.alloc, u.tg, u.node); planned != nil {
			s.inPlace = append(s.inPlace, planned)
			continue
		}
		switch limit := limits[u.tg.Name]; {
		case *limit <= 0:
			s.limitReached = !s.deploys // which go on by what becomes healthy
			s.wait(u.node.ID)
		default:
			*limit--
			if !u.alloc.Terminal() {
				s.stop(u.alloc, AllocUpdating, "")
			}
			s.places = append(s.places, systemPlace{u.tg, u.alloc.Name, u.node, u.alloc})
		}
	}
}

// rollingLimits returns how many allocations of each group one step of a rolling update replaces. Nomad has one such limit for
// a system job, which its groups share; here it is the lowest of theirs.
func rollingLimits(job *rpc.Job) map[string]*int {
	limit := math.MaxInt
	limits := map[string]*int{}
	for i := range job.TaskGroups {
		limits[job.TaskGroups[i].Name] = &limit
		if n := job.TaskGroups[i].MaxParallel; n > 0 {
			limit = min(limit, n)
		}
	}
	return limits
}

// tryPlace plans a placement if its node has room (scheduler_system.go, computePlacements). A node
// that is not eligible gets none, not even in place of what a change of the job ends there.
func (s *systemRun) tryPlace(p systemPlace) {
	if !s.eligible(p.node) {
		return
	}
	used := s.used(s.rank(p.node))
	if p.node.Resources.Fits(used.Add(p.tg.Resources)) {
		s.place(p.tg, p.name, p.node.ID, p.previous)
		return
	}
	if s.failed[p.tg.Name] == 0 {
		s.blockedNodes = append(s.blockedNodes, p.node.ID)
	}
	s.fail(p.tg.Name)
	s.wait(p.node.ID)
}

// wait makes the next attempt look at a node even if it does not change.
func (s *systemRun) wait(nodeID string) { s.open = append(s.open, nodeID) }

// contact says how far an allocation's client is or was out of reach.
type contact struct {
	survives   bool // its group lets allocations survive a disconnection
	reconnects bool // the servers marked it unknown, whatever its client says now
	expired    bool // it was unknown for too long
}

// contactOf returns an allocation's contact (structs.go, NeedsToReconnect and Expired).
func contactOf(alloc *rpc.Allocation, tg *rpc.TaskGroup, now time.Time) contact {
	c := contact{survives: tg != nil && tg.MaxClientDisconnect > 0}
	if !c.survives {
		return c
	}
	c.reconnects = alloc.DisconnectedAt() != 0
	c.expired = alloc.ClientStatus == rpc.AllocClientUnknown &&
		now.UnixNano() >= alloc.DisconnectedAt()+int64(tg.MaxClientDisconnect)
	return c
}

// disconnected returns a copy of the allocation that is unknown as of now.
func disconnected(alloc *rpc.Allocation, now time.Time) *rpc.Allocation {
	u := alloc.Copy()
	u.ClientStatus, u.ClientDescription = rpc.AllocClientUnknown, allocUnknown
	u.SetDisconnectedAt(now.UnixNano())
	return u
}

// tainted reports whether allocations cannot stay on a node as they are (util.go,
// taintedNodes). Nil is a deleted node.
func tainted(n *rpc.Node) bool {
	return n == nil || n.Drain != nil || n.Status == rpc.NodeStatusDown || n.Status == rpc.NodeStatusDisconnected
}
