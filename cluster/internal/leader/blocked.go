package leader

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// BlockedEvals holds evaluations whose placements found no room, one per job, until a
// node might have some (nomad/blocked_evals.go). It works only while the server leads.
type BlockedEvals struct {
	evals *EvalService

	mu      sync.Mutex
	enabled bool
	// since is the index at which tracking began: room that appeared before it was announced
	// to nobody.
	since uint64
	// untold has the nodes that have got room of which nobody was told, by ID, and the index at
	// which they got it.
	untold map[string]uint64
	jobs   map[broker.JobID]blockedEval
	// system holds the evaluations of system jobs by the node they found full, and full has the jobs that ever had one there.
	system map[string]map[broker.JobID]*broker.Evaluation
	full   map[broker.JobID]bool
	// unblocked is the index at which each node class last had room. An evaluation
	// that was planned on an older snapshot has missed it.
	unblocked map[string]uint64
	dups      []*broker.Evaluation
	dupAdded  Notifier
}

type blockedEval struct {
	eval  *broker.Evaluation
	token string // of the evaluation while it is still outstanding
	done  bool   // nothing of the job waits for room any more, and yet room wakes it
}

// newBlockedEvals returns a table that is disabled. What finds room goes to evals.
func newBlockedEvals(evals *EvalService) *BlockedEvals {
	b := &BlockedEvals{evals: evals}
	b.reset()
	return b
}

func (b *BlockedEvals) reset() {
	b.jobs = map[broker.JobID]blockedEval{}
	b.system, b.full = map[string]map[broker.JobID]*broker.Evaluation{}, map[broker.JobID]bool{}
	b.unblocked, b.untold = map[string]uint64{}, map[string]uint64{}
	b.dups = nil
}

// setEnabled turns tracking on, from an index of the state on, or off; either way nothing is
// tracked afterwards.
func (b *BlockedEvals) setEnabled(on bool, since uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.enabled, b.since = on, since
	b.reset()
}

// Announced returns the index of the state since which evaluations that wait for room have been told
// of it, and the nodes whose room they were not told of, with the index at which each got it.
func (b *BlockedEvals) Announced() (since uint64, untold map[string]uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.since, maps.Clone(b.untold)
}

func (b *BlockedEvals) isEnabled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.enabled
}

// Block tracks an evaluation. Of two for one job the one planned later stays; the
// other is a duplicate, to be canceled. The token is that of an outstanding evaluation
// that blocks again.
func (b *BlockedEvals) Block(e *broker.Evaluation, token string) {
	b.mu.Lock()
	if !b.enabled {
		b.mu.Unlock()
		return
	}
	if old, ok := b.jobs[e.Job()]; ok {
		dup := old.eval
		if newest(old.eval) > newest(e) {
			dup = e
		}
		if dup.ID != e.ID || old.eval.ID != e.ID {
			b.addDuplicate(dup)
		}
		if dup == e {
			b.mu.Unlock()
			return
		}
	}
	if b.missedUnblock(e) {
		delete(b.jobs, e.Job())
		b.mu.Unlock()
		b.evals.EnqueueAll([]broker.EvalToken{{Eval: e, Token: token}})
		return
	}
	b.jobs[e.Job()] = blockedEval{eval: e, token: token}
	if e.Type == rpc.JobTypeSystem && e.NodeID != "" {
		byJob := b.system[e.NodeID]
		if byJob == nil {
			byJob = map[broker.JobID]*broker.Evaluation{}
			b.system[e.NodeID] = byJob
		}
		byJob[e.Job()] = e
		b.full[e.Job()] = true
	}
	b.mu.Unlock()
}

func newest(e *broker.Evaluation) uint64 { return max(e.CreateIndex, e.SnapshotIndex) }

func (b *BlockedEvals) addDuplicate(e *broker.Evaluation) {
	b.dups = append(b.dups, e)
	b.dupAdded.Notify()
}

// missedUnblock reports whether room appeared after the snapshot the evaluation was
// planned on, in a class it might use.
func (b *BlockedEvals) missedUnblock(e *broker.Evaluation) bool {
	for class, index := range b.unblocked {
		eligible, known := e.ClassEligibility[class]
		if e.SnapshotIndex < index && (!known || eligible || e.EscapedComputedClass) {
			return true
		}
	}
	return false
}

