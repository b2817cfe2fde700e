package judge

import (
	"maps"
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/english"
)

// compareAlloc looks at one live allocation.
func (o *oracle) compareAlloc(a *rpc.Allocation, job *rpc.Job) {
	n := o.nodes[a.NodeID]
	if job == nil || job.Stop || job.Periodic != nil {
		if !o.waiting.StopsOneGroup || !byCount(a.JobType) || job != nil && len(job.TaskGroups) < 2 {
			o.differ("%s runs, but its job does not", a.Name)
		}
		return
	}
	tg := job.TaskGroup(a.TaskGroup)
	switch {
	case tg == nil:
		o.differ("%s runs, but its job has no group %s", a.Name, a.TaskGroup)
	case o.unnoticed(a, job, n):
	case o.waiting.SystemsSurvive && !byCount(job.Type) && tg.MaxClientDisconnect == 0 && a.ClientStatus == rpc.AllocClientUnknown:
		// It stays so until its client reports it, whatever becomes of its node (docs/adr/0302).
	case n == nil || n.Status == rpc.NodeStatusDown:
		o.differ("%s runs on node %s, which is gone", a.Name, a.NodeID)
	case n.Status == rpc.NodeStatusDisconnected && !mayStayOutOfReach(a, job, tg):
		o.differ("%s is %s on node %s, which is disconnected", a.Name, a.ClientStatus, a.NodeID)
	case n.Ready() && !job.RunsIn(n.Datacenter):
		o.differ("%s runs on node %s in datacenter %s, where its job does not", a.Name, a.NodeID, n.Datacenter)
	case n.Ready() && a.JobVersion != job.Version && tg.MaxParallel == 0 && a.DisconnectedAt() == 0 &&
		!(o.waits(a.Namespace, a.JobID) && byCount(job.Type)) && !o.rollsOut(job):
		// With MaxParallel, a deployment that waits or failed may leave old versions running, as
		// does a job that waits for room. An old version that reconnects stays unless it is one
		// too many.
		o.differ("%s runs version %d of its job, which is at %d", a.Name, a.JobVersion, job.Version)
	}
}

// rollsOut reports whether a system job has a deployment that goes on or failed, and so may run old versions. In releases
// in which system jobs have deployments, allocations are replaced one at a time even without MaxParallel. A deployment
// of an earlier version that failed or was canceled keeps the job from having another (docs/adr/0302).
func (o *oracle) rollsOut(job *rpc.Job) bool {
	d := o.deploys[broker.JobID{Namespace: job.Namespace, ID: job.ID}]
	if job.Type != rpc.JobTypeSystem || d == nil {
		return false
	}
	stuck := d.JobVersion != job.Version && d.Status == rpc.DeploymentCancelled
	return d.JobVersion == job.Version && d.Active() || d.Status == rpc.DeploymentFailed || stuck
}

// unnoticed reports whether nobody has looked at a job since the node of its allocation went. Either the leader was deposed
// before it created evaluations, or it is a sysbatch or a system job in a release that creates none for it then
// (docs/adr/0601).
func (o *oracle) unnoticed(a *rpc.Allocation, job *rpc.Job, n *rpc.Node) bool {
	switch {
	case n != nil && n.Status != rpc.NodeStatusDown && n.Status != rpc.NodeStatusDisconnected:
		return false
	case o.waiting.Unevaluated[a.NodeID]:
		o.untold = true
		return true
	case o.waiting.SysBatchLeftAlone && job.Type == rpc.JobTypeSysBatch, o.waiting.SystemLeftAlone && job.Type == rpc.JobTypeSystem:
		return n == nil || n.ModifyIndex > o.looked[broker.JobID{Namespace: a.Namespace, ID: a.JobID}]
	}
	return false
}

// unasked reports whether nobody had to look at a job when a node became ready, and nobody has since.
func (o *oracle) unasked(id broker.JobID, job *rpc.Job, n *rpc.Node) bool {
	if n.ModifyIndex <= o.looked[id] {
		return false
	}
	return job.Type == rpc.JobTypeSysBatch || o.waiting.SystemLeftAlone && slices.ContainsFunc(o.snap.NodeAllocs(n.ID).All, func(a *rpc.Allocation) bool {
		return a.Namespace == id.Namespace && a.JobID == id.ID
	})
}

