package scheduler

import (
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// FollowUps returns the evaluations that allocations of a service or batch job wait for, as the
// allocations tell: one for each ID, with the earliest time. No release of Nomad needs them,
// since there the state has the evaluations themselves. An allocation that is out of reach can wait
// for two: FollowupEvalID names the one that replaces it, and the one that declares it lost gets the
// allocation's ID.
func FollowUps(snap *state.Snapshot, job *rpc.Job, habits Habits) []*broker.Evaluation {
	if !kinds[job.Type].placesByCount || job.Stop {
		return nil
	}
	of := &broker.Evaluation{Namespace: job.Namespace, JobID: job.ID, Type: job.Type, Priority: job.Priority}
	g := &genericRun{attempt: &attempt{eval: of, snap: snap, job: job, habits: habits}, batch: job.Type == rpc.JobTypeBatch}
	var found []*broker.Evaluation
	waits := func(id, trigger string, at time.Time) {
		i := slices.IndexFunc(found, func(e *broker.Evaluation) bool { return e.ID == id })
		if i < 0 {
			e := of.Copy()
			e.ID, e.TriggeredBy, e.WaitUntil, e.Status = id, trigger, at, broker.StatusPending
			found = append(found, e)
		} else if at.Before(found[i].WaitUntil) {
			found[i].WaitUntil = at
		}
	}
	for _, alloc := range snap.AllocsByJob(of.Job()) {
		trigger, at := g.waitsFor(alloc)
		if trigger == broker.TriggeredByMaxDisconnectExpiry && habits.UnknownWaits && !g.isReplaced(alloc) {
			waits(alloc.ID, trigger, at)
			trigger = habits.rescheduling()
			at, _ = g.delayed(alloc, time.Unix(0, alloc.DisconnectedAt()))
		}
		if trigger != "" {
			waits(alloc.FollowupEvalID, trigger, at)
		}
	}
	return found
}

// rescheduling returns what triggers the evaluation that a replacement waits for.
func (h Habits) rescheduling() string {
	if h.NamesReschedules {
		return broker.TriggeredByAllocReschedule
	}
	return broker.TriggeredByRetryFailedAlloc
}

// waitsFor returns what an allocation waits for and until when; empty if it does not wait.
func (g *genericRun) waitsFor(alloc *rpc.Allocation) (trigger string, until time.Time) {
	tg := g.job.TaskGroup(alloc.TaskGroup)
	if alloc.FollowupEvalID == "" || alloc.ServerTerminal() || tg == nil {
		return "", until
	}
	if alloc.ClientStatus == rpc.AllocClientUnknown {
		return broker.TriggeredByMaxDisconnectExpiry, time.Unix(0, alloc.DisconnectedAt()).Add(tg.MaxClientDisconnect)
	}
	if counts, mayReplace := g.counts(alloc); !counts || !mayReplace {
		return "", until
	}
	if at, ok := g.rescheduleTime(alloc); ok {
		return g.habits.rescheduling(), at
	}
	return "", until
}
