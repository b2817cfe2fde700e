package nodesim

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

func TestASlowClockSendsHeartbeatsLate(t *testing.T) {
	cfg := Config{Nodes: 40, Servers: 1, Seed: 1}
	inBubble(t, cfg, nil, func(t *testing.T, s *fakeServers, f *Fleet) {
		waitReady(f)
		slow := f.Choose(0.25)
		if len(slow) != 10 || !slices.Equal(slow, slices.Compact(slices.Clone(slow))) {
			t.Fatalf("chose %v, want 10 different clients of 40", slow)
		}
		if err := f.SetClockRate(slow, 0.5); err != nil {
			t.Fatal(err)
		}
		from := time.Since(s.started) + time.Minute // waits under way are over
		time.Sleep(10 * time.Minute)
		last := map[string]time.Duration{}
		for _, e := range s.calls("heartbeat") {
			before, again := last[e.node]
			last[e.node] = e.at
			if !again || before < from {
				continue
			}
			want := 15 * time.Second
			if slices.Contains(slow, e.node) {
				want = 30 * time.Second
			}
			if gap := e.at - before; !within(gap, want, want+slack) {
				t.Fatalf("client %s: %v between heartbeats, want %v", e.node, gap, want)
			}
		}
		if err := f.SetClockRate(slow, 1e-12); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // calls whose wait had begun
		before := len(s.calls("heartbeat"))
		time.Sleep(time.Minute)
		if got := len(s.calls("heartbeat")) - before; got > 4*30 {
			t.Errorf("%d heartbeats in a minute, want 4 at most of each of the 30 clients whose clocks do not stand still", got)
		}
		if err := f.SetClockRate(slow, 1); err != nil {
			t.Fatal(err)
		}
		for _, rate := range []float64{0, -1, math.NaN()} {
			if f.SetClockRate(slow, rate) == nil {
				t.Errorf("a clock rate of %g was accepted", rate)
			}
		}
	})
}

func TestClientsStopByName(t *testing.T) {
	cfg := Config{Nodes: 20, Servers: 1, Seed: 2}
	inBubble(t, cfg, nil, func(t *testing.T, _ *fakeServers, f *Fleet) {
		waitReady(f)
		chosen := f.Choose(0.3)
		f.StopNodes(append([]string{"nobody"}, chosen...))
		f.StopNodes(chosen) // they are stopped already
		if got := f.StoppedNodes(); !slices.Equal(got, chosen) {
			t.Errorf("stopped are %v, want %v", got, chosen)
		}
		for node, want := range map[string]bool{chosen[0]: false, f.Choose(1)[0]: true, "nobody": false} {
			if _, runs := f.Reach(node); runs != want {
				t.Errorf("%s runs: %v, want %v", node, runs, want)
			}
		}
		if st := f.Stats(); st.Running != 14 || st.Stopped != 6 {
			t.Errorf("stats %+v, want 14 running and 6 stopped", st)
		}
		f.Resume(f.StoppedNodes())
		waitReady(f)
		if st := f.Stats(); st.Ready != 20 {
			t.Errorf("%d ready, want all 20 back", st.Ready)
		}
	})
}

// heldServer leaves it to the test when calls that wait can be answered.
type heldServer struct {
	blindServer
	held chan func(rpc.ClientAllocsCall)
}

func (s *heldServer) GetClientAllocs(_ context.Context, _ *rpc.NodeSpecificRequest, resume func(rpc.ClientAllocsCall)) (*rpc.NodeClientAllocsResponse, error) {
	s.held <- resume
	return nil, nil
}

// TestACallThatWaitsEndsWithItsClient: what was left of a call is made for a client that
// lives on, but not for one that has stopped, even if it is back.
func TestACallThatWaitsEndsWithItsClient(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		server := &heldServer{blindServer{ttl: 15 * time.Second}, make(chan func(rpc.ClientAllocsCall))}
		f, err := NewFleet(Config{Nodes: 1, Servers: 1, ReportAllocs: true, Dial: func(int) rpc.NodeServer { return server }})
		if err != nil {
			t.Fatal(err)
		}
		f.Start(t.Context())
		made := 0
		rest := func() (*rpc.NodeClientAllocsResponse, error) {
			made++
			return &rpc.NodeClientAllocsResponse{Index: 1}, nil
		}
		first := <-server.held
		f.StopClients([]int{0})
		first(rest)
		f.StartClients([]int{0})
		second := <-server.held
		first(rest)
		if synctest.Wait(); made != 0 {
			t.Errorf("a client made the rest of a call of its life before %d times, stopped and back", made)
		}
		second(rest)
		third := <-server.held
		if made != 1 {
			t.Errorf("a client made the rest of its call %d times, want once", made)
		}
		f.Shutdown()
		third(rest)
		if synctest.Wait(); made != 1 {
			t.Error("a client made the rest of its call after the end of the fleet")
		}
	})
}
