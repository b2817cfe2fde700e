package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// TestRaftSaysWhereItBegins: the tie breaker acts on what this version of Raft says, in this
// order, when a server starts and when it comes to lead.
func TestRaftSaysWhereItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 1})
		leader := c.server(c.Leader())
		breaker := leader.ties
		for i := range c.Servers() {
			if n := c.server(i).ties.follows.Load(); n < 1 {
				t.Errorf("%s never said %q", c.Addr(i), saysFollows)
			}
		}
		if n := breaker.replicates.Load(); n < 2 {
			t.Errorf("the leader of three said %q %d times, want 2 or more", saysReplicates, n)
		}
		if n := breaker.peers.Load(); n != breaker.replicates.Load() {
			t.Errorf("the leader was observed to have %d new peers, want %d, one each time it said so", n, breaker.replicates.Load())
		}
		before := time.Now()
		breaker.Info(saysFollows)
		if took := time.Since(before); took != 1 {
			t.Errorf("starting to follow took %v, want 1ns", took)
		}
		before = time.Now()
		breaker.Info(saysReplicates, "peer", raft.ServerID("x"))
		if took := time.Since(before); took != peerTurn {
			t.Errorf("starting to replicate took %v, want %v", took, peerTurn)
		}
		before = time.Now()
		leader.trans.EncodePeer("", "x")
		leader.trans.EncodePeer("", "x")
		if took := time.Since(before); took != 2 {
			t.Errorf("two heartbeats' beginnings took %v, want 1ns each", took)
		}
		time.Sleep(peerTurn)
		before = time.Now()
		leader.trans.EncodePeer("", "x")
		if took := time.Since(before); took != 0 {
			t.Errorf("an address took %v to encode long after, want no time", took)
		}
		for _, again := range []bool{false, true} {
			breaker.again = func() bool { return again }
			before = time.Now()
			breaker.observe(&raft.Observation{Data: raft.PeerObservation{}})
			if took := time.Since(before); (took == peerTurn) != again {
				t.Errorf("a new peer of a leader took %v; not the cluster's first leader: %t", took, again)
			}
		}
		before = time.Now()
		breaker.Info("anything else")
		if took := time.Since(before); took != 0 {
			t.Errorf("anything else took %v", took)
		}
	})
}
