package server

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// maxIDsPerWrite bounds how much one entry deletes (structs.go, MaxUUIDsPerWriteRequest).
const maxIDsPerWrite = 7281

// askedAtMost is up to how many evaluations are looked for one by one among the allocations.
const askedAtMost = 1024

const coreForceGC = "force-gc"

// coreJobs are the jobs of the core scheduler (structs.go, CoreJob*), in the order in which
// a leader schedules those that recur. The rest of Nomad's have nothing to collect here.
var coreJobs = []struct {
	id    string
	every func(config.GCConfig) time.Duration // nil: only when it is asked for
	run   func(*coreRun) error
}{
	{"eval-gc", gcInterval, (*coreRun).evalGC},
	{"node-gc", gcInterval, (*coreRun).nodeGC},
	{"job-gc", gcInterval, (*coreRun).jobGC},
	{"deployment-gc", gcInterval, (*coreRun).deploymentGC},
	{"one-time-token-gc", func(c config.GCConfig) time.Duration { return c.TokenInterval }, (*coreRun).expireTokens},
	{coreForceGC, nil, (*coreRun).forceGC},
}

func gcInterval(c config.GCConfig) time.Duration { return c.Interval }

// scheduleCore enqueues an evaluation of each core job now and then (nomad/leader.go,
// schedulePeriodic).
func (s *Server) scheduleCore(ctx context.Context, loops *sync.WaitGroup) {
	for i, job := range coreJobs {
		if job.every == nil {
			continue
		}
		loops.Go(func() {
			// Nomad's tick all at one instant, in any order; a microsecond apart keeps the order.
			leader.Sleep(ctx, time.Duration(i+1)*time.Microsecond)
			leader.Every(ctx, job.every(s.cfg.GC), func() { s.evals.EnqueueCore(job.id) })
		})
	}
}

// coreRun is a worker's work on an evaluation of a core job: it finds what is over in its
// own server's state, and has the leader delete it (nomad/core_sched.go).
type coreRun struct {
	worker *worker
	snap   *state.Snapshot
	force  bool
	// batchToo is config.Habits.CollectsBatch.
	batchToo bool

	// asked has the evaluations that placed will be called for; nil if that may be any.
	asked map[string]bool

	// Filled when first needed.
	allocs   map[string]*[]*rpc.Allocation // by the evaluation that placed them, for the jobs in indexed
	indexed  map[broker.JobID]bool         // jobs whose allocations are in allocs
	replaced map[string]bool               // allocations that others took the place of
	open     map[broker.JobID]bool         // jobs with an evaluation that is not over
}

// run does one job of the core scheduler: an error means that the evaluation must be
// nacked.
func (c *coreRun) run(id string) error {
	if c.worker.srv.cfg.Design.WorkQueue {
		if err := c.askWhatIsOpen(); err != nil {
			return err
		}
	}
	for _, job := range coreJobs {
		if job.id == id {
			return job.run(c)
		}
	}
	return fmt.Errorf("core scheduler cannot handle job %q", id)
}

func (c *coreRun) expireTokens() error {
	return c.worker.call("ACL.ExpireOneTimeTokens", func(l *Server) error {
		l.Because(fsm.TokensExpired)
		_, err := l.Write(fsm.OneTimeTokenExpire.With(&fsm.OneTimeTokenExpireRequest{Timestamp: l.Wall().UnixNano()}))
		return err
	})
}

// forceGC collects everything that is over, however new it is unless the release goes by ages even so, and expires one-time tokens.
// The first error ends it.
func (c *coreRun) forceGC() error {
	c.force = !c.worker.srv.cfg.Habits.ForceKeepsAges
	for _, gc := range []func() error{c.jobGC, c.evalGC, c.deploymentGC, c.expireTokens, c.nodeGC} {
		if err := gc(); err != nil {
			return err
		}
	}
	return nil
}

// threshold returns the highest index that is older than age; zero if none is.
func (c *coreRun) threshold(age time.Duration) uint64 {
	if c.force {
		return math.MaxUint64
	}
	return c.worker.srv.times.Nearest(c.worker.srv.Wall().Add(-age))
}

func (c *coreRun) evalGC() error {
	limit := c.threshold(c.worker.srv.cfg.GC.EvalThreshold)
	ofBatch := limit
	if c.batchToo {
		ofBatch = c.threshold(c.worker.srv.cfg.GC.BatchEvalThreshold)
	}
	latest := max(limit, ofBatch)
	if latest == 0 {
		return nil // nothing is that old
	}
	var evals, allocs []string
	ended := c.snap.EvalsEnded(latest)
	if c.worker.srv.cfg.Design.WorkQueue {
		ended = c.madeUp()
	}
	c.ask(ended)
	for _, e := range ended {
		than := limit
		if e.Type == rpc.JobTypeBatch {
			than = ofBatch
		}
		over, gone := c.evalOver(e, than, false)
		if over {
			evals = append(evals, e.ID)
		}
		allocs = append(allocs, gone...)
	}
	return c.reap(evals, allocs)
}

