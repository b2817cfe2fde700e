package scheduler

import (
	"slices"

	"github.com/simctl/simctl/cluster/rpc"
)

// genericRun reconciles a service or batch job (reconcile.go). Its sets are ordered by
// name.
type genericRun struct {
	*attempt
	batch bool
	nodes map[string]*rpc.Node // looked up so far; nil for one that is gone

	destructive []placement
	places      []placement
}

// placement is an allocation to be placed.
type placement struct {
	tg   *rpc.TaskGroup
	name string
	// previous is the allocation that the new one replaces; nil when it replaces none.
	previous *rpc.Allocation
	// stopPrevious says that previous is stopped only if room is found.
	stopPrevious bool
}

func reconcileGeneric(a *attempt) {
	g := &genericRun{attempt: a, batch: a.eval.Type == rpc.JobTypeBatch, nodes: map[string]*rpc.Node{}}
	if !g.replaceChanged() {
		g.reconcile()
	}
	for _, list := range [][]placement{g.destructive, g.places} {
		for _, p := range list {
			g.queued[p.tg.Name]++
		}
	}
	g.work.Placements = len(g.destructive) + len(g.places)
	if g.work.Placements > 0 {
		g.placeAll()
	}
	g.waits = g.waits || len(g.failed) > 0
}

// reconcile goes through all allocations of the job.
func (g *genericRun) reconcile() {
	groups := map[string][]*rpc.Allocation{}
	var removed []string // groups the job no longer has
	for _, alloc := range g.snap.AllocsByJob(g.eval.Job()) {
		g.declareLost(alloc)
		if _, seen := groups[alloc.TaskGroup]; !seen && (g.stopped() || g.job.TaskGroup(alloc.TaskGroup) == nil) {
			removed = append(removed, alloc.TaskGroup)
		}
		groups[alloc.TaskGroup] = append(groups[alloc.TaskGroup], alloc)
	}
	slices.Sort(removed)
	for _, name := range removed {
		g.stopAll(groups[name])
	}
	if g.stopped() {
		return
	}
	for i := range g.job.TaskGroups {
		tg := &g.job.TaskGroups[i]
		sortByName(groups[tg.Name])
		g.group(tg, groups[tg.Name])
	}
}

// replaceChanged does the work of reconcile for the most common of changes: some
// allocations of a service in order were lost, or are to leave their nodes, each is
// replaced under its own name, and the rest need not be looked at. It does nothing and
// returns false in any other case.
func (g *genericRun) replaceChanged() bool {
	if len(g.changed) == 0 || g.batch || g.stopped() || len(g.job.TaskGroups) != 1 {
		return false
	}
	s := &groupState{tg: &g.job.TaskGroups[0]}
	others := g.work.LiveAllocs // in order, so each one counts and is of the job's version
	for _, alloc := range g.changed {
		if alloc.TaskGroup != s.tg.Name {
			return false
		}
		if !alloc.Terminal() {
			others--
		}
	}
	byName := slices.Clone(g.changed)
	sortByName(byName)
	g.split(s, byName)
	g.reschedules(s)
	simple := len(s.disconnecting)+len(s.reconnecting)+len(s.failed)+len(s.failedLater) == 0 && !g.waits &&
		!slices.ContainsFunc(s.kept, func(alloc *rpc.Allocation) bool { return alloc.Terminal() || !g.current(alloc) }) &&
		others+len(s.kept)+len(s.migrate)+len(s.lost) == s.tg.Count
	if !simple {
		g.waits = false
		return false
	}
	for _, alloc := range g.changed {
		g.declareLost(alloc)
	}
	for _, alloc := range s.lost {
		g.stop(alloc, allocLost, rpc.AllocClientLost, "")
		g.places = append(g.places, placement{tg: s.tg, name: alloc.Name, previous: alloc})
	}
	g.migrate(s)
	return true
}

// declareLost stops once more what was told to stop and never will say that it did.
func (g *genericRun) declareLost(alloc *rpc.Allocation) {
	if stopLost(alloc, g.node(alloc.NodeID)) {
		g.stop(alloc, allocLost, rpc.AllocClientLost, "")
	}
}

func (g *genericRun) node(id string) *rpc.Node {
	n, ok := g.nodes[id]
	if !ok {
		n = g.snap.NodeByID(id)
		g.nodes[id] = n
	}
	return n
}

// stopAll stops what is left of a job, or group, that is not wanted any more
// (reconcile.go, filterAndStopAll).
func (g *genericRun) stopAll(allocs []*rpc.Allocation) {
	for _, alloc := range allocs {
		if alloc.Terminal() {
			continue
		}
		if n := g.node(alloc.NodeID); n == nil || n.Status == rpc.NodeStatusDown {
			g.stop(alloc, allocLost, rpc.AllocClientLost, "")
			continue
		}
		g.stop(alloc, allocNotNeeded, "", "")
	}
}

