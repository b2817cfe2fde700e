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

	// rescheduleWindow allows for servers whose clocks differ a little.
	rescheduleWindow = time.Second
	// followupWindow gathers allocations that are due almost together in one evaluation.
	followupWindow = 5 * time.Second
)

// delayed is an allocation about which something is to be done at a time to come.
type delayed struct {
	alloc *rpc.Allocation
	at    time.Time
}

// reschedules goes through the allocations that are kept and takes out those that count
// no more and those that failed and are to be replaced (reconcile_util.go,
// filterByRescheduleable).
func (g *genericRun) reschedules(s *groupState) {
	kept := s.kept[:0:0]
	for _, alloc := range s.kept {
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
	slices.SortStableFunc(s.failedLater, func(a, b delayed) int { return a.at.Compare(b.at) })
}

// dueNow reports whether a failed allocation is to be replaced by this evaluation. One
// whose node is gone too is not kept waiting: its wait could not be recorded, since
// plans for such nodes are refused.
func (g *genericRun) dueNow(alloc *rpc.Allocation, at time.Time) bool {
	node := g.node(alloc.NodeID)
	return alloc.FollowupEvalID == g.eval.ID || at.Sub(g.now) <= rescheduleWindow ||
		node == nil || !node.Ready()
}

// counts reports whether an allocation counts towards the group, and if so, whether it
// may be replaced for having failed (reconcile_util.go, shouldFilter).
func (g *genericRun) counts(alloc *rpc.Allocation) (counts, mayReplace bool) {
	failed := alloc.ClientStatus == rpc.AllocClientFailed
	if (g.batch || failed) && alloc.Terminal() && g.isReplaced(alloc) {
		return false, false
	}
	if g.batch {
		if alloc.ServerTerminal() {
			return alloc.DesiredStatus == rpc.AllocDesiredStop && alloc.ClientStatus == rpc.AllocClientComplete, false
		}
		return true, failed
	}
	if alloc.ServerTerminal() || alloc.ClientStatus == rpc.AllocClientComplete || alloc.ClientStatus == rpc.AllocClientLost {
		return false, false
	}
	return true, failed
}

// isReplaced reports whether another allocation took the place of this one. Nomad keeps
// that in the replaced one (structs.go, Allocation.NextAllocation); the replacements of
// batch jobs are not collected before the job is, so that looking for them is as good.
func (g *genericRun) isReplaced(alloc *rpc.Allocation) bool {
	if g.replaced == nil {
		g.replaced = map[string]bool{}
		for _, a := range g.snap.AllocsByJob(g.eval.Job()) {
			g.replaced[a.PreviousAllocation] = true
		}
	}
	return g.replaced[alloc.ID]
}

// rescheduleTime returns when a failed allocation may be replaced, and whether it may be
// at all (structs.go, Allocation.NextRescheduleTime and NextDelay).
func (g *genericRun) rescheduleTime(alloc *rpc.Allocation) (time.Time, bool) {
	failedAt := time.Unix(0, alloc.ModifyTime)
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
		delay = serviceRescheduleDelay // it ran for long: the next series begins
	}
	return failedAt.Add(delay), true
}

// failuresBefore counts the failed allocations in a row that this one replaced, as long
// as more holds of their replacements; up to as many as make a difference. The chain of
// replacements stands for structs.go, RescheduleTracker.
func (g *genericRun) failuresBefore(alloc *rpc.Allocation, more func(replacement *rpc.Allocation) bool) int {
	const enough = 7 // 30 s doubled seven times is past the hour
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

// timeouts returns when each disconnecting allocation is given up.
func (s *groupState) timeouts(now time.Time) []delayed {
	list := make([]delayed, len(s.disconnecting))
	for i, alloc := range s.disconnecting {
		list[i] = delayed{alloc, now.Add(s.tg.MaxClientDisconnect)}
	}
	return list
}

// followup is why an evaluation is made for a later time.
type followup struct{ trigger, description string }

var (
	rescheduleFollowup = followup{broker.TriggeredByRetryFailedAlloc, descReschedule}
	disconnectFollowup = followup{broker.TriggeredByMaxDisconnectExpiry, descDisconnect}
)

// delayedEvals makes the evaluations for allocations that are due later, one for all
// that are due almost together, and returns the ID of each allocation's
// (reconcile.go, createLostLaterEvals and createTimeoutLaterEvals). The list is in the
// order of time.
func (g *genericRun) delayedEvals(due []delayed, why followup) []string {
	ids := make([]string, len(due))
	var e *broker.Evaluation
	for i, d := range due {
		if e == nil || d.at.Sub(e.WaitUntil) >= followupWindow {
			e = g.newEval(why.trigger, broker.StatusPending)
			e.StatusDescription = why.description
			e.JobModifyIndex = g.job.ModifyIndex
			e.WaitUntil = d.at
			g.followups = append(g.followups, e)
		}
		ids[i] = e.ID
	}
	return ids
}
