package nodesim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simctl/simctl/cluster/rpc"
)

func TestHeartbeatRetry(t *testing.T) {
	cases := []struct {
		left        time.Duration
		least, most time.Duration
	}{
		{-5 * time.Minute, time.Second, 30 * time.Second}, // as if five minutes were left
		{-31 * time.Second, time.Second, 31 * time.Second},
		{-30 * time.Second, time.Second, 2 * time.Second},
		{-time.Nanosecond, time.Second, 2 * time.Second},
		{0, time.Second, 2 * time.Second},
		{time.Second, time.Second, 2 * time.Second},
		{20 * time.Second, time.Second, 20 * time.Second},
		{time.Hour, time.Second, 30 * time.Second},
	}
	src := rand.NewPCG(1, 2)
	for _, c := range cases {
		longest := time.Duration(0)
		for range 1000 {
			got := heartbeatRetry(src, c.left, time.Second)
			if got < c.least || got > c.most {
				t.Errorf("with %v left the client waits %v, want %v to %v", c.left, got, c.least, c.most)
			}
			longest = max(longest, got)
		}
		if longest < c.most*9/10 {
			t.Errorf("with %v left the client never waits for more than %v, want up to %v", c.left, longest, c.most)
		}
	}
}

func TestRetryAndStaggerRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)
		base := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "base"))
		if got := retry(src, base); got < base || got >= 2*base {
			t.Fatalf("retry(%v) = %v, want [base, 2*base)", base, got)
		}
		if got := stagger(src, base); got < 0 || got >= base {
			t.Fatalf("stagger(%v) = %v, want [0, base)", base, got)
		}
		if got := stagger(src, -base); got != 0 {
			t.Fatalf("stagger(%v) = %v, want 0", -base, got)
		}
	})
}

func TestGridKeepsLoopsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 60_000).Draw(t, "nodes")
		g := newGrid(nodes)
		at := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "at"))
		actor := func(name string) (int, loop) {
			return rapid.IntRange(0, nodes-1).Draw(t, name), loop(rapid.IntRange(0, int(loops)-1).Draw(t, name+" loop"))
		}
		n1, l1 := actor("one")
		n2, l2 := actor("other")
		a, b := g.align(at, n1, l1), g.align(at, n2, l2)
		if a < at || a >= at+g.slot {
			t.Fatalf("align(%v) = %v, want at most one slot of %v later", at, a, g.slot)
		}
		if again := g.align(a, n1, l1); again != a {
			t.Fatalf("align(%v) = %v: an instant of the loop's own moved", a, again)
		}
		if (n1 != n2 || l1 != l2) && a == b {
			t.Fatalf("loops %d/%d and %d/%d share the instant %v", n1, l1, n2, l2, a)
		}
	})
}

// TestQueue compares the queue with a map that is searched from end to end.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clients := make([]client, 8)
		for i := range clients {
			for l := range clients[i].tasks {
				clients[i].tasks[l].pos = -1
			}
		}
		q, naive := newQueue(clients), map[ref]time.Duration{}
		earliest := func() (least time.Duration) {
			least = -1
			for _, at := range naive {
				if least < 0 || at < least {
					least = at
				}
			}
			return least
		}
		anyRef := rapid.Custom(func(t *rapid.T) ref {
			return ref{rapid.Int32Range(0, 7).Draw(t, "client"), loop(rapid.IntRange(0, int(loops)-1).Draw(t, "loop"))}
		})
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				r, at := anyRef.Draw(t, "ref"), time.Duration(rapid.Int64Range(0, 100).Draw(t, "at"))
				q.set(r, at)
				naive[r] = at
			},
			"remove": func(t *rapid.T) {
				r := anyRef.Draw(t, "ref")
				q.remove(r)
				delete(naive, r)
			},
			"pop": func(t *rapid.T) {
				if len(naive) == 0 {
					return
				}
				want := earliest()
				r := q.pop()
				if naive[r] != want {
					t.Fatalf("popped %v due at %v, want one due at %v", r, naive[r], want)
				}
				delete(naive, r)
			},
			"": func(t *rapid.T) {
				at, ok := q.next()
				if ok != (len(naive) > 0) || ok && at != earliest() {
					t.Fatalf("next is %v, %v; want %v of %d", at, ok, earliest(), len(naive))
				}
				for i, e := range q.entries.Items {
					if q.task(e.ref).pos != int32(i) || naive[e.ref] != e.at {
						t.Fatalf("entry %d is %+v, its loop's place %d, its instant %v", i, e, q.task(e.ref).pos, naive[e.ref])
					}
				}
			},
		})
	})
}

