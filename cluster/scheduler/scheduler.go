package scheduler

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Descriptions of evaluations (generic_sched.go).
const (
	descMaxPlans         = "created due to placement conflicts"
	descFailedPlacements = "created to place remaining allocations"
	descReschedule       = "created for delayed rescheduling"
	descDisconnect       = "created for delayed disconnect timeout"
)

// Habits are what schedulers of some releases do. The zero value has those of
// Nomad 1.4.2.
type Habits struct {
	// SystemDeployments makes changes of system jobs deployments, which go on as allocations become healthy.
	SystemDeployments bool
	// PendingCounts makes those allocations of a system job's deployment that are not healthy yet count
	// towards the number that it may replace at a time.
	PendingCounts bool
	// StopsOutdated stops allocations of earlier versions of a system or sysbatch job on nodes that are ineligible or
	// initializing, and do not drain.
	StopsOutdated bool
	// SystemsSurvive makes what runs of a system or sysbatch job on a disconnected node unknown, whether or not its group survives that.
	SystemsSurvive bool
	// NamesOnce gives a replacement a free name if another allocation of its group has the name of
	// the one that it replaces.
	NamesOnce bool
	// BlocksBesideDelayed makes an evaluation that finds no room a blocked one, though it makes
	// delayed ones, too.
	BlocksBesideDelayed bool
	// UnknownCounts makes an allocation that is out of reach count as one of its group.
	UnknownCounts bool
	// UnknownWaits delays the replacement of an allocation that is out of reach, as if it had failed.
	UnknownWaits bool
	// DrainEndsBatch leaves allocations of batch jobs that a drain ends without a replacement.
	DrainEndsBatch bool
	// CountsDrained makes an allocation that a drain ends count as one of its group even before its client has ended it.
	CountsDrained bool
	// NamesReschedules gives an evaluation for a delayed replacement a trigger of its own.
	NamesReschedules bool
	// ChoosesBack decides between each allocation that is back and what replaced it, and stops one of them, before
	// anything else is decided. Otherwise this is done only if the group has more allocations than its count.
	ChoosesBack bool
	// FollowsReplacements finds what replaced an allocation by PreviousAllocation: its replacement, the replacement of
	// that, and so on. Otherwise every newer allocation with the same name counts as having replaced it.
	FollowsReplacements bool
	// BackBeforeReports judges an allocation that was out of reach by its node, before its client has reported it:
	// it is back once the node is, and lost once the node is down.
	BackBeforeReports bool
	// KeepsUnplaced makes an allocation whose replacement finds no room stay as it is, noted in
	// the plan.
	KeepsUnplaced bool
	// ForgetsStopped makes an allocation of a batch job that servers told to stop not count as one of its group, even if it is complete.
	ForgetsStopped bool
	// StopsEnded lets an allocation that failed, and waits for its replacement, be one of those that are stopped when
	// its group has too many.
	StopsEnded bool
	// StopsOneGroup makes an evaluation of a stopped service or batch job stop one of its groups, by chance.
	StopsOneGroup bool
}

// Scheduler works on one evaluation, from its delivery to its outcome:
//
//	for {
//		attempt := s.Plan(snapshot, now)
//		// write attempt.Evals, each an entry of its own
//		if attempt.Plan == nil || !s.Committed(submit(attempt.Plan)) {
//			break
//		}
//		// take a snapshot that includes the result's RefreshIndex
//	}
//	outcome := s.Outcome(now)
//
// A Scheduler is for one goroutine. It can be dropped at any point: a worker does so when
// it cannot submit a plan and nacks the evaluation.
type Scheduler struct {
	// Habits are set before Plan is called.
	Habits

	eval  *broker.Evaluation
	cache *Cache
	rand  *rand.Rand
	kind  kind

	attempts int
	last     *attempt
	blocked  *broker.Evaluation
	next     *broker.Evaluation
	gaveUp   bool
	refused  string // why the evaluation cannot be processed; empty if it can
}

// kind is what differs among the types of job.
type kind struct {
	maxAttempts   int // in a row that may get nothing committed before the scheduler gives up
	triggers      map[string]bool
	reconcile     func(*attempt)
	placesByCount bool // service and batch jobs do; the others place on every node
}