// untrack forgets what is blocked of a job that was planned in full since. Of a system job that
// found a node full it forgets the nodes alone: room in a class still wakes the last evaluation, and the
// next one that blocks cancels it (blocked_evals.go, Untrack).
func (b *BlockedEvals) untrack(job broker.JobID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.full[job] {
		delete(b.jobs, job)
		return
	}
	if w, ok := b.jobs[job]; ok {
		w.done = true
		b.jobs[job] = w
	}
	for node, byJob := range b.system {
		delete(byJob, job)
		if len(byJob) == 0 {
			delete(b.system, node)
		}
	}
}

// Unblock enqueues what might find room on the node.
func (b *BlockedEvals) Unblock(n *rpc.Node, index uint64) { b.unblock(n, index, true) }

// UnblockClass enqueues what might find room on a node of the node's class, and nothing that found this one full
// (nomad/fsm.go, applyUpsertNode).
func (b *BlockedEvals) UnblockClass(n *rpc.Node, index uint64) { b.unblock(n, index, false) }

func (b *BlockedEvals) unblock(n *rpc.Node, index uint64, fullToo bool) {
	b.mu.Lock()
	if !b.enabled {
		b.mu.Unlock()
		return
	}
	b.unblocked[n.NodeClass] = index
	clear(b.untold) // no job has constraints: all are tried again, on every node
	ready := b.take(func(e *broker.Evaluation) bool {
		eligible, known := e.ClassEligibility[n.NodeClass]
		return e.EscapedComputedClass || eligible || !known
	})
	if fullToo {
		for _, e := range b.system[n.ID] {
			if !slices.ContainsFunc(ready, func(t broker.EvalToken) bool { return t.Eval.ID == e.ID }) {
				ready = append(ready, broker.EvalToken{Eval: e})
			}
		}
		delete(b.system, n.ID)
	}
	b.mu.Unlock()
	b.enqueue(ready)
}

// Untold takes note of a node that has got room at an index, which wakes nobody.
func (b *BlockedEvals) Untold(n *rpc.Node, index uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.enabled {
		b.untold[n.ID] = index
	}
}

// unblockFailed enqueues evaluations that ran out of planning attempts.
func (b *BlockedEvals) unblockFailed() {
	b.mu.Lock()
	ready := b.take(func(e *broker.Evaluation) bool { return e.TriggeredBy == broker.TriggeredByMaxPlans })
	b.mu.Unlock()
	b.enqueue(ready)
}

// take removes the evaluations that match.
func (b *BlockedEvals) take(match func(*broker.Evaluation) bool) []broker.EvalToken {
	var out []broker.EvalToken
	for job, w := range b.jobs {
		if match(w.eval) {
			out = append(out, broker.EvalToken{Eval: w.eval, Token: w.token})
			delete(b.jobs, job)
		}
	}
	return out
}

func (b *BlockedEvals) enqueue(ready []broker.EvalToken) {
	if len(ready) == 0 {
		return
	}
	slices.SortFunc(ready, func(x, y broker.EvalToken) int { return createdFirst(x.Eval, y.Eval) })
	b.evals.EnqueueAll(ready)
}

// duplicates waits for evaluations to cancel and takes them; nil when ctx is done.
func (b *BlockedEvals) duplicates(ctx context.Context) (dups []*broker.Evaluation) {
	b.dupAdded.Wait(ctx, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		dups, b.dups = b.dups, nil
		return len(dups) > 0
	})
	return dups
}

// Jobs returns the jobs that wait for room, and the index since which each does.
func (b *BlockedEvals) Jobs() map[broker.JobID]uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	jobs := make(map[broker.JobID]uint64, len(b.jobs))
	for id, w := range b.jobs {
		if !w.done {
			jobs[id] = w.eval.CreateIndex
		}
	}
	return jobs
}

// Size returns the number of jobs that wait for room.
func (b *BlockedEvals) Size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, w := range b.jobs {
		if !w.done {
			n++
		}
	}
	return n
}
