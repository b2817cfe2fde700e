package record

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/httpapi"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/walltest"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// compiled writes a recording to files and returns the scenario that they are.
func compiled(t *testing.T, r *Recording) *scenarios.Compiled {
	t.Helper()
	dir := t.TempDir()
	for name, text := range r.Files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spec, err := scenarios.FromText(filepath.Join(dir, "mine.hcl"), r.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	c, err := scenarios.Compile(spec)
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Scenario)
	}
	return c
}

// plainJob is a job with one group.
func plainJob(id, kind string, count int) *rpc.Job {
	return &rpc.Job{ID: id, Namespace: "default", Type: kind, Priority: 50, Datacenters: []string{"*"}, TaskGroups: []rpc.TaskGroup{
		{Name: "g", Count: count, Resources: rpc.Resources{CPUMHz: 20, MemoryMB: 30, DiskMB: 10}},
	}}
}

// example is a cluster in which everything happens that a recording can say.
func example() *seen {
	s := newSeen()
	s.servers, s.schedulers, s.lasted = 3, 4, 5*time.Minute
	east := kind{Datacenter: "east", Class: "big ${x}", OS: "ubuntu", Resources: rpc.Resources{CPUMHz: 4000, MemoryMB: 8000, DiskMB: 9000}}
	west := kind{Datacenter: "west", Resources: rpc.Resources{CPUMHz: 2000, MemoryMB: 4000, DiskMB: 5000}}
	s.sawNode("a", west, "ready", 0)
	s.sawNode("b", east, "ready", 0)
	s.sawNode("c", east, "ready", 0)
	s.sawNode("lost", east, "down", 0)
	s.sawNode("c", east, "down", 30*time.Second)
	s.sawNode("c", east, "initializing", 60*time.Second)
	s.sawNode("c", east, "ready", 61*time.Second)
	s.sawNode("new", west, "initializing", 90*time.Second)
	s.sawNode("new", west, "ready", 91*time.Second)
	see := func(j *rpc.Job, index uint64, at time.Duration) { s.sawJob(jobKey{j.Namespace, j.ID}, j, index, at) }
	see(plainJob("agent", "system", 1), 1, 0)
	see(plainJob("logs", "system", 1), 1, 0)
	web := plainJob("web/front", "service", 3)
	see(web, 1, 0)
	more := plainJob("web/front", "service", 6)
	see(more, 2, 20*time.Second)
	s.sawEnd(jobKey{"default", "web/front"}, true, 40*time.Second)
	see(plainJob("evening", "batch", 2), 3, 50*time.Second)
	pair := plainJob("pair", "service", 2)
	pair.Datacenters = []string{"west"}
	pair.TaskGroups = append(pair.TaskGroups, rpc.TaskGroup{Name: "h", Count: 4, Resources: rpc.Resources{CPUMHz: 5, MemoryMB: 15, DiskMB: 10}})
	see(pair, 1, 0)
	nightly := plainJob("nightly", "batch", 1)
	nightly.Periodic = &rpc.PeriodicConfig{Every: time.Hour, ProhibitOverlap: true}
	see(nightly, 1, 0)
	s.omit("the simulated schedulers do not look at constraint")
	return s
}

func TestWrite(t *testing.T) {
	r, err := example().write("mine", newNamer(false))
	if err != nil {
		t.Fatal(err)
	}
	c := compiled(t, r)
	want := scenarios.Size{Nodes: 4, Servers: 3, Schedulers: 4, SystemJobs: 2, ServiceJobs: 4, ServiceAllocs: 3 + 2 + 2 + 4 + 1}
	if got := c.Size(); got != want {
		t.Errorf("the scenario is of size %+v, want %+v", got, want)
	}
	text := strings.Join(strings.Fields(string(r.Scenario)), " ")
	for _, part := range []string{
		"# - the simulated schedulers do not look at constraint (1 ×)", "# - a node was down all the time (1 ×)",
		`job "agent" { copies = 2 type = "system"`, `job "web-front" { type = "service" count = ceil(3 * var.load)`,
		`event "update_job" { at = "20s" job = "web-front" count = ceil(6 * var.load)`, `event "stop_job" { at = "40s" job = "web-front" purge = true }`,
		`event "register_jobs" { at = "50s" jobs = ["evening"] }`, `spec = "mine.pair.json" max_parallel = 0 datacenters = ["west"]`,
		`every = "1h0m0s" prohibit_overlap = true`, `class = "big $${x}"`, `until "elapsed" { for = "5m0s" }`,
		`jobs = ["agent", "nightly", "pair", "web-front"]`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the scenario does not say %s:\n%s", part, r.Scenario)
		}
	}
	// The clients of east come first.
	if got, want := string(r.Files["mine.trace"]), "0 3 down\n30.000 1 down\n61.000 1 up\n91.000 3 up\n"; !strings.HasSuffix(got, want) {
		t.Errorf("the trace is %q, want %q", got, want)
	}
}

