package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/nomadrpc"
	"github.com/simctl/simctl/internal/walltest"
)

func TestMain(m *testing.M) { walltest.Main(m) }

// fake is a server that notes which token each call had and answers as a test tells it.
type fake struct {
	ttl      time.Duration
	identity string // handed out with each answer; empty = none
	// deny returns the error that a call is answered with; nil = none is.
	deny func(method, token string) error

	mu     sync.Mutex
	tokens []string // "METHOD TOKEN" of each call
	nodes  []*nomadrpc.Node
	listed nomadrpc.NodeClientAllocsResponse
	allocs map[string]*nomadrpc.Allocation
	got    []*nomadrpc.AllocsGetRequest
	sent   []*nomadrpc.Allocation
}

func (f *fake) note(method, token string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens = append(f.tokens, method+" "+token)
	if f.deny == nil {
		return nil
	}
	return f.deny(method, token)
}

func (f *fake) calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tokens
}

func (f *fake) accept() *nomadrpc.NodeUpdateResponse {
	resp := &nomadrpc.NodeUpdateResponse{HeartbeatTTL: cmp.Or(f.ttl, time.Minute), QueryMeta: nomadrpc.QueryMeta{Index: 7}}
	if f.identity != "" {
		resp.SignedIdentity = &f.identity
	}
	return resp
}

func (f *fake) methods() *nomadrpc.Methods {
	m := new(nomadrpc.Methods)
	nomadrpc.Handle(m, "Status.Leader", func(context.Context, *nomadrpc.GenericRequest) (*string, error) { return new("10.0.0.1:4647"), nil })
	nomadrpc.Handle(m, "Node.Register", func(_ context.Context, req *nomadrpc.NodeRegisterRequest) (*nomadrpc.NodeUpdateResponse, error) {
		f.mu.Lock()
		f.nodes = append(f.nodes, req.Node)
		f.mu.Unlock()
		return f.accept(), f.note("Register", req.AuthToken)
	})
	nomadrpc.Handle(m, "Node.UpdateStatus", func(_ context.Context, req *nomadrpc.NodeUpdateStatusRequest) (*nomadrpc.NodeUpdateResponse, error) {
		return f.accept(), f.note("UpdateStatus", req.AuthToken)
	})
	nomadrpc.Handle(m, "Node.GetClientAllocs", func(ctx context.Context, req *nomadrpc.NodeSpecificRequest) (*nomadrpc.NodeClientAllocsResponse, error) {
		if err := f.note("GetClientAllocs "+req.SecretID, req.AuthToken); err != nil {
			return nil, err
		}
		f.mu.Lock()
		listed := f.listed
		f.mu.Unlock()
		if req.MinQueryIndex == blockForever {
			<-ctx.Done()
		}
		return &listed, nil
	})
	nomadrpc.Handle(m, "Alloc.GetAllocs", func(_ context.Context, req *nomadrpc.AllocsGetRequest) (*nomadrpc.AllocsGetResponse, error) {
		if err := f.note("GetAllocs", req.AuthToken); err != nil {
			return nil, err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.got = append(f.got, req)
		resp := &nomadrpc.AllocsGetResponse{}
		for _, id := range req.AllocIDs {
			if a := f.allocs[id]; a != nil {
				resp.Allocs = append(resp.Allocs, a)
				resp.Index = max(resp.Index, a.ModifyIndex)
			}
		}
		return resp, nil
	})
	nomadrpc.Handle(m, "Node.UpdateAlloc", func(_ context.Context, req *nomadrpc.AllocUpdateRequest) (*nomadrpc.GenericResponse, error) {
		f.mu.Lock()
		f.sent = append(f.sent, req.Alloc...)
		f.mu.Unlock()
		return &nomadrpc.GenericResponse{WriteMeta: nomadrpc.WriteMeta{Index: 9}}, f.note("UpdateAlloc", req.AuthToken)
	})
	return m
}

// blockForever is an index that the fake never reaches.
const blockForever = 1 << 60

// serve starts a server on an address, 127.0.0.1:0 for any, and returns its address and a
// function that ends it.
func serve(t *testing.T, address string, cfg nomadrpc.ServerConfig) (string, func()) {
	t.Helper()
	ln, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := nomadrpc.NewServer(cfg)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Serve(ln); err != nil {
			t.Error(err)
		}
	})
	end := sync.OnceFunc(func() {
		s.Close()
		wg.Wait()
	})
	t.Cleanup(end)
	return ln.Addr().String(), end
}

// reach returns the servers at the addresses.
func reach(t *testing.T, cfg Config) *Servers {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

const (
	nodeID   = "11111111-2222-4333-8444-555555555555"
	otherID  = "21111111-2222-4333-8444-555555555555"
	identity = "signed.by.server"
)

//lint:ignore ST1005 the text is Nomad's
var errDenied = errors.New(permissionDenied)

func register(t *testing.T, s rpc.NodeServer) error {
	t.Helper()
	_, err := s.Register(t.Context(), &rpc.NodeRegisterRequest{Node: &rpc.Node{ID: nodeID, Name: "n", Datacenter: "dc1", Attributes: map[string]string{"driver.docker": "1", "driver.docker.version": "5"}, Resources: rpc.Resources{CPUMHz: 4000, MemoryMB: 5, DiskMB: 6}}})
	return err
}

func heartbeat(t *testing.T, s rpc.NodeServer) error {
	t.Helper()
	resp, err := s.UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: nodeID, Status: rpc.NodeStatusReady})
	if err == nil && (resp.HeartbeatTTL != time.Minute || resp.Index != 7) {
		return fmt.Errorf("answer %+v", resp)
	}
	return err
}

// watch makes a call of GetClientAllocs and waits for its answer.
func watch(t *testing.T, s rpc.NodeServer, since uint64) (*rpc.NodeClientAllocsResponse, error) {
	t.Helper()
	rests := make(chan rpc.ClientAllocsCall, 1)
	resp, err := s.GetClientAllocs(t.Context(), &rpc.NodeSpecificRequest{NodeID: nodeID, SecretID: nodeID, MinQueryIndex: since}, func(rest rpc.ClientAllocsCall) { rests <- rest })
	if resp != nil || err != nil {
		t.Fatalf("the call did not wait: %+v, %v", resp, err)
	}
	return (<-rests)()
}

func update(t *testing.T, s rpc.NodeServer, allocs ...*rpc.Allocation) error {
	t.Helper()
	_, err := s.UpdateAlloc(t.Context(), &rpc.AllocUpdateRequest{NodeID: nodeID, Alloc: allocs})
	return err
}
