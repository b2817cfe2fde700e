package scheduler

import (
	"slices"

	"github.com/simctl/simctl/cluster/rpc"
)

// groupState has a group's allocations by what to do with them.
type groupState struct {
	tg            *rpc.TaskGroup
	kept          []*rpc.Allocation // run, or have run and still count
	migrate       []*rpc.Allocation // are to leave their nodes, which drain
	lost          []*rpc.Allocation
	disconnecting []*rpc.Allocation // become unknown: their nodes have disconnected
	stay          []*rpc.Allocation // are to be replaced now, and may come back
	reconnecting  []*rpc.Allocation // are unknown to the servers, but their clients are back
	failed        []*rpc.Allocation // are to be replaced now
	failedLater   []delayed         // are to be replaced later
	names         *nameIndex
}

// split puts the group's allocations into sets by the state of their nodes
// (reconcile_util.go, filterByTainted).
func (g *genericRun) split(s *groupState, all []*rpc.Allocation) {
	for _, alloc := range all {
		if g.batch && alloc.Terminal() && !g.current(alloc) {
			continue // what older versions did does not count (filterOldTerminalAllocs)
		}
		node := g.node(alloc.NodeID)
		c := contactOf(alloc, s.tg, g.now)
		drains := node != nil && node.Drain != nil && node.Status == rpc.NodeStatusReady
		run := alloc.DesiredStatus == rpc.AllocDesiredRun
		failed := alloc.ClientStatus == rpc.AllocClientFailed
		switch {
		case c.reconnects && failed && run:
			s.reconnecting = append(s.reconnecting, alloc)
		case c.reconnects && failed:
		case alloc.Terminal() && !c.reconnects:
			s.kept = append(s.kept, alloc)
		case node != nil && node.Status == rpc.NodeStatusDisconnected && g.splitDisconnected(s, alloc, c):
		case c.reconnects && drains && !c.expired:
			s.reconnecting = append(s.reconnecting, alloc)
		case alloc.Migrate && !(c.expired && drains):
			s.migrate = append(s.migrate, alloc)
		case c.expired:
			s.lost = append(s.lost, alloc)
		case g.habits.BackBeforeReports && c.reconnects && run && node != nil && !node.Unresponsive():
			s.reconnecting = append(s.reconnecting, alloc)
		case c.survives && alloc.ClientStatus == rpc.AllocClientUnknown && run &&
			!(g.habits.BackBeforeReports && (node == nil || node.Status == rpc.NodeStatusDown)):
			g.waits = true // until it reconnects or expires
			if g.habits.UnknownCounts {
				s.kept = append(s.kept, alloc)
			}
		case node == nil || node.Status == rpc.NodeStatusDown:
			s.lost = append(s.lost, alloc)
		case c.reconnects && !tainted(node):
			s.reconnecting = append(s.reconnecting, alloc)
		default:
			s.kept = append(s.kept, alloc)
		}
	}
}

// splitDisconnected puts an allocation on a disconnected node into its set. It reports false,
// and does nothing, if the allocation is unknown already.
func (g *genericRun) splitDisconnected(s *groupState, alloc *rpc.Allocation, c contact) bool {
	switch {
	case !c.survives || alloc.ClientStatus == rpc.AllocClientPending:
		s.lost = append(s.lost, alloc)
	case alloc.ClientStatus == rpc.AllocClientRunning:
		s.disconnecting = append(s.disconnecting, alloc)
	default:
		return false
	}
	return true
}

// stopSurplus stops lost allocations and those above the count (reconcile.go, computeStop):
// first migrating ones, then one of each that reconnects and its replacement, then those
// with the highest names.
func (g *genericRun) stopSurplus(s *groupState) {
	for _, alloc := range s.lost {
		g.stop(alloc, allocLost, rpc.AllocClientLost)
	}
	g.stopFailedBack(s)
	surplus := len(s.kept) + len(s.migrate) + len(s.reconnecting) - s.tg.Count
	for _, alloc := range s.kept {
		if alloc.ClientStatus == rpc.AllocClientUnknown {
			surplus-- // beside its replacement, if it has one
		}
	}
	if surplus <= 0 {
		return
	}
	stopped := map[string]bool{}
	stop := func(alloc *rpc.Allocation, why string) {
		stopped[alloc.ID] = true
		surplus--
		g.stop(alloc, why, "")
	}
	highest := newNameIndex(g.job.ID, s.tg.Name, s.tg.Count, s.migrate).highest(surplus)
	for _, alloc := range s.migrate {
		if surplus > 0 && highest[alloc.Name] {
			stop(alloc, allocNotNeeded)
			s.names.free(alloc.Name)
		}
	}
	s.migrate = minus(s.migrate, stopped)
	over := (*rpc.Allocation).Terminal
	if g.habits.StopsEnded {
		over = (*rpc.Allocation).ServerTerminal
	}
	running := slices.DeleteFunc(slices.Clone(s.kept), over)
	for _, alloc := range s.reconnecting {
		if surplus > 0 {
			g.stopEither(alloc, running, stopped, stop)
		}
	}
	s.reconnecting = minus(s.reconnecting, stopped)
	running = minus(running, stopped)
	if surplus > 0 {
		highest = s.names.highest(surplus)
		for _, byNameOnly := range []bool{true, false} { // names may repeat
			for _, alloc := range running {
				if surplus > 0 && !stopped[alloc.ID] && (!byNameOnly || highest[alloc.Name]) {
					stop(alloc, allocNotNeeded)
				}
			}
		}
	}
	s.kept = minus(s.kept, stopped)
}

