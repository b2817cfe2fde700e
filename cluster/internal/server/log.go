package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/cpu"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/internal/raftnode"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/cluster/state"
)

// entry is a command on its way through Raft.
type entry struct {
	srv    *Server
	data   []byte
	handed <-chan raft.ApplyFuture
	err    error
	// called are the evaluations that the command would have written, and unwritten says that
	// it had nothing else (config.DesignConfig, WorkQueue).
	called    []*broker.Evaluation
	unwritten bool
}

// begin hands a command to Raft and returns without waiting for it.
func (s *Server) begin(c fsm.Command) entry {
	e := entry{srv: s}
	if s.shared.Ended.Load() {
		e.err = rpc.ErrNoLeader
		return e
	}
	if s.cfg.Design.WorkQueue {
		rest, evals, ok := c.WithoutEvals()
		if c, e.called, e.unwritten = rest, evals, !ok; e.unwritten {
			return e
		}
	}
	data, err := c.Encode()
	if err != nil {
		return entry{err: err}
	}
	s.shared.Results.Lend(data, c)
	e.data, e.handed = data, s.Node.Write(data)
	return e
}

// wait returns the index of the entry once it is committed and applied here.
func (e entry) wait() (uint64, error) {
	index, err := e.commit()
	if err == nil {
		e.srv.evals.Called(e.called, index)
	}
	return index, err
}

// commit is wait, without a word to the leader's queue of jobs.
func (e entry) commit() (uint64, error) {
	if e.err != nil {
		return 0, e.err
	}
	if e.unwritten {
		return e.srv.unwritten()
	}
	defer e.srv.shared.Results.Return(e.data)
	f, ok := <-e.handed
	if !ok {
		return 0, ErrStopped
	}
	err := f.Error()
	e.srv.Settled()
	if e.srv.dead() {
		return 0, ErrStopped
	}
	if err != nil {
		if errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipLost) || errors.Is(err, raftnode.ErrDiskFull) {
			return 0, fmt.Errorf("%w: %w", rpc.ErrNoLeader, err)
		}
		return 0, err
	}
	if err, ok := f.Response().(error); ok {
		return 0, err
	}
	e.srv.shared.Acked.Note(f.Index(), e.srv.Logs.Term(f.Index()))
	return f.Index(), nil
}

// unwritten ends a write that had nothing to write. It needs a leader like any other.
func (s *Server) unwritten() (uint64, error) {
	if s.dead() {
		return 0, ErrStopped
	}
	if !s.Leads() {
		return 0, rpc.ErrNoLeader
	}
	s.Because(fsm.EvalUnwritten)
	return s.Snapshot().Index(), nil
}

// inDoubt reports whether a call that failed so may have been applied all the same.
func inDoubt(err error) bool {
	return errors.Is(err, raft.ErrLeadershipLost) || errors.Is(err, rpc.ErrUnreachable) || errors.Is(err, ErrStopped) || errors.Is(err, context.Canceled)
}

// Write writes one entry and waits until it is applied on this server.
func (s *Server) Write(c fsm.Command) (uint64, error) { return s.begin(c).wait() }

// machine is the server's state machine, as Raft drives it.
type machine struct{ srv *Server }

var _ raft.FSM = (*machine)(nil)

// Apply is called by Raft for one entry after the other. It returns an error, or nil.
func (m *machine) Apply(l *raft.Log) any {
	s := m.srv
	if d := time.Duration(s.opts.Host.Apply.Load()); d > 0 {
		leader.Sleep(s.ctx, d)
	}
	defer s.Applied(l.Index)
	if s.dead() {
		return ErrStopped
	}
	s.times.Witness(l.Index, s.Wall())
	if err := s.apply(l); err != nil {
		// A command that cannot be applied must fail alike on every server.
		return fmt.Errorf("apply entry %d (%v): %w", l.Index, fsm.TypeOf(l), err)
	}
	return nil
}

func (s *Server) apply(l *raft.Log) error {
	result, err := s.shared.Results.Of(l)
	if err != nil {
		return err
	}
	began := time.Now()
	work := result.Cost(s.cfg.Costs.FSM, s.store)
	s.allocate("fsm", work.Total(), s.cfg.Costs.Leaves(work))
	if s.cfg.Follow != nil {
		s.store.Applied = func(now *state.Snapshot) {
			_, setBack := s.store.Course()
			s.cfg.Follow(config.Applied{
				Server: s.opts.ID, Life: s.opts.Storage.Life, SetBack: setBack,
				Index: l.Index, Type: fsm.TypeOf(l).String(), Took: time.Since(began), State: now,
			})
		}
	}
	fx, err := result.Apply(s.store)
	if err != nil {
		return err
	}
	s.perform(fx, l.Index)
	return nil
}