func TestSyncTicks(t *testing.T) {
	cases := []struct {
		typical, every time.Duration
		urgent         bool
		ticks          map[time.Duration]time.Duration
	}{
		{0, 200, false, map[time.Duration]time.Duration{0: 1200, 1000: 1200, 1199: 1200, 1200: 1200, 1201: 1400, 5000: 5000}},
		{1000, 200, true, map[time.Duration]time.Duration{0: 1200, 1200: 1200, 1201: 1400}},
		{1000, 200, false, map[time.Duration]time.Duration{0: 2000, 1201: 2000, 2000: 2000, 2001: 3000}},
		{0, 700, false, map[time.Duration]time.Duration{1001: 1700, 1701: 2400}}, // after an error
	}
	for _, k := range cases {
		c, cfg := client{syncBase: 1000, syncEvery: k.every}, Config{Timing: Timing{AllocSync: 200, AllocSyncTypical: k.typical}}
		for at, want := range k.ticks {
			if got := c.tick(&cfg, at, k.urgent); got != want {
				t.Errorf("every %d, typical %d, urgent %v: the first tick at or after %d is %d, want %d", k.every, k.typical, k.urgent, at, got, want)
			}
		}
	}
}

func TestNodesAreTellable(t *testing.T) {
	cfg := Config{Nodes: 1000, Servers: 1, Dial: func(int) rpc.NodeServer { return nil }, Groups: []Group{{Nodes: 500}, {Nodes: 500, Datacenter: "dc2"}}}
	f, err := NewFleet(cfg)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := range f.clients {
		n := f.groups[f.clients[i].group].node(&f.clients[i])
		if seen[n.ID] || len(n.ID) != 36 {
			t.Fatalf("client %d has the ID %q, twice or not a UUID", i, n.ID)
		}
		seen[n.ID] = true
		if want := [2]string{"dc1", "dc2"}[i/500]; n.Datacenter != want || n.Resources != DefaultResources {
			t.Errorf("client %d is in %s with %+v, want %s with the default", i, n.Datacenter, n.Resources, want)
		}
	}
	other := cfg
	other.Seed = 1
	g, err := NewFleet(other)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(g.clients, func(c client) bool { return seen[c.id] }) {
		t.Error("two seeds share a node ID")
	}
}

func TestValidateNamesFieldAndValue(t *testing.T) {
	good := Config{Nodes: 1, Servers: 1, Dial: func(int) rpc.NodeServer { return nil }}
	if err := good.Validate(); err != nil {
		t.Fatalf("a good config is refused: %v", err)
	}
	cases := []struct {
		change func(*Config)
		want   []string
	}{
		{func(c *Config) { c.Nodes = 0 }, []string{"Nodes", "0", "1 to"}},
		{func(c *Config) { c.Nodes = MaxNodes + 1 }, []string{"Nodes", "16777217"}},
		{func(c *Config) { c.Servers = -1 }, []string{"Servers", "-1"}},
		{func(c *Config) { c.Nodes, c.Groups = 1<<16, slices.Repeat([]Group{{Nodes: 1}}, 1<<16) }, []string{"65536 groups", "65535"}},
		{func(c *Config) { c.Dial = nil }, []string{"Dial"}},
		{func(c *Config) { c.AllocSync = -time.Second }, []string{"AllocSync", "-1s"}},
		{func(c *Config) { c.Behaviour.StopDelay.Min = -1 }, []string{"StopDelay", "-1ns"}},
		{func(c *Config) { c.Behaviour.RunFor.Min = -1 }, []string{"RunFor", "-1ns"}},
	}
	for _, c := range cases {
		cfg := good
		c.change(&cfg)
		_, err := NewFleet(cfg)
		if err == nil {
			t.Errorf("%v: accepted", c.want)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("error %q does not name %q", err, part)
			}
		}
	}
}

