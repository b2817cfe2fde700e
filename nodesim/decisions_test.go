package nodesim

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// told runs the sync loop of a client until an instant, and returns what it reports, and when.
func told(cfg *Config, c *client, until time.Duration) (all []string) {
	for t := &c.tasks[syncLoop]; t.state == waiting && t.at <= until; {
		at := t.at
		asked := c.begin(cfg, syncLoop, at)
		if len(asked.report) == 0 {
			all = append(all, at.String()+" nothing")
		}
		for _, a := range asked.report {
			what := at.String() + " " + a.ClientStatus
			if a.Health != "" {
				what += " " + a.Health
			}
			all = append(all, what)
		}
		c.finish(cfg, syncLoop, at, asked, answer{})
	}
	return all
}

// TestWhatIsReportedOfOne: a client reports of an allocation what the servers do not know, when it is so.
func TestWhatIsReportedOfOne(t *testing.T) {
	const (
		pending, running, unknown = rpc.AllocClientPending, rpc.AllocClientRunning, rpc.AllocClientUnknown
		complete, failed, lost    = rpc.AllocClientComplete, rpc.AllocClientFailed, rpc.AllocClientLost
		run, stop, evict          = rpc.AllocDesiredRun, rpc.AllocDesiredStop, rpc.AllocDesiredEvict
	)
	type version struct {
		at              time.Duration // in seconds
		index           uint64
		desired, status string
		deployment      string
		health          string
	}
	const service, other = rpc.JobTypeService, rpc.JobTypeSystem
	for _, tt := range []struct {
		name     string
		jobType  string
		versions []version
		want     []string
	}{
		{"new", other, []version{{at: 100, desired: run, status: pending}}, []string{"1m43s running"}},
		{"new, of a deployment", other, []version{{100, 1, run, pending, "d", ""}}, []string{"1m43s running", "1m53s running healthy"}},
		{"new, of a service", service, []version{{100, 1, run, pending, "", ""}}, []string{"1m43s running", "1m53s running healthy"}},
		{"unknown", other, []version{{100, 1, run, unknown, "", ""}}, []string{"1m43s running"}},
		{"running", other, []version{{100, 1, run, running, "", ""}}, nil},
		{"running, of a deployment", other, []version{{100, 1, run, running, "d", ""}}, []string{"1m50s running healthy"}},
		{"running, and known to be healthy", service, []version{{100, 1, run, running, "d", rpc.AllocHealthy}}, nil},
		{"complete", service, []version{{100, 1, run, complete, "d", ""}}, nil},
		{"failed", service, []version{{100, 1, run, failed, "d", ""}}, nil},
		{"lost", service, []version{{100, 1, run, lost, "d", ""}}, nil},
		{"complete, then stopped", service, []version{{100, 1, run, complete, "d", ""}, {110, 2, stop, complete, "d", ""}}, nil},
		{"stopped and complete", service, []version{{100, 1, stop, complete, "d", ""}}, nil},
		{"stopped and failed", service, []version{{100, 1, stop, failed, "d", ""}}, nil},
		{"stopped and lost", service, []version{{100, 1, stop, lost, "d", ""}}, nil},
		{"stopped while pending", service, []version{{100, 1, stop, pending, "d", ""}}, []string{"1m42s complete"}},
		{"stopped while running", service, []version{{100, 1, stop, running, "d", ""}}, []string{"1m42s complete"}},
		{"evicted while running", service, []version{{100, 1, evict, running, "d", ""}}, []string{"1m42s complete"}},

		{"running, then stopped", other, []version{{100, 1, run, running, "", ""}, {105, 2, stop, running, "", ""}}, []string{"1m47s complete"}},
		{"a version seen before", other, []version{{100, 1, run, pending, "", ""}, {105, 1, stop, pending, "", ""}}, []string{"1m43s running"}},
		{"deployed later", other, []version{{100, 1, run, pending, "", ""}, {105, 2, run, running, "d", ""}, {108, 3, run, running, "d", ""}},
			[]string{"1m43s running", "1m55s running healthy"}},
		{"stopped before it is healthy", other, []version{{100, 1, run, pending, "d", ""}, {105, 2, stop, running, "d", ""}},
			[]string{"1m43s running", "1m47s complete"}},
		{"lost before it runs", other, []version{{100, 1, run, pending, "d", ""}, {102, 2, stop, lost, "d", ""}}, []string{"1m44s complete"}},
		{"lost while it runs", other, []version{{100, 1, run, running, "", ""}, {105, 2, stop, lost, "", ""}}, []string{"1m47s complete"}},
		{"unknown while it runs", other, []version{{100, 1, run, pending, "", ""}, {105, 2, run, unknown, "", ""}}, []string{"1m43s running", "1m45s running"}},
		{"lost while it stops", other, []version{{100, 1, run, running, "", ""}, {105, 2, stop, running, "", ""}, {106, 3, stop, lost, "", ""}},
			[]string{"1m47s complete"}},
		{"unknown when it has stopped", other, []version{{100, 1, run, running, "", ""}, {105, 2, stop, running, "", ""}, {110, 3, stop, unknown, "", ""}},
			[]string{"1m47s complete"}},
	} {
		cfg := Config{Nodes: 1, Servers: 1, ReportAllocs: true}
		cfg.Timing = Timing{AllocSync: time.Second}.WithDefaults()
		cfg.Behaviour = Behaviour{StartDelay: Delay{Min: 3 * time.Second}, StopDelay: Delay{Min: 2 * time.Second}}
		c := newClient(&cfg, 0, 0)
		c.start(&cfg, 0)
		var got []string
		for _, v := range tt.versions {
			at := v.at * time.Second
			got = append(got, told(&cfg, &c, at-1)...)
			l := &rpc.Allocation{
				ID: "a", AllocModifyIndex: v.index, DesiredStatus: v.desired, ClientStatus: v.status,
				JobType: tt.jobType, DeploymentID: v.deployment, Health: v.health,
			}
			c.onAllocs(&cfg, at, answer{index: v.index, allocs: []*rpc.Allocation{l}})
		}
		if got = append(got, told(&cfg, &c, time.Hour)...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q are reported, want %q", tt.name, got, tt.want)
		}
	}
}

