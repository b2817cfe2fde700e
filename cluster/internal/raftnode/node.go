package raftnode

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/simnet"
)

// Options is what a Node is made of.
type Options struct {
	Addr      string
	Peers     []string // addresses of all servers, this one among them
	Config    config.RaftConfig
	Seed      int64 // for the draws that follow the node's end
	Storage   *Storage
	Transport *simnet.Transport
	// Write takes as long as the leader does to write entries to its log together.
	Write func(entries [][]byte)
	// Full reports whether the disk has no room for entries; nil: it always has.
	Full func() bool
}

// Node is one process of Raft. Its methods are safe for concurrent use.
type Node struct {
	*Storage
	Transport *simnet.Transport
	Raft      *raft.Raft // nil before Start

	opts   Options
	ties   *tieBreaker
	writer *logWriter

	// leading yields true when the node comes to lead and false when it ceases to.
	leading chan bool
	// applied is the index of the last entry that the state machine is done with.
	applied atomic.Uint64
	// open counts the commands whose futures are not settled.
	open atomic.Int64
	// joined says that Raft runs: a snapshot that is restored then comes from the leader.
	joined atomic.Bool
}

// New returns a node that does nothing before Start.
func New(o Options) *Node {
	o.Storage.Logs.full = o.Full
	return &Node{
		Storage: o.Storage, Transport: o.Transport, opts: o,
		ties: newTieBreaker(o.Transport), leading: make(chan bool, 16),
	}
}

// Start joins the node to its peers. The state machine is called from then on; it must call
// Applied and Restored.
func (n *Node) Start(fsm raft.FSM) error {
	conf := n.raftConfig()
	if has, err := raft.HasExistingState(n.Logs, n.stable, n.snaps); err != nil {
		return fmt.Errorf("start %s: %w", n.opts.Addr, err)
	} else if !has {
		if err := raft.BootstrapCluster(conf, n.Logs, n.stable, n.snaps, n.Transport, n.peers()); err != nil {
			return fmt.Errorf("bootstrap %s: %w", n.opts.Addr, err)
		}
	}
	r, err := raft.NewRaft(conf, fsm, patientLog{n.Logs, n}, n.stable, n.snaps, n.Transport)
	if err != nil {
		return fmt.Errorf("start raft on %s: %w", n.opts.Addr, err)
	}
	n.Raft = r
	r.RegisterObserver(raft.NewObserver(nil, false, n.ties.observe))
	n.joined.Store(true)
	n.writer = newLogWriter(r, n.opts.Seed, n.opts.Write)
	n.Transport.Listen(func(term uint64) bool { return n.Leads() && n.Term() == term })
	return nil
}

func (n *Node) peers() (c raft.Configuration) {
	for _, addr := range n.opts.Peers {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(addr), Address: raft.ServerAddress(addr)})
	}
	return c
}

func (n *Node) raftConfig() *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(n.opts.Addr)
	conf.HeartbeatTimeout = n.opts.Config.HeartbeatTimeout
	conf.ElectionTimeout = n.opts.Config.ElectionTimeout
	conf.LeaderLeaseTimeout = n.opts.Config.LeaderLeaseTimeout
	conf.CommitTimeout = n.opts.Config.CommitTimeout
	conf.SnapshotThreshold = n.opts.Config.SnapshotThreshold
	conf.SnapshotInterval = n.opts.Config.SnapshotInterval
	conf.TrailingLogs = n.opts.Config.TrailingLogs
	conf.NoLegacyTelemetry = true
	conf.NotifyCh = n.leading
	conf.Logger = n.ties
	return conf
}

// Leading yields true when the node comes to lead and false when it ceases to.
func (n *Node) Leading() <-chan bool { return n.leading }

// Leads reports whether the node leads, as far as it knows.
func (n *Node) Leads() bool { return n.Raft.State() == raft.Leader }

// Term returns the node's current term.
func (n *Node) Term() uint64 { return n.Raft.CurrentTerm() }