// perform hands the effects of an entry to whom they concern.
func (s *Server) perform(fx *fsm.Effects, index uint64) {
	s.shared.Ledger.Apply(index, fx.Counters)
	for _, e := range fx.Evals {
		s.evals.Written(e)
	}
	for _, id := range fx.Ended {
		s.evals.Broker.DropWaiting(id)
	}
	for _, c := range fx.Jobs {
		s.periodic.JobChanged(c.ID, c.Job)
	}
	if len(fx.Deployments) > 0 {
		snap := s.Snapshot()
		s.deployments.Changed(snap, fx.Deployments)
		s.deployments.Healths(snap, fx.Healths)
	}
	if !s.deploymentsCost() {
		for _, job := range fx.DeploymentAllocs {
			s.deployments.Read(s.Snapshot(), job)
		}
	}
	s.deploymentWatch.heard(fx)
	for _, node := range fx.Drains {
		s.drains.NodeChanged(node)
	}
	if fx.Allocs {
		s.drains.AllocsChanged()
	}
	if s.cfg.Costs.RPC.NodeWatch > 0 && s.Established() && s.Snapshot().NodesIndex() == index {
		leader.Wake(s.nodesChanged)
	}
	for _, n := range fx.Room {
		s.evals.Blocked.Unblock(n, index)
	}
	if fx.Registered != nil {
		s.evals.Blocked.UnblockClass(fx.Registered, index)
	}
	if n := fx.Undrained; n != nil && s.cfg.Habits.DrainEndWakes {
		s.evals.Blocked.Unblock(n, index)
	} else if n != nil {
		s.evals.Blocked.Untold(n, index)
	}
}

// Snapshot captures the state; Raft persists it while entries go on being applied.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	return &machineSnapshot{srv: m.srv, snap: m.srv.Snapshot(), times: m.srv.times.Copy()}, nil
}

// Restore replaces the state with a snapshot's.
func (m *machine) Restore(r io.ReadCloser) error {
	defer r.Close()
	if err := m.srv.times.Restore(r); err != nil {
		return err
	}
	if err := m.srv.store.Restore(r); err != nil {
		return err
	}
	return m.srv.Restored()
}

type machineSnapshot struct {
	srv   *Server
	snap  *state.Snapshot
	times *fsm.TimeTable
}

func (s *machineSnapshot) Persist(sink raft.SnapshotSink) error {
	s.srv.opts.CPU.Spend(simnet.HashStrings(s.srv.seed, "snapshot"), time.Duration(s.snap.Rows())*s.srv.cfg.Costs.Raft.PerRow)
	err := s.times.Persist(sink)
	if err == nil {
		err = s.snap.Persist(sink)
	}
	if err != nil {
		_ = sink.Cancel() // the error that matters is the one that led here
		return fmt.Errorf("persist snapshot %s: %w", sink.ID(), err)
	}
	return sink.Close()
}

func (s *machineSnapshot) Release() {}

// writeEntries takes as long as a leader does to write entries to its log.
func (s *Server) writeEntries(entries [][]byte) {
	s.persist("dispatch", s.cfg.Costs.Raft.Dispatch, entries)
}

// receiveEntries takes as long as a follower does to store entries that come together.
func (s *Server) receiveEntries(entries []*raft.Log, there bool) {
	s.hear("entries", there)
	data := make([][]byte, 0, len(entries))
	for _, e := range entries {
		data = append(data, e.Data)
	}
	s.persist("append", s.cfg.Costs.Raft.Append, data)
	s.awaitApplied()
}

// answered takes as long as the leader's Raft does to learn of an answer to entries.
func (s *Server) answered(from string, there bool, heard func()) {
	s.hear("answer/"+from, there)
	heard()
	if s.cfg.Costs.Raft.Serial {
		s.Node.AwaitIdle()
		// One answer an instant, or which comes first would depend on the runtime.
		time.Sleep(s.shared.Network.Turn(from))
	}
}

// hear charges what Raft's network layer does with a request that has entries, or with the answer to one. If there is
// set, the message had arrived when its reader was done with the one before, so the reader goes on without waiting.
func (s *Server) hear(key string, there bool) {
	if d := s.cfg.Costs.Raft.Receive; there {
		s.Compute(key, d)
	} else {
		s.receive(key, 0, 0, d)
	}
}

// persist charges one write of entries, and waits for the disk.
func (s *Server) persist(key string, write time.Duration, entries [][]byte) {
	bytes, ofPlans := 0, 0
	for _, data := range entries {
		bytes += len(data)
		if fsm.ApplyPlanResults.Begins(data) {
			ofPlans += len(data)
		}
	}
	c := s.cfg.Costs.Raft
	if d := perKiB(ofPlans, c.PerPlanKiB); d > 0 {
		s.allocate(key+"/plans", d, c.PlanGarbage)
	}
	work := write + time.Duration(len(entries)-1)*c.PerEntry + perKiB(bytes, c.PerKiB) + perKiB(s.Logs.Free(), c.PerFreeKiB)
	s.charge(key, cpu.Work{Takes: work, Turn: cpu.Next, Waits: c.Waits(), Wait: s.fsync(), Resume: c.Resume, Left: s.others(key, work)})
}
