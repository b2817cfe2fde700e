package judge

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/english"
)

// oracle is an independent model of what must run: it works that out from jobs and nodes
// alone, and compares the state with it. It shares no code with the schedulers, and is written
// to be plainly right rather than to place anything: of a service job it knows how many
// allocations there must be, not on which nodes.
type oracle struct {
	snap    *state.Snapshot
	nodes   map[string]*rpc.Node
	ordered []*rpc.Node // by ID
	// used is what live allocations take of each node, and overlooked what those take of which the plan
	// applier did not know when it filled the node (docs/adr/0601).
	used, overlooked map[string]rpc.Resources
	// leaving is room, by node, that schedulers count as free, but that no blocked evaluation was told
	// of yet. It is the room of stopped allocations until their clients report that they have ended.
	// It is also that of allocations which a plan declared lost when their node was back already: a
	// plan unblocks no evaluation (nomad/fsm.go, applyPlanResults), but the client's next report does.
	leaving map[string]rpc.Resources
	jobs    map[broker.JobID]*jobView
	// blocked has the jobs that wait for room, and the index since which they wait. planned has the
	// index of the state that they were last known to find full.
	blocked, planned map[broker.JobID]uint64
	// retried has the jobs of which too many plans were refused, and since when each of them waits to be tried again.
	retried map[broker.JobID]uint64
	// waiting says what the leader has announced. freed has, for each node, the index at which it
	// last got room.
	waiting cluster.Waiting
	freed   map[string]uint64
	deploys map[broker.JobID]*rpc.Deployment // the jobs' latest deployments
	// replaced has the IDs of batch allocations that were replaced. Only the replacement counts,
	// however the replaced one ended.
	replaced map[string]bool
	// gaveUp has the jobs of evaluations of which too many plans were refused, and the newest's index.
	gaveUp map[broker.JobID]uint64
	// looked is the index of the newest snapshot on which a system or sysbatch job was evaluated.
	looked map[broker.JobID]uint64

	// untold is true if what must run depends on whether somebody was told of a node's change.
	untold bool

	wanted, running int // allocations
	overfilled      int // nodes that hold more than they have room for, by what was overlooked
	wrong           []string
	wrongs          int
}

// jobView is a job and what the state holds of it.
type jobView struct {
	job    *rpc.Job // nil: purged
	groups map[string]*groupView
}

// groupView is the allocations of one task group.
type groupView struct {
	on    map[string]int               // live ones by node
	over  map[string]bool              // for jobs that run on every node: the nodes where nothing is placed again
	names map[string][]*rpc.Allocation // live ones that are not unknown, by name
	ended int                          // batch: those that count as having run
	// held has the names of failed allocations of the job's latest deployment. While it goes on
	// its watcher decides about them, and it does not hear of those that were healthy before.
	// When it ends, nothing has to look at the job again (docs/adr/0500).
	held    map[string]bool
	live    int
	unknown int // live, on nodes that are out of reach
}

// maxWrong is how many differences the oracle spells out.
const maxWrong = 3

// consult compares a state with what its jobs and nodes ask for.
func consult(snap *state.Snapshot, waiting cluster.Waiting) *oracle {
	o := &oracle{
		snap: snap, nodes: map[string]*rpc.Node{}, used: map[string]rpc.Resources{}, overlooked: map[string]rpc.Resources{}, leaving: map[string]rpc.Resources{},
		jobs: map[broker.JobID]*jobView{}, blocked: map[broker.JobID]uint64{}, planned: map[broker.JobID]uint64{},
		waiting: waiting, freed: map[string]uint64{},
		deploys: map[broker.JobID]*rpc.Deployment{}, replaced: map[string]bool{}, looked: map[broker.JobID]uint64{},
		gaveUp: map[broker.JobID]uint64{}, retried: map[broker.JobID]uint64{},
	}
	for n := range snap.Nodes() {
		o.nodes[n.ID] = n
		o.freed[n.ID] = n.ModifyIndex
		o.ordered = append(o.ordered, n)
	}
	for j := range snap.Jobs() {
		o.jobs[broker.JobID{Namespace: j.Namespace, ID: j.ID}] = &jobView{job: j, groups: map[string]*groupView{}}
	}
	for e := range snap.Evals() {
		switch job := e.Job(); {
		case e.Status == broker.StatusComplete && (e.Type == rpc.JobTypeSystem || e.Type == rpc.JobTypeSysBatch):
			o.looked[job] = max(o.looked[job], e.SnapshotIndex)
		case e.Status == broker.StatusBlocked:
			o.blocked[job] = max(o.blocked[job], e.CreateIndex)
			o.planned[job] = max(o.planned[job], e.SnapshotIndex)
			if e.TriggeredBy == broker.TriggeredByMaxPlans {
				o.retried[job] = max(o.retried[job], e.CreateIndex)
			}
		case e.Status == broker.StatusFailed && strings.HasPrefix(e.StatusDescription, "maximum attempts reached"):
			o.gaveUp[job] = max(o.gaveUp[job], e.CreateIndex)
		}
	}
	maps.Copy(o.blocked, waiting.Unwritten)
	maps.Copy(o.planned, waiting.Unwritten)
	for d := range snap.Deployments() {
		o.deploys[broker.JobID{Namespace: d.Namespace, ID: d.JobID}] = d
	}
	for a := range snap.Allocs() {
		if a.JobType == rpc.JobTypeBatch {
			o.replaced[a.PreviousAllocation] = true
		}
	}
	for a := range snap.Allocs() {
		o.take(a)
	}
	for _, n := range o.ordered {
		switch used := o.used[n.ID]; {
		case n.Resources.Fits(used):
		case n.Resources.Fits(used.Sub(o.overlooked[n.ID])):
			o.overfilled++
		default:
			o.differ("node %s holds %+v of its %+v", n.ID, used, n.Resources)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(o.jobs), func(a, b broker.JobID) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ID, b.ID))
	}) {
		o.compare(id, o.jobs[id])
	}
	return o
}

