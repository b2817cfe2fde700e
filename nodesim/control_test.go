package nodesim

import (
	"math"
	"slices"
	"testing"
	"time"
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
