package remote

import (
	"context"
	"crypto/tls"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/nomadrpc"
	"github.com/simctl/simctl/internal/nomadtls"
	"github.com/simctl/simctl/internal/testcerts"
	"github.com/simctl/simctl/internal/walltest"
	"github.com/simctl/simctl/nodesim"
)

// front answers Nomad's calls with what a server of the simulated cluster says. It knows
// allocations by the lists that it has passed on.
type front struct {
	server rpc.NodeServer

	mu     sync.Mutex
	allocs map[string]*rpc.Allocation
}

func (f *front) methods() *nomadrpc.Methods {
	m := new(nomadrpc.Methods)
	nomadrpc.Handle(m, "Status.Leader", func(context.Context, *nomadrpc.GenericRequest) (*string, error) { return new("server-0"), nil })
	nomadrpc.Handle(m, "Node.Register", func(ctx context.Context, req *nomadrpc.NodeRegisterRequest) (*nomadrpc.NodeUpdateResponse, error) {
		n := req.Node
		return granted(f.server.Register(ctx, &rpc.NodeRegisterRequest{Node: &rpc.Node{
			ID: n.ID, SecretID: n.SecretID, Name: n.Name, Datacenter: n.Datacenter, Attributes: n.Attributes, Status: n.Status, SchedulingEligibility: n.SchedulingEligibility,
			Resources: rpc.Resources{CPUMHz: int(n.NodeResources.Cpu.CpuShares), MemoryMB: int(n.NodeResources.Memory.MemoryMB), DiskMB: int(n.NodeResources.Disk.DiskMB)},
		}}))
	})
	nomadrpc.Handle(m, "Node.UpdateStatus", func(ctx context.Context, req *nomadrpc.NodeUpdateStatusRequest) (*nomadrpc.NodeUpdateResponse, error) {
		return granted(f.server.UpdateStatus(ctx, &rpc.NodeUpdateStatusRequest{NodeID: req.NodeID, Status: req.Status}))
	})
	nomadrpc.Handle(m, "Node.GetClientAllocs", f.watch)
	nomadrpc.Handle(m, "Alloc.GetAllocs", f.fetch)
	nomadrpc.Handle(m, "Node.UpdateAlloc", func(ctx context.Context, req *nomadrpc.AllocUpdateRequest) (*nomadrpc.GenericResponse, error) {
		out := &rpc.AllocUpdateRequest{NodeID: req.Alloc[0].NodeID}
		for _, a := range req.Alloc {
			out.Alloc = append(out.Alloc, &rpc.Allocation{ID: a.ID, NodeID: a.NodeID, ClientStatus: a.ClientStatus})
		}
		resp, err := f.server.UpdateAlloc(ctx, out)
		if err != nil {
			return nil, err
		}
		return &nomadrpc.GenericResponse{WriteMeta: nomadrpc.WriteMeta{Index: resp.Index}}, nil
	})
	return m
}

func granted(resp *rpc.NodeUpdateResponse, err error) (*nomadrpc.NodeUpdateResponse, error) {
	if err != nil {
		return nil, err
	}
	return &nomadrpc.NodeUpdateResponse{HeartbeatTTL: resp.HeartbeatTTL, QueryMeta: nomadrpc.QueryMeta{Index: resp.Index}}, nil
}

func (f *front) watch(ctx context.Context, req *nomadrpc.NodeSpecificRequest) (*nomadrpc.NodeClientAllocsResponse, error) {
	rests := make(chan rpc.ClientAllocsCall, 1)
	resp, err := f.server.GetClientAllocs(ctx, &rpc.NodeSpecificRequest{
		NodeID: req.NodeID, SecretID: req.SecretID, MinQueryIndex: req.MinQueryIndex, MaxQueryTime: req.MaxQueryTime,
	}, func(rest rpc.ClientAllocsCall) { rests <- rest })
	if resp == nil && err == nil {
		select {
		case rest := <-rests:
			resp, err = rest()
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	out := &nomadrpc.NodeClientAllocsResponse{Allocs: map[string]uint64{}, QueryMeta: nomadrpc.QueryMeta{Index: resp.Index}}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range resp.Allocs {
		out.Allocs[a.ID] = a.AllocModifyIndex
		f.allocs[a.ID] = a
	}
	return out, nil
}

func (f *front) fetch(_ context.Context, req *nomadrpc.AllocsGetRequest) (*nomadrpc.AllocsGetResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	resp := &nomadrpc.AllocsGetResponse{}
	for _, id := range req.AllocIDs {
		a := f.allocs[id]
		if a == nil {
			return nil, fmt.Errorf("allocation %s was never listed", id)
		}
		resp.Index = max(resp.Index, a.ModifyIndex)
		resp.Allocs = append(resp.Allocs, &nomadrpc.Allocation{
			ID: a.ID, NodeID: a.NodeID, DesiredStatus: a.DesiredStatus, ClientStatus: a.ClientStatus, AllocModifyIndex: a.AllocModifyIndex, ModifyIndex: a.ModifyIndex,
		})
	}
	return resp, nil
}

// TestTheFleetOverTheNetwork runs a fleet against the simulated cluster, over TCP and over TLS:
// clients register, run what they are given, leave and return.
func TestTheFleetOverTheNetwork(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) { overTheNetwork(t, secure) })
	}
}