func (o *oracle) differ(format string, args ...any) {
	o.wrongs++
	if len(o.wrong) < maxWrong {
		o.wrong = append(o.wrong, fmt.Sprintf(format, args...))
	}
}

func (o *oracle) ok() bool { return o.wrongs == 0 }

// String says what was found, and the outcome.
func (o *oracle) String() string {
	ready := 0
	for _, n := range o.ordered {
		if n.Ready() {
			ready++
		}
	}
	text := fmt.Sprintf("%s on %s: %s wanted, %s, %s for room; "+outcomeMark+"%s",
		english.Plural(len(o.jobs), "job"), english.Plural(ready, "ready node"), english.Plural(o.wanted, "allocation"),
		english.Agree(o.running, "runs", "run"), english.Agree(len(o.blocked), "job waits", "jobs wait"), o.outcome())
	if o.overfilled > 0 {
		text += fmt.Sprintf("; %s more than fits, since the plan applier overlooked plans", english.Agree(o.overfilled, "node holds", "nodes hold"))
	}
	if o.wrongs > 0 {
		text += fmt.Sprintf("; %s from the oracle: %s", english.Plural(o.wrongs, "difference"), strings.Join(o.wrong, "; "))
	}
	return text
}

// waitingJobs stands for the jobs of an outcome that cannot be compared.
const waitingJobs = "waiting"

// outcome is two hashes of what two brokers must agree on after the same events: which nodes
// are there, and how often everything runs. The first does not tell whether a missing node is down
// or disconnected, since that depends on what was placed there. The second leaves out all jobs if
// one waits for room, since what runs then depends on where schedulers placed the rest, or if
// nobody was told of a node's change.
func (o *oracle) outcome() string {
	nodes, jobs := fnv.New32a(), fnv.New32a()
	for _, n := range o.ordered {
		if n.Status != rpc.NodeStatusDown && n.Status != rpc.NodeStatusDisconnected {
			fmt.Fprintln(nodes, n.ID, n.Status, n.Ready())
		}
	}
	if len(o.blocked) > 0 || o.untold {
		return fmt.Sprintf("%08x-%s", nodes.Sum32(), waitingJobs)
	}
	var lines []string
	for id, v := range o.jobs {
		for name, g := range v.groups {
			if n := o.comparable(v.job, name, g); n > 0 {
				lines = append(lines, fmt.Sprintln(id.Namespace, id.ID, name, n))
			}
		}
	}
	slices.Sort(lines)
	for _, l := range lines {
		fmt.Fprint(jobs, l)
	}
	return fmt.Sprintf("%08x-%08x", nodes.Sum32(), jobs.Sum32())
}

// comparable returns a count of the group's allocations on which both brokers must agree. For a batch
// job that is how many are still to run: those that have run may have been collected. For a system
// job, nodes that accept no placement do not count: what is there depends on the history, since it
// stays until the node goes down. What a service has besides its count is out of reach: that depends on where it was
// placed. Jobs that a periodic job launched do not count, since the two runs
// end at different times.
func (o *oracle) comparable(job *rpc.Job, group string, g *groupView) int {
	var tg *rpc.TaskGroup
	if job != nil {
		tg = job.TaskGroup(group)
	}
	switch {
	case tg == nil || job.Stop: // when it is collected depends on when its allocations have ended
		return g.live
	case job.ParentID != "":
		return 0
	case job.Type == rpc.JobTypeSysBatch:
		return 0 // it depends on which nodes were ready when the job was evaluated
	case job.Type == rpc.JobTypeBatch:
		return tg.Count - min(tg.Count, g.live+g.ended)
	case job.Type == rpc.JobTypeService:
		return min(tg.Count, g.live+g.missing())
	}
	n := 0
	for _, node := range o.ordered {
		if node.Ready() && (g.on[node.ID] > 0 || g.over[node.ID]) {
			n++
		}
	}
	return n
}

