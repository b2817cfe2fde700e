package nodesim

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// slack is more than a grid slot and the fake's latency together.
const slack = 10 * time.Millisecond

func within(d, least, most time.Duration) bool { return d >= least && d <= most }

func TestClientsRegisterWithinTheStaggerAndTurnReady(t *testing.T) {
	cfg := Config{Nodes: 200, Servers: 3, Seed: 1}
	inBubble(t, cfg, nil, func(t *testing.T, s *fakeServers, f *Fleet) {
		waitReady(f)
		registered := s.calls("register")
		if len(registered) != 200 {
			t.Fatalf("%d registrations, want one from each of 200 clients", len(registered))
		}
		var perServer [3]int
		for i, e := range registered {
			if e.at > 10*time.Second+slack || e.detail != rpc.NodeStatusInit {
				t.Errorf("registered at %v as %s, want within 10s as initializing", e.at, e.detail)
			}
			perServer[e.server]++
			ready := s.calls("heartbeat")[i]
			if ready.node != e.node || ready.at-e.at > slack || ready.detail != rpc.NodeStatusReady {
				t.Errorf("after registering at %v came %+v, want the node's own ready at once", e.at, ready)
			}
		}
		if last := registered[199].at; last < 9*time.Second {
			t.Errorf("the last of 200 clients registered at %v: not spread over 10s", last)
		}
		if perServer != [3]int{67, 67, 66} {
			t.Errorf("registrations per server %v, want 67, 67, 66", perServer)
		}
		if n := len(s.calls("watch")); n != 0 {
			t.Errorf("%d watches from clients that report no allocations, want none", n)
		}
		want := Stats{Registered: 200, Ready: 200, Running: 200, Registrations: 200, Heartbeats: 200}
		if got := f.Stats(); got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
	})
}

func TestFirstHeartbeatStagger(t *testing.T) {
	cfg := Config{Nodes: 50, Servers: 1, Seed: 1, Timing: Timing{FirstHeartbeat: 10 * time.Second}}
	inBubble(t, cfg, nil, func(t *testing.T, s *fakeServers, f *Fleet) {
		waitReady(f)
		registered, spread := map[string]time.Duration{}, time.Duration(0)
		for _, e := range s.calls("register") {
			registered[e.node] = e.at
		}
		for _, e := range s.calls("heartbeat") {
			at, first := registered[e.node]
			delete(registered, e.node)
			if !first {
				continue
			}
			wait := e.at - at
			if !within(wait, 0, 10*time.Second+slack) {
				t.Errorf("first heartbeat %v after registering, want within 10s", wait)
			}
			spread = max(spread, wait)
		}
		if spread < 8*time.Second {
			t.Errorf("50 first heartbeats all within %v of registering: not spread over 10s", spread)
		}
	})
}

func TestHeartbeatsFollowTheTTLExactly(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 1, Seed: 7}
	ttls := []time.Duration{13 * time.Second, 17 * time.Second, 29 * time.Second, 11 * time.Second}
	prepare := func(s *fakeServers) {
		n := 0
		s.ttl = func(string) time.Duration { n++; return ttls[(n-1)%len(ttls)] }
	}
	inBubble(t, cfg, prepare, func(t *testing.T, s *fakeServers, f *Fleet) {
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		beats := s.calls("heartbeat")
		if len(beats) < 9 {
			t.Fatalf("%d heartbeats in 3 minutes, want 9 or more", len(beats))
		}
		for i := 1; i < len(beats); i++ {
			if gap, ttl := beats[i].at-beats[i-1].at, ttls[i%len(ttls)]; !within(gap, ttl, ttl+slack) {
				t.Errorf("heartbeat %d came %v after the one before, want its TTL of %v", i, gap, ttl)
			}
		}
	})
}