// TestNamesThatNoTerminalShows: the recording of a cluster that has such names can be run.
func TestNamesThatNoTerminalShows(t *testing.T) {
	const odd = "a\x1b\u0085\u202eb"
	s := newSeen()
	s.servers, s.schedulers = 1, 1
	s.sawNode("a", kind{Datacenter: odd, Class: odd, OS: odd, Resources: rpc.Resources{CPUMHz: 4000, MemoryMB: 8000, DiskMB: 9000}}, "ready", 0)
	j := plainJob(odd, "service", 2)
	j.TaskGroups = append(j.TaskGroups, rpc.TaskGroup{Name: odd, Count: 1, Resources: rpc.Resources{CPUMHz: 5, MemoryMB: 15, DiskMB: 10}})
	j.Datacenters = []string{odd}
	s.sawJob(jobKey{j.Namespace, j.ID}, j, 1, 0)
	r, err := s.write("mine", newNamer(false))
	if err != nil {
		t.Fatal(err)
	}
	if got := compiled(t, r).Size(); got.Nodes != 1 || got.ServiceAllocs != 3 {
		t.Errorf("the scenario is of size %+v", got)
	}
}

// TestHashedNames: nothing of a name is left.
func TestHashedNames(t *testing.T) {
	r, err := example().write("mine", newNamer(true))
	if err != nil {
		t.Fatal(err)
	}
	if got := compiled(t, r).Size(); got.Nodes != 4 || got.ServiceAllocs != 12 {
		t.Errorf("with hashed names the size is %+v", got)
	}
	all := string(r.Scenario)
	for name, text := range r.Files {
		all += name + string(text)
	}
	for _, name := range []string{"east", "west", "agent", "front", "pair", "nightly", "evening", "big"} {
		if strings.Contains(all, name) {
			t.Errorf("the recording has the name %s:\n%s", name, all)
		}
	}
}

// TestTake records a cluster that is served, while a job is registered, another ends and a node
// drops out.
func TestTake(t *testing.T) { take(t, false) }

// TestTakeWithAGap: what happened while there was no stream is seen in the lists.
func TestTakeWithAGap(t *testing.T) { take(t, true) }

