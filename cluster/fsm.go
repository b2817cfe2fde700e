package cluster

import (
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// fsm applies committed entries to one server's state (nomad/fsm.go) and tells the
// broker and the blocked evaluations, which listen only while the server leads.
type fsm struct {
	srv *server
}

var _ raft.FSM = (*fsm)(nil)

// Apply is called by Raft for one entry after the other. It returns an error, or nil.
func (f *fsm) Apply(l *raft.Log) any {
	if d := f.srv.applyDelay(); d > 0 {
		sleepContext(f.srv.ctx, d)
	}
	defer f.srv.applied.Store(l.Index)
	if f.srv.dead() {
		return errStopped
	}
	f.witness(l.Index)
	if err := f.apply(l.Index, l.Data); err != nil {
		// A command that cannot be applied must fail alike on every server.
		return fmt.Errorf("apply entry %d (%v): %w", l.Index, typeOf(l), err)
	}
	return nil
}

func (f *fsm) apply(index uint64, data []byte) error {
	switch messageType(data[0]) {
	case nodeRegisterRequestType:
		return applyEntry(f, index, data, f.registerNode)
	case nodeUpdateStatusRequestType:
		return applyEntry(f, index, data, f.updateNodeStatus)
	case jobRegisterRequestType:
		return applyEntry(f, index, data, f.registerJob)
	case jobDeregisterRequestType:
		return applyEntry(f, index, data, f.deregisterJob)
	case evalUpdateRequestType:
		return applyEntry(f, index, data, f.updateEvals)
	case allocClientUpdateRequestType:
		return applyEntry(f, index, data, f.updateAllocs)
	case applyPlanResultsRequestType:
		return applyEntry(f, index, data, f.applyPlanResults)
	case allocUpdateDesiredTransitionRequestType:
		return applyEntry(f, index, data, f.updateTransitions)
	case deploymentStatusUpdateRequestType:
		return applyEntry(f, index, data, f.updateDeployment)
	case nodeUpdateEligibilityRequestType:
		return applyEntry(f, index, data, f.updateEligibility)
	case nodeUpdateDrainRequestType:
		return applyEntry(f, index, data, f.updateDrain)
	case batchNodeUpdateDrainRequestType:
		return applyEntry(f, index, data, f.completeDrains)
	case schedulerConfigRequestType:
		return applyEntry(f, index, data, f.setSchedulerConfig)
	case upsertNodeEventsType:
		return applyEntry(f, index, data, f.addNodeEvents)
	case evalDeleteRequestType:
		return applyEntry(f, index, data, f.deleteEvals)
	case nodeBatchDeregisterRequestType:
		return applyEntry(f, index, data, f.deregisterNodes)
	case jobBatchDeregisterRequestType:
		return applyEntry(f, index, data, f.deregisterJobs)
	case oneTimeTokenExpireRequestType:
		return applyEntry(f, index, data, f.expireTokens)
	case scalingEventRegisterRequestType:
		return applyEntry(f, index, data, f.recordScaling)
	}
	return fmt.Errorf("entry %d has unknown type %d", index, data[0])
}

// applyEntry decodes an entry and hands it to fn.
func applyEntry[T any](f *fsm, index uint64, data []byte, fn func(uint64, *T) error) error {
	req, err := decodeEntry[T](data)
	if err != nil {
		return err
	}
	return fn(index, req)
}

// charge spends the time that applying an entry takes before its effect is visible.
func (f *fsm) charge(items int, each time.Duration) {
	f.srv.allocate("fsm", f.srv.cfg.Costs.FSM.Entry+time.Duration(items)*each)
}

func (f *fsm) registerNode(index uint64, req *rpc.NodeRegisterRequest) error {
	f.charge(1, f.srv.cfg.Costs.FSM.Node)
	if err := f.srv.store.Update(index, func(tx *state.Tx) error { return tx.UpsertNode(req.Node) }); err != nil {
		return err
	}
	f.unblockNode(index, req.Node.ID)
	return nil
}

func (f *fsm) updateNodeStatus(index uint64, req *rpc.NodeUpdateStatusRequest) error {
	f.charge(1, f.srv.cfg.Costs.FSM.Node)
	if err := f.srv.store.Update(index, func(tx *state.Tx) error {
		return tx.UpdateNodeStatus(req.NodeID, req.Status, req.UpdatedAt, req.NodeEvent)
	}); err != nil {
		return err
	}
	f.count(index, func(c *Counters) {
		if req.Status == rpc.NodeStatusDown {
			c.NodesDown++
		}
	})
	f.unblockNode(index, req.NodeID)
	return nil
}

func (f *fsm) registerJob(index uint64, req *jobRegisterRequest) error {
	evals := some(req.Eval)
	f.charge(len(evals), f.srv.cfg.Costs.FSM.Eval)
	for _, e := range evals {
		e.JobModifyIndex = index
	}
	err := f.writeEvals(index, evals, func(tx *state.Tx) error {
		if err := tx.UpsertJob(req.Job); err != nil {
			return err
		}
		return noteLaunch(tx, req.Job, req.Time)
	})
	if err == nil {
		f.srv.periodic.jobChanged(broker.JobID{Namespace: req.Job.Namespace, ID: req.Job.ID}, req.Job)
	}
	return err
}

func (f *fsm) deregisterJob(index uint64, req *jobDeregisterRequest) error {
	evals := some(req.Eval)
	f.charge(len(evals), f.srv.cfg.Costs.FSM.Eval)
	for _, e := range evals {
		e.JobModifyIndex = index
	}
	f.srv.periodic.jobChanged(broker.JobID{Namespace: req.Namespace, ID: req.JobID}, nil)
	return f.writeEvals(index, evals, func(tx *state.Tx) error {
		if req.Purge {
			return tx.DeleteJob(req.Namespace, req.JobID)
		}
		return tx.StopJob(req.Namespace, req.JobID)
	})
}

func (f *fsm) updateEvals(index uint64, req *evalUpdateRequest) error {
	f.charge(len(req.Evals), f.srv.cfg.Costs.FSM.Eval)
	return f.writeEvals(index, req.Evals, func(*state.Tx) error { return nil })
}

func (f *fsm) updateAllocs(index uint64, req *allocClientUpdateRequest) error {
	f.charge(len(req.Alloc), f.srv.cfg.Costs.FSM.Alloc)
	err := f.writeEvals(index, req.Evals, func(tx *state.Tx) error { return tx.UpdateAllocsFromClient(req.Alloc...) })
	if err != nil {
		return err
	}
	f.reported(req.Alloc)
	f.srv.drains.allocsChanged()
	for _, a := range req.Alloc {
		if a.ClientStatus == rpc.AllocClientComplete || a.ClientStatus == rpc.AllocClientFailed {
			// Room is free even on a node that is not ready: whoever is woken finds out.
			if n := f.srv.store.Snapshot().NodeByID(a.NodeID); n != nil {
				f.srv.blocked.unblock(n, index)
			}
		}
	}
	return nil
}

func (f *fsm) applyPlanResults(index uint64, req *state.PlanResults) error {
	f.srv.allocate("fsm", f.srv.cfg.Costs.FSM.plan(len(req.AllocsStopped)+len(req.AllocsUpdated)))
	if err := f.srv.store.Update(index, func(tx *state.Tx) error { return tx.UpsertPlanResults(req) }); err != nil {
		return err
	}
	f.planned(req)
	f.srv.drains.allocsChanged()
	return nil
}

// writeEvals stores evaluations together with what else the entry writes, and hands
// each of them to whoever waits for it (nomad/fsm.go, handleUpsertedEval).
func (f *fsm) writeEvals(index uint64, evals []*broker.Evaluation, also func(*state.Tx) error) error {
	store := f.srv.store
	canceled, failed := store.EvalCount(broker.StatusCanceled), store.EvalCount(broker.StatusFailed)
	err := store.Update(index, func(tx *state.Tx) error {
		if err := also(tx); err != nil {
			return err
		}
		return tx.UpsertEvals(evals...)
	})
	if err != nil {
		return err
	}
	canceled = store.EvalCount(broker.StatusCanceled) - canceled
	failed = store.EvalCount(broker.StatusFailed) - failed
	created := uint64(0)
	for _, e := range evals {
		if e.CreateIndex == index {
			created++
		}
	}
	f.count(index, func(c *Counters) {
		c.EvalsCreated += created
		c.EvalsCanceled += uint64(canceled)
		c.EvalsFailed += uint64(failed)
	})
	for _, e := range evals {
		switch {
		case e.ShouldEnqueue():
			f.srv.evals.Enqueue(e)
		case e.ShouldBlock():
			f.srv.blocked.block(e, "")
		case e.Status == broker.StatusComplete && len(e.FailedTGAllocs) == 0:
			f.srv.blocked.untrack(e.Job())
		}
	}
	return nil
}

// unblockNode wakes the evaluations that wait for room on a node, if it is ready.
func (f *fsm) unblockNode(index uint64, nodeID string) {
	if n := f.srv.store.Snapshot().NodeByID(nodeID); n != nil && n.Status == rpc.NodeStatusReady {
		f.srv.blocked.unblock(n, index)
	}
}

// count changes the run's counters for an entry, once for all servers: the first
// server to apply an index counts it.
func (f *fsm) count(index uint64, change func(*Counters)) {
	f.srv.cluster.count(index, change)
}

// some returns the evaluation as a list, which is empty for none.
func some(e *broker.Evaluation) []*broker.Evaluation {
	if e == nil {
		return nil
	}
	return []*broker.Evaluation{e}
}

// Snapshot captures the state; Raft persists it while entries go on being applied.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	return &fsmSnapshot{snap: f.srv.store.Snapshot(), times: f.srv.times.copy()}, nil
}

// Restore replaces the state with a snapshot's.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer r.Close()
	times, err := readTimes(r)
	if err != nil {
		return err
	}
	if err := f.srv.store.Restore(r); err != nil {
		return err
	}
	f.srv.times.restore(times)
	// The newest snapshot is the one being restored.
	snaps, err := f.srv.snaps.List()
	if err != nil {
		return fmt.Errorf("list the snapshots of %s: %w", f.srv.addr, err)
	}
	if len(snaps) > 0 {
		if f.srv.joined.Load() {
			f.srv.logs.supersede(f.srv.applied.Load(), snaps[0].Index)
		}
		f.srv.applied.Store(snaps[0].Index)
	}
	return nil
}

type fsmSnapshot struct {
	snap  *state.Snapshot
	times []timeEntry
}

func (s *fsmSnapshot) Persist(sink raft.SnapshotSink) error {
	err := writeTimes(sink, s.times)
	if err == nil {
		err = s.snap.Persist(sink)
	}
	if err != nil {
		_ = sink.Cancel() // the error that matters is the one that led here
		return fmt.Errorf("persist snapshot %s: %w", sink.ID(), err)
	}
	return sink.Close()
}

func (s *fsmSnapshot) Release() {}