func TestErrors(t *testing.T) {
	refused := errors.New("refused")
	// Each case fails some calls of one client of three servers, and has what the client does
	// next: the method, the server, and the least and the most time until then.
	cases := []struct {
		name        string
		fail        func(n int, e logEntry) error // n counts the calls, from 0
		after       int                           // look at the call after this one
		method      string
		server      int
		least, most time.Duration
	}{
		{"registration refused",
			func(n int, e logEntry) error { return failIf(n == 0, refused) },
			0, "register", 1, 15 * time.Second, 30 * time.Second},
		{"registration without leader",
			func(n int, e logEntry) error { return failIf(n == 0, rpc.ErrNoLeader) },
			0, "register", 1, 0, 312500 * time.Microsecond},
		{"registration, server unreachable",
			func(n int, e logEntry) error { return failIf(n == 0, rpc.ErrUnreachable) },
			0, "register", 1, 15 * time.Second, 30 * time.Second},
		{"first heartbeat refused",
			func(n int, e logEntry) error { return failIf(n == 1, refused) },
			1, "heartbeat", 1, 15 * time.Second, 30 * time.Second},
		{"later heartbeat refused just after its TTL",
			func(n int, e logEntry) error { return failIf(n == 2, refused) },
			2, "heartbeat", 1, time.Second, 2 * time.Second},
		{"node not found",
			func(n int, e logEntry) error { return failIf(n == 2, rpc.ErrNodeNotFound) },
			2, "register", 1, 0, slack},
		{"third failure in a row goes round the servers",
			func(n int, e logEntry) error { return failIf(n < 3, refused) },
			2, "register", 0, 15 * time.Second, 30 * time.Second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for seed := range int64(20) {
				prepare := func(s *fakeServers) {
					n := 0
					s.fail = func(e logEntry) error { n++; return c.fail(n-1, e) }
				}
				inBubble(t, Config{Nodes: 1, Servers: 3, Seed: seed}, prepare, func(t *testing.T, s *fakeServers, f *Fleet) {
					time.Sleep(3 * time.Minute)
					synctest.Wait()
					calls := s.calls("")
					failed, next := calls[c.after], calls[c.after+1]
					if next.method != c.method || next.server != c.server || !within(next.at-failed.at, c.least, c.most+slack) {
						t.Errorf("seed %d: %v after %+v came %+v, want %s at server %d after %v to %v",
							seed, next.at-failed.at, failed, next, c.method, c.server, c.least, c.most)
					}
				})
			}
		})
	}
}

func failIf(is bool, err error) error {
	if is {
		return err
	}
	return nil
}

func TestNoLeaderIsRetriedOnlyWithinTheHold(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 3, Seed: 3}
	prepare := func(s *fakeServers) { s.fail = func(logEntry) error { return rpc.ErrNoLeader } }
	inBubble(t, cfg, prepare, func(t *testing.T, s *fakeServers, f *Fleet) {
		time.Sleep(time.Minute)
		synctest.Wait()
		calls := s.calls("register")
		first, held := calls[0].at, 0
		for _, e := range calls {
			if e.at-first <= 5*time.Second {
				held++
			}
		}
		// 5 s of staggers below 312 ms; then a retry of at least 15 s.
		if held < 17 {
			t.Errorf("%d tries within the hold of 5s, want at least 17", held)
		}
		// One more try may start before the hold is over and end after it.
		next := slices.IndexFunc(calls, func(e logEntry) bool { return e.at-first > 6*time.Second })
		if gap := calls[next].at - calls[next-1].at; !within(gap, 15*time.Second, 30*time.Second+slack) {
			t.Errorf("%v between the hold's last try and the next, want a retry of 15s to 30s", gap)
		}
	})
}

func TestReregistrationIsReady(t *testing.T) {
	prepare := func(s *fakeServers) {
		s.fail = func(e logEntry) error {
			return failIf(e.method == "heartbeat" && within(e.at, 30*time.Second, 45*time.Second), rpc.ErrNodeNotFound)
		}
	}
	inBubble(t, Config{Nodes: 1, Servers: 1, Seed: 1}, prepare, func(t *testing.T, s *fakeServers, f *Fleet) {
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		calls := s.calls("register")
		if len(calls) < 2 || calls[0].detail != rpc.NodeStatusInit || calls[1].detail != rpc.NodeStatusReady {
			t.Errorf("registrations %+v, want the first initializing and later ones ready", calls)
		}
		if got := f.Stats().Ready; got != 1 {
			t.Errorf("%d clients ready at the end, want 1", got)
		}
	})
}

func TestStopAndResume(t *testing.T) {
	cfg := Config{Nodes: 100, Servers: 3, Seed: 5, ReportAllocs: true}
	prepare := func(s *fakeServers) { s.latency = time.Millisecond }
	inBubble(t, cfg, prepare, func(t *testing.T, s *fakeServers, f *Fleet) {
		waitReady(f)
		stopped := f.Stop(0.4)
		if len(stopped) != 40 {
			t.Fatalf("stopped %d of 100 clients, want 40", len(stopped))
		}
		if got := f.Stats(); got.Stopped != 40 || got.Running != 60 || got.Ready != 60 {
			t.Errorf("stats after stopping 40: %+v", got)
		}
		at := time.Since(s.started)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		for _, e := range s.calls("") {
			// A call that left before the stop may still arrive.
			if e.at > at+time.Millisecond && slices.Contains(stopped, e.node) {
				t.Fatalf("a client stopped at %v called: %+v", at, e)
			}
		}
		if more := f.Stop(1); len(more) != 60 {
			t.Errorf("stopped %d more, want the 60 that were running", len(more))
		}
		back := time.Since(s.started)
		f.Resume(append(stopped, "unknown"))
		waitReady(f)
		if got := f.Stats(); got.Ready != 40 || got.Stopped != 60 {
			t.Errorf("stats after resuming 40: %+v", got)
		}
		again := map[string]bool{}
		for _, e := range s.calls("register") {
			if e.at > back {
				again[e.node] = e.detail == rpc.NodeStatusInit
			}
		}
		for _, id := range stopped {
			if !again[id] {
				t.Errorf("client %s did not register again as initializing under its old ID", id)
			}
		}
		f.Stop(1)
		time.Sleep(time.Hour) // in which nobody has anything to do
		f.Resume(f.StoppedNodes()[:1])
		back = time.Since(s.started)
		waitReady(f)
		if took := time.Since(s.started) - back; took > time.Minute {
			t.Errorf("a client that comes back when all are gone is ready after %v", took)
		}
	})
}