// mayStayOutOfReach reports whether a live allocation can be on a disconnected node once
// everything is processed. Services and batch jobs leave unknown allocations there. System jobs
// leave all, and those that run become unknown if their group allows it (docs/adr/0302).
func mayStayOutOfReach(a *rpc.Allocation, job *rpc.Job, tg *rpc.TaskGroup) bool {
	if job.Type == rpc.JobTypeSystem || job.Type == rpc.JobTypeSysBatch {
		return tg.MaxClientDisconnect == 0 || a.ClientStatus != rpc.AllocClientRunning
	}
	return tg.MaxClientDisconnect > 0 && a.ClientStatus == rpc.AllocClientUnknown
}

// compare looks at what a job lacks or has too much of.
func (o *oracle) compare(id broker.JobID, v *jobView) {
	if v.job == nil || v.job.Stop || v.job.Periodic != nil {
		return // compareAlloc found what runs of it
	}
	for i := range v.job.TaskGroups {
		tg := &v.job.TaskGroups[i]
		g := v.groups[tg.Name]
		if g == nil {
			g = &groupView{}
		}
		switch v.job.Type {
		case rpc.JobTypeSystem, rpc.JobTypeSysBatch:
			o.compareEachNode(id, v.job, tg, g)
		default:
			o.compareCount(id, v.job, tg, g)
		}
	}
}

// compareEachNode expects one allocation on every ready node of the job's datacenters, with two exceptions. A node that
// becomes ready makes no evaluation of a sysbatch job or, in some releases, of a system job that has an allocation there
// already: such a job is expected only on nodes that have not changed since it was evaluated. And nothing is expected on
// nodes for which the leader did not get to create evaluations (docs/adr/0601).
func (o *oracle) compareEachNode(id broker.JobID, job *rpc.Job, tg *rpc.TaskGroup, g *groupView) {
	for _, n := range o.ordered {
		has := g.on[n.ID]
		if has > 1 {
			o.differ("%s runs %s on node %s", id.ID, english.Plural(has, "time"), n.ID)
		}
		if !n.Ready() || !job.RunsIn(n.Datacenter) || g.over[n.ID] || o.unasked(id, job, n) {
			continue
		}
		if has == 0 && o.waiting.Unevaluated[n.ID] {
			o.untold = true
			continue
		}
		o.wanted++
		if has == 0 && !(o.waits(id.Namespace, id.ID) && !o.knowsOfRoom(id, n, tg)) && !o.abandoned(id) {
			o.differ("%s does not run on node %s", id.ID, n.ID)
		}
	}
}

// abandoned reports whether the last evaluation of a system or sysbatch job ended because its plans were refused, which
// creates no other (docs/adr/0601).
func (o *oracle) abandoned(id broker.JobID) bool {
	at, gaveUp := o.gaveUp[id]
	return gaveUp && !slices.ContainsFunc(o.snap.EvalsByJob(id), func(e *broker.Evaluation) bool {
		return e.CreateIndex > at && e.Status != broker.StatusCanceled
	})
}