var kinds = map[string]kind{
	rpc.JobTypeService:  {5, genericTriggers, reconcileGeneric, true},
	rpc.JobTypeBatch:    {2, genericTriggers, reconcileGeneric, true},
	rpc.JobTypeSystem:   {5, systemTriggers, reconcileSystem, false},
	rpc.JobTypeSysBatch: {2, sysBatchTriggers, reconcileSystem, false},
}

// What a scheduler of each kind is called for (generic_sched.go and scheduler_system.go,
// Process).
var (
	everyTrigger = []string{
		broker.TriggeredByJobRegister, broker.TriggeredByJobDeregister, broker.TriggeredByNodeDrain, broker.TriggeredByNodeUpdate,
		broker.TriggeredByRollingUpdate, broker.TriggeredByQueuedAllocs, broker.TriggeredByDeploymentWatcher,
		broker.TriggeredByFailedFollowUp, broker.TriggeredByPreemption, broker.TriggeredByJobScaling, broker.TriggeredByReconnect,
	}
	systemTriggers   = set(everyTrigger...)
	sysBatchTriggers = set(append(everyTrigger, broker.TriggeredByPeriodicJob)...)
	genericTriggers  = set(append(everyTrigger, broker.TriggeredByPeriodicJob, broker.TriggeredByMaxPlans,
		broker.TriggeredByRetryFailedAlloc, broker.TriggeredByAllocReschedule, broker.TriggeredByMaxDisconnectExpiry)...)
)

func set[T comparable](members ...T) map[T]bool {
	m := make(map[T]bool, len(members))
	for _, s := range members {
		m[s] = true
	}
	return m
}

// New returns a scheduler for an evaluation. The cache is the server's, or nil for a
// scheduler that looks at everything; the random source is the worker's. The error is for
// an evaluation of another type, such as _core, which the worker itself processes.
func New(e *broker.Evaluation, cache *Cache, r *rand.Rand) (*Scheduler, error) {
	k, ok := kinds[e.Type]
	if !ok {
		return nil, fmt.Errorf("evaluation %s has type %q, for which there is no scheduler: want service, batch, system or sysbatch", e.ID, e.Type)
	}
	s := &Scheduler{eval: e, cache: cache, rand: r, kind: k}
	if !k.triggers[e.TriggeredBy] {
		s.refused = fmt.Sprintf("scheduler cannot handle '%s' evaluation reason", e.TriggeredBy)
	}
	return s, nil
}

// Work is what one attempt costs: what Nomad's scheduler would have looked at, which is more
// than this one did, and what it decided.
type Work struct {
	Nodes          int // all nodes, which it filters
	ReadyNodes     int // ready nodes in the job's datacenters
	LiveAllocs     int // the job's
	TerminalAllocs int // the job's
	Scored         int // nodes ranked for placements
	Proposed       int // allocations on those nodes, running and planned (context.go, ProposedAllocs)
	Placements     int // that were needed, with room or without
	Stops          int // allocations to stop
}

// Attempt is what one call of Plan decided.
type Attempt struct {
	// Plan is the plan to submit; nil if nothing is left to do.
	Plan *Plan
	// Evals are new evaluations, blocked or delayed ones, to write before the plan is
	// submitted, each in a log entry of its own.
	Evals []*broker.Evaluation
	Work  Work
}

// Plan makes the next attempt. The snapshot must include the evaluation's wait index or,
// after a plan was refused, the result's RefreshIndex. Now matters only to allocations
// that wait for a time.
func (s *Scheduler) Plan(snap *state.Snapshot, now time.Time) Attempt {
	if s.refused != "" {
		return Attempt{}
	}
	a := newAttempt(s, snap, now)
	s.last = a
	a.deploys = s.SystemDeployments && s.eval.Type == rpc.JobTypeSystem
	a.habits = s.Habits
	if a.unchanged(s.kind.placesByCount) && !a.carriesDeployment() {
		a.settle(0)
		return Attempt{Work: a.work}
	}
	s.kind.reconcile(a)
	out := Attempt{Work: a.work, Evals: s.follow(a)}
	if a.plan.IsNoOp() {
		a.settle(0)
		return out
	}
	out.Plan = a.plan
	return out
}

