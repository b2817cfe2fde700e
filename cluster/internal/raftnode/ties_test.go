package raftnode

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/internal/virtualtest"
)

// nothing is a state machine without a state.
type nothing struct{}

func (nothing) Apply(*raft.Log) any                 { return nil }
func (nothing) Snapshot() (raft.FSMSnapshot, error) { return nil, raft.ErrNothingNewToSnapshot }
func (nothing) Restore(r io.ReadCloser) error       { return r.Close() }

// startNodes starts a Raft cluster that the test stops, and returns its leader first.
func startNodes(t *testing.T, n int) []*Node {
	t.Helper()
	cfg := config.Config{}.WithDefaults()
	network := simnet.New(1, simnet.Link{}, simnet.Link{})
	addrs := []string{"a", "b", "c", "d", "e"}[:n]
	var nodes []*Node
	for i, addr := range addrs {
		storage, err := NewStorages("", false).New(addr)
		if err != nil {
			t.Fatal(err)
		}
		node := New(Options{
			Addr: addr, Peers: addrs, Config: cfg.Raft, Seed: int64(i), Storage: storage,
			Transport: network.NewTransport(addr, nil), Write: func([][]byte) {},
		})
		if err := node.Start(nothing{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			node.Transport.Cut()
			node.Halt()
			if err := node.Stop(); err != nil {
				t.Error(err)
			}
		})
		nodes = append(nodes, node)
		time.Sleep(137 * time.Microsecond)
	}
	time.Sleep(10 * time.Second)
	for i, node := range nodes {
		if node.Leads() {
			nodes[0], nodes[i] = nodes[i], nodes[0]
			return nodes
		}
	}
	t.Fatal("nobody leads")
	return nil
}

// TestRaftSaysWhereItBegins: the tie breaker acts on what this version of Raft logs, in this
// order, when a server starts and when it comes to lead.
func TestRaftSaysWhereItBegins(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		nodes := startNodes(t, 3)
		leader := nodes[0]
		breaker := leader.ties
		for _, n := range nodes {
			if said := n.ties.follows.Load(); said < 1 {
				t.Errorf("%s never said %q", n.opts.Addr, saysFollows)
			}
		}
		if n := breaker.replicates.Load(); n < 2 {
			t.Errorf("the leader of three said %q %d times, want 2 or more", saysReplicates, n)
		}
		if n := breaker.peers.Load(); n != breaker.replicates.Load() {
			t.Errorf("the leader was observed to have %d new peers, want %d, one each time it said so", n, breaker.replicates.Load())
		}
		took := func(what string, want time.Duration, do func()) {
			t.Helper()
			before := time.Now()
			do()
			if got := time.Since(before); got != want {
				t.Errorf("%s took %v, want %v", what, got, want)
			}
		}
		took("starting to follow", 1, func() { breaker.Info(saysFollows) })
		took("starting to replicate", peerTurn, func() { breaker.Info(saysReplicates, "peer", raft.ServerID("x")) })
		took("the beginnings of two heartbeats", 2, func() {
			leader.Transport.EncodePeer("", "x")
			leader.Transport.EncodePeer("", "x")
		})
		time.Sleep(peerTurn)
		took("encoding an address long after", 0, func() { leader.Transport.EncodePeer("", "x") })
		observe := func() { breaker.observe(&raft.Observation{Data: raft.PeerObservation{}}) }
		took("a new peer", peerTurn, observe)
		took("anything else", 0, func() { breaker.Info("anything else") })
	})
}

// slowly is a state machine that takes a millisecond for an entry, and counts the snapshots it is asked for, and those of them
// while entries wait.
type slowly struct {
	node             **Node
	snapshots, early int
}

func (s *slowly) Restore(r io.ReadCloser) error { return errors.Join((*s.node).Restored(), r.Close()) }

func (s *slowly) Apply(l *raft.Log) any {
	time.Sleep(time.Millisecond)
	(*s.node).Applied(l.Index)
	return nil
}

func (s *slowly) Snapshot() (raft.FSMSnapshot, error) {
	if s.snapshots++; (*s.node).behind(0) {
		s.early++
	}
	return empty{}, nil
}

type empty struct{}

func (empty) Persist(sink raft.SnapshotSink) error { return sink.Close() }
func (empty) Release()                             {}

// write writes so many entries at once and waits until they are applied.
func write(t *testing.T, node *Node, entries int) {
	t.Helper()
	entry, err := fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	var written []<-chan raft.ApplyFuture
	for range entries {
		written = append(written, node.Write(entry))
	}
	for _, w := range written {
		if err := (<-w).Error(); err != nil {
			t.Fatal(err)
		}
		node.Settled()
	}
}

// startSlow starts a server whose state machine is slow, and returns what stops it.
func startSlow(t *testing.T, cfg config.RaftConfig, network *simnet.Network) (*Node, *slowly, func()) {
	t.Helper()
	storage, err := NewStorages("", false).New("a")
	if err != nil {
		t.Fatal(err)
	}
	machine := &slowly{}
	node := New(Options{
		Addr: "a", Peers: []string{"a"}, Config: cfg, Storage: storage,
		Transport: network.NewTransport("a", nil), Write: func([][]byte) {},
	})
	machine.node = &node
	if err := node.Start(machine); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Second)
	return node, machine, func() {
		node.Transport.Cut()
		node.Halt()
		if err := node.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestSnapshotsWait: Raft asks a state machine for a snapshot when it has nothing to apply. It would choose at random between the two.
func TestSnapshotsWait(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		cfg := config.Config{}.WithDefaults().Raft
		cfg.SnapshotThreshold, cfg.SnapshotInterval, cfg.TrailingLogs = 20, 5*time.Millisecond, 1
		node, machine, stop := startSlow(t, cfg, simnet.New(1, simnet.Link{}, simnet.Link{}))
		defer stop()
		for range 100 {
			write(t, node, 8)
			time.Sleep(2 * time.Millisecond)
		}
		if machine.snapshots < 10 || machine.early > 0 {
			t.Errorf("%d snapshots were asked for, %d of them while entries waited; want ten or more, and none", machine.snapshots, machine.early)
		}
	})
}

// TestAnOlderSnapshot: a server that has installed a snapshot which is older than its log has nothing to apply, although more is
// committed: Raft may never get at what is in between. Nobody waits for it.
func TestAnOlderSnapshot(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		network := simnet.New(1, simnet.Link{}, simnet.Link{})
		node, _, stop := startSlow(t, config.Config{}.WithDefaults().Raft, network)
		defer stop()
		write(t, node, 200)
		other := network.NewTransport("b", nil)
		defer other.Close()
		peers := node.peers()
		req := &raft.InstallSnapshotRequest{
			RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte("b"), Addr: []byte("b")}, SnapshotVersion: raft.SnapshotVersionMax,
			Term: node.Term() + 1, LastLogIndex: 10, LastLogTerm: node.Term(), Configuration: raft.EncodeConfiguration(peers), ConfigurationIndex: 1,
		}
		var resp raft.InstallSnapshotResponse
		if err := other.InstallSnapshot("a", "a", req, &resp, strings.NewReader("")); err != nil || !resp.Success {
			t.Fatalf("the snapshot was not installed: %v", err)
		}
		if node.applied.Load() != 10 || node.Raft.CommitIndex() < 200 || node.Overloaded() || node.behind(0) {
			t.Errorf("applied %d of %d that are committed; overloaded: %v, behind: %v; want 10 of 200 or more, and neither",
				node.applied.Load(), node.Raft.CommitIndex(), node.Overloaded(), node.behind(0))
		}
	})
}
