package raftnode

import (
	"math/rand"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/cluster/simnet"
)

// tieBreaker is Raft's logger. It drops what it is told, and keeps goroutines of Raft apart
// that would draw their timeouts at one instant from the one source that Raft knows: which
// of them comes first is the runtime's choice, and can change when the machine is busy (see
// docs/adr/0600). Raft calls its logger where each of them begins.
type tieBreaker struct {
	hclog.Logger
	trans *simnet.Transport
	// Counts of the messages below, and of new peers. A test fails when a message is never
	// logged: a later Raft may word it differently.
	follows, replicates, peers atomic.Int32
}

// The messages that Raft 1.7.3 logs in its main goroutine where the draws of several
// goroutines begin.
const (
	// saysFollows comes before the main goroutine draws its first timeout, while that of the
	// snapshots draws its own.
	saysFollows = "entering follower state"
	// saysReplicates comes before a leader starts the goroutines of one more follower, which
	// draw at once.
	saysReplicates = "added peer, starting replication"
)

// peerTurn is the time between a leader's first steps for two of its followers. It is more
// than a peer's goroutines are kept apart by.
const peerTurn = 16 * time.Nanosecond

func newTieBreaker(t *simnet.Transport) *tieBreaker {
	return &tieBreaker{Logger: hclog.NewNullLogger(), trans: t}
}

// observe is a filter of Raft's observations that lets none through. Raft calls it in its
// main goroutine when it has started those of one follower: what they send first must not
// depend on whether the main goroutine gets to write the leadership's first entry before.
func (l *tieBreaker) observe(o *raft.Observation) bool {
	if p, ok := o.Data.(raft.PeerObservation); ok && !p.Removed {
		l.peers.Add(1)
		time.Sleep(peerTurn)
	}
	return false
}

// Info is called by Raft.
func (l *tieBreaker) Info(msg string, _ ...any) {
	switch msg {
	case saysFollows:
		l.follows.Add(1)
		time.Sleep(time.Nanosecond)
	case saysReplicates:
		l.replicates.Add(1)
		time.Sleep(peerTurn)
		l.trans.Stagger(peerTurn)
	}
}

// patientLog is a node's log as Raft sees it. Before Raft takes a snapshot it asks the log for its last index, and then, in
// the same goroutine, asks the state machine for the snapshot. If the state machine had entries to apply at that moment, it
// would be chance whether it takes these or the snapshot first. So LastIndex waits until it has none.
type patientLog struct {
	*LogStore
	node *Node
}

// snapshotPoll is how often the answer waits.
const snapshotPoll = 100 * time.Microsecond

// LastIndex implements raft.LogStore. Raft's main goroutine asks, too, when it starts and once it has installed a snapshot, and
// does not wait: nothing is left to apply then.
func (l patientLog) LastIndex() (uint64, error) {
	last, err := l.LogStore.LastIndex()
	for err == nil && l.node.joined.Load() && l.node.snapshotDue(last) && l.node.behind(0) {
		time.Sleep(snapshotPoll)
	}
	return last, err
}

// snapshotDue reports whether a log that ends at an index is long enough for a snapshot (raft's snapshot.go, shouldSnapshot).
func (n *Node) snapshotDue(last uint64) bool {
	newest := uint64(0)
	if snaps, err := n.snaps.List(); err == nil && len(snaps) > 0 {
		newest = snaps[0].Index
	}
	return last > newest && last-newest >= n.opts.Config.SnapshotThreshold
}

// SeedRaft begins a new sequence of the draws of every Raft in this process: hashicorp/raft
// draws its timeouts from math/rand's global source, and offers no other. It has no effect
// unless the process was built or started with GODEBUG randseednop=0.
func SeedRaft(seed int64) {
	//lint:ignore SA1019 there is no other way to that source
	rand.Seed(seed)
}