// TestClientsLearnWhatIsListed: a client knows what the servers list, keeps what it knew of it, and
// forgets the rest.
func TestClientsLearnWhatIsListed(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 1, ReportAllocs: true}
	c := newClient(&cfg, 0, 0)
	ids := func() (ids string) {
		for _, a := range c.allocs {
			ids += a.id
		}
		return ids
	}
	c.learn(&cfg, time.Second, run("a", "b", "c", "d"))
	if got := ids(); got != "abcd" {
		t.Fatalf("it knows %s, want abcd", got)
	}
	c.learn(&cfg, time.Minute, run("c", "d", "e"))
	if got := ids(); got != "cde" {
		t.Fatalf("it knows %s, want cde", got)
	}
	for i, want := range []time.Duration{time.Second, time.Second, time.Minute} {
		if got := c.allocs[i].due; got != want {
			t.Errorf("%s was learned at %v, want %v", c.allocs[i].id, got, want)
		}
	}
	changed := run("c")
	changed[0].AllocModifyIndex = 9
	c.learn(&cfg, time.Hour, changed)
	if a := c.allocs[0]; len(c.allocs) != 1 || a.watched || a.index != 9 {
		t.Errorf("it knows %+v, want c, which no deployment waits for", c.allocs)
	}
	deployed := run("c")
	deployed[0].AllocModifyIndex, deployed[0].DeploymentID = 10, "d"
	c.learn(&cfg, 2*time.Hour, deployed)
	deployed = []*rpc.Allocation{deployed[0].Copy()}
	deployed[0].AllocModifyIndex = 11
	c.learn(&cfg, 3*time.Hour, deployed)
	if a := c.allocs[0]; !a.watched || a.watchedAt != 2*time.Hour {
		t.Errorf("it knows %+v, want c, which a deployment waits for since 2h", a)
	}
}

// TestALifeLeavesNothing: a client that has stopped knows nothing of servers; its allocations stay.
func TestALifeLeavesNothing(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 2, ReportAllocs: true, Timing: Timing{}.WithDefaults()}
	c := newClient(&cfg, 0, 0)
	c.start(&cfg, 0)
	for range 2 { // registers, and heartbeats
		c.finish(&cfg, nodeLoop, time.Second, c.begin(&cfg, nodeLoop, time.Second), answer{ttl: time.Minute})
	}
	c.learn(&cfg, time.Second, run("a"))
	c.index = 7
	if !c.running || !c.registered || !c.introduced || !c.heartbeated || !c.ready {
		t.Fatalf("after two calls: %+v", c)
	}
	c.stop()
	if c.running || c.registered || c.introduced || c.heartbeated || c.ready || c.index != 0 || len(c.allocs) != 1 || c.allocs[0].seen != nil {
		t.Errorf("after its end: %+v", c)
	}
	c.start(&cfg, time.Minute)
	if again := c.begin(&cfg, nodeLoop, time.Minute); again.kind != callRegister || again.status != rpc.NodeStatusInit {
		t.Errorf("its next life begins with %+v", again)
	}
}