// follow returns the evaluations to write before the attempt's plan.
func (s *Scheduler) follow(a *attempt) []*broker.Evaluation {
	var evals []*broker.Evaluation
	if s.kind.placesByCount {
		delayed := len(a.followups) > 0 && s.eval.WaitUntil.IsZero() // else none is made (docs/findings/lost-followup.md)
		if len(a.failed) > 0 && s.blocked == nil && s.eval.Status != broker.StatusBlocked && (!delayed || s.BlocksBesideDelayed) {
			s.blocked = a.blockedEval(broker.TriggeredByQueuedAllocs, descFailedPlacements, "")
			evals = append(evals, s.blocked)
		}
		if delayed {
			evals = append(evals, a.followups...)
		}
		return evals
	}
	for _, node := range a.blockedNodes {
		evals = append(evals, a.blockedEval(broker.TriggeredByQueuedAllocs, descFailedPlacements, node))
	}
	if a.limitReached && s.next == nil && !a.plan.IsNoOp() {
		s.next = a.rollingEval()
		evals = append(evals, s.next)
	}
	return evals
}

// Committed takes the result of the attempt's plan and reports whether to make another
// attempt, on a snapshot that includes the result's RefreshIndex.
func (s *Scheduler) Committed(r *PlanResult) (again bool) {
	a := s.last
	a.placed(r)
	if r.fullCommit(a.plan) && r.RefreshIndex == 0 {
		// If nothing was written, the plan was for what others had done or deleted since. On the
		// snapshot that it was made for, the job is not as wanted.
		if r.AllocIndex > 0 {
			a.settle(r.AllocIndex)
		}
		return false
	}
	s.attempts++
	if r.progress() {
		s.attempts = 0
	}
	s.gaveUp = s.attempts >= s.kind.maxAttempts
	return !s.gaveUp
}

// Outcome is how an evaluation ends.
type Outcome struct {
	// Evals are evaluations to write in order, each in a log entry of its own. The last is
	// the evaluation itself, in its final status.
	Evals []*broker.Evaluation
	// Reblock, if it is not nil, replaces Evals: the evaluation found no room again and is
	// still blocked, without a log entry (Eval.Reblock).
	Reblock *broker.Evaluation
}

// Outcome ends the work. It may be called when Plan returned no plan or Committed reported
// false.
func (s *Scheduler) Outcome(now time.Time) Outcome {
	if s.refused != "" {
		return Outcome{Evals: []*broker.Evaluation{s.final(broker.StatusFailed, s.refused, now)}}
	}
	var out Outcome
	switch {
	case s.gaveUp:
		if s.kind.placesByCount {
			s.blocked = s.last.blockedEval(broker.TriggeredByMaxPlans, descMaxPlans, "")
			out.Evals = append(out.Evals, s.blocked)
		}
		desc := fmt.Sprintf("maximum attempts reached (%d)", s.kind.maxAttempts)
		out.Evals = append(out.Evals, s.final(broker.StatusFailed, desc, now))
	case s.kind.placesByCount && s.eval.Status == broker.StatusBlocked && len(s.last.failed) > 0:
		e := s.eval.Copy()
		e.ClassEligibility = s.last.classes
		e.SnapshotIndex = s.last.snap.Index()
		e.ModifyTime = now.UnixNano()
		out.Reblock = e
	default:
		out.Evals = append(out.Evals, s.final(broker.StatusComplete, "", now))
	}
	return out
}

// final returns the evaluation as it ends (util.go, setStatus).
func (s *Scheduler) final(status, description string, now time.Time) *broker.Evaluation {
	e := s.eval.Copy()
	e.Status, e.StatusDescription = status, description
	if s.last != nil {
		e.SnapshotIndex = s.last.snap.Index()
		e.FailedTGAllocs, e.QueuedAllocations = s.last.failed, s.last.queued
	}
	if s.next != nil {
		e.NextEval = s.next.ID
	}
	if s.blocked != nil {
		e.BlockedEval = s.blocked.ID
	}
	e.ModifyTime = now.UnixNano()
	return e
}