func overTheNetwork(t *testing.T, secure bool) {
	t.Parallel()
	var serverTLS, clientTLS *tls.Config
	if secure {
		serverTLS, clientTLS = certificates(t)
	}
	c, err := cluster.Start(t.Context(), cluster.Config{
		Servers: 1, NumSchedulers: 2, Policy: broker.Shedding(), Seed: 1,
		Raft: cluster.RaftConfig{HeartbeatTimeout: walltest.Election, ElectionTimeout: walltest.Election, LeaderLeaseTimeout: walltest.Election},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	f := &front{server: c.NodeServer(0), allocs: map[string]*rpc.Allocation{}}
	address, _ := serve(t, "127.0.0.1:0", nomadrpc.ServerConfig{Methods: f.methods(), TLS: serverTLS})
	servers := reach(t, Config{Addresses: []string{address}, TLS: clientTLS, Connections: 3})
	if err := servers.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	const nodes = 50
	cfg := nodesim.Config{Nodes: nodes, Servers: 1, Dial: servers.Dial, Seed: 1, ReportAllocs: true}
	cfg.RegisterStagger = 200 * time.Millisecond
	fleet, err := nodesim.NewFleet(cfg)
	if err != nil {
		t.Fatal(err)
	}
	fleet.Start(t.Context())
	t.Cleanup(fleet.Shutdown) // before the servers are closed
	if _, err := c.RegisterJob(t.Context(), &rpc.Job{
		ID: "everywhere", Type: rpc.JobTypeSystem, Priority: 50, Datacenters: []string{"dc1"},
		TaskGroups: []rpc.TaskGroup{{Name: "g", Count: 1, Resources: rpc.Resources{CPUMHz: 10, MemoryMB: 10}}},
	}); err != nil {
		t.Fatal(err)
	}
	running := func() (n int) {
		for _, id := range fleet.IDsInGroup("") {
			for _, a := range c.State(0).Snapshot().NodeAllocs(id).All {
				if a.ClientStatus == rpc.AllocClientRunning && a.DesiredStatus == rpc.AllocDesiredRun {
					n++
				}
			}
		}
		return n
	}
	await(t, "every node runs the job", func() bool { return fleet.Stats().Ready == nodes && running() == nodes })
	if n := servers.Connections(); n != 3 {
		t.Errorf("%d connections, want 3", n)
	}
	if s := fleet.Stats(); s.RegistrationErrors+s.HeartbeatErrors+s.AllocUpdateErrors != 0 {
		t.Errorf("calls failed: %+v, the last with %v", s, fleet.LastError())
	}
	stopped := fleet.Stop(0.2)
	if _, err := c.StopJob(t.Context(), "", "everywhere", false); err != nil {
		t.Fatal(err)
	}
	fleet.Resume(stopped)
	await(t, "no node runs the job", func() bool { return fleet.Stats().Ready == nodes && running() == 0 })
	await(t, "every node has reported that", func() bool {
		for _, id := range fleet.IDsInGroup("") {
			for _, a := range c.State(0).Snapshot().NodeAllocs(id).All {
				if !a.ClientTerminal() {
					return false
				}
			}
		}
		return true
	})
}

// await waits for something to be so, for as long as the test may take.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for !so() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("it never came about that %s", what)
		}
	}
}

// certificates returns the two ends' TLS, the client's as it is loaded from files.
func certificates(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	dir := t.TempDir()
	a, err := testcerts.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Write(dir, "server.global.nomad", "client.global.nomad"); err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name+".pem") }
	server, err = nomadtls.Files{CA: file("ca"), Cert: file("server.global.nomad"), Key: file("server.global.nomad-key")}.Server(true)
	if err != nil {
		t.Fatal(err)
	}
	client, err = nomadtls.Files{CA: file("ca"), Cert: file("client.global.nomad"), Key: file("client.global.nomad-key")}.Client("")
	if err != nil {
		t.Fatal(err)
	}
	return server, client
}
