package leader

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

const (
	// drainBatch is how long requests to migrate allocations are gathered
	// (nomad/drainer/drainer.go, BatchUpdateInterval).
	drainBatch = time.Second
	// drainCoalesce: nodes whose deadlines are that close are forced together
	// (NodeDeadlineCoalesceWindow).
	drainCoalesce = 5 * time.Second
	// migrateParallel is how many allocations of a group migrate at a time
	// (structs.DefaultMigrateStrategy).
	migrateParallel = 1
)

// Drainer moves allocations off draining nodes while the server leads (nomad/drainer): of
// each service's group as many at a time as leave the others running; batch allocations
// may finish; system jobs stop last; at the deadline everything does. The state machine
// tells it what entries changed.
type Drainer struct {
	log    Log
	habits config.Habits
	batch  *Batcher[fsm.DesiredTransitionRequest]

	mu      sync.Mutex
	tracked map[string]*rpc.Node // draining nodes; nil while the server does not lead
	fresh   map[string]bool      // of these, those that were added or changed: their jobs have to be looked at
	wake    chan struct{}

	// jobs are those that drained when run looked last, and seen is the newest change of their allocations then.
	jobs map[broker.JobID]bool
	seen uint64
}

// NewDrainer returns a drainer that is stopped.
func NewDrainer(l Log, h config.Habits) *Drainer {
	return &Drainer{log: l, habits: h, batch: newTransitions(l, drainBatch)}
}

// Start takes up the nodes that drain.
func (d *Drainer) Start(snap *state.Snapshot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tracked, d.fresh, d.wake = map[string]*rpc.Node{}, map[string]bool{}, make(chan struct{}, 1)
	for n := range snap.Nodes() {
		if n.Drain != nil {
			d.tracked[n.ID], d.fresh[n.ID] = n, true
		}
	}
	Wake(d.wake)
}

// Stop drops what is gathered and forgets the nodes.
func (d *Drainer) Stop() {
	d.mu.Lock()
	d.tracked = nil
	d.mu.Unlock()
	d.batch.Stop()
}

// NodeChanged takes note of a change of a node's drain.
func (d *Drainer) NodeChanged(id string) {
	node := d.log.Snapshot().NodeByID(id)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tracked == nil {
		return
	}
	if node == nil || node.Drain == nil {
		delete(d.tracked, id)
		delete(d.fresh, id)
		return
	}
	d.tracked[id], d.fresh[id] = node, true
	Wake(d.wake)
}

// AllocsChanged takes note that some allocation changed.
func (d *Drainer) AllocsChanged() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.tracked) > 0 {
		Wake(d.wake)
	}
}

// nodes returns the draining nodes in the order of their IDs.
func (d *Drainer) nodes() []*rpc.Node {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.SortedFunc(maps.Values(d.tracked), func(a, b *rpc.Node) int { return cmp.Compare(a.ID, b.ID) })
}

// Run drains until ctx is done.
func (d *Drainer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		await(ctx, d.wake, d.log, nextDeadline(d.nodes()))
		if ctx.Err() == nil {
			d.look(ctx)
		}
	}
}