// TestWhatEndsAWait: a call of another loop that goes through ends the wait for the next heartbeat, and that after a failure. It ends neither
// the stagger of a start or of a call that is made again, nor the wait for a tick.
func TestWhatEndsAWait(t *testing.T) {
	const now = time.Minute
	refused := errors.New("refused")
	type turn struct {
		l loop
		a answer
	}
	ok := turn{nodeLoop, answer{ttl: time.Hour}}
	placed := turn{watchLoop, answer{index: 1, allocs: run("a")}}
	for _, tt := range []struct {
		name  string
		turns []turn
		ends  bool
	}{
		{"its start", nil, false},
		{"a registration", []turn{ok}, true},
		{"a registration that is refused", []turn{{nodeLoop, answer{err: refused}}}, true},
		{"a registration without a leader", []turn{{nodeLoop, answer{err: rpc.ErrNoLeader}}}, false},
		{"a heartbeat", []turn{ok, ok}, true},
		{"a first heartbeat that is refused", []turn{ok, {nodeLoop, answer{err: refused}}}, true},
		{"a heartbeat that is refused", []turn{ok, ok, {nodeLoop, answer{err: refused}}}, true},
		{"a watch that is refused", []turn{{watchLoop, answer{err: refused}}}, true},
		{"a watch without a leader", []turn{{watchLoop, answer{err: rpc.ErrNoLeader}}}, false},
		{"a tick", []turn{placed, {syncLoop, answer{err: refused}}}, false},
		{"a report without a leader", []turn{placed, {syncLoop, answer{err: rpc.ErrNoLeader}}}, false},
	} {
		cfg := Config{Nodes: 1, Servers: 1, ReportAllocs: true, Timing: Timing{FirstHeartbeat: 10 * time.Second}.WithDefaults()}
		c := newClient(&cfg, 0, 0)
		c.start(&cfg, now)
		waits := nodeLoop
		for _, step := range tt.turns {
			waits = step.l
			c.finish(&cfg, waits, now, c.begin(&cfg, waits, now), step.a)
		}
		task := &c.tasks[waits]
		at := task.at
		if task.state != waiting || at <= now {
			t.Fatalf("%s: state %d, until %v, want a wait", tt.name, task.state, at)
		}
		if c.wakeOthers((waits+1)%loops, now); (task.at == now) != tt.ends || task.at != now && task.at != at {
			t.Errorf("after %s it waits until %v, and %v after a call of another loop; ends: want %v", tt.name, at, task.at, tt.ends)
		}
	}
}

