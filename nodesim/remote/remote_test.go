package remote

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/nomadrpc"
	"github.com/simctl/simctl/internal/nomadtls"
	"github.com/simctl/simctl/nodesim"
)

// TestTokens goes through the life of a node and compares the token of every call with what
// clients of the release send.
func TestTokens(t *testing.T) {
	secret := secretOf(nodeID)
	denyFirst := func() func(string, string) error {
		denied := false
		return func(method, token string) error {
			if method == "Register" && token != "" && !denied {
				denied = true
				return errDenied
			}
			return nil
		}
	}
	life := func(first, watched, fetched, rest string) []string {
		return []string{"Register " + first, "UpdateStatus " + rest, "GetClientAllocs " + secret + " " + watched, "GetAllocs " + fetched, "UpdateAlloc " + rest, "Register " + rest}
	}
	cases := []struct {
		name, release, intro, identity string
		deny                           func(string, string) error
		want                           []string
	}{
		{"1.4", "1.4.3", "", "", nil, life("", "", secret, "")},
		{"1.5", "1.5.17", "", identity, nil, life("", "", secret, "")},
		{"1.6", "1.6.0", "", identity, nil, life("", secret, secret, secret)},
		{"1.10", "1.10.5", "", "", nil, life("", secret, secret, secret)},
		{"1.11 without identities", "1.11.0", "", "", nil, life("", secret, secret, secret)},
		{"1.11", "1.11.0", "", identity, nil, life("", identity, identity, identity)},
		{"2.0 introduced", "2.0.5", "intro", identity, nil, life("intro", identity, identity, identity)},
		{"denied", "1.6.0", "", "", denyFirst(), append(life("", secret, secret, secret), "Register ")},
		{"denied with an introduction", "2.0.5", "intro", "", denyFirst(), append([]string{"Register intro"}, life("intro", secret, secret, secret)...)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{identity: c.identity, deny: c.deny, allocs: map[string]*nomadrpc.Allocation{"a": {ID: "a", ModifyIndex: 5, AllocModifyIndex: 5}}}
			f.listed = nomadrpc.NodeClientAllocsResponse{Allocs: map[string]uint64{"a": 5}, QueryMeta: nomadrpc.QueryMeta{Index: 5}}
			address, _ := serve(t, "127.0.0.1:0", nomadrpc.ServerConfig{Methods: f.methods()})
			s := reach(t, Config{Addresses: []string{address}, Release: c.release, IntroToken: c.intro}).Dial(0)
			again := func() {
				if err := register(t, s); err != nil {
					if !strings.Contains(err.Error(), permissionDenied) {
						t.Fatal(err)
					}
					if err := register(t, s); err != nil {
						t.Fatal(err)
					}
				}
			}
			again()
			if err := heartbeat(t, s); err != nil {
				t.Fatal(err)
			}
			if _, err := watch(t, s, 0); err != nil {
				t.Fatal(err)
			}
			if err := update(t, s, &rpc.Allocation{ID: "a", NodeID: nodeID, ClientStatus: rpc.AllocClientRunning}); err != nil {
				t.Fatal(err)
			}
			again()
			if got := f.calls(); !slices.Equal(got, c.want) {
				t.Errorf("calls %q, want %q", got, c.want)
			}
		})
	}
}

func TestReleases(t *testing.T) {
	for release, want := range map[string]habits{
		"1.4.0": releases[0], "1.4.12": releases[0], "1.4.13": releases[1], "1.5.0": releases[2], "1.5.8": releases[2], "1.5.9": releases[3],
		"1.5.17": releases[3], "1.6.0": releases[4], "1.6.1": releases[4], "1.6.2": releases[5], "1.9.5": releases[5], "1.9.6": releases[6],
		"1.10.5": releases[6], "1.11.0": releases[7], NewestRelease: releases[7], "3.0.0": releases[7],
		"1.6.0-beta.1": releases[3],
	} {
		if got, err := habitsOf(release); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", release, got, err, want)
		}
	}
	for _, release := range []string{"1.3.9", "1.4", "v1.4.3", "newest", ""} {
		if got, err := habitsOf(release); err == nil {
			t.Errorf("%q was taken for %+v", release, got)
		}
	}
}