func TestStopChoosesAnew(t *testing.T) {
	inBubble(t, Config{Nodes: 100, Servers: 1, Seed: 5}, nil, func(t *testing.T, s *fakeServers, f *Fleet) {
		first := f.Stop(0.3)
		f.Resume(first)
		if second := f.Stop(0.3); slices.Equal(first, second) {
			t.Error("two stops of 30 of 100 clients chose the same ones")
		}
	})
}

func TestSameSeedSameCalls(t *testing.T) {
	run := func(seed int64) []logEntry {
		var log []logEntry
		cfg := Config{Nodes: 60, Servers: 3, Seed: seed, ReportAllocs: true,
			Behaviour: Behaviour{StartDelay: Delay{time.Second, 5 * time.Second}}}
		prepare := func(s *fakeServers) {
			s.latency = 100 * time.Microsecond
			s.fail = func(e logEntry) error {
				return failIf(e.server == 1 && within(e.at, 20*time.Second, 60*time.Second), rpc.ErrUnreachable)
			}
		}
		inBubble(t, cfg, prepare, func(t *testing.T, s *fakeServers, f *Fleet) {
			time.Sleep(15 * time.Second)
			for i := range f.clients {
				s.place(f.clients[i].id, &rpc.Allocation{ID: "a", DesiredStatus: rpc.AllocDesiredRun})
				time.Sleep(time.Millisecond)
			}
			f.Stop(0.5)
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			log = s.calls("")
		})
		// The fake wakes many watchers at once: the fleet does not decide the order of an instant.
		slices.SortStableFunc(log, func(a, b logEntry) int {
			return cmpEntries(a, b)
		})
		return log
	}
	first := run(11)
	if !slices.Equal(first, run(11)) {
		t.Error("the same seed gave other calls")
	}
	if slices.Equal(first, run(12)) {
		t.Error("another seed gave the same calls")
	}
}

func cmpEntries(a, b logEntry) int {
	switch {
	case a.at != b.at:
		return int(a.at - b.at)
	case a.node < b.node:
		return -1
	case a.node > b.node:
		return 1
	}
	return 0
}

func TestShutdownEndsCallsUnderWay(t *testing.T) {
	prepare := func(s *fakeServers) { s.latency = time.Hour }
	inBubble(t, Config{Nodes: 10, Servers: 1}, prepare, func(t *testing.T, s *fakeServers, f *Fleet) {
		time.Sleep(time.Minute) // every client waits for the answer to its registration
		before := time.Now()
		f.Shutdown()
		if waited := time.Since(before); waited != 0 {
			t.Errorf("Shutdown took %v of virtual time, want none", waited)
		}
	})
}

// TestLastError: what fails is counted and kept, and a client that has not registered is not
// counted as registered.
func TestLastError(t *testing.T) {
	prepare := func(s *fakeServers) {
		s.fail = func(e logEntry) error { return failIf(e.at < time.Minute, rpc.ErrUnreachable) }
	}
	inBubble(t, Config{Nodes: 3, Servers: 1, Seed: 1}, prepare, func(t *testing.T, s *fakeServers, f *Fleet) {
		if err := f.LastError(); err != nil {
			t.Errorf("before the first call: %v", err)
		}
		time.Sleep(50 * time.Second)
		synctest.Wait()
		st := f.Stats()
		if err := f.LastError(); !errors.Is(err, rpc.ErrUnreachable) || st.Running != 3 || st.Registered != 0 || st.Ready != 0 || st.RegistrationErrors < 3 {
			t.Errorf("%+v, %v: want 3 that run and none that is registered", st, err)
		}
		waitReady(f)
		if err := f.LastError(); !errors.Is(err, rpc.ErrUnreachable) {
			t.Errorf("the last error was forgotten: %v", err)
		}
	})
}
