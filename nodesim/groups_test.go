package nodesim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// twoGroups has three clients near and two far away.
func twoGroups() Config {
	return Config{Nodes: 5, Servers: 1, Seed: 3, Groups: []Group{
		{Name: "near", Nodes: 3},
		{Name: "far", Nodes: 2, Datacenter: "dc2", NodeClass: "edge", Attributes: map[string]string{"os.name": "plan9"}, Latency: 3 * time.Second},
	}}
}

func TestGroups(t *testing.T) {
	cfg := twoGroups()
	cfg.Dial = func(int) rpc.NodeServer { return nil }
	f, err := NewFleet(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.InGroup("far"); !slices.Equal(got, []int{3, 4}) {
		t.Errorf("far is %v, want clients 3 and 4", got)
	}
	if near, all, none := f.InGroup("near"), f.InGroup(""), f.InGroup("nowhere"); len(near) != 3 || len(all) != 5 || none != nil {
		t.Errorf("near %v, all %v, nowhere %v", near, all, none)
	}
	for i := range f.clients {
		n := f.groups[f.clients[i].group].node(&f.clients[i])
		want := rpc.Node{Datacenter: "dc1", Attributes: DefaultAttributes()}
		if i >= 3 {
			want = rpc.Node{Datacenter: "dc2", NodeClass: "edge", Attributes: map[string]string{"os.name": "plan9"}}
		}
		if n.Datacenter != want.Datacenter || n.NodeClass != want.NodeClass || n.Attributes["os.name"] != want.Attributes["os.name"] || n.Resources != DefaultResources {
			t.Errorf("client %d is %+v", i, n)
		}
	}
	for _, change := range []func(*Config){
		func(c *Config) { c.Nodes = 6 },
		func(c *Config) { c.Groups[0].Nodes = 0 },
		func(c *Config) { c.Groups[0].Latency = -1 },
	} {
		bad := twoGroups()
		bad.Dial = cfg.Dial
		change(&bad)
		if bad.Validate() == nil {
			t.Errorf("accepted: %+v", bad)
		}
	}
}

func TestAGroupFarAwayIsLate(t *testing.T) {
	cfg := twoGroups()
	cfg.RegisterStagger = time.Second
	inBubble(t, cfg, nil, func(t *testing.T, s *fakeServers, f *Fleet) {
		waitReady(f)
		for _, e := range s.calls("register") {
			far := e.node == f.clients[3].id || e.node == f.clients[4].id
			if far != (e.at >= 3*time.Second) {
				t.Errorf("client %s registered at %v", e.node, e.at)
			}
		}
		// 3 s to register, 3 s for the answer, 3 s for the first heartbeat and its answer each.
		if took := time.Since(s.started); took < 12*time.Second || took > 14*time.Second {
			t.Errorf("ready after %v, want twelve seconds and a bit", took)
		}
	})
}

func TestAReplacedClientIsANewNode(t *testing.T) {
	cfg := Config{Nodes: 4, Servers: 1, Seed: 2}
	inBubble(t, cfg, nil, func(t *testing.T, s *fakeServers, f *Fleet) {
		waitReady(f)
		before := f.idsOf(f.InGroup(""))
		f.ReplaceClients([]int{1, 2})
		waitReady(f)
		f.StopClients([]int{2})
		f.ReplaceClients([]int{2}) // a stopped one, a second time
		waitReady(f)
		var ids []string
		for _, e := range s.calls("register") {
			ids = append(ids, e.node)
		}
		slices.Sort(ids)
		if got := slices.Compact(ids); len(got) != 7 {
			t.Errorf("%d nodes registered, want 4 and 3 new ones", len(got))
		}
		mark := time.Since(s.started)
		time.Sleep(time.Minute)
		for _, e := range s.calls("heartbeat") {
			if old := e.node == before[1] || e.node == before[2]; old && e.at > mark {
				t.Errorf("the machine that is gone sent a heartbeat at %v", e.at)
			}
		}
		if st := f.Stats(); st.Running != 4 || st.Ready != 4 {
			t.Errorf("stats %+v, want all 4 ready", st)
		}
	})
}

// TestRefingerprint: a client tells of a change 5 to 10 s after it, again and again if it is refused.
func TestRefingerprint(t *testing.T) {
	cfg := Config{Nodes: 3, Servers: 1, Seed: 2}
	inBubble(t, cfg, func(s *fakeServers) {
		s.fail = func(e logEntry) error {
			if e.method == "register" && strings.HasPrefix(e.detail, "ready") && e.at < 90*time.Second {
				return rpc.ErrNoLeader
			}
			return nil
		}
	}, func(t *testing.T, s *fakeServers, f *Fleet) {
		waitReady(f)
		time.Sleep(time.Minute - time.Since(s.started))
		f.StopClients([]int{2})
		f.Refingerprint([]int{0, 2}, "os.version", "2")
		time.Sleep(5 * time.Minute)
		registered := map[string]int{}
		for _, e := range s.calls("register") {
			if e.at > time.Minute {
				wait := e.at - time.Minute
				if registered[e.node]++; registered[e.node] == 1 && (wait < f.cfg.NodeUpdate || wait > 2*f.cfg.NodeUpdate+slack) {
					t.Errorf("%s registered after %v, want a retry of %v", e.node, wait, f.cfg.NodeUpdate)
				}
			}
		}
		if st := f.Stats(); st.Registrations != 4 {
			t.Errorf("%d registrations went through, want one each and one more of client 0", st.Registrations)
		}
		if registered[f.clients[0].id] < 2 || registered[f.clients[1].id] != 0 || registered[f.clients[2].id] != 0 {
			t.Errorf("after the change %v registered, want client 0 alone, until it was heard", registered)
		}
		node := func(i int) *rpc.Node { return f.groups[0].node(&f.clients[i]) }
		if node(0).Attributes["os.version"] != "2" || node(1).Attributes["os.version"] != "" || node(2).Attributes["os.version"] != "2" || node(2).Attributes["os.name"] != "ubuntu" {
			t.Errorf("nodes %+v, %+v, %+v", node(0), node(1), node(2))
		}
	})
}