// TestReintroduce: a client that the servers know registers again after a retry of NodeUpdate, once for all that changes
// meanwhile, and heartbeats at once when it has. What changes while it registers it tells in another call. If it is
// refused, its heartbeats go on, and the first that goes through has it try again. A client that the servers do not know
// waits for as long as it would have, and registers as it is by then.
func TestReintroduce(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 1, Timing: Timing{}.WithDefaults()}
	c := newClient(&cfg, 0, 0)
	node := &c.tasks[nodeLoop]
	c.start(&cfg, 0)
	first := node.at
	c.reintroduce(&cfg, 0)
	if first == 0 || node.at != first {
		t.Errorf("a client that starts registers at %v and, changed before, at %v", first, node.at)
	}
	c.finish(&cfg, nodeLoop, first, c.begin(&cfg, nodeLoop, first), answer{ttl: time.Minute})
	if c.told != 1 {
		t.Errorf("changed before it registered, it registers as of change %d", c.told)
	}
	ok := answer{ttl: time.Minute}
	turn := func(kind callKind, a answer) (at time.Duration, asked call) {
		t.Helper()
		at = node.at
		if asked = c.begin(&cfg, nodeLoop, at); asked.kind != kind {
			t.Errorf("at %v it makes call %+v, want kind %v", at, asked, kind)
		}
		c.finish(&cfg, nodeLoop, at, asked, a)
		return at, asked
	}
	now, _ := turn(callHeartbeat, ok)
	c.reintroduce(&cfg, now+time.Second)
	c.reintroduce(&cfg, now+2*time.Second)
	at, asked := turn(callRegister, ok)
	if wait := at - now - time.Second; wait < cfg.NodeUpdate || wait >= 2*cfg.NodeUpdate || asked.version != c.version || asked.status != rpc.NodeStatusReady {
		t.Errorf("%v after a change it registers as %+v", wait, asked)
	}
	if beat, _ := turn(callHeartbeat, ok); beat != at {
		t.Errorf("registered again at %v, it heartbeats at %v", at, beat)
	}

	now = node.at - time.Second // so that the heartbeat comes first
	c.reintroduce(&cfg, now)
	beat, _ := turn(callHeartbeat, ok)
	at = node.at
	asked = c.begin(&cfg, nodeLoop, at)
	c.reintroduce(&cfg, at)
	c.finish(&cfg, nodeLoop, at, asked, ok)
	if asked.kind != callRegister || asked.version == c.version || beat != now+time.Second {
		t.Errorf("changed a second before the heartbeat at %v, it makes call %+v at %v", beat, asked, at)
	}
	turn(callHeartbeat, ok)
	later, asked := turn(callRegister, answer{err: errors.New("refused")})
	if wait := later - at; wait < cfg.NodeUpdate || wait >= 2*cfg.NodeUpdate || asked.version != c.version {
		t.Errorf("changed while it registers, it registers %v later as %+v", wait, asked)
	}
	if wait := c.updateAt - later; wait < cfg.RegisterRetry || wait >= 2*cfg.RegisterRetry {
		t.Errorf("refused, it tries again %v later", wait)
	}
	c.wakeOthers(watchLoop, later+time.Second)
	if at, asked := turn(callRegister, ok); at != later+time.Second || asked.version != c.version {
		t.Errorf("a call that went through a second later has it make %+v at %v", asked, at)
	}
	turn(callHeartbeat, ok)
	c.reintroduce(&cfg, node.at-time.Second)
	turn(callHeartbeat, ok)
	turn(callRegister, answer{err: errors.New("refused")})
	c.rest(c.updateAt - time.Second) // an earlier heartbeat
	beat, _ = turn(callHeartbeat, ok)
	if at, _ := turn(callRegister, ok); at != beat {
		t.Errorf("a heartbeat that goes through at %v has it register at %v", beat, at)
	}
	c.reintroduce(&cfg, node.at)
	c.stop()
	if c.updateAt != 0 || c.denied {
		t.Error("a change outlives the client, which would register twice")
	}
}

// TestDefaultResources: a node offers what the manual says.
func TestDefaultResources(t *testing.T) {
	manual, err := os.ReadFile("../docs/scenario-language.md")
	if err != nil {
		t.Fatal(err)
	}
	d := DefaultResources
	row := fmt.Sprintf("| `resources { cpu memory disk }` | %d MHz, %d MB, %d MB |", d.CPUMHz, d.MemoryMB, d.DiskMB)
	if !strings.Contains(string(manual), row) {
		t.Errorf("the manual does not say %q", row)
	}
}
