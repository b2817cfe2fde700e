package config

import (
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/scheduler"
)

// Profiles are the releases that have names.
var Profiles = []Profile{
	{"legacy", oldest, "before evaluations are shed"},
	{"shedding", Version{1, 4, 3}, "the first that sheds evaluations"},
	{"current", newest, "the newest"},
}

// Profile is a release that has a name. What it turns on is what ChangesUntil lists.
type Profile struct {
	Name    string
	Version Version
	Is      string
}

// Habits are what servers and clients of a release do that others do not. The broker's policy
// is apart from them. The zero value has those of Nomad 1.4.2.
type Habits struct {
	// CountsEvals makes servers tell how many evaluations there are of a status.
	CountsEvals bool
	// AllocUpdates says of which nodes servers take reports.
	AllocUpdates AllocUpdates
	// Doubling makes the waits for an index of the log, and those of workers after an error,
	// double. Otherwise each is four times as long as the one before.
	Doubling bool
	// CatchUp makes a worker that gave up waiting for an index wait on before it takes
	// another evaluation.
	CatchUp bool
	// TypicalReports is how often clients report what is not urgent; zero means at every tick.
	TypicalReports time.Duration
	// SysBatchLeftAlone, TerminalLeftAlone and StoppedLeftAlone make servers create no
	// evaluations, when a node changes, of sysbatch jobs, for allocations that have ended, and
	// of system jobs that were stopped. The entry is written even if none is left.
	SysBatchLeftAlone, TerminalLeftAlone, StoppedLeftAlone bool
	// FirstAllocDecides makes servers create no evaluation of a job if they would not for the first of its
	// allocations on the node, live ones before others. Of system jobs they never would.
	FirstAllocDecides bool
	// Scheduler has those of schedulers.
	Scheduler scheduler.Habits
	// SignsByRSA makes the plan applier sign the identities of allocations by RSA.
	SignsByRSA bool
	// ClientIdentities makes servers verify who a client is by the signature of its identity.
	ClientIdentities bool
	// ReturnEndsWaits makes a client's report of an allocation that was unknown end what waits for it.
	ReturnEndsWaits bool
	// KeepsReports makes plans leave alone what clients have reported of deployments since they were made.
	KeepsReports bool
	// SkipsStopped makes plans place nothing of jobs that were stopped since they were made.
	SkipsStopped bool
	// WritesEvents makes servers write that a node's client was not heard from though the node is
	// disconnected already.
	WritesEvents bool
	// UnknownJobsLeftAlone makes servers write nothing when a job is to be stopped that is not there.
	UnknownJobsLeftAlone bool
	// MissedMayNotOverlap makes a new leader not launch what was missed of a periodic job that must not
	// overlap with itself, and does run.
	MissedMayNotOverlap bool
	// DrainsAwaitClients makes drains go on until clients have stopped what is to leave their nodes.
	DrainsAwaitClients bool
	// LeavingIsUnhealthy makes drains count what they asked to leave as not healthy.
	LeavingIsUnhealthy bool
	// PurgedNotRetried makes evaluations that were delivered too often have no follow-up if their job is purged.
	PurgedNotRetried bool
	// DrainEndWakes makes the end of a drain that makes its node eligible wake the evaluations
	// that wait for room.
	DrainEndWakes bool
	// PurgesMakeNoEvals makes garbage collection forget jobs without an evaluation of each.
	PurgesMakeNoEvals bool
	// CollectsBatch gives evaluations of batch jobs an age of their own at which they are collected, with what they placed before
	// their job was changed, though it goes on.
	CollectsBatch bool
	// ForceKeepsAges makes a forced garbage collection go by ages, too.
	ForceKeepsAges bool
	// JobsPerPurge is how many jobs garbage collection forgets in an entry; zero means 7,281.
	JobsPerPurge int
	// ExactAges makes garbage collection go by the times at which entries were written.
	ExactAges bool
	// KeptSnapshot makes the plan applier keep its snapshot, with what it expects of plans
	// that are being committed, until none is.
	KeptSnapshot bool
	// NacksUnseen makes a plan fail, though it is on its way to the log, whose evaluation is
	// newer than the kept snapshot.
	NacksUnseen bool
	// TableIndexFirst makes the first look of GetClientAllocs answer with the index of the
	// table of allocations.
	TableIndexFirst bool
	// MaxRPCsInFlight is how many requests to a follower Raft has under way; zero means 130.
	MaxRPCsInFlight int
	// PreVotes makes a server ask the others whether they would elect it before it raises its term.
	PreVotes bool
	// WatchesRecover makes clients' queries block for five minutes again after one that was made again, for less.
	WatchesRecover bool
	// StaleIgnored makes clients ignore what a server that is behind says of their allocations.
	StaleIgnored bool
}

