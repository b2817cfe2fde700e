package scheduler

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/uuid"
)

// Descriptions of why an allocation is stopped or changed (generic_sched.go).
const (
	allocNotNeeded   = "alloc not needed due to job update"
	allocReconnected = "alloc not needed due to disconnected client reconnect"
	AllocMigrating   = "alloc is being migrated"
	AllocUpdating    = "alloc is being updated due to job update"
	allocLost        = "alloc is lost since its node is down"
	allocUnknown     = "alloc is unknown since its node is disconnected"
	allocNodeTainted = "alloc not needed as node is tainted"
	allocRescheduled = "alloc was rescheduled because it failed"
)

// attempt is the work of one Plan call.
type attempt struct {
	eval  *broker.Evaluation
	cache *Cache
	rand  *rand.Rand
	snap  *state.Snapshot
	now   time.Time
	job   *rpc.Job // nil when purged
	plan  *Plan
	work  Work

	queued map[string]int
	failed map[string]int
	// classes has the node classes that were considered. All are feasible, since jobs have no
	// constraints (ClassEligibility).
	classes      map[string]bool
	followups    []*broker.Evaluation
	blockedNodes []string // system jobs: the first node without room for each task group
	limitReached bool

	known   *entry            // the cache's; nil if it has none that holds
	changed []*rpc.Allocation // since known, of a job that places by count: see unchanged
	open    []string          // see entry
	waits   bool              // see entry

	deploymentID string // of new allocations; empty if no deployment runs
	deploys      bool   // it is of a system job whose changes are deployments
	habits       Habits

	usage map[string]rpc.Resources // by node: how the plan changes what is in use
}

func newAttempt(s *Scheduler, snap *state.Snapshot, now time.Time) *attempt {
	a := &attempt{eval: s.eval, cache: s.cache, rand: s.rand, snap: snap, now: now}
	a.job = snap.JobByID(s.eval.Namespace, s.eval.JobID)
	a.known = s.cache.lookup(a)
	a.plan = &Plan{
		EvalID: s.eval.ID, Priority: s.eval.Priority, SnapshotIndex: snap.Index(),
		NodeUpdate: map[string][]*rpc.Allocation{}, NodeAllocation: map[string][]*rpc.Allocation{},
	}
	allocs := snap.JobAllocs(s.eval.Job())
	a.work.LiveAllocs, a.work.TerminalAllocs = allocs.Live, allocs.Terminal
	if !s.kind.placesByCount && !a.stopped() {
		a.chargeNodes()
	}
	a.queued = map[string]int{}
	if !a.stopped() {
		for i := range a.job.TaskGroups {
			a.queued[a.job.TaskGroups[i].Name] = 0
		}
	}
	return a
}

// chargeNodes counts a look at all nodes as work (util.go, readyNodesInDCs).
func (a *attempt) chargeNodes() {
	a.work.Nodes = a.snap.NodeCount()
	a.work.ReadyNodes = a.snap.NodesIn(a.job.Datacenters).Ready
}

func (a *attempt) stopped() bool { return a.job == nil || a.job.Stop }

// stop plans to stop an allocation, which frees what it uses.
func (a *attempt) stop(alloc *rpc.Allocation, description, clientStatus string) {
	a.plan.stop(alloc, description, clientStatus)
	a.work.Stops++
	a.use(alloc, -1)
}

// unstop takes back the last stop.
func (a *attempt) unstop(alloc *rpc.Allocation) {
	a.plan.unstop(alloc)
	a.work.Stops--
	a.use(alloc, 1)
}

// keep undoes the stop of an allocation that could not be replaced, and has the plan write it once more: Nomad notes in it
// that there was no room (generic_sched.go, markFailedToReschedule).
func (a *attempt) keep(alloc *rpc.Allocation) {
	if stops := a.plan.NodeUpdate[alloc.NodeID]; len(stops) > 0 && stops[len(stops)-1].ID == alloc.ID {
		a.unstop(alloc)
	}
	if !slices.ContainsFunc(a.plan.NodeAllocation[alloc.NodeID], func(x *rpc.Allocation) bool { return x.ID == alloc.ID }) {
		a.plan.place(alloc.Copy())
	}
}

// use adds what a stored allocation uses or, if sign is -1, subtracts it.
func (a *attempt) use(alloc *rpc.Allocation, sign int) {
	if alloc.Terminal() {
		return
	}
	a.addUse(alloc.NodeID, alloc.Resources, sign)
}

func (a *attempt) addUse(nodeID string, r rpc.Resources, sign int) {
	if a.usage == nil {
		a.usage = map[string]rpc.Resources{}
	}
	if sign < 0 {
		a.usage[nodeID] = a.usage[nodeID].Sub(r)
	} else {
		a.usage[nodeID] = a.usage[nodeID].Add(r)
	}
}