func take(t *testing.T, gap bool) {
	t.Parallel()
	events := &httpapi.Events{}
	c, err := cluster.Start(t.Context(), cluster.Config{
		Servers: 1, NumSchedulers: 2, Policy: broker.Shedding(), Follow: events.Follow,
		Heartbeat: cluster.HeartbeatConfig{MinTTL: time.Second, Grace: 2 * time.Second},
		Raft:      cluster.RaftConfig{HeartbeatTimeout: walltest.Election, ElectionTimeout: walltest.Election, LeaderLeaseTimeout: walltest.Election},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Shutdown(); err != nil {
			t.Error(err)
		}
	}()
	fleet, err := nodesim.NewFleet(nodesim.Config{Nodes: 3, Servers: 1, Dial: c.NodeServer, Timing: nodesim.Timing{RegisterStagger: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	fleet.Start(context.Background())
	defer fleet.Shutdown()
	served := httpapi.New(httpapi.Options{
		Cluster: c, Version: "1.4.3", Events: events,
		RPC: func(int) netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:4647") },
	})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gap && r.URL.Path == "/v1/event/stream" {
			gap = false
			http.Error(w, "no leader", http.StatusInternalServerError)
			return
		}
		served.ServeHTTP(w, r)
	}))
	defer ts.Close()
	broken := gap
	cfg := Config{API: &api.Config{Address: ts.URL, HttpClient: ts.Client()}, Name: "mine", For: time.Hour}
	client, err := api.NewClient(cfg.API)
	if err != nil {
		t.Fatal(err)
	}
	for ready := 0; ready < 3; time.Sleep(10 * time.Millisecond) {
		nodes, _, err := client.Nodes().List(nil)
		if err != nil {
			t.Fatal(err)
		}
		ready = 0
		for _, n := range nodes {
			if n.Status == "ready" {
				ready++
			}
		}
	}
	register := func(id string) {
		job := api.NewServiceJob(id, id, "global", 60).AddTaskGroup(api.NewTaskGroup("g", 2).AddTask(api.NewTask("t", "mock_driver")))
		if _, _, err := client.Jobs().Register(job, nil); err != nil {
			t.Error(err)
		}
	}
	register("before")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	began := false
	cfg.Tell = func(p Progress) {
		switch {
		case !began:
			began = true
			register("after")
			if _, _, err := client.Jobs().Deregister("before", true, nil); err != nil {
				t.Error(err)
			}
			fleet.StopClients([]int{1})
		case p.Events >= 3: // those of the jobs are the first
			stop()
		}
	}
	r, err := Take(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(r.Scenario); !strings.Contains(text, "job   = \"before\"\n    purge = true") {
		t.Errorf("the end of the job is not in\n%s", text)
	}
	if strings.Contains(string(r.Scenario), "# - the stream of events broke") != broken {
		t.Errorf("the gap is not as it was:\n%s", r.Scenario)
	}
	size := compiled(t, r).Size()
	if want := (scenarios.Size{Nodes: 3, Servers: 1, Schedulers: 2, ServiceJobs: 2, ServiceAllocs: 4}); size != want {
		t.Errorf("recorded %+v, want %+v", size, want)
	}
	trace := strings.TrimSpace(string(r.Files["mine.trace"]))
	if !strings.Contains(trace, " down") {
		t.Errorf("the trace is %q", trace)
	}
}

// TestAJobThatIsPurgedMeanwhile is left out: it was in the list, and is there no more.
func TestAJobThatIsPurgedMeanwhile(t *testing.T) {
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := map[string]string{
			"/v1/status/peers": `["127.0.0.1:4647"]`,
			"/v1/nodes":        `[{"ID": "b", "Datacenter": "dc1", "Status": "down"}, {"ID": "a", "Datacenter": "dc1", "Status": "ready", "NodeResources": {"Cpu": {"CpuShares": 500}}, "ReservedResources": {"Cpu": {"CpuShares": 100}}}]`,
			"/v1/jobs":         `[{"ID": "gone", "Namespace": "default", "Type": "service", "Status": "running"}]`,
		}[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if _, err := io.WriteString(w, answer); err != nil {
			t.Error(err)
		}
	}))
	defer ts.Close()
	said := ""
	r, err := Take(t.Context(), Config{API: &api.Config{Address: ts.URL, HttpClient: ts.Client()}, Name: "mine", Tell: func(p Progress) { said = p.String() }})
	if err != nil {
		t.Fatal(err)
	}
	if want := "1 node (and 1 down), 0 jobs, 0 events"; said != want {
		t.Errorf("it says %q, want %q", said, want)
	}
	if strings.Contains(string(r.Scenario), "load") {
		t.Errorf("no count depends on the variable load:\n%s", r.Scenario)
	}
	if got := compiled(t, r).Size(); got != (scenarios.Size{Nodes: 1, Servers: 1, Schedulers: defaultSchedulers}) {
		t.Errorf("recorded %+v", got)
	}
	for _, part := range []string{"cpu    = 400", "# - the number of scheduler workers, which this agent does not tell"} {
		if !strings.Contains(string(r.Scenario), part) {
			t.Errorf("the scenario does not say %q:\n%s", part, r.Scenario)
		}
	}
}

func TestNothingToRecord(t *testing.T) {
	r := &seen{nodes: map[string]*node{"a": {}}}
	if r.up() != 0 {
		t.Error("a node that was never up counts")
	}
	ts := httptest.NewServer(nil)
	ts.Close()
	if _, err := Take(t.Context(), Config{API: &api.Config{Address: ts.URL, HttpClient: ts.Client()}}); err == nil || !strings.Contains(err.Error(), "read nodes and jobs from "+ts.URL) {
		t.Errorf("nobody there: %v", err)
	}
	for _, userinfo := range []string{"user:secret@", "user:se/cret@", "user:se cret@"} {
		address := strings.Replace(ts.URL, "//", "//"+userinfo, 1)
		if _, err := Take(t.Context(), Config{API: &api.Config{Address: address}}); err == nil || strings.Contains(err.Error(), "cret") {
			t.Errorf("nobody at %s: %v", address, err)
		}
	}
}