// Leader returns the address of the leader that the node knows of; empty: of none.
func (n *Node) Leader() string {
	addr, _ := n.Raft.LeaderWithID()
	return string(addr)
}

// LastIndex returns the index of the last entry in the log.
func (n *Node) LastIndex() uint64 { return n.Raft.LastIndex() }

// AppliedIndex returns the index of the last entry that Raft has handed to the state machine.
func (n *Node) AppliedIndex() uint64 { return n.Raft.AppliedIndex() }

// Barrier waits until the node has applied what the leaders before it wrote.
func (n *Node) Barrier() error { return n.Raft.Barrier(0).Error() }

// Write queues one command. The future is received when the entry was written and handed
// to Raft; the channel is closed without one when the node has stopped. Once the future is
// settled the caller must call Settled.
func (n *Node) Write(command []byte) <-chan raft.ApplyFuture {
	n.open.Add(1)
	return n.writer.apply(command)
}

// AwaitIdle waits until Raft's main goroutine does not write to the log.
func (n *Node) AwaitIdle() { n.writer.idle() }

// Settled frees the place in Raft's queue of a command whose future is settled.
func (n *Node) Settled() {
	n.writer.applied()
	n.open.Add(-1)
}

// Drained reports whether the state machine is done with the whole log, and no command is on its way there.
func (n *Node) Drained() bool {
	return n.open.Load() == 0 && n.Raft.AppliedIndex() == n.Raft.LastIndex() && !n.behind(0)
}

// Applied takes note that the state machine is done with an entry.
func (n *Node) Applied(index uint64) { n.applied.Store(index) }

// Restored takes note that the state machine has restored a snapshot, which is the newest.
func (n *Node) Restored() error {
	snaps, err := n.snaps.List()
	if err != nil {
		return fmt.Errorf("list the snapshots of %s: %w", n.opts.Addr, err)
	}
	if len(snaps) > 0 {
		if n.joined.Load() {
			n.Logs.supersede(n.applied.Load(), snaps[0].Index)
		}
		n.applied.Store(snaps[0].Index)
	}
	return nil
}

// Overloaded reports whether so much is committed and not yet applied that Raft's main
// goroutine would soon wait for the state machine.
func (n *Node) Overloaded() bool { return n.behind(maxUnapplied) }

// behind reports whether Raft has handed the state machine more than so many entries that it is not done with. Entries that
// are committed and not handed over do not count: Raft can install a snapshot that is older than its log, and then never
// hands over the entries in between.
func (n *Node) behind(entries uint64) bool {
	return n.Logs.lastCommand(n.Raft.AppliedIndex()) > n.applied.Load()+entries
}

// lastBreath is how long Raft goes on after its server has been cut off, so that its
// goroutines come to rest. They would otherwise find several things to do at the instant of
// the stop, and choose at random (docs/adr/0600).
const lastBreath = time.Millisecond

// Halt drops the commands that wait to be written, and all later ones.
func (n *Node) Halt() { n.writer.halt() }

// Stop ends a node that was cut from the network and halted, and waits for it. Log, votes
// and snapshots stay.
func (n *Node) Stop() error {
	began := time.Now()
	time.Sleep(lastBreath)
	// On a wall clock, where sleeps take longer than they say, Raft may not have come to rest yet.
	wall := time.Since(began) != lastBreath
	// When Raft stops, it never answers callers whose entries wait for the state machine. It answers all others before its
	// lease is over, if it is not stopped while it hands theirs over.
	for n.behind(0) || wall && n.open.Load() > 0 && time.Since(began) < 2*n.opts.Config.LeaderLeaseTimeout {
		time.Sleep(lastBreath)
	}
	stopped := n.Raft.Shutdown()
	err := n.Transport.Close()
	if rerr := stopped.Error(); rerr != nil {
		err = rerr
	}
	// How often Raft drew from its source while it ended depends on the runtime.
	SeedRaft(n.opts.Seed)
	n.writer.wait()
	return err
}