// used returns what the node's allocations use once the plan so far is committed.
func (a *attempt) used(on *state.NodeAllocs) rpc.Resources {
	return on.Used.Add(a.usage[on.NodeID])
}

// place plans a new allocation on a node, in place of previous unless that is nil, and returns it.
func (a *attempt) place(tg *rpc.TaskGroup, name, nodeID string, previous *rpc.Allocation) *rpc.Allocation {
	alloc := &rpc.Allocation{
		ID: uuid.Random(a.rand), Namespace: a.job.Namespace, EvalID: a.eval.ID, Name: name, NodeID: nodeID,
		JobID: a.job.ID, JobVersion: a.job.Version, JobType: a.job.Type, TaskGroup: tg.Name, Resources: tg.Resources,
		DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientPending, DeploymentID: a.deploymentID,
	}
	if previous != nil {
		alloc.PreviousAllocation = previous.ID
	}
	a.plan.place(alloc)
	a.addUse(nodeID, alloc.Resources, 1)
	return alloc
}

// fail counts a placement without room.
func (a *attempt) fail(group string) {
	if a.failed == nil {
		a.failed = map[string]int{}
	}
	a.failed[group]++
}

// rank counts a node that is considered for a placement, and returns what is on it.
func (a *attempt) rank(n *rpc.Node) *state.NodeAllocs {
	on := a.snap.NodeAllocs(n.ID)
	a.work.Scored++
	a.work.Proposed += len(on.Live) + len(a.plan.NodeAllocation[n.ID])
	if a.classes == nil {
		a.classes = map[string]bool{}
	}
	a.classes[n.NodeClass] = true
	return on
}

// updateInPlace plans to move an allocation to the job's version without replacing it, and
// returns it as planned. It returns nil if what the allocation runs has changed or its node
// has no room (util.go, inplaceUpdate and genericAllocUpdateFn).
func (a *attempt) updateInPlace(alloc *rpc.Allocation, tg *rpc.TaskGroup, node *rpc.Node) *rpc.Allocation {
	if a.destructive(alloc, tg) || !a.job.RunsIn(node.Datacenter) {
		return nil
	}
	if used := a.used(a.snap.NodeAllocs(node.ID)); !node.Resources.Fits(used) {
		return nil
	}
	updated := alloc.Copy()
	updated.EvalID = a.eval.ID
	updated.JobVersion = a.job.Version
	a.plan.place(updated)
	return updated
}

// destructive reports whether an allocation must be replaced to become what the group asks
// for (util.go, tasksUpdated): if its resources differ, which is all there is of a task
// here, or if it is of an earlier job with the same name.
func (a *attempt) destructive(alloc *rpc.Allocation, tg *rpc.TaskGroup) bool {
	return alloc.Resources != tg.Resources || alloc.CreateIndex < a.job.CreateIndex
}

// current reports whether an allocation is of the job's version, and not of an earlier job
// with the same name.
func (a *attempt) current(alloc *rpc.Allocation) bool {
	return alloc.JobVersion == a.job.Version && alloc.CreateIndex >= a.job.CreateIndex
}

// placed subtracts committed placements from the queued ones (util.go,
// adjustQueuedAllocations).
func (a *attempt) placed(r *PlanResult) {
	for _, allocs := range r.NodeAllocation {
		for _, alloc := range allocs {
			if _, ok := a.queued[alloc.TaskGroup]; ok && a.snap.AllocByID(alloc.ID) == nil {
				a.queued[alloc.TaskGroup]--
			}
		}
	}
}

// blockedEval returns the evaluation that waits for room (structs.go, CreateBlockedEval).
// Those of system jobs wait for room on one node; for others nodeID is empty.
func (a *attempt) blockedEval(trigger, description, nodeID string) *broker.Evaluation {
	e := a.newEval(trigger, broker.StatusBlocked)
	e.StatusDescription = description
	e.NodeID = nodeID
	e.JobModifyIndex = a.eval.JobModifyIndex
	e.FailedTGAllocs, e.ClassEligibility = a.failed, a.classes
	return e
}

// rollingEval returns the evaluation that continues a rolling update (structs.go,
// NextRollingEval).
func (a *attempt) rollingEval() *broker.Evaluation {
	e := a.newEval(broker.TriggeredByRollingUpdate, broker.StatusPending)
	e.JobModifyIndex = a.eval.JobModifyIndex
	e.Wait = rpc.UpdateStagger
	return e
}

func (a *attempt) newEval(trigger, status string) *broker.Evaluation {
	return &broker.Evaluation{
		ID: uuid.Random(a.rand), Namespace: a.eval.Namespace, JobID: a.eval.JobID, Type: a.eval.Type, Priority: a.eval.Priority,
		TriggeredBy: trigger, Status: status, PreviousEval: a.eval.ID, SnapshotIndex: a.snap.Index(),
		CreateTime: a.now.UnixNano(), ModifyTime: a.now.UnixNano(),
	}
}
