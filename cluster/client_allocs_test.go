package cluster

import (
	"errors"
	"fmt"
	"sync"
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

// TestReportsAreGatheredByConnection: clients of the leader have batches of their own, unless they
// share connections; what another server forwards is one batch.
func TestReportsAreGatheredByConnection(t *testing.T) {
	for _, tt := range []struct {
		shared, through int // connections of the clients, and servers after the leader
		over            int // connections that the calls say they come over; zero: they do not
		entries         string
	}{
		{0, 0, 0, "6 AllocClientUpdateRequestType\n"},
		{1, 0, 0, "1 AllocClientUpdateRequestType\n"},
		{0, 1, 0, "1 AllocClientUpdateRequestType\n"},
		{0, 0, 1, "1 AllocClientUpdateRequestType\n"},
		{0, 0, 2, "2 AllocClientUpdateRequestType\n"},
		{0, 1, 2, "1 AllocClientUpdateRequestType\n"},
	} {
		virtualtest.Test(t, func(t *testing.T) {
			const nodes = 6
			r := newRig(t, nodes, Config{Seed: 1, Heartbeat: HeartbeatConfig{Grace: time.Hour}})
			r.c.cfg.ClientConnections = tt.shared
			r.entries()
			var wg sync.WaitGroup
			for i := range nodes {
				wg.Go(func() {
					report := &rpc.AllocUpdateRequest{NodeID: testNode(i).ID, Alloc: []*rpc.Allocation{{ID: "a"}}}
					if tt.over > 0 {
						report.Connection = fmt.Sprint("127.0.0.1:", i%tt.over)
					}
					if _, err := r.c.NodeServer((r.c.Leader()+tt.through)%r.c.Servers()).UpdateAlloc(t.Context(), report); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			r.want(fmt.Sprintf("%d shared connections, %d servers away, over %d", tt.shared, tt.through, tt.over), r.entries(), tt.entries)
		})
	}
}

// TestWhatAWatchCosts: a query that waited runs again, and clients fetch what has changed. The identity of a client is verified at
// each of its calls.
func TestWhatAWatchCosts(t *testing.T) {
	t.Run("calling", func(t *testing.T) { whatAWatchCosts(t, RPCCosts{Client: time.Millisecond}, 1) })
	t.Run("identities", func(t *testing.T) { whatAWatchCosts(t, RPCCosts{Verify: time.Millisecond}, 0) })
}

func whatAWatchCosts(t *testing.T, costs RPCCosts, registering int) {
	virtualtest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		c := startCluster(t, Config{
			Seed: 1, Costs: Costs{Cores: 4, RPC: costs}, Heartbeat: HeartbeatConfig{Grace: time.Hour}, Habits: Habits{ClientIdentities: true},
		})
		register(t, c, 0, 1)
		c.SetNumSchedulers(1)
		before, _ := c.cpuTime()
		charged := func(what string, want int) {
			t.Helper()
			time.Sleep(time.Second)
			now, _ := c.cpuTime()
			if got := int((now - before) / ms); got != want {
				t.Errorf("%s: %d calls of clients, want %d", what, got, want)
			}
			before = now
		}
		rest := make(chan rpc.ClientAllocsCall, 1)
		ask := func(index uint64) *rpc.NodeClientAllocsResponse {
			// Another server would verify the first question, and then the leader again.
			resp, err := c.NodeServer(c.Leader()).GetClientAllocs(t.Context(), &rpc.NodeSpecificRequest{NodeID: testNode(0).ID, MinQueryIndex: index},
				func(r rpc.ClientAllocsCall) { rest <- r })
			if resp == nil && err == nil {
				if _, err = c.RegisterJob(t.Context(), systemJob("sys")); err == nil {
					resp, err = (<-rest)()
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			return resp
		}
		index := ask(0).Index
		charged("a list of nothing", 1)
		ask(index)
		charged("a job, and a list of something new, which is fetched", registering+2)
	})
}

// TestTheFirstAnswerIsTheLeaders: a client that starts is told what the leader knows, and later what its own server does.
func TestTheFirstAnswerIsTheLeaders(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, Config{Seed: 1, Servers: 3})
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 2, 0)))
		time.Sleep(time.Second)
		behind := (r.c.Leader() + 1) % 3
		r.c.SlowApply(behind, time.Hour)
		r.ok(r.c.ScaleJob(t.Context(), "", "svc", "", 5))
		for range 50 { // a worker of that server may take the evaluation, and waits for the state: several times
			if time.Sleep(time.Minute); len(r.snap().NodeAllocs(testNode(0).ID).Live) == 5 {
				break
			}
		}
		ask := func(index uint64) int {
			resp, err := r.c.NodeServer(behind).GetClientAllocs(t.Context(), &rpc.NodeSpecificRequest{NodeID: testNode(0).ID, MinQueryIndex: index}, func(rpc.ClientAllocsCall) {})
			r.ok(nil, err)
			return len(resp.Allocs)
		}
		if first, later := ask(0), ask(1); first != 5 || later != 2 {
			t.Errorf("a client is told of %d allocations at first and %d later, want the leader's 5 and its server's 2", first, later)
		}
	})
}
