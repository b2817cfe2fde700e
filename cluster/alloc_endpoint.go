package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// maxQueryTime bounds a blocking query that names no bound (nomad/rpc.go).
const maxQueryTime = 5 * time.Minute

// clientAllocs blocks until the node's allocations changed after the index the client
// has seen.
func (s *server) clientAllocs(ctx context.Context, req *rpc.NodeSpecificRequest) (*rpc.NodeClientAllocsResponse, error) {
	limit := req.MaxQueryTime
	def(&limit, maxQueryTime)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		changed := s.store.WatchNodeAllocs(req.NodeID)
		allocs := s.store.Snapshot().NodeAllocs(req.NodeID).All()
		var index uint64 = 1 // zero would not block the next query
		for _, a := range allocs {
			index = max(index, a.AllocModifyIndex)
		}
		if index > req.MinQueryIndex {
			return &rpc.NodeClientAllocsResponse{Allocs: allocs, Index: index}, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return &rpc.NodeClientAllocsResponse{Allocs: allocs, Index: index}, nil
		case <-s.ctx.Done():
			return nil, rpc.ErrUnreachable
		}
	}
}

// updateAllocs answers Node.UpdateAlloc on the leader: it joins the batch being
// gathered and waits until that is written.
func (s *server) updateAllocs(req *rpc.AllocUpdateRequest) (*rpc.WriteResponse, error) {
	if len(req.Alloc) == 0 {
		return nil, fmt.Errorf("node %s: must update at least one allocation", req.NodeID)
	}
	snap := s.store.Snapshot()
	node := snap.NodeByID(req.NodeID)
	if node == nil {
		return nil, rpc.ErrNodeNotFound
	}
	if s.cfg.RefuseUpdateAllocNotReady && node.Status != rpc.NodeStatusReady {
		return nil, fmt.Errorf("node %s is %s, not %s", node.ID, node.Status, rpc.NodeStatusReady)
	}
	now := time.Now().UnixNano()
	var evals []*broker.Evaluation
	updates := make([]*rpc.Allocation, 0, len(req.Alloc))
	for _, a := range req.Alloc {
		u := a.Copy()
		u.ModifyTime = now
		updates = append(updates, u)
		old := snap.AllocByID(a.ID)
		if old == nil {
			continue
		}
		job := snap.JobByID(old.Namespace, old.JobID)
		trigger := allocTrigger(snap, old, u, job)
		if trigger == "" {
			continue
		}
		evals = append(evals, allocEval(s.uuid("alloc-eval", a.ID), trigger, old, job, now))
	}
	index, err := s.updates.write(updates, evals)
	if err != nil {
		return nil, err
	}
	return &rpc.WriteResponse{Index: index}, nil
}

// allocTrigger says why an update of an allocation makes its job be looked at again;
// empty when it does not (nomad/node_endpoint.go, UpdateAlloc).
func allocTrigger(snap *state.Snapshot, old, updated *rpc.Allocation, job *rpc.Job) string {
	wasUnknown := old.ClientStatus == rpc.AllocClientUnknown
	switch {
	case !updated.Terminal() && !wasUnknown:
		return ""
	case job == nil:
		return broker.TriggeredByJobDeregister
	}
	failed := updated.ClientStatus == rpc.AllocClientFailed && old.FollowupEvalID == ""
	switch {
	case failed && job.TaskGroup(old.TaskGroup) == nil:
		return ""
	case wasUnknown:
		return broker.TriggeredByReconnect
	case failed && mayReschedule(snap, old, job, updated.ModifyTime):
		return broker.TriggeredByRetryFailedAlloc
	}
	return ""
}

// batchRescheduleInterval is how often a batch allocation may be replaced for having
// failed (structs.go, DefaultBatchJobReschedulePolicy).
const batchRescheduleInterval = 24 * time.Hour

// mayReschedule reports whether a failed allocation may be replaced by the default policy
// of its job's type (structs.go, Allocation.RescheduleEligible): services always, system
// jobs never, batch jobs once a day. A replacement of a failed one was that once.
func mayReschedule(snap *state.Snapshot, a *rpc.Allocation, job *rpc.Job, now int64) bool {
	switch job.Type {
	case rpc.JobTypeService:
		return true
	case rpc.JobTypeBatch:
		previous := snap.AllocByID(a.PreviousAllocation)
		return previous == nil || previous.ClientStatus != rpc.AllocClientFailed || now-a.CreateTime >= int64(batchRescheduleInterval)
	}
	return false
}

// purgedPriority is that of evaluations of jobs that are gone: allocations do not keep
// their jobs' (structs.go, JobDefaultPriority).
const purgedPriority = 50

func allocEval(id, trigger string, a *rpc.Allocation, job *rpc.Job, now int64) *broker.Evaluation {
	e := &broker.Evaluation{
		ID: id, Namespace: a.Namespace, JobID: a.JobID, Type: a.JobType, Priority: purgedPriority,
		TriggeredBy: trigger, Status: broker.StatusPending, CreateTime: now, ModifyTime: now,
	}
	if job != nil {
		e.Type, e.Priority = job.Type, job.Priority
	}
	return e
}

// allocBatcher gathers allocation updates for a while and writes them as one entry
// (nomad/node_endpoint.go, batchUpdate).
type allocBatcher struct {
	srv *server
	wg  sync.WaitGroup

	mu   sync.Mutex
	next *allocBatch
}

type allocBatch struct {
	updates []*rpc.Allocation
	evals   []*broker.Evaluation
	index   uint64
	err     error
	written chan struct{}
}

func newAllocBatcher(s *server) *allocBatcher { return &allocBatcher{srv: s} }

// write adds to the batch being gathered and waits until it is in the log.
func (b *allocBatcher) write(updates []*rpc.Allocation, evals []*broker.Evaluation) (uint64, error) {
	b.mu.Lock()
	batch := b.next
	if batch == nil {
		batch = &allocBatch{written: make(chan struct{})}
		b.next = batch
		b.wg.Add(1)
		time.AfterFunc(b.srv.cfg.BatchUpdateInterval, b.flush)
	}
	batch.updates = append(batch.updates, updates...)
	batch.evals = append(batch.evals, evals...)
	b.mu.Unlock()
	<-batch.written
	return batch.index, batch.err
}

func (b *allocBatcher) flush() {
	defer b.wg.Done()
	b.mu.Lock()
	batch := b.next
	b.next = nil
	b.mu.Unlock()
	// Updates join in the order the runtime ran their senders; sorted, equal batches
	// are equal entries.
	slices.SortFunc(batch.updates, func(a, c *rpc.Allocation) int { return cmp.Compare(a.ID, c.ID) })
	slices.SortFunc(batch.evals, func(a, c *broker.Evaluation) int { return cmp.Compare(a.ID, c.ID) })
	seen := map[broker.JobID]bool{}
	batch.evals = slices.DeleteFunc(batch.evals, func(e *broker.Evaluation) bool {
		dup := seen[e.Job()]
		seen[e.Job()] = true
		return dup
	})
	b.srv.happened(func(c *Causes) { c.AllocReports++ })
	batch.index, batch.err = b.srv.raftApply(allocClientUpdateRequestType, &allocClientUpdateRequest{Alloc: batch.updates, Evals: batch.evals})
	close(batch.written)
}

// wait joins the batches under way.
func (b *allocBatcher) wait() { b.wg.Wait() }