// TestWatchesByRelease: the fleet's watches go by its clients' release, as theirs do.
func TestWatchesByRelease(t *testing.T) {
	for release, want := range map[string][2]bool{"1.4.2": {true, false}, "1.5.9": {true, true}, "1.6.0": {true, false}, "1.9.5": {true, true}, "1.9.6": {false, true}, NewestRelease: {false, true}} {
		var fleet nodesim.Config
		if err := SetHabits(&fleet, release); err != nil || [2]bool{fleet.RetriesShorten, fleet.IgnoresStale} != want {
			t.Errorf("%s: retries shorten %v, stale answers are ignored %v, %v; want %v", release, fleet.RetriesShorten, fleet.IgnoresStale, err, want)
		}
	}
}

// TestHabits: only clients that watch their allocations spread their first heartbeats, for nothing would
// end that wait for the others.
func TestHabits(t *testing.T) {
	for _, c := range []struct {
		reports    bool
		said, want time.Duration
	}{
		{true, 0, 10 * time.Second},
		{false, 0, 0},
		{true, 3 * time.Second, 3 * time.Second},
		{false, 3 * time.Second, 3 * time.Second},
	} {
		fleet := nodesim.Config{ReportAllocs: c.reports, Timing: nodesim.Timing{FirstHeartbeat: c.said}}
		if err := SetHabits(&fleet, NewestRelease); err != nil || fleet.FirstHeartbeat != c.want {
			t.Errorf("%+v: %v, %v", c, fleet.FirstHeartbeat, err)
		}
	}
}

func TestErrorsAreThoseThatClientsTellApart(t *testing.T) {
	answer := errors.New("")
	f := &fake{deny: func(string, string) error { return answer }}
	address, end := serve(t, "127.0.0.1:0", nomadrpc.ServerConfig{Methods: f.methods()})
	servers := reach(t, Config{Addresses: []string{address}, Connections: 1})
	s := servers.Dial(0)
	for text, kind := range map[string]error{
		"node not found": rpc.ErrNodeNotFound, "rpc error: No cluster leader": rpc.ErrNoLeader, "Permission denied": nil,
		"node 11111111 is not allowed to update allocs while in status down": nil,
	} {
		answer = errors.New(text)
		err := heartbeat(t, s)
		if err == nil || err.Error() != text {
			t.Errorf("error %v, want the server's words %q", err, text)
		}
		for _, k := range []error{rpc.ErrNodeNotFound, rpc.ErrNoLeader, rpc.ErrUnreachable} {
			if errors.Is(err, k) != (k == kind) {
				t.Errorf("%q is %v: %v", text, k, errors.Is(err, k))
			}
		}
	}
	answer = errors.New("node " + otherID + " not found")
	for range 2 {
		_ = heartbeat(t, s)
	}
	if got, want := servers.Failures(), (Failure{"Node.UpdateStatus", "node … not found", 2}); len(got) != 5 || got[0] != want {
		t.Errorf("failures %v, want five kinds and first %v", got, want)
	}
	end()
	if err := heartbeat(t, s); !errors.Is(err, rpc.ErrUnreachable) {
		t.Errorf("error %v of a server that has ended, want that it is unreachable", err)
	}
	if err := servers.Check(t.Context()); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("error %v, want one that names %s", err, address)
	}
	// It is back, and so is the connection.
	answer = nil
	serve(t, address, nomadrpc.ServerConfig{Methods: f.methods()})
	f.deny = nil
	if err := heartbeat(t, s); err != nil {
		t.Errorf("the server is back, but: %v", err)
	}
	if n := servers.Connections(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// TestARefusedConnectionIsExplained: a server at its limit closes connections without a word.
func TestARefusedConnectionIsExplained(t *testing.T) {
	address, _ := serve(t, "127.0.0.1:0", nomadrpc.ServerConfig{Methods: (&fake{}).methods(), MaxConns: 1})
	first := reach(t, Config{Addresses: []string{address}, Connections: 1})
	if err := first.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := reach(t, Config{Addresses: []string{address}, Connections: 1})
	if err := second.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "rpc_max_conns_per_client") {
		t.Errorf("error %v, want one that names the limit", err)
	}
}

