package scheduler

import (
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// Nomad's default reschedule policies (structs.go, DefaultServiceJobReschedulePolicy and
// DefaultBatchJobReschedulePolicy), which every job here has.
const (
	serviceRescheduleDelay    = 30 * time.Second
	serviceRescheduleMaxDelay = time.Hour
	batchRescheduleDelay      = 5 * time.Second
	batchRescheduleAttempts   = 1
	batchRescheduleInterval   = 24 * time.Hour

	// rescheduleWindow is how early a replacement may be, since servers' clocks differ.
	rescheduleWindow = time.Second
	// followupWindow is how far apart allocations of one evaluation may be due.
	followupWindow = 5 * time.Second
)

// delayed is an allocation to act on at a later time.
type delayed struct {
	alloc *rpc.Allocation
	at    time.Time
}

// reschedules removes from the kept allocations those that do not count any more, and moves
// those that failed or are out of reach and are to be replaced (reconcile_util.go, filterByRescheduleable).
func (g *genericRun) reschedules(s *groupState) {
	kept := s.kept[:0:0]
	for _, alloc := range s.kept {
		if g.waitedUnknown(alloc) {
			s.stay = append(s.stay, alloc)
			continue
		}
		counts, mayReplace := g.counts(alloc)
		if counts && mayReplace && !g.heldByDeployment(alloc) {
			at, ok := g.rescheduleTime(alloc)
			switch {
			case ok && g.dueNow(alloc, at):
				s.failed = append(s.failed, alloc)
				continue
			case ok && alloc.FollowupEvalID == "":
				s.failedLater = append(s.failedLater, delayed{alloc, at})
			}
			g.waits = g.waits || ok
		}
		if counts {
			kept = append(kept, alloc)
		}
	}
	s.kept = kept
	g.rescheduleUnknown(s)
	slices.SortStableFunc(s.failedLater, func(a, b delayed) int { return a.at.Compare(b.at) })
}

// rescheduleUnknown has what becomes unknown replaced now, or later if the release has it wait (reconcile_cluster.go,
// computeDisconnecting). What waits counts as one of its group.
func (g *genericRun) rescheduleUnknown(s *groupState) {
	if !g.habits.UnknownWaits {
		s.stay = append(s.stay, s.disconnecting...)
		return
	}
	for _, alloc := range s.disconnecting {
		if at, ok := g.delayed(alloc, g.now); ok && !g.heldByDeployment(alloc) {
			s.failedLater = append(s.failedLater, delayed{alloc, at})
		}
	}
	s.kept = append(s.kept, s.disconnecting...)
	sortByName(s.kept)
}

// waitedUnknown reports whether an allocation is out of reach, and this evaluation is the one for which its replacement waited.
func (g *genericRun) waitedUnknown(alloc *rpc.Allocation) bool {
	if !g.habits.UnknownWaits || alloc.ClientStatus != rpc.AllocClientUnknown || alloc.FollowupEvalID != g.eval.ID || g.heldByDeployment(alloc) {
		return false
	}
	_, ok := g.delayed(alloc, time.Unix(0, alloc.DisconnectedAt()))
	return ok
}

// dueNow reports whether this evaluation replaces a failed allocation. It does so at once if
// the node is not ready, because the applier would refuse a plan that records the wait.
func (g *genericRun) dueNow(alloc *rpc.Allocation, at time.Time) bool {
	node := g.node(alloc.NodeID)
	return alloc.FollowupEvalID == g.eval.ID || at.Sub(g.now) <= rescheduleWindow ||
		node == nil || !node.Ready()
}

// counts reports whether an allocation counts towards the group's count and, if so, whether
// it failed and may be replaced (reconcile_util.go, shouldFilter).
func (g *genericRun) counts(alloc *rpc.Allocation) (counts, mayReplace bool) {
	failed := alloc.ClientStatus == rpc.AllocClientFailed
	if (g.batch || failed) && alloc.Terminal() && g.isReplaced(alloc) {
		return false, false
	}
	if g.batch {
		if alloc.ServerTerminal() {
			ended := alloc.ClientStatus == rpc.AllocClientComplete && !g.habits.ForgetsStopped || alloc.Migrate && g.habits.CountsDrained
			return alloc.DesiredStatus == rpc.AllocDesiredStop && ended, false
		}
		return true, failed
	}
	if alloc.ServerTerminal() || alloc.ClientStatus == rpc.AllocClientComplete || alloc.ClientStatus == rpc.AllocClientLost {
		return false, false
	}
	return true, failed
}

// isReplaced reports whether another allocation replaced this one. Nomad records that in the
// replaced one (structs.go, Allocation.NextAllocation). Looking for the replacement is as
// good: that of a batch job is not collected before the one that it replaced.
func (g *genericRun) isReplaced(alloc *rpc.Allocation) bool {
	if g.replaced == nil {
		g.replaced = map[string]bool{}
		for _, a := range g.snap.AllocsByJob(g.eval.Job()) {
			g.replaced[a.PreviousAllocation] = true
		}
	}
	return g.replaced[alloc.ID]
}

// rescheduleTime returns when a failed allocation may be replaced, and whether it may
// (structs.go, Allocation.NextRescheduleTime and NextDelay).
func (g *genericRun) rescheduleTime(alloc *rpc.Allocation) (time.Time, bool) {
	return g.delayed(alloc, time.Unix(0, alloc.ModifyTime))
}

// delayed returns when an allocation that failed, or was out of reach, at a time may be replaced, and whether it may.
func (g *genericRun) delayed(alloc *rpc.Allocation, failedAt time.Time) (time.Time, bool) {
	if g.batch {
		attempts := g.failuresBefore(alloc, func(replacement *rpc.Allocation) bool {
			return failedAt.UnixNano()-replacement.CreateTime < int64(batchRescheduleInterval)
		})
		return failedAt.Add(batchRescheduleDelay), attempts < batchRescheduleAttempts
	}
	delay := serviceRescheduleDelay
	for range g.failuresBefore(alloc, func(*rpc.Allocation) bool { return true }) {
		delay = min(2*delay, serviceRescheduleMaxDelay)
	}
	if delay == serviceRescheduleMaxDelay && failedAt.Sub(time.Unix(0, alloc.CreateTime)) > delay {
		delay = serviceRescheduleDelay // it ran for so long that delays start over
	}
	return failedAt.Add(delay), true
}

// failuresBefore counts the consecutive failed allocations before this one, each replaced by
// the next, as long as more reports true of the replacement. It stops counting when more
// would make no difference. The chain replaces structs.go, RescheduleTracker.
func (g *genericRun) failuresBefore(alloc *rpc.Allocation, more func(replacement *rpc.Allocation) bool) int {
	const enough = 7 // 30 s doubled seven times is more than an hour
	n := 0
	for n < enough && alloc.PreviousAllocation != "" && more(alloc) {
		previous := g.snap.AllocByID(alloc.PreviousAllocation)
		if previous == nil || previous.ClientStatus != rpc.AllocClientFailed {
			break
		}
		alloc = previous
		n++
	}
	return n
}

// timeouts returns when each disconnecting allocation expires.
func (s *groupState) timeouts(now time.Time) []delayed {
	list := make([]delayed, len(s.disconnecting))
	for i, alloc := range s.disconnecting {
		list[i] = delayed{alloc, now.Add(s.tg.MaxClientDisconnect)}
	}
	return list
}

// delayedEvals makes the evaluations for allocations that are due later, which must be in the
// order of time, and returns the ID of each one's. Allocations within followupWindow share
// an evaluation (reconcile.go, createLostLaterEvals and createTimeoutLaterEvals).
func (g *genericRun) delayedEvals(due []delayed, trigger, description string) []string {
	ids := make([]string, len(due))
	var e *broker.Evaluation
	for i, d := range due {
		if e == nil || d.at.Sub(e.WaitUntil) >= followupWindow {
			e = g.newEval(trigger, broker.StatusPending)
			e.StatusDescription = description
			e.JobModifyIndex = g.job.ModifyIndex
			e.WaitUntil = d.at
			g.followups = append(g.followups, e)
		}
		ids[i] = e.ID
	}
	return ids
}