// ask notes which evaluations placed will be called for, so that only their allocations are
// indexed: there may be millions of others. If there are more than askedAtMost of these
// evaluations, it is cheaper to index all allocations.
func (c *coreRun) ask(evals []*broker.Evaluation) {
	c.asked, c.indexed = map[string]bool{}, nil
	for _, e := range evals {
		if !c.snap.MayHavePlaced(e) {
			continue
		}
		if c.asked[e.ID] = true; len(c.asked) > askedAtMost {
			c.asked = nil
			return
		}
	}
}

// placed returns the allocations that an evaluation placed, in any order. Outdated versions of some may be
// among them: isAlloc tells which are current.
func (c *coreRun) placed(e *broker.Evaluation) []*rpc.Allocation {
	if !c.snap.MayHavePlaced(e) {
		return nil
	}
	if c.indexed == nil {
		c.indexed, c.allocs = map[broker.JobID]bool{}, map[string]*[]*rpc.Allocation{}
	}
	if job := e.Job(); !c.indexed[job] {
		c.indexed[job] = true
		by, list := "", (*[]*rpc.Allocation)(nil)
		for a := range c.snap.LoggedAllocs(job) {
			if a.EvalID != by { // what one evaluation placed mostly lies side by side
				by, list = a.EvalID, c.listOf(a.EvalID)
			}
			if list != nil {
				*list = append(*list, a)
			}
		}
	}
	return *c.listOf(e.ID)
}

// listOf returns the list of the allocations that an evaluation placed; nil if nobody asks for it.
func (c *coreRun) listOf(evalID string) *[]*rpc.Allocation {
	if c.allocs[evalID] == nil && (c.asked == nil || c.asked[evalID]) {
		c.allocs[evalID] = new([]*rpc.Allocation)
	}
	return c.allocs[evalID]
}

// isAlloc reports whether an allocation is in the state as it is.
func (c *coreRun) isAlloc(a *rpc.Allocation) bool { return c.snap.AllocByID(a.ID) == a }

// isReplaced reports whether another allocation took the place of one.
func (c *coreRun) isReplaced(a *rpc.Allocation) bool {
	if c.replaced == nil {
		c.replaced = map[string]bool{}
		for by := range c.snap.Allocs() {
			c.replaced[by.PreviousAllocation] = true
		}
	}
	return c.replaced[a.ID]
}

// isOpen reports whether a job has an evaluation that is not over. It fills open on the
// first call: a backlog may be a million evaluations, and many runs never ask.
func (c *coreRun) isOpen(job broker.JobID) bool {
	if c.open == nil {
		c.open = map[broker.JobID]bool{}
		for e := range c.snap.Evals() {
			if !e.Terminal() {
				c.open[e.Job()] = true
			}
		}
	}
	return c.open[job]
}

// dead reports whether a job has nothing left to do (state_store.go, getJobStatus).
func (c *coreRun) dead(job *rpc.Job) bool {
	if job.Type == rpc.JobTypeSystem || job.Periodic != nil {
		return job.Stop
	}
	id := broker.JobID{Namespace: job.Namespace, ID: job.ID}
	return c.snap.JobAllocs(id).Live == 0 && !c.isOpen(id)
}

func (c *coreRun) jobGC() error {
	limit := c.threshold(c.worker.srv.cfg.GC.JobThreshold)
	if limit == 0 {
		return nil
	}
	ended := map[broker.JobID]*rpc.Job{}
	for job := range c.snap.Jobs() {
		byItself := job.Type == rpc.JobTypeBatch || job.Type == rpc.JobTypeSysBatch
		since := job.CreateIndex
		if c.worker.srv.cfg.Habits.ExactAges {
			since = job.JobModifyIndex // when SubmitTime was set, by a stop, too (fsm.go, handleJobDeregister)
		}
		if since <= limit && c.dead(job) && (job.Stop || byItself && job.Periodic == nil) {
			ended[broker.JobID{Namespace: job.Namespace, ID: job.ID}] = job
		}
	}
	if len(ended) == 0 {
		return nil
	}
	var of []*broker.Evaluation
	for e := range c.evals() {
		if ended[e.Job()] != nil {
			of = append(of, e)
		}
	}
	c.ask(of)
	evals, allocs := map[broker.JobID][]string{}, map[broker.JobID][]string{}
	for _, e := range of {
		if ended[e.Job()] == nil {
			continue // another one is not over
		}
		over, gone := c.evalOver(e, limit, true)
		if !over {
			delete(ended, e.Job())
			continue
		}
		evals[e.Job()] = append(evals[e.Job()], e.ID)
		allocs[e.Job()] = append(allocs[e.Job()], gone...)
	}
	var jobs []broker.JobID
	var goneEvals, goneAllocs []string
	for job := range c.snap.Jobs() {
		id := broker.JobID{Namespace: job.Namespace, ID: job.ID}
		if ended[id] != nil {
			jobs = append(jobs, id)
			goneEvals, goneAllocs = append(goneEvals, evals[id]...), append(goneAllocs, allocs[id]...)
		}
	}
	if err := c.reap(goneEvals, goneAllocs); err != nil {
		return err
	}
	most := cmp.Or(c.worker.srv.cfg.Habits.JobsPerPurge, maxIDsPerWrite)
	return collect(c, "Job.BatchDeregister", "jobs", jobs, most, (*Server).purgeJobs)
}

