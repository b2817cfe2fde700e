package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestGetClientAllocs: the call is answered at once to who knows nothing, and else when a
// server has changed something, the time is over or the server has stopped.
func TestGetClientAllocs(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 1, Heartbeat: HeartbeatConfig{Grace: time.Hour}})
		register(t, c, 0, 1)
		c.SetNumSchedulers(1)
		node := testNode(0).ID
		rest := make(chan rpc.ClientAllocsCall, 1)
		ask := func(index uint64) (*rpc.NodeClientAllocsResponse, error) {
			return c.NodeServer(1).GetClientAllocs(t.Context(), &rpc.NodeSpecificRequest{
				NodeID: node, MinQueryIndex: index, MaxQueryTime: time.Minute,
			}, func(r rpc.ClientAllocsCall) { rest <- r })
		}
		within := func(d time.Duration) (*rpc.NodeClientAllocsResponse, error) {
			t.Helper()
			select {
			case r := <-rest:
				return r()
			case <-time.After(d):
				t.Fatalf("the call was not resumed within %v", d)
				return nil, nil
			}
		}
		waits := func(index uint64) {
			t.Helper()
			if resp, err := ask(index); resp != nil || err != nil {
				t.Fatalf("answer %+v, error %v to a query for changes after %d, want it to wait", resp, err, index)
			}
		}

		resp, err := ask(0)
		if err != nil || resp.Index != 1 || len(resp.Allocs) != 0 {
			t.Fatalf("the first query was answered by %+v, error %v", resp, err)
		}
		waits(resp.Index)
		if _, err := c.RegisterJob(t.Context(), systemJob("sys")); err != nil {
			t.Fatal(err)
		}
		resp, err = within(10 * time.Second)
		if err != nil || len(resp.Allocs) != 1 || resp.Index != resp.Allocs[0].AllocModifyIndex {
			t.Fatalf("after a placement: %+v, error %v", resp, err)
		}

		waits(resp.Index)
		start := time.Now()
		last, err := within(2 * time.Minute)
		if err != nil || last.Index != resp.Index || len(last.Allocs) != 1 {
			t.Errorf("after %v without a change: %+v, error %v", time.Since(start), last, err)
		}
		if d := time.Since(start); d < time.Minute || d > time.Minute+time.Minute/16+time.Second {
			t.Errorf("a query for a minute ended after %v, want up to a sixteenth more", d)
		}

		waits(resp.Index)
		if err := c.StopServer(1); err != nil {
			t.Fatal(err)
		}
		if _, err := within(time.Second); !errors.Is(err, rpc.ErrUnreachable) {
			t.Errorf("error %v of a server that has stopped, want %v", err, rpc.ErrUnreachable)
		}
		if _, err := ask(0); !errors.Is(err, rpc.ErrUnreachable) {
			t.Errorf("error %v of a server that does not run, want %v", err, rpc.ErrUnreachable)
		}
	})
}