// stopFailedBack stops what is back, and has failed meanwhile.
func (g *genericRun) stopFailedBack(s *groupState) {
	s.reconnecting = slices.DeleteFunc(s.reconnecting, func(alloc *rpc.Allocation) bool {
		if alloc.ClientStatus != rpc.AllocClientFailed {
			return false
		}
		g.stop(alloc, allocRescheduled, rpc.AllocClientFailed)
		return true
	})
}

// stopEither stops a reconnecting allocation that cannot resume or was placed worse than the one that
// replaced it, or else that one (reconcile.go, computeStopByReconnecting).
func (g *genericRun) stopEither(back *rpc.Allocation, running []*rpc.Allocation, stopped map[string]bool, stop func(*rpc.Allocation, string)) {
	if !g.resumable(back) {
		stop(back, allocNotNeeded)
		return
	}
	for _, alloc := range running {
		switch {
		case alloc.Name != back.Name || stopped[alloc.ID]:
			continue
		case alloc.Score() > back.Score():
			stop(back, allocNotNeeded)
		default:
			stop(alloc, allocReconnected)
		}
		return
	}
}

// chooseBack stops either what is back or what replaced it, takes what it stops out of all sets, and counts the rest of
// what is back as kept (reconcile_cluster.go, reconcileReconnecting).
func (g *genericRun) chooseBack(s *groupState, all []*rpc.Allocation) {
	if len(s.reconnecting) == 0 {
		return
	}
	g.stopFailedBack(s)
	stopped := map[string]bool{}
	stop := func(alloc *rpc.Allocation, why string) {
		if !stopped[alloc.ID] {
			stopped[alloc.ID] = true
			g.stop(alloc, why, "")
		}
	}
	for _, back := range s.reconnecting {
		if !g.resumable(back) {
			stop(back, allocNotNeeded)
			continue
		}
		for _, alloc := range g.replacements(back, all) {
			switch {
			case alloc.ServerTerminal():
			case prefers(alloc, back):
				stop(back, allocNotNeeded)
			default:
				stop(alloc, allocReconnected)
			}
		}
	}
	for _, set := range []*[]*rpc.Allocation{&s.kept, &s.migrate, &s.lost, &s.disconnecting, &s.reconnecting} {
		*set = minus(*set, stopped)
	}
	g.reconnect(s)
	s.kept, s.reconnecting = append(s.kept, s.reconnecting...), nil
	sortByName(s.kept)
}

// replacements returns what replaced an allocation that is back, of all of its group.
func (g *genericRun) replacements(back *rpc.Allocation, all []*rpc.Allocation) (found []*rpc.Allocation) {
	if !g.habits.FollowsReplacements {
		for _, alloc := range all {
			if alloc.Name == back.Name && alloc.CreateIndex > back.CreateIndex {
				found = append(found, alloc)
			}
		}
		return found
	}
	for next := back; next != nil; {
		previous := next
		next = nil
		for _, alloc := range all { // NextAllocation is what was placed last
			if alloc.PreviousAllocation == previous.ID && (next == nil || alloc.CreateIndex > next.CreateIndex) {
				next = alloc
			}
		}
		if next != nil {
			found = append(found, next)
		}
	}
	return found
}

// prefers reports whether what replaced an allocation stays when that is back: it was placed better, and runs unless neither
// does (reconnecting_picker.go, pickBestScore).
func prefers(replacement, back *rpc.Allocation) bool {
	return replacement.Score() > back.Score() &&
		(replacement.ClientStatus == rpc.AllocClientRunning || back.ClientStatus != rpc.AllocClientRunning)
}

func (g *genericRun) resumable(alloc *rpc.Allocation) bool {
	return g.current(alloc) && !alloc.Migrate && !alloc.Reschedule && g.node(alloc.NodeID) != nil
}
