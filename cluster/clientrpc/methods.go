package clientrpc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/apitypes"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/nomadrpc"
)

// endpoint is one server as its clients call it.
type endpoint struct {
	cluster *cluster.Cluster
	id      int
	server  rpc.NodeServer
	addr    func(server int) netip.AddrPort
}

// Methods returns what server id of a cluster answers. Addr returns the address at which
// clients reach a server.
func Methods(c *cluster.Cluster, id int, addr func(server int) netip.AddrPort) *nomadrpc.Methods {
	e := &endpoint{c, id, c.NodeServer(id), addr}
	m := new(nomadrpc.Methods)
	handle(e, m, "Node.Register", e.register)
	handle(e, m, "Node.UpdateStatus", e.updateStatus)
	handle(e, m, "Node.GetClientAllocs", e.clientAllocs)
	handle(e, m, "Node.UpdateAlloc", e.updateAlloc)
	handle(e, m, "Node.EmitEvents", e.emitEvents)
	handle(e, m, "Node.GetNode", e.getNode)
	handle(e, m, "Alloc.GetAllocs", e.getAllocs)
	handle(e, m, "Alloc.GetAlloc", e.getAlloc)
	handle(e, m, "Eval.Dequeue", e.dequeue)
	handle(e, m, "Eval.Ack", e.end(true))
	handle(e, m, "Eval.Nack", e.end(false))
	handle(e, m, "Plan.Submit", e.submit)
	handle(e, m, "Status.Ping", func(context.Context, *nomadrpc.GenericRequest) (*struct{}, error) { return &struct{}{}, nil })
	handle(e, m, "Status.Peers", e.peers)
	handle(e, m, "Status.Leader", e.leader)
	return m
}

// handle adds a method. A server that is down does not answer, and clients turn to another at once: an error in words
// would have them wait.
func handle[Req, Resp any](e *endpoint, m *nomadrpc.Methods, name string, serve func(context.Context, *Req) (*Resp, error)) {
	nomadrpc.Handle(m, name, func(ctx context.Context, req *Req) (*Resp, error) {
		resp, err := serve(ctx, req)
		if err != nil && !e.cluster.Running(e.id) {
			err = nomadrpc.ErrHangUp
		}
		return resp, err
	})
}

func (e *endpoint) peers(context.Context, *nomadrpc.GenericRequest) (*[]string, error) {
	var addrs []string
	for i := range e.cluster.Servers() {
		addrs = append(addrs, e.addr(i).String())
	}
	return &addrs, nil
}

func (e *endpoint) leader(context.Context, *nomadrpc.GenericRequest) (*string, error) {
	return new(e.leaderAddr()), nil
}

func (e *endpoint) leaderAddr() string {
	if l := e.cluster.Leader(); l >= 0 {
		return e.addr(l).String()
	}
	return ""
}

// snapshot returns the server's own state, however stale, and what the answer says of it.
func (e *endpoint) snapshot(ctx context.Context) (*state.Snapshot, nomadrpc.QueryMeta, error) {
	view, err := e.cluster.View(ctx, e.id, true)
	if err != nil {
		return nil, nomadrpc.QueryMeta{}, err
	}
	return view.Store.Snapshot(), nomadrpc.QueryMeta{LastContact: view.LastContact, KnownLeader: view.KnownLeader}, nil
}

func (e *endpoint) register(ctx context.Context, req *nomadrpc.NodeRegisterRequest) (*nomadrpc.NodeUpdateResponse, error) {
	if req.Node == nil {
		return nil, errors.New("missing node for client registration")
	}
	resp, err := e.server.Register(ctx, &rpc.NodeRegisterRequest{Node: toNode(req.Node)})
	if err != nil {
		return nil, err
	}
	return e.updated(ctx, req.Node.ID, resp)
}

func (e *endpoint) updateStatus(ctx context.Context, req *nomadrpc.NodeUpdateStatusRequest) (*nomadrpc.NodeUpdateResponse, error) {
	change := &rpc.NodeUpdateStatusRequest{NodeID: req.NodeID, Status: req.Status}
	if req.NodeEvent != nil {
		change.NodeEvent = req.NodeEvent.Message
	}
	resp, err := e.server.UpdateStatus(ctx, change)
	if err != nil {
		return nil, err
	}
	return e.updated(ctx, req.NodeID, resp)
}