// TestWrongTLSIsExplained: whatever is wrong with the certificates of either end, the error of a call says what to do.
func TestWrongTLSIsExplained(t *testing.T) {
	server, client := certificates(t)
	_, other := certificates(t) // of another authority
	change := func(cfg *tls.Config, of func(*tls.Config)) *tls.Config {
		cfg = cfg.Clone()
		of(cfg)
		return cfg
	}
	old := func(cfg *tls.Config) { cfg.MaxVersion = tls.VersionTLS12 } // whose servers refuse before their clients go on
	anonymous := func(cfg *tls.Config) { cfg.Certificates = nil }
	stranger := func(cfg *tls.Config) { cfg.Certificates = other.Certificates }
	for _, c := range []struct {
		what           string
		server, client *tls.Config
		want           string
	}{
		{"ours is of another authority", server, change(client, stranger), "the server refuses this client's certificate: name one for client.<region>.nomad"},
		{"the same before TLS 1.3", change(server, old), change(client, stranger), "the server refuses this client's certificate"},
		{"there is none of ours", server, change(client, anonymous), "the server wants a certificate of its clients: name one"},
		{"none, before TLS 1.3", change(server, old), change(client, anonymous), "the server refuses this client's certificate"},
		{"the server's is of another authority", server, change(client, func(cfg *tls.Config) { cfg.RootCAs = other.RootCAs }),
			"name the certificate of the authority that signed the server's (--tls-ca, NOMAD_CACERT)"},
		{"it has another region's name", server, change(client, func(cfg *tls.Config) { cfg.ServerName = nomadtls.ServerName("moon") }), "another name than it is called by"},
		{"it is no longer valid", server, change(client, func(cfg *tls.Config) { cfg.Time = func() time.Time { return time.Now().AddDate(1, 0, 0) } }),
			"give the server a certificate that is valid"},
		{"no TLS to a server that demands it", server, nil, "those without TLS if it demands TLS"},
		{"TLS to a server without", nil, client, "those with TLS if its RPC speaks none"},
	} {
		address, _ := serve(t, "127.0.0.1:0", nomadrpc.ServerConfig{Methods: (&fake{}).methods(), TLS: c.server})
		err := reach(t, Config{Addresses: []string{address}, TLS: c.client, Connections: 1}).Check(t.Context())
		if !errors.Is(err, rpc.ErrUnreachable) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", c.what, err, c.want)
		}
	}
}

// TestClientsBeyondTheLimit: clients whose connection a server refuses share those that it accepts, which is
// said once, and have their own when there is room.
func TestClientsBeyondTheLimit(t *testing.T) {
	address, _ := serve(t, "127.0.0.1:0", nomadrpc.ServerConfig{Methods: (&fake{}).methods(), MaxConnsPerAddress: 3})
	first := reach(t, Config{Addresses: []string{address}, Connections: 1})
	if err := first.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	var told []string
	servers := reach(t, Config{Addresses: []string{address}, Connections: 3, Refused: func(server string) { told = append(told, server) }})
	servers.knockEvery = time.Millisecond
	s := servers.Dial(0)
	for i := range 9 {
		if _, err := s.UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: fmt.Sprintf("node-%d", i%6), Status: rpc.NodeStatusReady}); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if !slices.Equal(told, []string{address}) {
		t.Errorf("told of %v, want %s once", told, address)
	}
	first.Close()
	await(t, "there are three connections", func() bool {
		return !slices.ContainsFunc(servers.links[0], func(l *link) bool { return !l.works() })
	})
}

