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
	// replaced are the IDs of allocations whose place another took; nil: not gathered yet.
	replaced map[string]bool

	roll rollout

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
		g.takeDeployment()
		g.reconcile()
		g.finishDeployment()
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
	if len(g.changed) == 0 || g.batch || g.stopped() || len(g.job.TaskGroups) != 1 || g.snap.DeploymentOf(g.eval.Job()).Active() {
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
	before := len(g.roll.inPlace)
	destructive := g.update(s)
	inPlace := len(g.roll.inPlace) - before
	room := g.updateRoom(s, destructive)
	missing := g.missing(s)
	placed := g.placeMissing(s, missing)
	now := min(len(destructive), max(0, room-placed))
	g.waits = g.waits || now < len(destructive)
	for _, alloc := range destructive[:now] {
		g.destructive = append(g.destructive, placement{tg: tg, name: alloc.Name, previous: alloc, stopPrevious: true})
	}
	g.migrate(s)
	todo := len(destructive) + inPlace + len(missing)
	g.beginDeployment(tg, all, todo, len(destructive)+inPlace > 0)
	g.roll.incomplete = g.roll.incomplete || todo+len(s.migrate)+len(s.failed)+len(s.failedLater) > 0
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
		default:
			if updated := g.updateInPlace(alloc, s.tg, g.node(alloc.NodeID)); updated != nil {
				g.roll.inPlace = append(g.roll.inPlace, updated)
			} else {
				destructive = append(destructive, alloc)
			}
		}
	}
	return destructive
}

// missing returns the replacements and new allocations that would bring the group to its
// count (reconcile.go, computePlacements).
func (g *genericRun) missing(s *groupState) (places []placement) {
	for _, set := range [][]*rpc.Allocation{s.failed, s.disconnecting} {
		for _, alloc := range set {
			places = append(places, placement{tg: s.tg, name: alloc.Name, previous: alloc})
		}
	}
	existing := len(s.kept) + len(s.migrate) + len(s.failed) + len(s.disconnecting) + len(s.reconnecting)
	for _, alloc := range s.lost {
		if existing >= s.tg.Count {
			break
		}
		existing++
		places = append(places, placement{tg: s.tg, name: alloc.Name, previous: alloc})
	}
	for _, name := range s.names.next(max(0, s.tg.Count-existing)) {
		places = append(places, placement{tg: s.tg, name: name})
	}
	return places
}

// placeMissing asks for what is missing. A failed deployment places nothing but for what
// was lost or failed through no fault of its own (reconcile.go, computeReplacements). It
// returns how much of the room for updates that takes.
func (g *genericRun) placeMissing(s *groupState, missing []placement) int {
	failed := set[*rpc.Allocation](s.failed...)
	if !g.deploymentFailed() {
		for _, alloc := range s.failed {
			g.stop(alloc, allocRescheduled, "", "")
		}
		g.places = append(g.places, missing...)
		return len(missing)
	}
	lost := min(len(s.lost), len(missing))
	for i, p := range missing {
		again := p.previous != nil && p.previous.DeploymentID != g.roll.deployment.ID &&
			(failed[p.previous] || slices.Contains(s.disconnecting, p.previous))
		if again && failed[p.previous] {
			g.stop(p.previous, allocRescheduled, "", "")
		}
		if again || i < lost {
			g.places = append(g.places, p)
		}
	}
	return 0
}