// updated adds to an answer what clients want to know of the servers
// (nomad/node_endpoint.go, constructNodeServerInfoResponse). The leader says so, from its own state.
func (e *endpoint) updated(ctx context.Context, nodeID string, from *rpc.NodeUpdateResponse) (*nomadrpc.NodeUpdateResponse, error) {
	s, meta, err := e.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if l := e.cluster.Leader(); l >= 0 {
		s = e.cluster.State(l).Snapshot()
	}
	meta.Index = from.Index
	resp := &nomadrpc.NodeUpdateResponse{
		HeartbeatTTL: from.HeartbeatTTL, NodeModifyIndex: from.Index, LeaderRPCAddr: e.leaderAddr(), NumNodes: int32(s.NodeCount()), QueryMeta: meta,
	}
	if node := s.NodeByID(nodeID); node != nil {
		resp.SchedulingEligibility = node.SchedulingEligibility
	}
	for _, m := range e.cluster.Members() {
		if m.Running {
			resp.Servers = append(resp.Servers, &nomadrpc.NodeServerInfo{RPCAdvertiseAddr: e.addr(m.ID).String(), RPCMajorVersion: 1, RPCMinorVersion: 1, Datacenter: "dc1"})
		}
	}
	return resp, nil
}

func (e *endpoint) clientAllocs(ctx context.Context, req *nomadrpc.NodeSpecificRequest) (*nomadrpc.NodeClientAllocsResponse, error) {
	s, meta, err := e.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if node := s.NodeByID(req.NodeID); node != nil && node.SecretID != req.SecretID {
		return nil, fmt.Errorf("node secret ID for %q does not match", req.NodeID)
	}
	later := make(chan rpc.ClientAllocsCall, 1)
	resp, err := e.server.GetClientAllocs(ctx, &rpc.NodeSpecificRequest{
		NodeID: req.NodeID, SecretID: req.SecretID, MinQueryIndex: req.MinQueryIndex, MaxQueryTime: max(0, req.MaxQueryTime),
	}, func(rest rpc.ClientAllocsCall) { later <- rest })
	if err == nil && resp == nil {
		select {
		case rest := <-later:
			resp, err = rest()
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	meta.Index = resp.Index
	of := &nomadrpc.NodeClientAllocsResponse{Allocs: map[string]uint64{}, QueryMeta: meta}
	for _, a := range resp.Allocs {
		of.Allocs[a.ID] = a.AllocModifyIndex
	}
	return of, nil
}

// whole returns an error if a list has a hole in it, which none has that Nomad sends.
func whole[T any](what string, list []*T) error {
	if slices.Contains(list, nil) {
		return fmt.Errorf("nil %s", what)
	}
	return nil
}

func (e *endpoint) updateAlloc(ctx context.Context, req *nomadrpc.AllocUpdateRequest) (*nomadrpc.GenericResponse, error) {
	if err := whole("allocation", req.Alloc); err != nil {
		return nil, err
	}
	s, _, err := e.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	update := &rpc.AllocUpdateRequest{Connection: nomadrpc.Caller(ctx).String()}
	for _, a := range req.Alloc {
		known := s.AllocByID(a.ID)
		if known == nil {
			continue // it was collected
		}
		update.NodeID = known.NodeID
		u := &rpc.Allocation{ID: a.ID, NodeID: known.NodeID, ClientStatus: a.ClientStatus, ClientDescription: a.ClientDescription}
		if d := a.DeploymentStatus; d != nil && d.Healthy != nil {
			u.Health = map[bool]string{true: rpc.AllocHealthy, false: rpc.AllocUnhealthy}[*d.Healthy]
		}
		update.Alloc = append(update.Alloc, u)
	}
	if len(update.Alloc) == 0 {
		return &nomadrpc.GenericResponse{}, nil
	}
	resp, err := e.server.UpdateAlloc(ctx, update)
	if err != nil {
		return nil, err
	}
	return &nomadrpc.GenericResponse{WriteMeta: nomadrpc.WriteMeta{Index: resp.Index}}, nil
}

func (e *endpoint) emitEvents(ctx context.Context, req *nomadrpc.EmitNodeEventsRequest) (*nomadrpc.GenericResponse, error) {
	for _, id := range slices.Sorted(maps.Keys(req.NodeEvents)) {
		if err := whole("event", req.NodeEvents[id]); err != nil {
			return nil, err
		}
		var events []state.NodeEvent
		for _, ev := range req.NodeEvents[id] {
			events = append(events, state.NodeEvent{Message: ev.Message, Timestamp: ev.Timestamp.Unix()})
		}
		if n := len(events); n > state.MaxNodeEvents {
			events = events[n-state.MaxNodeEvents:]
		}
		if err := e.cluster.ReportNodeEvents(ctx, e.id, id, events); err != nil {
			return nil, err
		}
	}
	return &nomadrpc.GenericResponse{}, nil
}

func (e *endpoint) getNode(ctx context.Context, req *nomadrpc.NodeSpecificRequest) (*nomadrpc.SingleNodeResponse, error) {
	s, meta, err := e.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	resp := &nomadrpc.SingleNodeResponse{QueryMeta: meta}
	resp.Index = s.NodesIndex()
	if node := s.NodeByID(req.NodeID); node != nil {
		resp.Node, resp.Index = fromNode(node), node.ModifyIndex
	}
	return resp, nil
}

// allocsWait is how long a server that is behind the one a client heard from may take to
// learn of what the client asks for.
const allocsWait = 10 * time.Second

// allocsResponse is nomadrpc.AllocsGetResponse with allocations, and their jobs, as Nomad's
// API has them: the fields have the names of nomad/structs, and none of them is lost.
type allocsResponse struct {
	Allocs []*api.Allocation
	nomadrpc.QueryMeta
}

func (e *endpoint) getAllocs(ctx context.Context, req *nomadrpc.AllocsGetRequest) (*allocsResponse, error) {
	s, meta, err := e.atLeast(ctx, req.MinQueryIndex+1)
	if err != nil {
		return nil, err
	}
	resp := &allocsResponse{QueryMeta: meta}
	resp.Index = s.AllocsIndex()
	facts := apitypes.NewJobFacts(s)
	for _, id := range req.AllocIDs {
		a := s.AllocByID(id)
		if a == nil {
			return nil, fmt.Errorf("unknown alloc id %q", id)
		}
		resp.Allocs = append(resp.Allocs, shape(s, a, facts))
	}
	return resp, nil
}

// allocResponse answers Alloc.GetAlloc in the same way.
type allocResponse struct {
	Alloc *api.Allocation
	nomadrpc.QueryMeta
}

func (e *endpoint) getAlloc(ctx context.Context, req *nomadrpc.AllocSpecificRequest) (*allocResponse, error) {
	s, meta, err := e.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	resp := &allocResponse{QueryMeta: meta}
	resp.Index = s.AllocsIndex()
	if a := s.AllocByID(req.AllocID); a != nil {
		resp.Alloc, resp.Index = shape(s, a, apitypes.NewJobFacts(s)), a.ModifyIndex
	}
	return resp, nil
}

func shape(s *state.Snapshot, a *rpc.Allocation, facts *apitypes.JobFacts) *api.Allocation {
	job := apitypes.JobOf(s, a)
	return apitypes.Alloc(s, a, apitypes.Job(job, facts.Status(s, job)))
}

// atLeast returns the server's state once it has reached an index, or what it has after a
// while.
func (e *endpoint) atLeast(ctx context.Context, index uint64) (*state.Snapshot, nomadrpc.QueryMeta, error) {
	view, err := e.cluster.View(ctx, e.id, true)
	if err != nil {
		return nil, nomadrpc.QueryMeta{}, err
	}
	enough := time.After(allocsWait)
	for {
		changed := view.Store.Changed()
		if view.Store.Index() >= index {
			return e.snapshot(ctx)
		}
		select {
		case <-changed:
		case <-enough:
			return e.snapshot(ctx)
		case <-view.Done:
			return nil, nomadrpc.QueryMeta{}, rpc.ErrUnreachable
		case <-ctx.Done():
			return nil, nomadrpc.QueryMeta{}, ctx.Err()
		}
	}
}