func TestWhatANodeSays(t *testing.T) {
	f := &fake{}
	address, _ := serve(t, "127.0.0.1:0", nomadrpc.ServerConfig{Methods: f.methods()})
	s := reach(t, Config{Addresses: []string{address}, Release: "1.4.2", Local: []netip.Addr{netip.MustParseAddr("127.0.0.1")}})
	if err := register(t, s.Dial(0)); err != nil {
		t.Fatal(err)
	}
	n := f.nodes[0]
	if n.SecretID != secretOf(nodeID) || n.SecretID == secretOf(otherID) || n.SecretID == nodeID || len(n.SecretID) != 36 || n.SecretID[14] != '4' {
		t.Errorf("secret %q", n.SecretID)
	}
	if n.Attributes["nomad.version"] != "1.4.2" || len(n.Drivers) != 1 || !n.Drivers["docker"].Healthy || !n.Drivers["docker"].Detected {
		t.Errorf("attributes %v, drivers %v", n.Attributes, n.Drivers)
	}
	if r := n.NodeResources; r.Cpu.CpuShares != 4000 || r.Cpu.TotalCpuCores != 4 || r.Memory.MemoryMB != 5 || r.Disk.DiskMB != 6 || len(r.NodeNetworks) != 1 {
		t.Errorf("resources %+v", r)
	}
}

