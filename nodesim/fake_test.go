package nodesim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeServers stands in for a cluster. It logs every call, and answers as tests tell it.
type fakeServers struct {
	latency time.Duration
	ttl     func(node string) time.Duration
	// fail, unless it is nil, returns the error of a call. It is called with mu held.
	fail func(entry logEntry) error

	mu      sync.Mutex
	started time.Time
	log     []logEntry
	nodes   map[string]string // status by ID
	allocs  map[string]map[string]*rpc.Allocation
	index   uint64
	changed chan struct{}
}

type logEntry struct {
	at     time.Duration
	server int
	method string
	node   string
	detail string
}

func newFakeServers() *fakeServers {
	return &fakeServers{
		ttl:     func(string) time.Duration { return 15 * time.Second },
		started: time.Now(),
		nodes:   map[string]string{},
		allocs:  map[string]map[string]*rpc.Allocation{},
		index:   1,
		changed: make(chan struct{}),
	}
}

func (f *fakeServers) dial(i int) rpc.NodeServer { return fakeServer{f, i} }

// place puts allocations on a node, as schedulers do.
func (f *fakeServers) place(node string, allocs ...*rpc.Allocation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.index++
	if f.allocs[node] == nil {
		f.allocs[node] = map[string]*rpc.Allocation{}
	}
	for _, a := range allocs {
		a = a.Copy()
		a.NodeID, a.AllocModifyIndex, a.ModifyIndex = node, f.index, f.index
		f.allocs[node][a.ID] = a
	}
	f.wake()
}

func (f *fakeServers) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// calls returns the log's entries of one method, or all for "".
func (f *fakeServers) calls(method string) []logEntry {
	f.mu.Lock()
	defer f.mu.Unlock()
	var picked []logEntry
	for _, e := range f.log {
		if method == "" || e.method == method {
			picked = append(picked, e)
		}
	}
	return picked
}

type fakeServer struct {
	*fakeServers
	number int
}

// enter logs a call and returns its error. It returns with mu held if that is nil.
func (s fakeServer) enter(ctx context.Context, method, node, detail string) error {
	select {
	case <-time.After(s.latency):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	e := logEntry{time.Since(s.started), s.number, method, node, detail}
	s.log = append(s.log, e)
	if s.fail != nil {
		if err := s.fail(e); err != nil {
			s.mu.Unlock()
			return err
		}
	}
	return nil
}

func (s fakeServer) Register(ctx context.Context, req *rpc.NodeRegisterRequest) (*rpc.NodeUpdateResponse, error) {
	if err := s.enter(ctx, "register", req.Node.ID, req.Node.Status); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	s.nodes[req.Node.ID] = req.Node.Status
	return &rpc.NodeUpdateResponse{HeartbeatTTL: s.ttl(req.Node.ID)}, nil
}

func (s fakeServer) UpdateStatus(ctx context.Context, req *rpc.NodeUpdateStatusRequest) (*rpc.NodeUpdateResponse, error) {
	if err := s.enter(ctx, "heartbeat", req.NodeID, req.Status); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if _, ok := s.nodes[req.NodeID]; !ok {
		return nil, fmt.Errorf("node %s: %w", req.NodeID, rpc.ErrNodeNotFound)
	}
	s.nodes[req.NodeID] = req.Status
	return &rpc.NodeUpdateResponse{HeartbeatTTL: s.ttl(req.NodeID)}, nil
}

func (s fakeServer) GetClientAllocs(ctx context.Context, req *rpc.NodeSpecificRequest, resume func(rpc.ClientAllocsCall)) (*rpc.NodeClientAllocsResponse, error) {
	if err := s.enter(ctx, "watch", req.NodeID, fmt.Sprint(req.MinQueryIndex)); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if s.index > req.MinQueryIndex {
		return s.list(req.NodeID), nil
	}
	changed, deadline := s.changed, time.After(req.MaxQueryTime)
	go func() {
		select {
		case <-changed:
		case <-deadline:
		case <-ctx.Done():
			return
		}
		resume(func() (*rpc.NodeClientAllocsResponse, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.list(req.NodeID), nil
		})
	}()
	return nil, nil
}

// list is called with mu held.
func (s fakeServer) list(node string) *rpc.NodeClientAllocsResponse {
	resp := &rpc.NodeClientAllocsResponse{Index: s.index}
	for _, id := range slices.Sorted(maps.Keys(s.allocs[node])) {
		resp.Allocs = append(resp.Allocs, s.allocs[node][id].Copy())
	}
	return resp
}

func (s fakeServer) UpdateAlloc(ctx context.Context, req *rpc.AllocUpdateRequest) (*rpc.WriteResponse, error) {
	detail := ""
	for _, a := range req.Alloc {
		detail += strings.TrimSpace(a.ID+"="+a.ClientStatus+" "+a.Health) + " "
	}
	if err := s.enter(ctx, "report", req.NodeID, detail); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for _, a := range req.Alloc {
		held := s.allocs[req.NodeID][a.ID].Copy()
		held.ClientStatus = a.ClientStatus
		s.allocs[req.NodeID][a.ID] = held
	}
	s.index++
	s.wake()
	return &rpc.WriteResponse{Index: s.index}, nil
}

// inBubble runs a test in a bubble with a fleet that is started and has fake servers.
func inBubble(t *testing.T, cfg Config, prepare func(*fakeServers), test func(*testing.T, *fakeServers, *Fleet)) {
	t.Helper()
	virtualtest.Test(t, func(t *testing.T) {
		servers := newFakeServers()
		if prepare != nil {
			prepare(servers)
		}
		cfg.Dial = servers.dial
		fleet, err := NewFleet(cfg)
		if err != nil {
			t.Fatal(err)
		}
		fleet.Start(t.Context())
		defer fleet.Shutdown()
		test(t, servers, fleet)
	})
}

// waitReady returns once every running client is ready. Call it in a bubble.
func waitReady(f *Fleet) {
	for s := f.Stats(); s.Ready < s.Running; s = f.Stats() {
		time.Sleep(time.Millisecond)
	}
}