// compareCount expects as many allocations as the group asks for, on any nodes. There may be fewer
// while the job waits for room and no node has any, or if its deployment failed: then only lost
// allocations are replaced. Allocations of a batch job that finished or failed for good count, and,
// in releases in which drains end them without a replacement, those that a drain ended.
func (o *oracle) compareCount(id broker.JobID, job *rpc.Job, tg *rpc.TaskGroup, g *groupView) {
	o.wanted += tg.Count
	has := g.live - g.unknown + g.missing()
	if job.Type == rpc.JobTypeBatch {
		has += g.ended
	}
	if tg.MaxClientDisconnect == 0 { // else a name can occur again (docs/adr/0302)
		for _, name := range slices.Sorted(maps.Keys(g.names)) {
			if all := g.names[name]; o.severally(all) > 1 {
				o.differ("%s runs %s", name, english.Plural(len(all), "time"))
			}
		}
	}
	allocations := english.Plural(has, "allocation")
	switch {
	case has > tg.Count && !(job.Type == rpc.JobTypeBatch && g.live-g.unknown <= tg.Count):
		// An allocation that has ended cannot be stopped. One that ends after it was stopped counts
		// as having run, but makes no evaluation.
		o.differ("%s runs %s of %s, %d wanted", id.ID, allocations, tg.Name, tg.Count)
	case has+g.unknown < tg.Count && o.deploymentFailed(id, job):
	case has+g.unknown < tg.Count && !o.waits(id.Namespace, id.ID):
		o.differ("%s runs %s of %s, %d wanted, and does not wait for room", id.ID, allocations, tg.Name, tg.Count)
	case has+g.unknown < tg.Count:
		for _, n := range o.ordered {
			if n.Ready() && job.RunsIn(n.Datacenter) && o.knowsOfRoom(id, n, tg) {
				o.differ("%s runs %s of %s, %d wanted, and node %s has room", id.ID, allocations, tg.Name, tg.Count, n.ID)
				return
			}
		}
	}
}

// deploymentFailed reports whether the deployment of the job as it is failed.
func (o *oracle) deploymentFailed(id broker.JobID, job *rpc.Job) bool {
	d := o.deploys[id]
	return d != nil && d.Status == rpc.DeploymentFailed && d.JobVersion == job.Version
}

// severally counts allocations of one name. In releases in which names may repeat, all that replaced the same allocation
// because of an update or a drain count as one. There may be several if the applier took a replacement but refused the
// stop of what it replaces: the scheduler then replaces that again. If this made one too many, the one with the highest
// name was stopped in between (docs/adr/0601).
func (o *oracle) severally(all []*rpc.Allocation) int {
	var several []*rpc.Allocation
	for _, a := range all {
		if o.waiting.NamesOnce || !slices.ContainsFunc(several, func(b *rpc.Allocation) bool { return o.replacedTwice(a, b) }) {
			several = append(several, a)
		}
	}
	return len(several)
}

// replacedTwice reports whether the allocations that two replaced, and those that these replaced, meet in one
// of an earlier version or one that was to leave its node.
func (o *oracle) replacedTwice(a, b *rpc.Allocation) bool {
	before := map[string]bool{}
	for x := a; x != nil; x = o.snap.AllocByID(x.PreviousAllocation) {
		before[x.ID], before[x.PreviousAllocation] = true, true
	}
	for id, x := b.ID, b; id != ""; id, x = x.PreviousAllocation, o.snap.AllocByID(x.PreviousAllocation) {
		if before[id] {
			return x == nil || x.Migrate || x.JobVersion < max(a.JobVersion, b.JobVersion) // nil: it was collected
		}
		if x == nil {
			break
		}
	}
	return false
}

func byCount(jobType string) bool {
	return jobType == rpc.JobTypeService || jobType == rpc.JobTypeBatch
}

// waits reports whether a job waits for room.
func (o *oracle) waits(namespace, id string) bool {
	_, ok := o.blocked[broker.JobID{Namespace: namespace, ID: id}]
	return ok
}

// knowsOfRoom reports whether a node has room that was announced to a job which waits for it. Three kinds of room
// were not. A job that has waited since an earlier leader, or since before a pause of the broker, has not heard of room
// that was free by then. In releases in which the end of a drain wakes nobody, it has not heard of a node that became
// eligible that way after it found no room (docs/adr/0601). And a job whose plans were refused too often does not wait
// for room: the leader tries it again within a minute (nomad/blocked_evals.go, UnblockFailed).
func (o *oracle) knowsOfRoom(id broker.JobID, n *rpc.Node, tg *rpc.TaskGroup) bool {
	if at, ok := o.retried[id]; ok && at == o.blocked[id] {
		return false
	}
	if o.blocked[id] < o.waiting.Since && o.freed[n.ID] < o.waiting.Since || o.planned[id] < o.waiting.Untold[n.ID] {
		return false
	}
	return n.Resources.Fits(o.used[n.ID].Add(o.leaving[n.ID]).Add(tg.Resources))
}
