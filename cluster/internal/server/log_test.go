package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/cpu"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/raftnode"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// sink is a raft.SnapshotSink with room for so many bytes.
type sink struct {
	bytes.Buffer
	room     int
	closed   error
	canceled bool
}

func (s *sink) Write(b []byte) (int, error) {
	if s.Len()+len(b) > s.room {
		return 0, io.ErrShortWrite
	}
	return s.Buffer.Write(b)
}
func (s *sink) ID() string    { return "snapshot" }
func (s *sink) Close() error  { return s.closed }
func (s *sink) Cancel() error { s.canceled = true; return nil }

// badSector loses what is read first.
type badSector struct {
	io.Reader
	err error
}

func (b *badSector) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.err != nil {
		n, err, b.err = 0, b.err, nil
	}
	return n, err
}

// TestSnapshotsThatBreak: one that cannot be written is canceled, one that cannot be closed is an
// error, and one that ends early, or whose times are lost, is none.
func TestSnapshotsThatBreak(t *testing.T) {
	s := New(&Shared{Config: &config.Config{}}, Options{Storage: &raftnode.Storage{}, CPU: cpu.NewPool(0)})
	s.store, s.times = state.New(), fsm.NewTimeTable(time.Minute)
	s.times.Witness(1, time.Unix(1_700_000_000, 0))
	if err := s.store.Update(1, func(tx *state.Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n"}) }); err != nil {
		t.Fatal(err)
	}
	m := &machine{s}
	snap, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	whole := &sink{room: 1 << 20}
	if err := snap.Persist(whole); err != nil || whole.canceled {
		t.Fatalf("a snapshot with room: %v, canceled %v", err, whole.canceled)
	}
	bad := errors.New("bad sector")
	if err := snap.Persist(&sink{room: 1 << 20, closed: bad}); !errors.Is(err, bad) {
		t.Errorf("a snapshot that cannot be closed: %v", err)
	}
	for n := 0; n < whole.Len(); n += 7 {
		short := &sink{room: n}
		if err := snap.Persist(short); !errors.Is(err, io.ErrShortWrite) || !short.canceled {
			t.Errorf("a disk with room for %d of %d bytes: %v, canceled %v", n, whole.Len(), err, short.canceled)
		}
		if err := m.Restore(io.NopCloser(bytes.NewReader(whole.Bytes()[:n]))); err == nil {
			t.Errorf("%d of %d bytes were restored", n, whole.Len())
		}
	}
	noTimes := &sink{room: 1 << 20}
	if err := (&machineSnapshot{s, s.Snapshot(), fsm.NewTimeTable(time.Minute)}).Persist(noTimes); err != nil {
		t.Fatal(err)
	}
	if err := m.Restore(io.NopCloser(&badSector{noTimes, bad})); !errors.Is(err, bad) {
		t.Errorf("a snapshot whose table of times cannot be read: %v", err)
	}
	dir := t.TempDir()
	onDisk, err := raftnode.NewStorages(dir, false).New("n")
	if err != nil {
		t.Fatal(err)
	}
	defer onDisk.Close()
	s.Node = raftnode.New(raftnode.Options{Addr: "n", Storage: onDisk})
	restore := func() error { return m.Restore(io.NopCloser(bytes.NewReader(whole.Bytes()))) }
	if err := errors.Join(restore(), os.RemoveAll(filepath.Join(dir, "n", "snapshots"))); err != nil {
		t.Fatal(err)
	}
	if err := restore(); err == nil || !strings.Contains(err.Error(), "list the snapshots of n") {
		t.Errorf("a server that cannot tell which snapshot it has restored: %v", err)
	}
}

// TestInDoubt: a call may have been applied that lost its leader, its server or its way, or that nobody waits for
// any more; not one that was refused.
func TestInDoubt(t *testing.T) {
	for err, want := range map[error]bool{
		raft.ErrLeadershipLost: true, rpc.ErrUnreachable: true, ErrStopped: true, context.Canceled: true,
		nil: false, rpc.ErrNoLeader: false, raft.ErrNotLeader: false, rpc.ErrJobNotFound: false,
	} {
		if err != nil {
			err = fmt.Errorf("write: %w", err)
		}
		if got := inDoubt(err); got != want {
			t.Errorf("%v is in doubt: %v, want %v", err, got, want)
		}
	}
}

// failed is the future of an entry that Raft says failed.
type failed struct {
	raft.ApplyFuture
	err error
}

func (f failed) Error() error { return f.err }

// TestWhatBecomesOfWrites: who wrote an entry is told that there is no leader if another is to take it, and
// any other error as it is. What was applied is acknowledged, what was refused is not, and a server that has died tells
// nobody anything.
func TestWhatBecomesOfWrites(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		s := lead(t, config.Config{Seed: 1, GC: noCollection})
		write := func(node string, err error) entry {
			t.Helper()
			e := s.begin(fsm.NodeUpdateStatus.With(&rpc.NodeUpdateStatusRequest{NodeID: node, Status: rpc.NodeStatusDown}))
			f := <-e.handed
			if f.Error() != nil {
				t.Fatal(f.Error())
			}
			if err != nil {
				f = failed{f, err}
			}
			handed := make(chan raft.ApplyFuture, 1)
			handed <- f
			e.handed = handed
			return e
		}
		if err := s.store.Update(s.store.Index(), func(tx *state.Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n"}) }); err != nil {
			t.Fatal(err)
		}
		if index, err := write("n", nil).commit(); err != nil || index != s.LastIndex() || s.shared.Acked.Highest() != index {
			t.Errorf("one that is applied: entry %d of %d, %v; up to %d is acknowledged", index, s.LastIndex(), err, s.shared.Acked.Highest())
		}
		acked := s.shared.Acked.Highest()
		if index, err := write("none", nil).commit(); index != 0 || !errors.Is(err, rpc.ErrNodeNotFound) {
			t.Errorf("one that cannot be applied: entry %d, %v", index, err)
		}
		for err, another := range map[error]bool{raft.ErrNotLeader: true, raft.ErrLeadershipLost: true, raftnode.ErrDiskFull: true, raft.ErrEnqueueTimeout: false} {
			if index, got := write("n", err).commit(); index != 0 || !errors.Is(got, err) || errors.Is(got, rpc.ErrNoLeader) != another {
				t.Errorf("%v: entry %d, %v", err, index, got)
			}
		}
		if !s.Drained() || s.shared.Acked.Highest() != acked {
			t.Errorf("nothing is under way: %v; up to %d is acknowledged, want %d", s.Drained(), s.shared.Acked.Highest(), acked)
		}
		late := write("n", nil)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		for what, e := range map[string]entry{"one whose server has died": late, "one after that": s.begin(fsm.NodeUpdateStatus.With(&rpc.NodeUpdateStatusRequest{}))} {
			if index, err := e.commit(); index != 0 || !errors.Is(err, ErrStopped) || s.shared.Acked.Highest() != acked {
				t.Errorf("%s: entry %d, %v; up to %d is acknowledged, want %d", what, index, err, s.shared.Acked.Highest(), acked)
			}
		}
		s.shared.Ended.Store(true)
		if index, err := s.begin(fsm.Command{}).commit(); index != 0 || !errors.Is(err, rpc.ErrNoLeader) {
			t.Errorf("one after the end of the run: entry %d, %v", index, err)
		}
	})
}