// missing counts the names that failed allocations of a deployment hold and no live one has.
func (g *groupView) missing() int {
	n := 0
	for name := range g.held {
		if len(g.names[name]) == 0 {
			n++
		}
	}
	return n
}

// outcomeMark precedes the outcome in the detail of the invariant.
const outcomeMark = "outcome "

// OutcomeOf finds the final outcome in a Result; empty when there is none, since the run ended with an error or did not
// come to rest.
func OutcomeOf(res *metrics.Result) string {
	for _, c := range res.Invariants {
		before, after, ok := strings.Cut(c.Detail, outcomeMark)
		if ok && c.Name == InvariantOracle && strings.HasPrefix(before, "after "+WholeRun+": ") {
			outcome, _, _ := strings.Cut(after, ";")
			return outcome
		}
	}
	return ""
}

// Agree reports whether the same events can lead to both outcomes.
func Agree(a, b string) bool {
	nodesA, jobsA, _ := strings.Cut(a, "-")
	nodesB, jobsB, _ := strings.Cut(b, "-")
	return nodesA == nodesB && (jobsA == jobsB || jobsA == waitingJobs || jobsB == waitingJobs)
}

// take adds an allocation to the view of its job.
func (o *oracle) take(a *rpc.Allocation) {
	id := broker.JobID{Namespace: a.Namespace, ID: a.JobID}
	v := o.jobs[id]
	if v == nil {
		v = &jobView{groups: map[string]*groupView{}}
		o.jobs[id] = v
	}
	g := v.groups[a.TaskGroup]
	if g == nil {
		g = &groupView{
			on: map[string]int{}, over: map[string]bool{}, names: map[string][]*rpc.Allocation{},
			held: map[string]bool{},
		}
		v.groups[a.TaskGroup] = g
	}
	if a.Terminal() {
		o.freed[a.NodeID] = max(o.freed[a.NodeID], a.ModifyIndex)
		if n := o.nodes[a.NodeID]; !a.ClientTerminal() || a.ClientStatus == rpc.AllocClientLost && n != nil && n.ModifyIndex < a.ModifyIndex {
			o.leaving[a.NodeID] = o.leaving[a.NodeID].Add(a.Resources)
		}
		if v.job == nil || a.CreateIndex < v.job.CreateIndex {
			return
		}
		if a.JobVersion != v.job.Version {
			g.over[a.NodeID] = g.over[a.NodeID] || sameTasks(a, v.job)
			return
		}
		g.over[a.NodeID] = g.over[a.NodeID] || o.leftAlone(a, v.job)
		failed := a.ClientStatus == rpc.AllocClientFailed && a.DesiredStatus == rpc.AllocDesiredRun
		drained := o.waiting.DrainEndsBatch && a.Migrate && a.DesiredStatus == rpc.AllocDesiredStop
		if (failed || drained || a.ClientStatus == rpc.AllocClientComplete) && !o.replaced[a.ID] {
			g.ended++
		}
		if d := o.deploys[id]; failed && d != nil && a.DeploymentID == d.ID {
			g.held[a.Name] = true
		}
		return
	}
	o.used[a.NodeID] = o.used[a.NodeID].Add(a.Resources)
	if o.waiting.Overlooked[a.ID] {
		o.overlooked[a.NodeID] = o.overlooked[a.NodeID].Add(a.Resources)
	}
	o.running++
	g.live++
	g.on[a.NodeID]++
	if a.ClientStatus == rpc.AllocClientUnknown {
		g.unknown++
	} else {
		g.names[a.Name] = append(g.names[a.Name], a)
	}
	o.compareAlloc(a, v.job)
}

// sameTasks reports whether a new version of a sysbatch job asks for what an allocation that has
// ended was. Then the new version does not run on its node: it counts as updated in place
// (scheduler/util.go, inplaceUpdate). So it is when a job is stopped and registered again.
func sameTasks(a *rpc.Allocation, job *rpc.Job) bool {
	tg := job.TaskGroup(a.TaskGroup)
	return job.Type == rpc.JobTypeSysBatch && tg != nil && tg.Resources == a.Resources
}

// leftAlone reports whether no allocation follows one that is over on its node, for jobs that
// run on every node, until something else makes an evaluation (docs/adr/0601).
func (o *oracle) leftAlone(a *rpc.Allocation, job *rpc.Job) bool {
	switch {
	case job.Type == rpc.JobTypeSysBatch:
		return true
	case a.ClientStatus == rpc.AllocClientFailed:
		return a.DesiredStatus == rpc.AllocDesiredRun
	}
	n, tg := o.nodes[a.NodeID], job.TaskGroup(a.TaskGroup)
	return a.ClientStatus == rpc.AllocClientLost && tg != nil && tg.MaxClientDisconnect > 0 && n != nil && a.ModifyIndex > n.ModifyIndex
}