// AwaitsReports reports whether a node that was disconnected is ready only once its client has
// reported the allocations that it still has.
func (h Habits) AwaitsReports() bool { return h.AllocUpdates == UpdatesBeforeReady }

// AllocUpdates says of which nodes servers take reports of allocations.
type AllocUpdates uint8

const (
	UpdatesOfAll   AllocUpdates = iota
	UpdatesOfReady              // of nodes that are ready
	// UpdatesBeforeReady takes those of nodes that are not down or disconnected. One that
	// comes back with live allocations is not ready before it has reported them.
	UpdatesBeforeReady
)

// Change is a difference between releases that the simulation has the mechanism for.
type Change struct {
	// Since has the first release, and before it those of older lines that got it, too.
	Since  []Version
	Pull   int    // the pull request
	Where  string // its place in Nomad's source
	What   string
	Counts string // what it does to counts
	apply  func(*Habits)
}

// In reports whether a release has the change.
func (c Change) In(v Version) bool {
	for i, since := range c.Since {
		newest := i == len(c.Since)-1
		if v.Compare(since) >= 0 && (newest || v[0] == since[0] && v[1] == since[1]) {
			return true
		}
	}
	return false
}

// changes lists every difference, the oldest first. A later one may replace what an earlier
// one does.
var changes = []Change{
	{
		[]Version{{1, 4, 3}}, 14621, "nomad/eval_broker.go", "an ack sheds the job's pending evaluations but the best (the broker's policy)",
		"evaluations are canceled in batches, not processed", nil,
	},
	{
		[]Version{{1, 4, 3}}, 15147, "nomad/eval_endpoint.go, Count", "servers count the evaluations that match a filter",
		"none; who watches servers asks for it, which takes the leader's time", func(h *Habits) { h.CountsEvals = true },
	},
	{
		[]Version{{1, 4, 3}}, 15068, "nomad/node_endpoint.go, UpdateAlloc", "allocation updates of nodes that are not ready are refused",
		"fewer AllocClientUpdate while nodes come back", func(h *Habits) { h.AllocUpdates = UpdatesOfReady },
	},
	{
		[]Version{{1, 4, 5}, {1, 5, 0}}, 15808, "nomad/node_endpoint.go, UpdateStatus", "updates are refused of nodes that are down or disconnected only; a disconnected node is initializing until it has updated its live allocations; registering changes no status",
		"one more NodeUpdateStatus and EvalUpdate of each node that was disconnected", func(h *Habits) { h.AllocUpdates = UpdatesBeforeReady },
	},
	{
		[]Version{{1, 4, 5}, {1, 5, 0}}, 15097, "nomad/core_sched.go, evalGC", "evaluations of batch jobs are collected after 24 h, not 1 h, and also those of jobs that go on which have nothing left of the job as it is",
		"none; a batch job that is not stopped no longer has more and more evaluations", func(h *Habits) { h.CollectsBatch = true },
	},
	{
		[]Version{{1, 5, 0}}, 15523, "nomad/worker.go, run", "a worker whose server is 5 s behind gives its evaluation back and waits up to 50 s before it takes another",
		"fewer nacks while a follower lags", func(h *Habits) { h.CatchUp = true },
	},
	{
		[]Version{{1, 4, 6}, {1, 5, 1}}, 16287, "nomad/job_endpoint.go, Deregister", "a job that is not there is not stopped: nothing is written",
		"one JobDeregister less, and no evaluation", func(h *Habits) { h.UnknownJobsLeftAlone = true },
	},
	{
		[]Version{{1, 4, 9}, {1, 5, 4}, {1, 6, 0}}, 16609, "scheduler/reconcile.go, reconcileReconnecting", "an allocation that is back stops what replaced it, or is stopped, however many the job wants; before, those above its count",
		"none, unless the job wants another number meanwhile", func(h *Habits) { h.Scheduler.ChoosesBack = true },
	},
	{
		[]Version{{1, 4, 9}, {1, 5, 4}, {1, 6, 0}}, 16583, "nomad/leader.go, restorePeriodicDispatcher", "a new leader does not launch what was missed of a periodic job that must not overlap with itself while a launch of it runs",
		"one JobRegister less, with what it runs, of such a job that was due while nobody led", func(h *Habits) { h.MissedMayNotOverlap = true },
	},
	{
		[]Version{{1, 4, 9}, {1, 5, 4}, {1, 6, 0}}, 14348, "nomad/drainer/draining_node.go, IsDone", "a drain ends once clients have stopped what was to leave their nodes; before, once a plan has stopped it",
		"none; BatchNodeUpdateDrain comes later, and at the deadline if clients do not report", func(h *Habits) { h.DrainsAwaitClients = true },
	},
	{
		[]Version{{1, 6, 0}}, 17354, "client/client.go, allocSync", "clients report at most once a second what is not urgent: 200 ms before",
		"fewer AllocClientUpdate", func(h *Habits) { h.TypicalReports = time.Second },
	},
	{
		[]Version{{1, 6, 0}}, 17421, "hashicorp/raft 1.5.0, net_transport.go, newNetPipeline", "Raft has two requests to a follower under way, not 130",
		"none; followers of a busy leader write more entries at a time", func(h *Habits) { h.MaxRPCsInFlight = 2 },
	},
	{
		[]Version{{1, 4, 13}, {1, 5, 9}, {1, 6, 2}}, 18200, "helper/backoff.go; nomad/state/state_store.go, SnapshotMinIndex", "waits for an index are 20, 20, 40, 80, … ms, not 20, 320, 1000 ms; those of workers after errors double, too",
		"evaluations of a job wait less for a server that is behind", func(h *Habits) { h.Doubling = true },
	},
	{
		[]Version{{1, 4, 13}, {1, 5, 9}, {1, 6, 2}}, 18269, "client/client.go, watchAllocations", "a client ignores an answer that tells nothing newer than it knows; before, it forgot allocations that a server which is behind did not list",
		"none, unless such a server answers: then an AllocClientUpdate less", func(h *Habits) { h.StaleIgnored = true },
	},
	{
		[]Version{{1, 4, 14}, {1, 5, 10}, {1, 6, 3}}, 18873, "scheduler/generic_sched.go, computePlacements", "the replacement of an allocation takes a free name if another has its name, too",
		"none; two allocations of a group do not keep one name", func(h *Habits) { h.Scheduler.NamesOnce = true },
	},
	{
		[]Version{{1, 4, 14}, {1, 5, 10}, {1, 6, 3}}, 18701, "scheduler/reconcile_util.go, updateByReschedulable", "an allocation that is out of reach is replaced when one that failed would be, and counts as one of its group until then and beside its replacement",
		"an evaluation more for each that waits, for 30 s by default; none if its client is back before", func(h *Habits) { h.Scheduler.UnknownCounts, h.Scheduler.UnknownWaits = true, true },
	},
	{
		[]Version{{1, 7, 0}}, 18882, "nomad/encrypter.go, SignClaims", "the plan applier signs the identities of allocations by RSA, not by Ed25519",
		"none; a placement takes a millisecond more, one after the other", func(h *Habits) { h.SignsByRSA = true },
	},
	{
		[]Version{{1, 8, 0}}, 19886, "nomad/structs/structs.go, RescheduleTimeOnDisconnect", "an allocation that is out of reach is replaced at once again, if its disconnect block says so, as it does by default",
		"the evaluations that #18701 added are gone", func(h *Habits) { h.Scheduler.UnknownWaits = false },
	},
	{
		[]Version{{1, 8, 0}}, 20510, "nomad/job_endpoint.go, BatchDeregister", "garbage collection forgets jobs without an evaluation of each",
		"an evaluation less, and an EvalUpdate, of each job that is collected", func(h *Habits) { h.PurgesMakeNoEvals = true },
	},
	{
		[]Version{{1, 8, 4}, {1, 9, 0}}, 23858, "nomad/node_endpoint.go, createNodeEvals", "changes of nodes create no evaluations of sysbatch jobs",
		"fewer evaluations; an EvalUpdate without any", func(h *Habits) { h.SysBatchLeftAlone = true },
	},
	{
		[]Version{{1, 9, 0}}, 24029, "hashicorp/raft 1.7.1, raft.go, preElectSelf", "a server asks whether it would be elected before it raises its term, so that one that was cut off does not depose the leader when it is back",
		"an election less, with its entries, after a follower was cut off; none at all of the pending work that a new leader restores", func(h *Habits) { h.PreVotes = true },
	},
	{
		[]Version{{1, 9, 1}}, 24165, "scheduler/reconcile.go, reconcileReconnecting", "what replaced an allocation that is back is known by what it was placed for, not by its name",
		"a stop more if the replacement has another name", func(h *Habits) { h.Scheduler.FollowsReplacements = true },
	},
	{
		[]Version{{1, 9, 2}}, 24112, "nomad/core_sched.go", "garbage collection goes by timestamps, not by a table of times of 5 min, and of a job by that of its last change, not of its first; a forced one goes by ages, too",
		"collected up to 5 min earlier, but a stopped job 4 h after its stop; nothing that is new is collected by force", func(h *Habits) { h.ExactAges, h.ForceKeepsAges = true, true },
	},
	{
		[]Version{{1, 9, 4}}, 24456, "nomad/core_sched.go, forceGC", "a forced garbage collection does not go by ages, as before 1.9.2",
		"all that is over is collected by force", func(h *Habits) { h.ForceKeepsAges = false },
	},
	{
		[]Version{{1, 9, 6}}, 25039, "client/rpc.go, rpc", "a client's query of its allocations that was made again, for what was left of its five minutes, does not shorten those after it; before, until its agent restarts",
		"none; fewer calls and heartbeats once a server was gone", func(h *Habits) { h.WatchesRecover = true },
	},
	{
		[]Version{{1, 10, 2}}, 25923, "nomad/state/state_store.go, cancelFollowupEvalsForReconnect", "the evaluation that waits for an allocation which is out of reach is canceled when its client has reported it",
		"evaluations canceled that were processed to no end, and also those that others wait for which are still away", func(h *Habits) { h.ReturnEndsWaits = true },
	},
	{
		[]Version{{1, 10, 3}}, 26175, "nomad/drainer/watch_jobs.go, handleTaskGroup", "what a drain asked to leave its node does not count as healthy, so that of a group no more leave at a time than may, though several nodes drain",
		"more AllocUpdateDesiredTransition, and plans, of nodes that drain together", func(h *Habits) { h.LeavingIsUnhealthy = true },
	},
	{
		[]Version{{1, 10, 5}}, 26523, "scheduler/generic_sched.go, process", "an evaluation that finds no room for some allocations and has others wait makes a blocked evaluation, too",
		"one EvalUpdate more of each such evaluation; what did not fit is tried again once there is room", func(h *Habits) { h.Scheduler.BlocksBesideDelayed = true },
	},
	{
		[]Version{{1, 11, 0}}, 26165, "nomad/node_endpoint.go, UpdateStatus", "an update of a node's status that has an event is written, though the status stays as it is",
		"one NodeUpdateStatus more whenever a disconnected client was not heard from for as long as its heartbeat is good", func(h *Habits) { h.WritesEvents = true },
	},
	{
		[]Version{{1, 11, 0}}, 26291, "nomad/auth/auth.go, AuthenticateClientOnly", "clients have identities, whose signatures servers verify at each call",
		"none; a client's call takes a tenth of a millisecond more, twice if it is forwarded, and its registration a signature", func(h *Habits) { h.ClientIdentities = true },
	},
	{
		[]Version{{1, 11, 0}}, 26708, "scheduler/scheduler_system.go, computeJobAllocs", "changes of system jobs with an update block are deployments, which every plan of the job has, and rolling updates go on as allocations become healthy, not every 30 s (#27007)",
		"a system evaluation that changes nothing submits a plan: two entries, not one; no evaluations that wait for the stagger", func(h *Habits) { h.Scheduler.SystemDeployments = true },
	},
	{
		[]Version{{1, 11, 0}}, 26953, "scheduler/reconciler/reconcile_node.go, computeForNode", "an allocation of a system or sysbatch job that is not of its version stops on a node that is not ready, unless that drains; before, it runs on",
		"none; a placement, not an update, of each once its node is ready", func(h *Habits) { h.Scheduler.StopsOutdated = true },
	},
	{
		[]Version{{1, 11, 0}}, 26961, "scheduler/reconciler/reconcile_cluster.go, computeMigrations", "an allocation of a batch job that a drain ends at its deadline is not replaced; evaluations that wait to replace what failed are called alloc-reschedule, not alloc-failure",
		"a placement less of each allocation that a drain ends", func(h *Habits) { h.Scheduler.DrainEndsBatch, h.Scheduler.NamesReschedules = true, true },
	},
	{
		[]Version{{1, 11, 0}}, 26974, "nomad/core_sched.go, jobReap", "garbage collection forgets 2,048 jobs in an entry, not 7,281",
		"more JobBatchDeregister if more jobs are collected", func(h *Habits) { h.JobsPerPurge = 2048 },
	},
	{
		[]Version{{1, 11, 0}}, 26042, "scheduler/reconciler/reconcile_cluster.go, handleStop", "an evaluation of a stopped service or batch job stops one of its groups, whichever",
		"none, unless a job has several groups: what is left runs until others look at the job", func(h *Habits) { h.Scheduler.StopsOneGroup = true },
	},
	{
		[]Version{{1, 11, 1}}, 27175, "scheduler/reconciler/reconcile_cluster.go, handleStop", "an evaluation of a stopped job stops all of its groups, as before 1.11.0",
		"all that a stopped job runs is stopped at once", func(h *Habits) { h.Scheduler.StopsOneGroup = false },
	},
	{
		[]Version{{1, 11, 1}}, 27129, "scheduler/generic_sched.go, markFailedToReschedule", "an allocation that failed or is out of reach, and whose replacement finds no room, is not stopped but noted; that was meant since 1.8.1 (#12319), where appliers lost the note",
		"a plan more of each evaluation that finds no room for it; a replacement that fails waits longer for its own", func(h *Habits) { h.Scheduler.KeepsUnplaced = true },
	},
	{
		[]Version{{1, 11, 2}}, 27053, "scheduler/reconciler/filters.go, updateByReschedulable", "an allocation that is out of reach is replaced when one that failed would be; it counts as back once its node is initializing, before its client reports it, and as lost once that is down",
		"an evaluation more for each that waits, for 30 s by default; none if its client is back before; a plan more, that stops what replaced it", func(h *Habits) { h.Scheduler.UnknownWaits, h.Scheduler.BackBeforeReports = true, true },
	},
	{
		[]Version{{1, 11, 2}}, 27053, "scheduler/reconciler/filters.go, filterByTainted", "an allocation of a batch job that servers told to stop does not count as having run, though it was complete in the end",
		"none, unless the job is looked at again after a drain: then a placement of each that it ended, until #28018", func(h *Habits) { h.Scheduler.ForgetsStopped = true },
	},
	{
		[]Version{{1, 11, 2}}, 27265, "scheduler/reconciler/reconcile_node.go, computeForNode", "an allocation of a system or sysbatch job on a disconnected node becomes unknown, though its group does not survive that, and is not lost when the node is down",
		"a plan of each such job when a node disconnects, and one when it is back", func(h *Habits) { h.Scheduler.SystemsSurvive = true },
	},
	{
		[]Version{{1, 11, 2}}, 27284, "scheduler/scheduler_system.go, evictAndPlace", "allocations of a system job's deployment that have yet to be healthy count against max_parallel",
		"rolling updates of system jobs take longer, and as many plans", func(h *Habits) { h.Scheduler.PendingCounts = true },
	},
	{
		[]Version{{1, 11, 2}}, 27367, "nomad/leader.go, createFailedFollowup", "an evaluation that was delivered too often has no follow-up if its job is purged",
		"an evaluation less, and no more every few minutes if it fails again", func(h *Habits) { h.PurgedNotRetried = true },
	},
	{
		[]Version{{1, 11, 2}}, 27419, "nomad/node_endpoint.go, createNodeEvals", "changes of nodes create no evaluations of stopped system jobs",
		"fewer evaluations", func(h *Habits) { h.StoppedLeftAlone = true },
	},
	{
		[]Version{{1, 11, 2}}, 27419, "nomad/state/state_store.go, upsertAllocsImpl", "a plan places nothing of a job that was stopped or purged since it was made",
		"none, but the clients' reports of what would have been placed", func(h *Habits) { h.SkipsStopped = true },
	},
	{
		[]Version{{1, 11, 2}}, 27423, "nomad/node_endpoint.go, createNodeEvals", "changes of nodes create no evaluations for allocations that have ended, nor of system jobs that the node has allocations of",
		"fewer evaluations, none of system jobs; an EvalUpdate without any", func(h *Habits) { h.TerminalLeftAlone, h.FirstAllocDecides = true, true },
	},
	{
		[]Version{{1, 11, 2}}, 27488, "nomad/fsm.go, applyDrainUpdate", "the end of a drain that makes its node eligible wakes the evaluations that wait for room",
		"jobs that wait for room are processed again when a drain is ended", func(h *Habits) { h.DrainEndWakes = true },
	},
	{
		[]Version{{1, 11, 3}}, 27497, "nomad/state/state_store.go, UpsertPlanResults", "a plan of a system job leaves alone how many allocations of its deployment are healthy; before, it forgot those that clients had reported since it was made",
		"deployments of system jobs end once all is healthy; before, some failed at their deadline: a DeploymentStatusUpdate and an evaluation of each", func(h *Habits) { h.KeepsReports = true },
	},
	{
		[]Version{{1, 11, 3}}, 27499, "nomad/node_endpoint.go, createNodeEvals", "changes of nodes create evaluations of all their system jobs again, as before 1.11.2",
		"an evaluation of each system job, as before", func(h *Habits) { h.FirstAllocDecides = false },
	},
	{
		[]Version{{2, 0, 4}}, 27971, "scheduler/reconciler/reconcile_cluster.go, computeStop", "of a group that has too many, one that failed and waits for its replacement is stopped, too, if its name is among the highest; before, another in its stead",
		"a placement less, and what runs goes on", func(h *Habits) { h.Scheduler.StopsEnded = true },
	},
	{
		[]Version{{2, 0, 4}}, 28018, "scheduler/reconciler/filters.go, shouldFilter", "an allocation of a batch job that a drain ends counts as one of its group before its client has ended it, too",
		"none, unless the job is looked at meanwhile, as when the node is made eligible: then a placement less", func(h *Habits) { h.Scheduler.CountsDrained = true },
	},
	{
		[]Version{{2, 0, 5}}, 28249, "nomad/plan_apply.go, planApply", "the plan applier takes a new snapshot only if no plan is being committed",
		"plans may be verified without the latest changes of nodes; a plan whose evaluation is newer than the snapshot is written, and its evaluation nacked (#28444, mended by #28452 after 2.0.5)", func(h *Habits) { h.KeptSnapshot, h.NacksUnseen = true, true },
	},
	{
		[]Version{{2, 0, 5}}, 28399, "nomad/node_endpoint.go, GetClientAllocs", "the first look of a query of a client's allocations answers with the index of their table",
		"a query ends at once if any allocation has changed meanwhile: more calls and heartbeats", func(h *Habits) { h.TableIndexFirst = true },
	},
}

// ChangesUntil returns the changes that a release has.
func ChangesUntil(v Version) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return !c.In(v) })
}

// HabitsOf returns the habits of a release.
func HabitsOf(v Version) Habits {
	var h Habits
	for _, c := range ChangesUntil(v) {
		if c.apply != nil {
			c.apply(&h)
		}
	}
	return h
}

// Backoff returns how long to wait before trying again for the n-th time, counted from 0.
func (h Habits) Backoff(base, limit time.Duration, n int) time.Duration {
	if !h.Doubling {
		n *= 2
	}
	for ; n > 0 && base < limit; n-- {
		base *= 2
	}
	return min(base, limit)
}

// Ladder returns how long a wait for an index of the log waits before it looks for the n-th
// time, counted from 0 (state_store.go, SnapshotMinIndex).
func (h Habits) Ladder(n int) time.Duration {
	const base, limit = 20 * time.Millisecond, time.Second
	switch {
	case n == 0:
		return base
	case h.Doubling:
		return h.Backoff(base, limit, n-1)
	}
	return h.Backoff(base, limit, n+1)
}