// deploymentGC collects deployments that have ended and that no allocation which may run is of. A plan ends that of a purged
// job before long.
func (c *coreRun) deploymentGC() error {
	limit := c.threshold(c.worker.srv.cfg.GC.DeploymentThreshold)
	over := slices.Collect(c.snap.PastDeployments())
	for d := range c.snap.Deployments() {
		if !d.Active() {
			over = append(over, d)
		}
	}
	var ids []string
	for _, d := range over {
		needs := func(a *rpc.Allocation) bool { return a.DeploymentID == d.ID && !a.Terminal() }
		if d.ModifyIndex <= limit && !slices.ContainsFunc(c.snap.AllocsByJob(broker.JobID{Namespace: d.Namespace, ID: d.JobID}), needs) {
			ids = append(ids, d.ID)
		}
	}
	return collect(c, "Deployment.Reap", "deployments", ids, maxIDsPerWrite, (*Server).deleteDeployments)
}

func (c *coreRun) nodeGC() error {
	limit := c.threshold(c.worker.srv.cfg.GC.NodeThreshold)
	var nodes []string
	for n := range c.snap.Nodes() {
		if n.Status == rpc.NodeStatusDown && n.ModifyIndex <= limit && len(c.snap.NodeAllocs(n.ID).Live) == 0 {
			nodes = append(nodes, n.ID)
		}
	}
	return collect(c, "Node.BatchDeregister", "nodes", nodes, maxIDsPerWrite, (*Server).DeregisterNodes)
}

// collect has the leader delete things, so many in an entry.
func collect[ID any](c *coreRun, method, things string, ids []ID, most int, remove func(*Server, []ID) error) error {
	for batch := range slices.Chunk(ids, most) {
		if err := c.worker.call(method, func(l *Server) error { return remove(l, batch) }); err != nil {
			return fmt.Errorf("collect %d %s: %w", len(batch), things, err)
		}
	}
	return nil
}

// reap has the leader delete allocations and evaluations, as many in an entry as fit.
func (c *coreRun) reap(evals, allocs []string) error {
	for len(evals)+len(allocs) > 0 {
		req := &fsm.EvalDeleteRequest{Allocs: allocs[:min(len(allocs), maxIDsPerWrite)]}
		allocs = allocs[len(req.Allocs):]
		req.Evals = evals[:min(len(evals), maxIDsPerWrite-len(req.Allocs))]
		evals = evals[len(req.Evals):]
		err := c.worker.call("Eval.Reap", func(l *Server) error {
			l.Because(fsm.EvalsCollected)
			_, err := l.Write(fsm.EvalDelete.With(req))
			return err
		})
		if err != nil {
			return fmt.Errorf("collect %d evaluations and %d allocations: %w", len(req.Evals), len(req.Allocs), err)
		}
	}
	return nil
}

// askWhatIsOpen asks the leader which jobs are not done with, since the state has no evaluations that
// would tell. It then takes a state that is as new as the answer. That has all that was written
// for the jobs which the leader is done with.
func (c *coreRun) askWhatIsOpen() error {
	var index uint64
	err := c.worker.call("Job.Open", func(l *Server) error {
		c.open, index = l.evals.Open(), l.Snapshot().Index()
		return nil
	})
	if err == nil {
		c.snap, err = c.worker.srv.store.SnapshotMinIndex(c.worker.srv.ctx, index, raftSyncLimit)
	}
	if err != nil {
		return fmt.Errorf("ask the leader which jobs are open: %w", err)
	}
	return nil
}

// evals returns the evaluations of the state.
func (c *coreRun) evals() iter.Seq[*broker.Evaluation] {
	if c.worker.srv.cfg.Design.WorkQueue {
		return slices.Values(c.madeUp())
	}
	return c.snap.Evals()
}

// madeUp makes evaluations for servers that write none: one for each evaluation ID that an
// allocation has. They are collected together with these allocations.
func (c *coreRun) madeUp() []*broker.Evaluation {
	made := map[string]*broker.Evaluation{}
	for a := range c.snap.Allocs() {
		if made[a.EvalID] == nil {
			made[a.EvalID] = &broker.Evaluation{ID: a.EvalID, Namespace: a.Namespace, JobID: a.JobID, Type: a.JobType, Status: broker.StatusComplete}
		}
	}
	return slices.SortedFunc(maps.Values(made), broker.ByID)
}
