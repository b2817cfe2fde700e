package nodesim

import (
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// TestCallsThatFail: a client asks another server after a failure, unless one of its loops has
// moved on already. A call is made again for so long: one that waits for a change, for as much
// longer as it may wait.
func TestCallsThatFail(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 3, ReportAllocs: true, Timing: Timing{}.WithDefaults()}
	for l, until := range map[loop]time.Duration{nodeLoop: cfg.RPCHold, watchLoop: cfg.RPCHold + cfg.WatchBlock} {
		for _, late := range []time.Duration{-1, 0} {
			c := newClient(&cfg, 0, 0)
			c.start(&cfg, 0)
			first := c.server
			asked := c.begin(&cfg, l, 0)
			c.finish(&cfg, l, until+late, asked, answer{err: rpc.ErrNoLeader})
			if again := c.tasks[l].retrying; again != (late < 0) {
				t.Errorf("loop %d, which may ask again until %v: it asks again at %v: %v", l, until, until+late, again)
			}
			next := (first + 1) % 3
			if c.server != next {
				t.Errorf("server %d after %d failed, want %d", c.server, first, next)
			}
			c.finish(&cfg, l, until+late, asked, answer{err: rpc.ErrNoLeader})
			if c.server != next {
				t.Errorf("server %d after another failure of %d, want %d", c.server, first, next)
			}
		}
	}
}

// TestReportsOfTheInstant: what happens at a tick is reported at that tick.
func TestReportsOfTheInstant(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 1, ReportAllocs: true}
	c := newClient(&cfg, 0, 0)
	c.learn(&cfg, time.Second, run("a"))
	if n := len(c.changes(&cfg, time.Second-1)); n != 0 {
		t.Errorf("%d changes before one happens", n)
	}
	if n := len(c.changes(&cfg, time.Second)); n != 1 {
		t.Errorf("%d changes at the instant of one", n)
	}
}

// TestWhatServersHaveHeard: a status is urgent if the servers have heard one of the allocation before, be it of this client
// or of an earlier life.
func TestWhatServersHaveHeard(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 1, ReportAllocs: true, Timing: Timing{AllocSync: 200, AllocSyncTypical: 1000}}
	for _, k := range []struct {
		first, then *rpc.Allocation // as they are listed
		at          time.Duration   // the tick of the report
	}{
		{first: run("a")[0], at: 1000},
		{first: stop("a")[0], at: 1000},
		{first: &rpc.Allocation{ID: "a", DesiredStatus: rpc.AllocDesiredStop, ClientStatus: rpc.AllocClientRunning}, at: 200},
		{first: &rpc.Allocation{ID: "a", ClientStatus: rpc.AllocClientRunning}, then: &rpc.Allocation{ID: "a", AllocModifyIndex: 1, DesiredStatus: rpc.AllocDesiredStop}, at: 200},
	} {
		c := newClient(&cfg, 0, 0)
		c.syncEvery = cfg.AllocSync
		c.learn(&cfg, 1, []*rpc.Allocation{k.first})
		if k.then != nil {
			c.learn(&cfg, 1, []*rpc.Allocation{k.then})
		}
		if c.planSync(&cfg, 1); c.tasks[syncLoop].state != waiting || c.tasks[syncLoop].at != k.at {
			t.Errorf("%+v, then %+v: reported at %d, want %d", k.first, k.then, c.tasks[syncLoop].at, k.at)
		}
	}
}

// TestAnswersToWhatHasChanged: the answer to a report says nothing of an allocation that has ended meanwhile, and
// nothing of the others if one of the report is not there any more.
func TestAnswersToWhatHasChanged(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 1, ReportAllocs: true, Timing: Timing{}.WithDefaults()}
	c := newClient(&cfg, 0, 0)
	c.learn(&cfg, 0, run("a", "c", "d", "e"))
	asked := c.begin(&cfg, syncLoop, 0)
	changed := append(run("b", "c"), stop("d")...) // of a and e the servers know nothing any more
	changed[2].AllocModifyIndex = 1
	c.learn(&cfg, time.Second, changed)
	c.finish(&cfg, syncLoop, time.Second, asked, answer{})
	var left []string
	for _, a := range c.changes(&cfg, time.Second) {
		left = append(left, a.ID+"="+a.ClientStatus)
	}
	if want := []string{"b=running", "d=complete"}; len(asked.report) != 4 || !slices.Equal(left, want) {
		t.Errorf("after %d were reported %q are left, want %q", len(asked.report), left, want)
	}
}

// TestTimeLeftAfterRegistering: a client that has registered again has all of its new TTL to heartbeat in, and after a heartbeat
// that of the heartbeat.
func TestTimeLeftAfterRegistering(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 1, Timing: Timing{}.WithDefaults()}
	c := newClient(&cfg, 0, 0)
	c.start(&cfg, 0)
	call := func(now time.Duration, want callKind, a answer) {
		t.Helper()
		asked := c.begin(&cfg, nodeLoop, now)
		if asked.kind != want {
			t.Fatalf("at %v it makes call %d, want %d", now, asked.kind, want)
		}
		c.finish(&cfg, nodeLoop, now, asked, a)
	}
	call(0, callRegister, answer{ttl: 10 * time.Second})
	call(10*time.Second, callHeartbeat, answer{ttl: 10 * time.Second})
	call(20*time.Second, callHeartbeat, answer{err: rpc.ErrNodeNotFound})
	call(20*time.Second, callRegister, answer{ttl: time.Hour})
	call(30*time.Second, callHeartbeat, answer{err: rpc.ErrUnreachable})
	if wait := c.tasks[nodeLoop].at - 30*time.Second; !within(wait, 25*cfg.HeartbeatRetryUnit, 30*cfg.HeartbeatRetryUnit) {
		t.Errorf("with almost an hour left it waits for %v", wait)
	}
	call(60*time.Second, callHeartbeat, answer{ttl: 10 * time.Second})
	call(80*time.Second, callHeartbeat, answer{err: rpc.ErrUnreachable})
	if wait := c.tasks[nodeLoop].at - 80*time.Second; !within(wait, cfg.HeartbeatRetryUnit, 2*cfg.HeartbeatRetryUnit) {
		t.Errorf("ten seconds after the end of what the last heartbeat was good for it waits for %v", wait)
	}
}
