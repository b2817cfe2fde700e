package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestFaultsOfLinks: servers cut off from each other still hear clients, a client that is
// cut off hears nobody, and what is lost is the error that clients know.
func TestFaultsOfLinks(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 1})
		register(t, c, 0, 3)
		beat := func(server, node int) error {
			_, err := beat(t, c, server, node)
			return err
		}
		leader := c.Leader()
		follower := (leader + 1) % 3
		end := c.DisturbLinks(LinkFault{From: []string{testNode(0).ID}, Link: Link{Loss: 1}})
		if err := beat(leader, 0); !errors.Is(err, rpc.ErrUnreachable) {
			t.Errorf("a client that is cut off: %v, want %v", err, rpc.ErrUnreachable)
		}
		if err := beat(leader, 1); err != nil {
			t.Errorf("another client: %v", err)
		}
		end()

		others := []string{c.Addr(leader), c.Addr((leader + 2) % 3)}
		end = c.DisturbLinks(LinkFault{From: []string{c.Addr(follower)}, To: others, Link: Link{Loss: 1}})
		if err := beat(follower, 1); !errors.Is(err, rpc.ErrUnreachable) && !errors.Is(err, rpc.ErrNoLeader) {
			t.Errorf("through a follower that is cut off from the leader: %v", err)
		}
		if err := beat(leader, 1); err != nil || c.Leader() != leader {
			t.Errorf("the majority: %v, led by %d; want %d to lead on", err, c.Leader(), leader)
		}
		end()

		defer c.DisturbLinks(LinkFault{From: []string{c.Addr(leader)}, Link: Link{Loss: 1}})()
		time.Sleep(20 * time.Second)
		if now := c.Leader(); now < 0 || now == leader {
			t.Errorf("led by %d after leader %d was cut off, want another", now, leader)
		}
	})
}

// TestASlowServerHoldsNobodyUp: the leader commits with the follower that is as fast as
// ever, and the slow one catches up.
func TestASlowServerHoldsNobodyUp(t *testing.T) {
	for name, slow := range map[string]func(*Cluster, int, time.Duration){"disk": (*Cluster).SlowDisk, "state machine": (*Cluster).SlowApply} {
		t.Run(name, func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				c := startCluster(t, Config{Seed: 1})
				follower := (c.Leader() + 1) % 3
				slow(c, follower, 500*time.Millisecond)
				start := time.Now()
				register(t, c, 0, 200)
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("registering took %v with one slow follower of three", took)
				}
				behind := c.State(c.Leader()).Snapshot().Index() - c.State(follower).Snapshot().Index()
				if behind < 50 {
					t.Errorf("the slow follower is %d entries behind, want it slow", behind)
				}
				slow(c, follower, -500*time.Millisecond)
				time.Sleep(10 * time.Minute)
				if a, b := c.State(c.Leader()).Snapshot(), c.State(follower).Snapshot(); a.Index() != b.Index() || a.Fingerprint() != b.Fingerprint() {
					t.Errorf("the follower is at %d, the leader at %d", b.Index(), a.Index())
				}
			})
		})
	}
}

// TestLostAnswers: a call through a follower whose answer is lost, on the way to the follower or
// on that to the client, fails and has been applied once: whether to make it again is the
// caller's to decide.
func TestLostAnswers(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		// Without pre-votes the follower would depose the leader once it is back.
		r := newRig(t, 3, Config{Seed: 1, Habits: Habits{PreVotes: true}})
		leader := r.c.Leader()
		follower := (leader + 1) % 3
		through, node := r.c.NodeServer(follower), testNode(1)
		for _, link := range [][2]string{{r.c.Addr(leader), r.c.Addr(follower)}, {r.c.Addr(follower), node.ID}} {
			for _, call := range []struct {
				entry string
				make  func() error
			}{
				{"AllocClientUpdateRequestType", func() error {
					_, err := through.UpdateAlloc(t.Context(), &rpc.AllocUpdateRequest{NodeID: node.ID, Alloc: []*rpc.Allocation{{ID: "a"}}})
					return err
				}},
				{"NodeRegisterRequestType", func() error {
					_, err := through.Register(t.Context(), &rpc.NodeRegisterRequest{Node: node})
					return err
				}},
				{"NodeUpdateStatusRequestType", func() error { // registering left the node not ready
					_, err := through.UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: node.ID, Status: rpc.NodeStatusReady})
					return err
				}},
			} {
				r.entries()
				end := r.c.DisturbLinks(LinkFault{From: link[:1], To: link[1:], OneWay: true, Link: Link{Loss: 1}})
				if err := call.make(); !errors.Is(err, rpc.ErrUnreachable) {
					t.Errorf("%s, answer lost from %s to %s: %v, want %v", call.entry, link[0], link[1], err, rpc.ErrUnreachable)
				}
				end()
				time.Sleep(time.Minute)
				r.want(fmt.Sprintf("answer lost from %s to %s", link[0], link[1]), r.entries(), "1 "+call.entry+"\n")
			}
		}
	})
}

// TestWhoWasCutOff: a follower that heard nobody deposes the leader when it is back, unless servers ask before they raise
// their terms.
func TestWhoWasCutOff(t *testing.T) {
	for _, asks := range []bool{false, true} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 3, Config{Seed: 1, Habits: Habits{PreVotes: asks}})
			follower := (r.c.Leader() + 1) % 3
			end := r.c.DisturbLinks(LinkFault{From: []string{r.c.Addr(follower)}, Link: Link{Loss: 1}})
			time.Sleep(time.Minute)
			r.entries()
			end()
			time.Sleep(time.Minute)
			if elected := strings.Contains(r.entries(), "raft:Noop"); elected == asks {
				t.Errorf("who was cut off asks first: %v; others elected a leader when it was back: %v", asks, elected)
			}
		})
	}
}

// TestIdentitiesExpire: while nothing is signed, a client is heard until ten minutes before its
// identity expires and may report until it does; then it must register.
func TestIdentitiesExpire(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 1, Servers: 1, IdentityTTL: time.Hour, Heartbeat: HeartbeatConfig{Grace: 1000 * time.Hour}}) // an hour of several takes ten times as long
		register(t, c, 0, 1)
		node, server := testNode(0), c.NodeServer(0)
		beat := func() error {
			_, err := server.UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: node.ID, Status: rpc.NodeStatusReady})
			return err
		}
		report := func() error {
			_, err := server.UpdateAlloc(t.Context(), &rpc.AllocUpdateRequest{NodeID: node.ID, Alloc: []*rpc.Allocation{{ID: "a", NodeID: node.ID}}})
			return err
		}
		watch := func() error {
			_, err := server.GetClientAllocs(t.Context(), &rpc.NodeSpecificRequest{NodeID: node.ID}, func(rpc.ClientAllocsCall) {})
			return err
		}
		c.FailSigning(true)
		time.Sleep(49 * time.Minute)
		if err := beat(); err != nil {
			t.Errorf("before the last ten minutes: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if beat() == nil || report() != nil {
			t.Errorf("in the last ten minutes a heartbeat gets %v, want an error, and a report %v, want none", beat(), report())
		}
		time.Sleep(10 * time.Minute)
		c.FailSigning(false)
		for what, call := range map[string]func() error{"heartbeat": beat, "report": report, "watch": watch} {
			if err := call(); !errors.Is(err, rpc.ErrPermissionDenied) {
				t.Errorf("%s after the identity has expired: %v, want %v", what, err, rpc.ErrPermissionDenied)
			}
		}
		register(t, c, 0, 1)
		if err := errors.Join(beat(), report()); err != nil {
			t.Errorf("registered again: %v", err)
		}
	})
}
