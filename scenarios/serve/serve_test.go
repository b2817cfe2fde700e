package serve

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/nomadrpc"
	"github.com/simctl/simctl/internal/walltest"
	"github.com/simctl/simctl/nodesim/remote"
	"github.com/simctl/simctl/scenarios/nodes"
)

func TestMain(m *testing.M) { walltest.Main(m) }

// limit bounds every wait of these tests, which run on the wall clock. It is far longer than
// anything takes. The longest ones wait side by side.
const limit = 2 * time.Minute

func options() Options {
	return Options{
		Servers: 3, Schedulers: 1, Broker: "shedding", Seed: 1, TimeScale: 0.2,
		HTTPAddr: "127.0.0.1:0", RPCAddr: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler),
	}
}

// start serves until the test ends, which checks that serving ends well.
func start(t *testing.T, o Options) Where {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan Where, 1), make(chan error, 1)
	go func() { ended <- Run(ctx, o, func(w Where) { ready <- w }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	select {
	case w := <-ready:
		return w
	case err := <-ended:
		ended <- nil
		t.Fatalf("serving ended with %v", err)
	case <-time.After(limit):
		t.Fatal("nothing was served in time")
	}
	return Where{}
}

// TestRemoteClient: a client of another process joins by RPC, gets an allocation of a job that
// was registered over HTTP, with the job's definition, and reports that it runs.
func TestRemoteClient(t *testing.T) {
	t.Parallel()
	where := start(t, options())
	client, err := api.NewClient(&api.Config{Address: "http://" + where.HTTP.String()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	s, err := nomadrpc.Dial(ctx, where.RPC[1].String(), nomadrpc.DialConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	call := func(method string, req, resp any) {
		t.Helper()
		if err := s.Call(ctx, method, req, resp); err != nil {
			t.Fatal(err)
		}
	}
	var peers []string
	call("Status.Peers", &nomadrpc.GenericRequest{}, &peers)
	if len(peers) != 3 || peers[1] != where.RPC[1].String() {
		t.Errorf("peers %v, want %v", peers, where.RPC)
	}
	const id, secret = "11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"
	if err := s.Call(ctx, "Node.UpdateStatus", &nomadrpc.NodeUpdateStatusRequest{NodeID: id, Status: "ready"}, &nomadrpc.NodeUpdateResponse{}); err == nil || !strings.Contains(err.Error(), "node not found") {
		t.Errorf("heartbeat of a node that is not registered: %v", err)
	}
	var updated nomadrpc.NodeUpdateResponse
	call("Node.Register", &nomadrpc.NodeRegisterRequest{Node: &nomadrpc.Node{
		ID: id, SecretID: secret, Name: "remote", Datacenter: "dc1", Attributes: map[string]string{"driver.mock_driver": "1"}, Status: "initializing",
		NodeResources: &nomadrpc.NodeResources{Cpu: nomadrpc.NodeCPUResources{CpuShares: 1000}, Memory: nomadrpc.NodeMemoryResources{MemoryMB: 1000}, Disk: nomadrpc.NodeDiskResources{DiskMB: 1000}},
	}}, &updated)
	call("Node.UpdateStatus", &nomadrpc.NodeUpdateStatusRequest{NodeID: id, Status: "ready"}, &updated)
	call("Node.UpdateStatus", &nomadrpc.NodeUpdateStatusRequest{NodeID: id, Status: "ready"}, &updated)
	if updated.HeartbeatTTL <= 0 || updated.Index != 0 || len(updated.Servers) != 3 || updated.NumNodes != 1 || updated.SchedulingEligibility != "eligible" {
		t.Errorf("heartbeat: %+v", updated)
	}
	err = nil
	for err == nil { // a follower that lags does not know the node yet
		err = s.Call(ctx, "Node.GetClientAllocs", &nomadrpc.NodeSpecificRequest{NodeID: id, SecretID: "x"}, &nomadrpc.NodeClientAllocsResponse{})
	}
	if !strings.Contains(err.Error(), "does not match") {
		t.Errorf("allocations for a wrong secret: %v", err)
	}

	job := api.NewBatchJob("once", "once", "global", 50)
	task := api.NewTask("t", "raw_exec").SetConfig("command", "/bin/true").Require(&api.Resources{CPU: new(10), MemoryMB: new(10)})
	task.Env = map[string]string{"KEY": "value"}
	job.AddTaskGroup(api.NewTaskGroup("g", 1).AddTask(task))
	if _, _, err := client.Jobs().Register(job, nil); err != nil {
		t.Fatal(err)
	}
	var allocs nomadrpc.NodeClientAllocsResponse
	for len(allocs.Allocs) == 0 {
		call("Node.GetClientAllocs", &nomadrpc.NodeSpecificRequest{NodeID: id, SecretID: secret, QueryOptions: nomadrpc.QueryOptions{MinQueryIndex: allocs.Index, AllowStale: true}}, &allocs)
	}
	var allocID string
	for allocID = range allocs.Allocs {
	}
	// What a client decodes has the fields of Nomad's structs, whatever this module reads of them.
	var got struct{ Allocs []*api.Allocation }
	call("Alloc.GetAllocs", &nomadrpc.AllocsGetRequest{AllocIDs: []string{allocID}, QueryOptions: nomadrpc.QueryOptions{MinQueryIndex: allocs.Index - 1, AllowStale: true}}, &got)
	if a := got.Allocs[0]; a.TaskGroup != "g" || a.Job.TaskGroups[0].Tasks[0].Env["KEY"] != "value" || a.AllocatedResources.Tasks["t"].Memory.MemoryMB != 10 {
		t.Errorf("allocation %+v of job %+v", a, a.Job)
	}
	call("Node.UpdateAlloc", &nomadrpc.AllocUpdateRequest{Alloc: []*nomadrpc.Allocation{{ID: allocID, NodeID: id, ClientStatus: "complete"}}}, &nomadrpc.GenericResponse{})
	call("Node.EmitEvents", &nomadrpc.EmitNodeEventsRequest{NodeEvents: map[string][]*nomadrpc.NodeEvent{id: {{Message: "driver restarted", Timestamp: time.Now()}}}}, &nomadrpc.GenericResponse{})
	info, _, err := client.Allocations().Info(allocID, nil)
	if err != nil || info.ClientStatus != "complete" || info.NodeName != "remote" {
		t.Errorf("allocation %+v, %v", info, err)
	}
	node, _, err := client.Nodes().Info(id, nil)
	if err != nil || node.Events[len(node.Events)-1].Message != "driver restarted" || node.Resources == nil {
		t.Errorf("node %+v, %v", node, err)
	}
}

// TestClientsOfBoth: clients that another process brings by the same seed are other machines than the cluster's own.
func TestClientsOfBoth(t *testing.T) {
	t.Parallel()
	o := options()
	o.Nodes = 3
	where := start(t, o)
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	cfg := nodes.Config{Servers: remote.Config{Addresses: []string{where.RPC[0].String()}}, Count: 3, Seed: o.Seed, RegisterOver: time.Millisecond}
	last, err := nodes.Run(ctx, cfg, func(s nodes.Status) {
		if s.Ready == 3 || s.RegistrationErrors > 0 {
			stop()
		}
	})
	if err != nil || last.ReadyAfter == 0 {
		t.Errorf("%v; %s", err, last.Summary())
	}
}

// TestBadConnections: whoever sends too much, sends it too slowly, or says nothing is answered
// or cut off, and the others go on being served.
func TestBadConnections(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	var mu sync.Mutex
	o := options()
	o.Servers, o.RPCAddr = 1, ""
	o.Log = slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(b)
	}), nil))
	where := start(t, o)
	url := "http://" + where.HTTP.String()
	transport := &http.Transport{DisableKeepAlives: true}

	// A body without an end.
	req, err := http.NewRequestWithContext(t.Context(), "PUT", url+"/v1/jobs", endless{})
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := transport.RoundTrip(req); err == nil { // or the connection was closed while it wrote
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("a body without an end: %s", resp.Status)
		}
		resp.Body.Close()
	}
	// A header without an end.
	conn := dial(t, where)
	for err = nil; err == nil; {
		_, err = conn.Write([]byte("GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 1<<16) + "\r\n"))
	}
	conn.Close()
	// More connections than may be, none of which says a word.
	var idle []net.Conn
	for range maxConns + 50 {
		idle = append(idle, dial(t, where))
	}
	refused := 0
	for _, c := range idle[len(idle)-20:] {
		if err := c.SetReadDeadline(time.Now().Add(limit)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			refused++
		}
	}
	if refused != 20 {
		t.Errorf("%d of the last 20 connections were refused, want all", refused)
	}
	for _, c := range idle {
		c.Close()
	}
	mu.Lock()
	if n := strings.Count(log.String(), "HTTP connection refused"); n == 0 || n > 10 {
		t.Errorf("%d lines about refused connections, want a few:\n%s", n, log.String())
	}
	mu.Unlock()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/v1/status/leader", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("afterwards: %s", resp.Status)
			}
			break
		}
		if time.Since(began) > limit {
			t.Fatalf("afterwards: %v", err)
		}
	}
	// Another site's name that leads here.
	req, err = http.NewRequestWithContext(t.Context(), "GET", url+"/v1/jobs", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "attacker.example"
	resp, err := transport.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("a request for another name: %v, %v", resp, err)
	}
	if err == nil {
		resp.Body.Close()
	}
}