// group works out what one task group needs (reconcile.go, computeGroup).
func (g *genericRun) group(tg *rpc.TaskGroup, all []*rpc.Allocation) {
	s := &groupState{tg: tg}
	g.split(s, all)
	g.reschedules(s)
	for i, id := range g.delayedEvals(s.timeouts(g.now), disconnectFollowup) {
		u := disconnected(s.disconnecting[i], g.now)
		u.FollowupEvalID = id
		g.plan.place(u)
		g.waits = true
	}
	for i, id := range g.delayedEvals(s.failedLater, rescheduleFollowup) {
		u := s.failedLater[i].alloc.Copy()
		u.FollowupEvalID = id
		g.plan.place(u)
		g.waits = true
	}
	// Disconnecting allocations are replaced at once, and kept in case they come back.
	s.names = newNameIndex(g.job.ID, tg.Name, tg.Count, s.kept, s.migrate, s.failed, s.disconnecting, s.lost)
	g.stopSurplus(s)
	g.reconnect(s)
	destructive := g.update(s)
	room := g.updateRoom(s, destructive)
	placed := g.placeMissing(s)
	now := min(len(destructive), max(0, room-placed))
	g.waits = g.waits || now < len(destructive)
	for _, alloc := range destructive[:now] {
		g.destructive = append(g.destructive, placement{tg: tg, name: alloc.Name, previous: alloc, stopPrevious: true})
	}
	g.migrate(s)
}

// migrate replaces what is to leave its node (reconcile.go, computeMigrations).
func (g *genericRun) migrate(s *groupState) {
	for _, alloc := range s.migrate {
		g.stop(alloc, allocMigrating, "", "")
		g.places = append(g.places, placement{tg: s.tg, name: alloc.Name, previous: alloc})
	}
}

// reachable reports whether plans may change allocations on the node of this one.
func (g *genericRun) reachable(alloc *rpc.Allocation) bool {
	node := g.node(alloc.NodeID)
	return node != nil && node.Status == rpc.NodeStatusReady
}

// reconnect records that allocations are back (reconcile.go, computeReconnecting).
func (g *genericRun) reconnect(s *groupState) {
	for _, alloc := range s.reconnecting {
		if g.resumable(alloc) && g.reachable(alloc) && alloc.ClientStatus == rpc.AllocClientRunning {
			back := alloc.Copy()
			back.DisconnectedAt = 0
			g.plan.place(back)
		} else {
			g.waits = true
		}
	}
}

// update carries what can be over to the job's version in place, and returns what must
// be replaced (reconcile.go, computeUpdates).
func (g *genericRun) update(s *groupState) (destructive []*rpc.Allocation) {
	for _, alloc := range s.kept {
		switch {
		case g.current(alloc):
		case !g.attempt.destructive(alloc, s.tg) && alloc.Terminal():
		case !g.attempt.destructive(alloc, s.tg) && !g.reachable(alloc):
			g.waits = true // a change in place for a node that is not ready would be refused
		case !g.updateInPlace(alloc, s.tg, g.node(alloc.NodeID)):
			destructive = append(destructive, alloc)
		}
	}
	return destructive
}

// updateRoom returns how many allocations this attempt may replace and place
// (reconcile.go, computeUnderProvisionedBy). Nomad's deployments are reduced to what a
// rolling update needs of them: an allocation of the new version that does not run yet
// uses up the limit, and one that failed stops the update.
func (g *genericRun) updateRoom(s *groupState, destructive []*rpc.Allocation) int {
	if s.tg.MaxParallel == 0 || len(destructive)+len(s.migrate) == 0 {
		return s.tg.Count
	}
	room := s.tg.MaxParallel
	for _, alloc := range s.kept {
		switch {
		case !g.current(alloc) || alloc.ClientStatus == rpc.AllocClientRunning:
		case alloc.ClientStatus == rpc.AllocClientFailed:
			return 0
		default:
			room--
		}
	}
	return max(0, room)
}

// placeMissing asks for the replacements and new allocations that bring the group to its
// count (reconcile.go, computePlacements and computeReplacements); it returns how many.
func (g *genericRun) placeMissing(s *groupState) int {
	before := len(g.places)
	for _, alloc := range s.failed {
		g.stop(alloc, allocRescheduled, "", "")
	}
	for _, set := range [][]*rpc.Allocation{s.failed, s.disconnecting} {
		for _, alloc := range set {
			g.places = append(g.places, placement{tg: s.tg, name: alloc.Name, previous: alloc})
		}
	}
	existing := len(s.kept) + len(s.migrate) + len(s.failed) + len(s.disconnecting) + len(s.reconnecting)
	for _, alloc := range s.lost {
		if existing >= s.tg.Count {
			break
		}
		existing++
		g.places = append(g.places, placement{tg: s.tg, name: alloc.Name, previous: alloc})
	}
	for _, name := range s.names.next(max(0, s.tg.Count-existing)) {
		g.places = append(g.places, placement{tg: s.tg, name: name})
	}
	return len(g.places) - before
}
