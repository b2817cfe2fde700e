package cluster

import (
	"fmt"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// What garbage collection writes, and how that is applied.
type (
	evalDeleteRequest struct {
		Evals  []string
		Allocs []string
	}
	nodeBatchDeregisterRequest struct{ NodeIDs []string }
	// jobBatchDeregisterRequest forgets jobs, and brings the evaluations that stop what they
	// may still run.
	jobBatchDeregisterRequest struct {
		Jobs  []broker.JobID
		Evals []*broker.Evaluation
	}
	// oneTimeTokenExpireRequest is written every ten minutes, whether there are one-time
	// tokens or not.
	oneTimeTokenExpireRequest struct {
		Timestamp int64 // Unix nanoseconds
	}
)

// purgeJobs answers Job.BatchDeregister on the leader (nomad/job_endpoint.go).
func (s *server) purgeJobs(jobs []broker.JobID) error {
	snap := s.store.Snapshot()
	req := &jobBatchDeregisterRequest{Jobs: jobs}
	for _, id := range jobs {
		if job := snap.JobByID(id.Namespace, id.ID); job != nil && job.Periodic == nil {
			req.Evals = append(req.Evals, s.jobEval(job, broker.TriggeredByJobDeregister))
		}
	}
	s.happened(func(c *Causes) { c.JobsReaped++ })
	_, err := s.raftApply(jobBatchDeregisterRequestType, req)
	return err
}

// deregisterNodes answers Node.BatchDeregister on the leader: one entry, and one more for
// the evaluations of each node (nomad/node_endpoint.go, deregister).
func (s *server) deregisterNodes(ids []string) error {
	snap := s.store.Snapshot()
	var nodes []*rpc.Node
	for _, id := range ids {
		node := snap.NodeByID(id)
		if node == nil {
			return fmt.Errorf("deregister node %s: %w", id, rpc.ErrNodeNotFound)
		}
		nodes = append(nodes, node)
	}
	s.happened(func(c *Causes) { c.NodesReaped++ })
	index, err := s.raftApply(nodeBatchDeregisterRequestType, &nodeBatchDeregisterRequest{ids})
	if err != nil {
		return err
	}
	for _, n := range nodes {
		s.beats.clear(n.ID)
		if err := s.createNodeEvals(n, index, &rpc.NodeUpdateResponse{}); err != nil {
			return err
		}
	}
	return nil
}

func (f *fsm) deleteEvals(index uint64, req *evalDeleteRequest) error {
	f.charge(len(req.Evals)+len(req.Allocs), f.srv.cfg.Costs.FSM.Eval)
	before := f.srv.store.Snapshot().EvalTotal()
	if err := f.srv.store.Update(index, func(tx *state.Tx) error { return tx.DeleteEvals(req.Evals, req.Allocs) }); err != nil {
		return err
	}
	gone := before - f.srv.store.Snapshot().EvalTotal()
	f.count(index, func(c *Counters) { c.EvalsCollected += uint64(gone) })
	return nil
}

func (f *fsm) deregisterNodes(index uint64, req *nodeBatchDeregisterRequest) error {
	f.charge(len(req.NodeIDs), f.srv.cfg.Costs.FSM.Node)
	if err := f.srv.store.Update(index, func(tx *state.Tx) error { return tx.DeleteNode(req.NodeIDs...) }); err != nil {
		return err
	}
	f.count(index, func(c *Counters) { c.NodesCollected += uint64(len(req.NodeIDs)) })
	for _, id := range req.NodeIDs {
		f.srv.drains.nodeChanged(id)
	}
	return nil
}

func (f *fsm) deregisterJobs(index uint64, req *jobBatchDeregisterRequest) error {
	f.charge(len(req.Evals), f.srv.cfg.Costs.FSM.Eval)
	for _, e := range req.Evals {
		e.JobModifyIndex = index
	}
	for _, id := range req.Jobs {
		f.srv.periodic.jobChanged(id, nil)
	}
	return f.writeEvals(index, req.Evals, func(tx *state.Tx) error {
		for _, id := range req.Jobs {
			if err := tx.DeleteJob(id.Namespace, id.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *fsm) expireTokens(index uint64, _ *oneTimeTokenExpireRequest) error {
	f.charge(0, 0)
	return f.srv.store.Update(index, func(*state.Tx) error { return nil })
}

// witness notes when an entry was applied here.
func (f *fsm) witness(index uint64) { f.srv.times.witness(index, time.Now()) }