func dial(t *testing.T, w Where) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", w.HTTP.String())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

var _ io.Writer = writer(nil)

// TestCheck: options that make no sense, or would let others in, are refused.
func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"--servers 0":         func(o *Options) { o.Servers = 0 },
		"--nodes -1":          func(o *Options) { o.Nodes = -1 },
		"--time-scale 0":      func(o *Options) { o.TimeScale = 0 },
		`--broker "odd"`:      func(o *Options) { o.Broker = "odd" },
		"add --allow-remote":  func(o *Options) { o.HTTPAddr = "0.0.0.0:0" },
		"set SIMCTL_TOKEN":    func(o *Options) { o.HTTPAddr, o.AllowRemote = "0.0.0.0:0", true },
		"choose one of":       func(o *Options) { o.RPCAddr, o.AllowRemote, o.Token = "0.0.0.0:0", true, "0123456789abcdef" },
		"an address and a po": func(o *Options) { o.HTTPAddr = "4646" },
		"from 0 to 65535":     func(o *Options) { o.HTTPAddr = "127.0.0.1:65536" },
		"from 0 to 65533":     func(o *Options) { o.RPCAddr = "127.0.0.1:65534" }, // of three servers
		`"" must be an IP`:    func(o *Options) { o.HTTPAddr = ":0" },
		"release of Nomad":    func(o *Options) { o.Broker = "odd" },
	} {
		o := options()
		change(&o)
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	o := options()
	if err := o.Check(); err != nil {
		t.Error(err)
	}
}