// TestRegistrations: clients spread their first heartbeats, and those after they have registered again, each over a time of its own. They are
// ready when the servers know it, and go on watching.
func TestRegistrations(t *testing.T) {
	cfg := Config{Nodes: 200, Servers: 1, ReportAllocs: true, Timing: Timing{FirstHeartbeat: 4 * time.Second}.WithDefaults()}
	var longest, longestAgain time.Duration
	for i := range cfg.Nodes {
		c := newClient(&cfg, i, 0)
		c.start(&cfg, 0)
		next := func(now time.Duration, a answer) time.Duration {
			c.finish(&cfg, nodeLoop, now, c.begin(&cfg, nodeLoop, now), a)
			return c.tasks[nodeLoop].at - now
		}
		wait := next(time.Second, answer{ttl: time.Minute})
		if c.ready || !c.registered || wait < 0 || wait >= cfg.FirstHeartbeat || c.tasks[watchLoop].state != waiting || c.tasks[watchLoop].at != time.Second {
			t.Fatalf("a client that has registered waits for %v: %+v", wait, c)
		}
		longest = max(longest, wait)
		next(10*time.Second, answer{ttl: time.Minute})
		c.begin(&cfg, watchLoop, 10*time.Second)
		if wait = next(time.Minute, answer{err: rpc.ErrNodeNotFound}); wait != 0 || c.ready || c.registered {
			t.Fatalf("a client that the servers have forgotten waits for %v: %+v", wait, c)
		}
		wait = next(time.Minute, answer{ttl: time.Minute})
		if !c.ready || !c.registered || wait < 0 || wait >= cfg.RegisterStagger || c.tasks[watchLoop].state != calling {
			t.Fatalf("a client that has registered again waits for %v: %+v", wait, c)
		}
		longestAgain = max(longestAgain, wait)
	}
	if longest < cfg.FirstHeartbeat*9/10 || longestAgain < cfg.RegisterStagger*9/10 {
		t.Errorf("no client waits for longer than %v, and %v when it has registered again", longest, longestAgain)
	}
}

// TestNewLivesBeginAnew: what a client that has stopped was about to try again, the next life does not.
func TestNewLivesBeginAnew(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 1, ReportAllocs: true, Timing: Timing{}.WithDefaults()}
	for l := range loops {
		c := newClient(&cfg, 0, 0)
		for _, now := range []time.Duration{time.Second, time.Hour} {
			c.start(&cfg, now)
			asked := c.begin(&cfg, l, now)
			if l == watchLoop && asked.block != cfg.WatchBlock {
				t.Errorf("from %v it watches for %v, want %v", now, asked.block, cfg.WatchBlock)
			}
			c.finish(&cfg, l, now+time.Second, asked, answer{err: rpc.ErrNoLeader})
			if !c.tasks[l].retrying {
				t.Errorf("loop %d, from %v: a call without a leader is not made again", l, now)
			}
			if c.stop(); c.tasks[l].state != idle {
				t.Errorf("loop %d of a client that has stopped is in state %d", l, c.tasks[l].state)
			}
		}
	}
}

