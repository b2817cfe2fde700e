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
	fresh   map[string]bool      // of these, those that were added or changed and have yet to be met
	wake    chan struct{}
	changed chan struct{} // a node has

	// jobs has the jobs that are watched, and seen is the newest change of their allocations at the last look. Anew means that
	// a job was added since. Only Run's goroutine uses these three.
	jobs map[broker.JobID]bool
	seen uint64
	anew bool
}

// NewDrainer returns a drainer that is stopped.
func NewDrainer(l Log, h config.Habits) *Drainer {
	return &Drainer{log: l, habits: h, batch: newTransitions(l, drainBatch)}
}

// Start takes up the nodes that drain.
func (d *Drainer) Start(snap *state.Snapshot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tracked, d.fresh = map[string]*rpc.Node{}, map[string]bool{}
	d.wake, d.changed = make(chan struct{}, 1), make(chan struct{}, 1)
	d.jobs, d.seen, d.anew = map[broker.JobID]bool{}, 0, false
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
	if was := d.tracked[id]; was != nil && *was.Drain == *node.Drain {
		return
	}
	d.tracked[id], d.fresh[id] = node, true
	Wake(d.wake)
	Wake(d.changed)
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

// look does what there is to do (drainer.go, run): it looks at the jobs, empties nodes past their deadlines, asks allocations to leave,
// and ends the drains of nodes that the last one has left. Each of its requests is gathered for a while before the next. The jobs come
// first, so allocations that may leave a node whose drain is forced at once are asked twice.
func (d *Drainer) look(ctx context.Context) {
	d.anew = d.meet() || d.anew
	leave, left := d.progress(d.log.Snapshot())
	if next := nextDeadline(d.nodes()); !next.IsZero() && !next.After(d.log.Wall()) {
		if _, ok := d.gather(ctx, d.force(next)); !ok {
			return
		}
		d.finish(nil, nil, d.due(next))
	}
	if len(leave) > 0 {
		index, ok := d.gather(ctx, leave)
		if !ok {
			return
		}
		d.seen = max(d.seen, index)
	}
	if snap := d.log.Snapshot(); len(left) > 0 {
		var done []string
		var last []*rpc.Allocation
		for _, n := range d.nodes() {
			if left[n.ID] && d.drained(snap, n) {
				done = append(done, n.ID)
				last = append(last, remaining(snap, n)...)
			}
		}
		d.finish(snap, last, done)
	}
}

// due returns the nodes that are forced at a time, which has come.
func (d *Drainer) due(next time.Time) (ids []string) {
	for _, n := range d.nodes() {
		if at := deadlineOf(n); !at.IsZero() && !at.After(next) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// force returns what is left on the nodes that are forced at a time.
func (d *Drainer) force(next time.Time) (leave []*rpc.Allocation) {
	snap := d.log.Snapshot()
	due := d.due(next)
	for _, n := range d.nodes() {
		if slices.Contains(due, n.ID) {
			leave = append(leave, remaining(snap, n)...)
		}
	}
	return leave
}

// gather asks allocations to leave, and waits until the batch of that request is written, whose index it returns; zero if the batch
// was empty. Meanwhile it meets nodes. It returns false when ctx is done.
func (d *Drainer) gather(ctx context.Context, leave []*rpc.Allocation) (index uint64, ok bool) {
	batch := d.batch.Add("", d.request(d.log.Snapshot(), leave))
	for {
		select {
		case <-batch.written:
			d.meet()
			return batch.index, true
		case <-d.changed:
			d.meet()
		case <-ctx.Done():
			return 0, false
		}
	}
}

// meet has the jobs of nodes that begin to drain watched, ends the drains of those that are done already, one after the other, and
// reports whether a job was added (watch_nodes.go, Update). What ends meanwhile of other jobs goes unnoticed.
func (d *Drainer) meet() (added bool) {
	d.mu.Lock()
	met := slices.Sorted(maps.Keys(d.fresh))
	clear(d.fresh)
	d.mu.Unlock()
	for _, id := range met {
		snap := d.log.Snapshot()
		n := snap.NodeByID(id)
		if n == nil || n.Drain == nil {
			continue
		}
		for _, a := range snap.NodeAllocs(id).Live {
			if job := (broker.JobID{Namespace: a.Namespace, ID: a.JobID}); a.JobType != rpc.JobTypeSystem && !d.jobs[job] {
				d.jobs[job], added = true, true
			}
		}
		if d.drained(snap, n) {
			d.finish(snap, remaining(snap, n), []string{id})
		}
	}
	return added
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

// progress looks at the watched jobs (watch_jobs.go, watch). It does nothing unless a job was added, or some allocation of one has
// changed since the last look. The drainer's own request is no such change: look sets seen to its index. It returns the service
// allocations that may leave their nodes now, and the nodes that allocations have left. It stops watching a job that has nothing left
// on draining nodes, that is gone, or whose type does not migrate.
func (d *Drainer) progress(snap *state.Snapshot) (leave []*rpc.Allocation, left map[string]bool) {
	newest := uint64(0)
	allocs := make(map[broker.JobID][]*rpc.Allocation, len(d.jobs))
	for id := range d.jobs {
		allocs[id] = snap.AllocsByJob(id)
		for _, a := range allocs[id] {
			newest = max(newest, a.ModifyIndex)
		}
	}
	since := d.seen
	if d.anew {
		since = 0
	} else if newest <= since {
		return nil, nil
	}
	d.seen, d.anew, left = newest, false, map[string]bool{}
	for id, of := range allocs {
		job := snap.JobByID(id.Namespace, id.ID)
		if job == nil || job.Type != rpc.JobTypeService && job.Type != rpc.JobTypeBatch {
			delete(d.jobs, id)
			continue
		}
		may, drains := d.migratable(snap, job, of, since, left)
		leave = append(leave, may...)
		if !drains {
			delete(d.jobs, id)
		}
	}
	return leave, left
}

// migratable returns those of a job's allocations that may leave draining nodes, and whether any is still on one. It adds to left the
// nodes that one has left after an index. Each group of a service keeps its count less migrateParallel; as many may leave as it has
// above that. Only live allocations with a known health, good or bad, are counted, and in newer releases only those that were not
// asked to leave. Batch allocations may run until the deadline (watch_jobs.go, handleTaskGroup).
func (d *Drainer) migratable(snap *state.Snapshot, job *rpc.Job, allocs []*rpc.Allocation, since uint64, left map[string]bool) (leave []*rpc.Allocation, drains bool) {
	healthy := map[string]int{}
	candidates := map[string][]*rpc.Allocation{}
	for _, a := range allocs {
		n := snap.NodeByID(a.NodeID)
		draining := n != nil && n.Drain != nil
		switch {
		case job.TaskGroup(a.TaskGroup) == nil:
			continue
		case d.gone(a) && draining && a.ModifyIndex > since:
			left[a.NodeID] = true
		case !a.Terminal() && a.Health != "" && !(d.habits.LeavingIsUnhealthy && a.Migrate):
			healthy[a.TaskGroup]++
		}
		if draining && !d.gone(a) {
			drains = true
			if !a.Migrate {
				candidates[a.TaskGroup] = append(candidates[a.TaskGroup], a)
			}
		}
	}
	if job.Type == rpc.JobTypeBatch {
		return nil, drains
	}
	for i := range job.TaskGroups {
		tg := &job.TaskGroups[i]
		can := healthy[tg.Name] - (tg.Count - migrateParallel)
		leave = append(leave, candidates[tg.Name][:min(max(can, 0), len(candidates[tg.Name]))]...)
	}
	return leave, drains
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
