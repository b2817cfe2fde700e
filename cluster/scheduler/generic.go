package scheduler

import (
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// genericRun reconciles a service or batch job (reconcile.go). Its sets of allocations are in
// the order of their names.
type genericRun struct {
	*attempt
	batch    bool
	nodes    map[string]*rpc.Node // looked up so far; nil for deleted ones
	replaced map[string]bool      // see isReplaced; nil until it is asked for

	roll rollout

	destructive []placement
	places      []placement
}

// placement is an allocation to place.
type placement struct {
	tg       *rpc.TaskGroup
	names    *nameIndex // of the group; nil if no name occurs twice
	name     string
	previous *rpc.Allocation // that the new one replaces; nil = none
	// stopPrevious means that previous still runs, and stops only if there is room for the
	// new one.
	stopPrevious bool
	reschedules  bool // previous failed, or is out of reach
}

func reconcileGeneric(a *attempt) {
	g := &genericRun{attempt: a, batch: a.eval.Type == rpc.JobTypeBatch, nodes: map[string]*rpc.Node{}}
	if !g.replaceChanged() {
		g.takeDeployment()
		g.reconcile()
		g.finishDeployment()
	}
	for _, p := range slices.Concat(g.destructive, g.places) {
		g.queued[p.tg.Name]++
	}
	g.work.Placements = len(g.destructive) + len(g.places)
	if g.work.Placements > 0 {
		g.placeAll()
	}
	g.waits = g.waits || len(g.failed) > 0
}

// reconcile looks at all allocations of the job.
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
	if g.stopped() && g.habits.StopsOneGroup && len(removed) > 1 {
		removed = []string{removed[g.rand.IntN(len(removed))]}
		g.waits = true // another evaluation may stop another
	}
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

// replaceChanged does the work of reconcile in the most common case: the job is a service
// that was as wanted, some of its allocations were lost or are to migrate, and each is
// replaced under its own name. It need not look at the others. In any other case it does
// nothing and returns false.
func (g *genericRun) replaceChanged() bool {
	if len(g.changed) == 0 || g.batch || g.stopped() || len(g.job.TaskGroups) != 1 || g.snap.DeploymentOf(g.eval.Job()).Active() {
		return false
	}
	s := &groupState{tg: &g.job.TaskGroups[0]}
	others := g.work.LiveAllocs // as wanted: each counts and is of the job's version
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
		others+len(s.kept)+len(s.migrate)+len(s.lost) == s.tg.Count && !(g.habits.NamesOnce && len(newNameIndex("", "", 0, s.kept, s.migrate, s.lost).again) > 0)
	if !simple {
		g.waits = false
		return false
	}
	for _, alloc := range g.changed {
		g.declareLost(alloc)
	}
	for _, alloc := range s.lost {
		g.stop(alloc, allocLost, rpc.AllocClientLost)
		g.places = append(g.places, placement{tg: s.tg, name: alloc.Name, previous: alloc})
	}
	g.migrate(s)
	return true
}

// declareLost stops an allocation again that was told to stop and cannot report that it did.
func (g *genericRun) declareLost(alloc *rpc.Allocation) {
	if stopLost(alloc, g.node(alloc.NodeID)) {
		g.stop(alloc, allocLost, rpc.AllocClientLost)
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

// stopAll stops the allocations of a job or group that was removed (reconcile.go,
// filterAndStopAll).
func (g *genericRun) stopAll(allocs []*rpc.Allocation) {
	for _, alloc := range allocs {
		if alloc.Terminal() {
			continue
		}
		if n := g.node(alloc.NodeID); n == nil || n.Status == rpc.NodeStatusDown {
			g.stop(alloc, allocLost, rpc.AllocClientLost)
			continue
		}
		g.stop(alloc, allocNotNeeded, "")
	}
}

// group reconciles one task group (reconcile.go, computeGroup).
func (g *genericRun) group(tg *rpc.TaskGroup, all []*rpc.Allocation) {
	s := &groupState{tg: tg}
	g.split(s, all)
	if g.habits.ChoosesBack {
		g.chooseBack(s, all)
	}
	g.reschedules(s)
	unknown := map[string]*rpc.Allocation{}
	for i, id := range g.delayedEvals(s.timeouts(g.now), broker.TriggeredByMaxDisconnectExpiry, descDisconnect) {
		u := disconnected(s.disconnecting[i], g.now)
		u.FollowupEvalID = id
		unknown[u.ID] = u
		g.plan.place(u)
		g.waits = true
	}
	for i, id := range g.delayedEvals(s.failedLater, g.habits.rescheduling(), descReschedule) {
		u := unknown[s.failedLater[i].alloc.ID]
		if u == nil {
			u = s.failedLater[i].alloc.Copy()
			g.plan.place(u)
		}
		u.FollowupEvalID = id
		g.waits = true
	}
	s.names = newNameIndex(g.job.ID, tg.Name, tg.Count, s.kept, s.migrate, s.failed, s.stay, s.lost)
	if !g.habits.NamesOnce {
		s.names.again = nil
	}
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
		g.destructive = append(g.destructive, placement{tg: tg, names: s.names, name: alloc.Name, previous: alloc, stopPrevious: true})
	}
	g.migrate(s)
	todo := len(destructive) + inPlace + len(missing)
	g.beginDeployment(tg, all, todo, len(destructive)+inPlace > 0)
	g.roll.incomplete = g.roll.incomplete || todo+len(s.migrate)+len(s.failed)+len(s.failedLater) > 0
}

// migrate stops the allocations that are to leave their nodes, and replaces them if the release does
// (reconcile.go, computeMigrations).
func (g *genericRun) migrate(s *groupState) {
	for _, alloc := range s.migrate {
		g.stop(alloc, AllocMigrating, "")
		if g.batch && g.habits.DrainEndsBatch {
			continue
		}
		g.places = append(g.places, placement{tg: s.tg, names: s.names, name: alloc.Name, previous: alloc})
	}
}

// reachable reports whether plans may change the allocation, which depends on its node.
func (g *genericRun) reachable(alloc *rpc.Allocation) bool {
	node := g.node(alloc.NodeID)
	return node != nil && node.Status == rpc.NodeStatusReady
}

// reconnect plans to record that allocations have reconnected (reconcile.go,
// computeReconnecting). The applier refuses that until their node is ready.
func (g *genericRun) reconnect(s *groupState) {
	for _, alloc := range s.reconnecting {
		if g.resumable(alloc) && alloc.ClientStatus == rpc.AllocClientRunning {
			back := alloc.Copy()
			back.SetDisconnectedAt(0)
			g.plan.place(back)
		} else {
			g.waits = true
		}
	}
}

// update plans to update allocations to the job's version in place where that is possible,
// and returns those that must be replaced (reconcile.go, computeUpdates).
func (g *genericRun) update(s *groupState) (destructive []*rpc.Allocation) {
	for _, alloc := range s.kept {
		switch {
		case g.current(alloc):
		case !g.attempt.destructive(alloc, s.tg) && alloc.Terminal():
		case !g.attempt.destructive(alloc, s.tg) && !g.reachable(alloc):
			g.waits = true // the applier would refuse a change on a node that is not ready
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

// missing returns the placements that bring the group to its count: replacements first, then
// new allocations (reconcile.go, computePlacements).
func (g *genericRun) missing(s *groupState) (places []placement) {
	for _, alloc := range slices.Concat(s.failed, s.stay) {
		places = append(places, placement{tg: s.tg, names: s.names, name: alloc.Name, previous: alloc, reschedules: true})
	}
	existing := len(s.kept) + len(s.migrate) + len(s.failed) + len(s.stay) + len(s.reconnecting)
	for _, alloc := range s.lost {
		if existing >= s.tg.Count {
			break
		}
		existing++
		places = append(places, placement{tg: s.tg, names: s.names, name: alloc.Name, previous: alloc})
	}
	for _, name := range s.names.next(max(0, s.tg.Count-existing)) {
		places = append(places, placement{tg: s.tg, names: s.names, name: name})
	}
	return places
}

// placeMissing asks for the missing placements and returns how much of the room for updates
// they take. If the deployment failed it replaces only lost allocations, and failed or
// disconnecting ones of other deployments (reconcile.go, computeReplacements).
func (g *genericRun) placeMissing(s *groupState, missing []placement) int {
	failed := set[*rpc.Allocation](s.failed...)
	if !g.deploymentFailed() {
		for _, alloc := range s.failed {
			g.stop(alloc, allocRescheduled, "")
		}
		g.places = append(g.places, missing...)
		return len(missing)
	}
	lost := min(len(s.lost), len(missing))
	for i, p := range missing {
		again := p.previous != nil && p.previous.DeploymentID != g.roll.deployment.ID &&
			(failed[p.previous] || slices.Contains(s.stay, p.previous))
		if again && failed[p.previous] {
			g.stop(p.previous, allocRescheduled, "")
		}
		if again || i < lost {
			g.places = append(g.places, p)
		}
	}
	return 0
}
