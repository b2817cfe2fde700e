package cluster

import (
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestOutOfReachByRelease: how often it is written that a client was not heard from whose allocation is kept, what waits for it, and
// what of that is left when it is back.
func TestOutOfReachByRelease(t *testing.T) {
	for _, c := range []struct {
		release                 Version
		again                   bool // it is written each time
		waits, left, afterwards int  // evaluations: of a client out of reach, of one that is back, and canceled for that
	}{
		{Version{1, 4, 2}, false, 1, 1, 0},
		{Version{1, 6, 3}, false, 2, 2, 0},
		{Version{1, 10, 2}, false, 1, 0, 1},
		{Version{1, 11, 0}, true, 1, 0, 1},
		{Version{2, 0, 5}, true, 2, 1, 1},
	} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 1, Config{Seed: 1, Habits: HabitsOf(c.release), Heartbeat: HeartbeatConfig{Grace: 5 * time.Second}})
			job := serviceJob("svc", 1, 0)
			job.TaskGroups[0].MaxClientDisconnect = time.Hour
			r.ok(r.c.RegisterJob(t.Context(), job))
			time.Sleep(time.Second)
			r.report("svc", true)
			node := testNode(0).ID
			status := func() string { return r.snap().NodeByID(node).Status }
			for status() == rpc.NodeStatusReady {
				time.Sleep(time.Second)
			}
			waiting := func() int { return r.c.Stats().Broker.Waiting }
			if time.Sleep(time.Second); status() != rpc.NodeStatusDisconnected || waiting() != c.waits {
				t.Fatalf("%v: a node that is %s, and %d evaluations wait, want %d", c.release, status(), waiting(), c.waits)
			}
			r.entries()
			missed := r.c.Stats().Counters.MissedHeartbeats
			time.Sleep(25 * time.Second) // a heartbeat is good for 10 to 20, and grace
			written := r.c.EntriesBetween(r.mark, r.c.Stats().LastIndex)["NodeUpdateStatusRequestType"] > 0
			if again := r.c.Stats().Counters.MissedHeartbeats > missed; !again || written != c.again {
				t.Errorf("%v: not heard from again %v, written %v, want %v", c.release, again, written, c.again)
			}
			heartbeat := func() {
				_, err := r.c.NodeServer(0).UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: node, Status: rpc.NodeStatusReady})
				r.ok(nil, err)
			}
			heartbeat()
			r.report("svc", true)
			heartbeat()
			time.Sleep(time.Second)
			canceled := 0
			for _, e := range r.snap().EvalsByStatus(broker.StatusCanceled) {
				if e.StatusDescription == state.DescReturned {
					canceled++
				}
			}
			if status() != rpc.NodeStatusReady || waiting() != c.left || canceled != c.afterwards || len(r.live("svc")) != 1 {
				t.Errorf("%v: a client that is back: its node is %s, %d evaluations wait and %d were canceled, %d allocations; want %d, %d and 1",
					c.release, status(), waiting(), canceled, len(r.live("svc")), c.left, c.afterwards)
			}
		})
	}
}