// TestWritesOfNothing: where no evaluations are written, one that would have been is told to the leader as of the entry that called for
// it, or of the state if there is none. That counts, and needs a leader that lives.
func TestWritesOfNothing(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		s := start(t, config.Config{Seed: 1, GC: noCollection, Design: config.DesignConfig{WorkQueue: true}})
		eval := func(id string) *broker.Evaluation {
			return &broker.Evaluation{
				ID: id, Namespace: rpc.DefaultNamespace, JobID: "job", Type: rpc.JobTypeService, Status: broker.StatusBlocked,
				SnapshotIndex: 1 << 40,
			}
		}
		nothing := func() entry {
			return s.begin(fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: []*broker.Evaluation{eval("none")}}))
		}
		check := func(what string, e entry, want error, counts uint64) {
			t.Helper()
			_, before := s.shared.Ledger.Read()
			index, err := e.commit()
			_, after := s.shared.Ledger.Read()
			if counted := after[fsm.EvalUnwritten] - before[fsm.EvalUnwritten]; !errors.Is(err, want) || (index == 0) != (want != nil) || counted != counts {
				t.Errorf("%s: at %d, %v, counted %d times; want %v, %d times", what, index, err, counted, want, counts)
			}
		}
		check("before there is a leader", nothing(), rpc.ErrNoLeader, 0)
		for !s.Established() {
			time.Sleep(time.Second)
		}
		last, err := s.Write(fsm.JobRegister.With(&fsm.JobRegisterRequest{Job: jobOf("service")}))
		if err != nil {
			t.Fatal(err)
		}
		check("with a leader", nothing(), nil, 1)
		if s.evals.Blocked.Size() != 0 {
			t.Error("the leader was told of an evaluation that was only committed")
		}
		alone := eval("alone")
		index, err := s.Write(fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: []*broker.Evaluation{alone}}))
		if err != nil || index != last || alone.ModifyIndex != last || s.LastIndex() != last || s.evals.Blocked.Size() != 1 {
			t.Errorf("an evaluation alone: at %d and %d, %v; the log ends at %d; want %d", index, alone.ModifyIndex, err, s.LastIndex(), last)
		}
		with := eval("with")
		with.JobID = "other"
		job := jobOf("service")
		job.ID = "other"
		index, err = s.Write(fsm.JobRegister.With(&fsm.JobRegisterRequest{Job: job, Eval: with}))
		if err != nil || index != last+1 || with.ModifyIndex != index || s.LastIndex() != index || s.Snapshot().EvalTotal() != 0 || s.evals.Blocked.Size() != 2 {
			t.Errorf("one with its job: at %d and %d, %v; the log ends at %d; %d are written", index, with.ModifyIndex, err, s.LastIndex(), s.Snapshot().EvalTotal())
		}
		refused := eval("refused")
		refused.JobID = "third"
		if index, err = s.Write(fsm.NodesDown.With(&fsm.NodesDownRequest{
			Nodes: []rpc.NodeUpdateStatusRequest{{NodeID: "none", Status: rpc.NodeStatusDown}}, Evals: []*broker.Evaluation{refused},
		})); index != 0 || !errors.Is(err, rpc.ErrNodeNotFound) || refused.ModifyIndex != 0 || s.evals.Blocked.Size() != 2 {
			t.Errorf("one whose entry is refused: at %d and %d, %v; %d are blocked", index, refused.ModifyIndex, err, s.evals.Blocked.Size())
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		check("after the server has died", nothing(), ErrStopped, 0)
		s.shared.Ended.Store(true)
		check("after the end of the run", nothing(), rpc.ErrNoLeader, 0)
	})
}