// TestRetriesShorten: a watch that is made again may block for what is left of its time. Up to 1.9.5 no later one of that life
// blocks for longer, unless it was the client's first, which does not block.
func TestRetriesShorten(t *testing.T) {
	const minute, hold = time.Minute, 5 * time.Second
	for _, c := range []struct {
		shorten bool
		index   uint64
		want    []time.Duration // how long each may block
	}{
		{true, 7, []time.Duration{5 * minute, 3*minute + hold, 3*minute + hold, 2*minute + 2*hold, 2*minute + 2*hold}},
		{false, 7, []time.Duration{5 * minute, 3*minute + hold, 5 * minute, 4*minute + hold, 5 * minute}},
		{true, 0, []time.Duration{5 * minute, 3*minute + hold, 5 * minute, 4*minute + hold, 5 * minute}},
	} {
		cfg := Config{Nodes: 1, Servers: 2, ReportAllocs: true, RetriesShorten: c.shorten, Timing: Timing{}.WithDefaults()}
		client := newClient(&cfg, 0, 0)
		client.start(&cfg, 0)
		client.index = c.index
		gone, unchanged := answer{err: rpc.ErrUnreachable}, answer{index: c.index}
		var got []time.Duration
		now := time.Duration(0)
		for _, step := range []struct {
			after time.Duration
			a     answer
		}{{2 * minute, gone}, {minute, unchanged}, {minute, gone}, {minute, unchanged}, {0, unchanged}} {
			asked := client.begin(&cfg, watchLoop, now)
			got = append(got, asked.block)
			now += step.after
			client.finish(&cfg, watchLoop, now, asked, step.a)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("shorten %v, from index %d: watches of %v, want %v", c.shorten, c.index, got, c.want)
		}
		client.stop()
		client.start(&cfg, now)
		if asked := client.begin(&cfg, watchLoop, now); asked.block != cfg.WatchBlock {
			t.Errorf("shorten %v, from index %d: a new life watches for %v", c.shorten, c.index, asked.block)
		}
	}
}

// TestListsDuringAReport: what a client learns while it reports waits until that has ended, well or not. It keeps the
// highest index that it has seen.
func TestListsDuringAReport(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 1, ReportAllocs: true, Timing: Timing{}.WithDefaults()}
	c := newClient(&cfg, 0, 0)
	c.start(&cfg, 0)
	task := &c.tasks[syncLoop]
	c.onAllocs(&cfg, 0, answer{index: 7, allocs: run("a")})
	asked := c.begin(&cfg, syncLoop, time.Second)
	if c.onAllocs(&cfg, 2*time.Second, answer{index: 9, allocs: run("a", "b")}); task.state != calling || c.index != 9 {
		t.Errorf("while it reports: %+v, index %d", task, c.index)
	}
	c.finish(&cfg, syncLoop, 3*time.Second, asked, answer{err: rpc.ErrNoLeader})
	before := *task
	if c.onAllocs(&cfg, 4*time.Second, answer{index: 8, allocs: run("a", "b", "c")}); *task != before || !task.retrying || c.index != 9 {
		t.Errorf("while it is to report again: %+v, index %d, want %+v, index 9", task, c.index, before)
	}
	asked = c.begin(&cfg, syncLoop, 4*time.Second)
	if c.finish(&cfg, syncLoop, 4*time.Second, asked, answer{}); len(asked.report) != 3 || task.state != idle {
		t.Errorf("%d are reported; then %+v", len(asked.report), task)
	}
}