// TestAllocationsAreFetchedWhenTheyChange: what a client knows already is not fetched again.
func TestAllocationsAreFetchedWhenTheyChange(t *testing.T) {
	f := &fake{allocs: map[string]*nomadrpc.Allocation{}}
	list := func(index uint64, allocs map[string]uint64) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.listed = nomadrpc.NodeClientAllocsResponse{Allocs: allocs, QueryMeta: nomadrpc.QueryMeta{Index: index}}
	}
	put := func(id string, index uint64) {
		f.mu.Lock()
		defer f.mu.Unlock()
		healthy := id == "b"
		f.allocs[id] = &nomadrpc.Allocation{
			ID: id, Job: &nomadrpc.Job{Type: rpc.JobTypeService}, DesiredStatus: rpc.AllocDesiredRun, ModifyIndex: index, AllocModifyIndex: index, DeploymentStatus: &nomadrpc.AllocDeploymentStatus{Healthy: &healthy},
			AllocatedResources: &nomadrpc.AllocatedResources{Tasks: map[string]*nomadrpc.AllocatedTaskResources{"web": {}, "log": {}}},
		}
	}
	address, _ := serve(t, "127.0.0.1:0", nomadrpc.ServerConfig{Methods: f.methods()})
	servers := reach(t, Config{Addresses: []string{address}})
	servers.incomplete = time.Millisecond
	s := servers.Dial(0)

	see := func(step string, since uint64, wantIndex uint64, want, wantFetched string) {
		t.Helper()
		before := len(f.got)
		resp, err := watch(t, s, since)
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		var got, fetched []string
		for _, a := range resp.Allocs {
			if known := a.DesiredStatus != ""; known != (a.JobType == rpc.JobTypeService) {
				t.Errorf("%s: %s is of a job of type %q", step, a.ID, a.JobType)
			}
			got = append(got, fmt.Sprintf("%s@%d%s", a.ID, a.AllocModifyIndex, strings.Repeat("*", len(a.DesiredStatus)/3)))
		}
		for _, req := range f.got[before:] {
			fetched = append(fetched, req.AllocIDs...)
		}
		if strings.Join(got, " ") != want || resp.Index != wantIndex || strings.Join(fetched, " ") != wantFetched {
			t.Errorf("%s: %v at %d after fetching %v, want %s at %d after fetching %s", step, got, resp.Index, fetched, want, wantIndex, wantFetched)
		}
	}
	put("a", 3)
	put("b", 5)
	list(5, map[string]uint64{"a": 3, "b": 5})
	see("at first", 0, 5, "a@3* b@5*", "a b")
	list(8, map[string]uint64{"a": 3, "b": 5}) // the client's own update, say
	see("nothing new", 5, 8, "a@3* b@5*", "")
	list(8, map[string]uint64{})
	see("a timeout, or a server that is behind", 8, 8, "a@3* b@5*", "")
	put("b", 9)
	put("c", 9)
	list(9, map[string]uint64{"b": 9, "c": 9})
	see("one gone, one changed, one new", 8, 9, "b@9* c@9*", "b c")
	list(12, map[string]uint64{"b": 9, "c": 9, "d": 12})
	put("c", 12)
	list(12, map[string]uint64{"b": 9, "c": 12, "d": 12})
	see("one that the server lacks", 9, 9, "b@9* c@12*", "c d")
	put("d", 12)
	see("it is there", 9, 12, "b@9* c@12* d@12*", "d")
	see("the client started again", 0, 12, "b@9* c@12* d@12*", "b c d")

	// The states of all tasks go with an update.
	if err := update(t, s, &rpc.Allocation{ID: "b", NodeID: nodeID, ClientStatus: rpc.AllocClientRunning, Health: rpc.AllocHealthy}, &rpc.Allocation{ID: "c", NodeID: nodeID, ClientStatus: rpc.AllocClientFailed}); err != nil {
		t.Fatal(err)
	}
	b, c := f.sent[0], f.sent[1]
	if len(b.TaskStates) != 2 || b.TaskStates["web"].State != "running" || b.TaskStates["web"].StartedAt.IsZero() || !*b.DeploymentStatus.Healthy || b.DeploymentStatus.Timestamp.IsZero() {
		t.Errorf("sent %+v with the states %+v", b, b.TaskStates)
	}
	if c.TaskStates["log"].State != "dead" || !c.TaskStates["log"].Failed || c.DeploymentStatus != nil || c.ClientDescription != "Failed tasks" {
		t.Errorf("sent %+v with the states %+v", c, c.TaskStates)
	}
}

// TestAWatchEndsWhenItsClientAsksAgain: a client that has stopped and started has one watch.
func TestAWatchEndsWhenItsClientAsksAgain(t *testing.T) {
	f := &fake{}
	address, _ := serve(t, "127.0.0.1:0", nomadrpc.ServerConfig{Methods: f.methods()})
	servers := reach(t, Config{Addresses: []string{address}})
	s := servers.Dial(0)
	req := &rpc.NodeSpecificRequest{NodeID: nodeID, MinQueryIndex: blockForever}
	resume := func(rpc.ClientAllocsCall) { t.Error("a call that the client has forgotten was resumed") }
	for range 3 {
		if _, err := s.GetClientAllocs(t.Context(), req, resume); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := watch(t, s, 1); err != nil {
		t.Fatal(err)
	}
	servers.wg.Wait() // no call is left
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "no server"},
		{Config{Addresses: []string{"10.0.0.1"}}, `server "10.0.0.1": it must be HOST:PORT`},
		{Config{Addresses: []string{"a:1"}, Connections: -1}, "-1 connections"},
		{Config{Addresses: []string{"a:1"}, Connections: 2_000_000_000}, "2000000000 connections: there must be 1 to 1000000"},
		{Config{Addresses: []string{"a:1"}, Release: "1.2"}, `release "1.2"`},
		{Config{Addresses: []string{"a:1"}, Release: "1.10.0", IntroToken: "x"}, "clients of release 1.10.0 know no introduction tokens"},
	} {
		if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.cfg, err, c.want)
		}
	}
}