// TestUnackedEvaluations: the account counts an evaluation once more whose worker does not hear that its result
// is written, or that it is acked; and no other.
func TestUnackedEvaluations(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		s := lead(t, config.Config{Seed: 1, GC: noCollection})
		w := &worker{srv: s, name: "worker-0"}
		of := func(kind string) Dequeued {
			return Dequeued{Eval: &broker.Evaluation{ID: "e", JobID: "job", Type: kind}, Token: "token"}
		}
		check := func(what string, do func(), want uint64) {
			t.Helper()
			_, before := s.shared.Ledger.Read()
			do()
			if _, after := s.shared.Ledger.Read(); after[fsm.EvalUnacked]-before[fsm.EvalUnacked] != want {
				t.Errorf("%s counts as %d, want %d", what, after[fsm.EvalUnacked]-before[fsm.EvalUnacked], want)
			}
		}
		write := func(what string) func() {
			return func() {
				p := &planning{worker: w, Dequeued: of(rpc.JobTypeService)}
				if err := p.write([]*broker.Evaluation{p.Eval}); err == nil {
					t.Errorf("%s is no error", what)
				}
			}
		}
		check("an ack of what another has", func() { w.answer(of(rpc.JobTypeService), true) }, 1)
		check("the same of a collection, which has no result", func() { w.answer(of(rpc.JobTypeCore), true) }, 0)
		check("a nack of what another has", func() { w.answer(of(rpc.JobTypeService), false) }, 0)
		check("a result that is refused", write("a result that is refused"), 0)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		check("a result that nobody answers", write("a result that nobody answers"), 1)
	})
}

// TestCollectionsThatFail: when the log does not take them the worker hears of it, and nothing is
// gone.
func TestCollectionsThatFail(t *testing.T) {
	for _, job := range coreJobs {
		name := job.id
		virtualtest.Test(t, func(t *testing.T) {
			s := alone(t, config.Config{Seed: 1, GC: noCollection})
			err := s.store.Update(s.store.Index(), func(tx *state.Tx) error {
				over := jobOf("service")
				over.Stop = true
				return errors.Join(tx.UpsertJob(over), tx.UpsertDeployment(&rpc.Deployment{ID: "d", Namespace: rpc.DefaultNamespace, JobID: "job", Status: rpc.DeploymentFailed}), tx.UpsertNode(&rpc.Node{ID: "n", Status: rpc.NodeStatusDown}),
					tx.UpsertEvals(&broker.Evaluation{ID: "e", Namespace: rpc.DefaultNamespace, JobID: "job", Status: broker.StatusComplete}))
			})
			if err != nil {
				t.Fatal(err)
			}
			s.opts.Host.Full.Add(1)
			c := &coreRun{worker: &worker{srv: s, name: "worker-0"}, snap: s.Snapshot(), force: true}
			if err := job.run(c); !errors.Is(err, rpc.ErrNoLeader) {
				t.Errorf("%s: %v, want %v", name, err, rpc.ErrNoLeader)
			}
			if name == coreForceGC { // the others find nothing that is old enough
				core := Dequeued{Eval: &broker.Evaluation{Type: rpc.JobTypeCore, JobID: name}}
				if err := c.worker.process(core); !errors.Is(err, rpc.ErrNoLeader) {
					t.Errorf("%s as an evaluation: %v, want %v", name, err, rpc.ErrNoLeader)
				}
			}
			if snap := s.Snapshot(); snap.EvalTotal() != 1 || snap.NodeCount() != 1 {
				t.Errorf("%s: %d evaluations and %d nodes are left", name, snap.EvalTotal(), snap.NodeCount())
			}
			s.opts.Host.Full.Add(-1)
		})
	}
}

// TestCollectionsNeedToKnowWhatIsOpen: where no evaluations are written, a collector that cannot ask which
// jobs are open collects nothing, and says so.
func TestCollectionsNeedToKnowWhatIsOpen(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		s := lead(t, config.Config{Seed: 1, GC: noCollection, Design: config.DesignConfig{WorkQueue: true}})
		c := &coreRun{worker: &worker{srv: s, name: "worker-0"}, snap: s.Snapshot()}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := c.run("eval-gc"); err == nil || !strings.Contains(err.Error(), "which jobs are open") {
			t.Errorf("nobody was there to ask: %v", err)
		}
	})
}