// nextDeadline returns when nodes are forced next: at the last deadline within drainCoalesce of the first, so that
// none is forced before its own (drain_heap.go, calculateNextDeadline). It is zero if no node has one.
func nextDeadline(nodes []*rpc.Node) time.Time {
	var first, last time.Time
	for _, n := range nodes {
		if at := deadlineOf(n); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, n := range nodes {
		if at := deadlineOf(n); !at.IsZero() && at.Before(first.Add(drainCoalesce)) && at.After(last) {
			last = at
		}
	}
	return last
}

// deadlineOf returns when everything left on a draining node is stopped; zero for never. A
// negative deadline is long past, for it forces the drain at no particular time.
func deadlineOf(n *rpc.Node) time.Time {
	if n.Drain.Deadline == 0 {
		return time.Time{}
	}
	return time.Unix(0, n.Drain.ForceDeadline)
}

// look does what there is to do: nodes past their deadlines are emptied, others go on, and
// those that are empty are done.
func (d *Drainer) look(ctx context.Context) {
	fresh := d.meet()
	snap := d.log.Snapshot()
	var forced, done []string
	var leave, last []*rpc.Allocation
	next := nextDeadline(d.nodes())
	due := !next.IsZero() && !next.After(d.log.Wall())
	for _, n := range d.nodes() {
		at := deadlineOf(n)
		switch {
		case due && !at.IsZero() && !at.After(next):
			forced = append(forced, n.ID)
			leave = append(leave, remaining(snap, n)...)
		case d.drained(snap, n) && !d.isFresh(n.ID):
			done = append(done, n.ID)
			last = append(last, remaining(snap, n)...)
		}
	}
	leave = append(leave, d.migrations(snap, forced, fresh)...)
	if len(leave) > 0 {
		batch := d.batch.Add("", d.request(snap, leave))
		select {
		case <-batch.written:
			d.seen = max(d.seen, batch.index)
		case <-ctx.Done():
			return
		}
	}
	d.finish(snap, last, append(forced, done...))
}

// meet ends the drains of nodes that are done when they begin, one after the other, and reports whether there are
// new ones (watch_nodes.go, Update).
func (d *Drainer) meet() (fresh bool) {
	d.mu.Lock()
	met := slices.Sorted(maps.Keys(d.fresh))
	clear(d.fresh)
	d.mu.Unlock()
	for _, id := range met {
		snap := d.log.Snapshot()
		if n := snap.NodeByID(id); n != nil && n.Drain != nil && d.drained(snap, n) {
			d.finish(snap, remaining(snap, n), []string{id})
		}
	}
	return len(met) > 0
}

// isFresh reports whether a node was added or changed and not met since.
func (d *Drainer) isFresh(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fresh[id]
}

// finish has the last allocations leave, and ends the drains of nodes.
func (d *Drainer) finish(snap *state.Snapshot, last []*rpc.Allocation, nodes []string) {
	if len(last) > 0 {
		// The write fails when leadership is lost: the next leader drains on.
		_, _ = requestTransitions(d.log, d.request(snap, last))
	}
	if len(nodes) > 0 {
		slices.Sort(nodes)
		d.log.Because(fsm.DrainsDone)
		_, _ = d.log.Write(fsm.BatchNodeUpdateDrain.With(&fsm.BatchNodeUpdateDrainRequest{
			NodeIDs: nodes, UpdatedAt: d.log.Wall().Unix(), Event: "Node drain complete",
		}))
	}
}

// drained reports whether nothing but system jobs is left on the node
// (draining_node.go, IsDone).
func (d *Drainer) drained(snap *state.Snapshot, n *rpc.Node) bool {
	return !slices.ContainsFunc(snap.NodeAllocs(n.ID).All, func(a *rpc.Allocation) bool {
		return a.JobType != rpc.JobTypeSystem && !d.gone(a)
	})
}

// gone reports whether an allocation has left its node: the servers want it stopped, or, in newer
// releases, its client has stopped it.
func (d *Drainer) gone(a *rpc.Allocation) bool {
	if d.habits.DrainsAwaitClients {
		return a.ClientTerminal()
	}
	return a.Terminal()
}

// remaining returns what is still to leave the node (draining_node.go, RemainingAllocs).
func remaining(snap *state.Snapshot, n *rpc.Node) []*rpc.Allocation {
	return slices.DeleteFunc(slices.Clone(snap.NodeAllocs(n.ID).Live), func(a *rpc.Allocation) bool {
		return n.Drain.IgnoreSystemJobs && a.JobType == rpc.JobTypeSystem
	})
}

// migrations returns the service allocations that may leave their nodes now, apart from
// those of nodes that are forced anyway (watch_jobs.go, watch and handleTaskGroup). It
// returns none unless a node is fresh, or some allocation has changed since the last look of a
// job that drains now or did then. Its own requests are no such change: an allocation that was
// asked to leave counts as running until a plan has stopped it.
func (d *Drainer) migrations(snap *state.Snapshot, forced []string, fresh bool) []*rpc.Allocation {
	newest := uint64(0)
	var leave []*rpc.Allocation
	drain := map[broker.JobID]bool{}
	look := func(id broker.JobID) {
		allocs := snap.AllocsByJob(id)
		for _, x := range allocs {
			newest = max(newest, x.ModifyIndex)
		}
		if job := snap.JobByID(id.Namespace, id.ID); drain[id] && job != nil && job.Type == rpc.JobTypeService {
			for _, m := range d.migratable(snap, job, allocs) {
				if !slices.Contains(forced, m.NodeID) {
					leave = append(leave, m)
				}
			}
		}
	}
	for _, n := range d.nodes() {
		for _, a := range snap.NodeAllocs(n.ID).All {
			id := broker.JobID{Namespace: a.Namespace, ID: a.JobID}
			if a.JobType != rpc.JobTypeSystem && !drain[id] && !d.gone(a) {
				drain[id] = true
				look(id)
			}
		}
	}
	for id := range d.jobs {
		if !drain[id] {
			look(id) // the change that ended this job's drain is a reason to look at the others
		}
	}
	if !fresh && newest <= d.seen {
		return nil
	}
	d.jobs, d.seen = drain, newest
	return leave
}

// migratable returns those of the job's allocations on draining nodes that may leave. Each group keeps its count less
// migrateParallel; as many may leave as it has above that. Only live allocations with a known health, good or bad, are
// counted, and in newer releases only those that were not asked to leave.
func (d *Drainer) migratable(snap *state.Snapshot, job *rpc.Job, allocs []*rpc.Allocation) []*rpc.Allocation {
	healthy := map[string]int{}
	candidates := map[string][]*rpc.Allocation{}
	for _, a := range allocs {
		if !a.Terminal() && a.Health != "" && !(d.habits.LeavingIsUnhealthy && a.Migrate) {
			healthy[a.TaskGroup]++
		}
		if d.gone(a) {
			continue
		}
		if n := snap.NodeByID(a.NodeID); n != nil && n.Drain != nil && !a.Migrate {
			candidates[a.TaskGroup] = append(candidates[a.TaskGroup], a)
		}
	}
	var leave []*rpc.Allocation
	for i := range job.TaskGroups {
		tg := &job.TaskGroups[i]
		can := healthy[tg.Name] - (tg.Count - migrateParallel)
		leave = append(leave, candidates[tg.Name][:min(max(can, 0), len(candidates[tg.Name]))]...)
	}
	return leave
}

// request asks for allocations to be moved, with an evaluation of each of their jobs
// (drainer.go, drainAllocs).
func (d *Drainer) request(snap *state.Snapshot, allocs []*rpc.Allocation) fsm.DesiredTransitionRequest {
	var req fsm.DesiredTransitionRequest
	seen := map[broker.JobID]bool{}
	for _, a := range allocs {
		req.Migrate = append(req.Migrate, a.ID)
		if job := (broker.JobID{Namespace: a.Namespace, ID: a.JobID}); !seen[job] {
			seen[job] = true
			req.Evals = append(req.Evals, PendingEval(d.log.NewID("drain-eval", a.Namespace, a.JobID), broker.TriggeredByNodeDrain, JobOf(snap, a)))
		}
	}
	return req
}