// TestWatchesMadeAgain: a watch that is made again waits for what is left of the time that the first one had, and is answered at once if
// nothing is.
func TestWatchesMadeAgain(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 1, ReportAllocs: true, Timing: Timing{}.WithDefaults()}
	until := cfg.RPCHold + cfg.WatchBlock
	for _, again := range []time.Duration{10 * time.Second, until - 1, until, until + time.Second} {
		c := newClient(&cfg, 0, 0)
		c.start(&cfg, 0)
		c.finish(&cfg, watchLoop, time.Second, c.begin(&cfg, watchLoop, 0), answer{err: rpc.ErrUnreachable})
		if got, want := c.begin(&cfg, watchLoop, again).block, max(until-again, 1); got != want {
			t.Errorf("a watch that is made again at %v waits for %v, want %v", again, got, want)
		}
	}
}

// TestStaleAnswers: a client that is told less than it knows, by a server that is behind, forgets what is not
// listed, as clients of old releases do. Newer ones ask again.
func TestStaleAnswers(t *testing.T) {
	for _, tt := range []struct {
		ignores bool
		index   uint64
		want    int
	}{{false, 8, 1}, {false, 9, 1}, {true, 8, 2}, {true, 9, 2}, {true, 10, 1}} {
		cfg := Config{Nodes: 1, Servers: 1, ReportAllocs: true, IgnoresStale: tt.ignores, Timing: Timing{}.WithDefaults()}
		c := newClient(&cfg, 0, 0)
		c.start(&cfg, 0)
		c.onAllocs(&cfg, 0, answer{index: 9, allocs: run("a", "b")})
		watch := &c.tasks[watchLoop]
		c.begin(&cfg, watchLoop, watch.at)
		c.onAllocs(&cfg, time.Second, answer{index: tt.index, allocs: run("a")})
		if len(c.allocs) != tt.want || c.index != max(9, tt.index) || watch.state != waiting || watch.at != time.Second {
			t.Errorf("%+v: knows %d allocations as of %d, and asks again at %v", tt, len(c.allocs), c.index, watch.at)
		}
	}
}

// TestSyncAfterAnError: the tick after a report that failed comes a retry later. Since 1.6.0 it sends nothing unless something
// is urgent, and what is not goes out with the fifth.
func TestSyncAfterAnError(t *testing.T) {
	for _, tt := range []struct {
		typical time.Duration
		acked   bool // a status before, so that the next one is urgent
		wait    time.Duration
	}{{0, false, 0}, {0, true, 0}, {time.Second, true, 0}, {time.Second, false, 800 * time.Millisecond}} {
		cfg := Config{Nodes: 1, Servers: 1, ReportAllocs: true, Timing: Timing{AllocSyncTypical: tt.typical}.WithDefaults()}
		c := newClient(&cfg, 0, 0)
		c.start(&cfg, 0)
		placed := run("a")
		if tt.acked {
			placed[0].ClientStatus = rpc.AllocClientRunning
			c.onAllocs(&cfg, 0, answer{index: 1, allocs: placed})
			placed = run("a")
			placed[0].DesiredStatus, placed[0].AllocModifyIndex = rpc.AllocDesiredStop, 2
		}
		c.onAllocs(&cfg, 0, answer{index: 2, allocs: placed})
		draws := c.tasks[syncLoop].src
		sync := &c.tasks[syncLoop]
		first := sync.at
		for i := range 3 {
			retries := retry(&draws, cfg.AllocSyncRetry)
			asked := c.begin(&cfg, syncLoop, first)
			c.finish(&cfg, syncLoop, first, asked, answer{err: errors.New("refused")})
			if wait := sync.at - first; len(asked.report) != 1 || wait != retries+tt.wait {
				t.Errorf("typical %v, urgent %v: report %v, made again %v after it was refused %d times, want %v", tt.typical, tt.acked, asked.report, wait, i+1, retries+tt.wait)
			}
			first = sync.at
		}
		c.finish(&cfg, syncLoop, first, c.begin(&cfg, syncLoop, first), answer{})
		if c.syncBase != first || c.syncEvery != cfg.AllocSync || sync.state != idle {
			t.Errorf("typical %v, urgent %v: after a success it ticks every %v from %v on: %+v", tt.typical, tt.acked, c.syncEvery, c.syncBase, sync)
		}
	}
}
