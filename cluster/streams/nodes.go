package streams

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/cluster/state"
)

// A host is what its clients call. It writes what they say to the stream itself.
var _ rpc.NodeServer = (*host)(nil)

// from carries a client's call to the server, runs fn, and carries the answer back.
func from[T any](ctx context.Context, h *host, nodeID, method string, fn func() (T, error)) (T, error) {
	var zero T
	if err := h.c.network.SendClient(ctx, nodeID, h.addr, method); err != nil {
		return zero, err
	}
	if h.ctx.Err() != nil {
		return zero, rpc.ErrUnreachable
	}
	h.c.use(h.id, method+nodeID, h.c.cfg.Costs.RPC.Serve)
	out, err := fn()
	if serr := h.c.network.SendClient(ctx, h.addr, nodeID, method); serr != nil {
		return zero, serr
	}
	return out, err
}

// Register writes the node, with the status that it says.
func (h *host) Register(ctx context.Context, req *rpc.NodeRegisterRequest) (*rpc.NodeUpdateResponse, error) {
	return from(ctx, h, req.Node.ID, "Node.Register", func() (*rpc.NodeUpdateResponse, error) {
		node := req.Node.Copy()
		node.Status = cmp.Or(node.Status, rpc.NodeStatusInit)
		node.SchedulingEligibility = cmp.Or(node.SchedulingEligibility, rpc.NodeEligible)
		node.StatusUpdatedAt = time.Now().Unix()
		index, err := h.writeState(nodeSubject+token(node.ID), fsm.NodeRegister.With(&rpc.NodeRegisterRequest{Node: node}), nil)
		if err != nil {
			return nil, err
		}
		ttl, err := h.grant(node.ID)
		return &rpc.NodeUpdateResponse{Index: index, HeartbeatTTL: ttl}, err
	})
}

// UpdateStatus is a heartbeat, which writes nothing, or a change of status.
func (h *host) UpdateStatus(ctx context.Context, req *rpc.NodeUpdateStatusRequest) (*rpc.NodeUpdateResponse, error) {
	return from(ctx, h, req.NodeID, "Node.UpdateStatus", func() (*rpc.NodeUpdateResponse, error) {
		node := h.store.Snapshot().NodeByID(req.NodeID)
		if node == nil {
			return nil, rpc.ErrNodeNotFound
		}
		resp := &rpc.NodeUpdateResponse{}
		if node.Status == req.Status {
			h.c.use(h.id, "heartbeat/"+req.NodeID, h.c.cfg.Costs.RPC.Heartbeat)
		} else {
			change := *req
			change.UpdatedAt = time.Now().Unix()
			var err error
			if resp.Index, err = h.writeState(nodeSubject+token(req.NodeID), fsm.NodeUpdateStatus.With(&change), nil); err != nil {
				return nil, err
			}
		}
		var err error
		resp.HeartbeatTTL, err = h.grant(req.NodeID)
		return resp, err
	})
}

// Bounds of blocking queries (nomad/rpc.go).
const (
	maxQueryTime   = 5 * time.Minute
	jitterFraction = 16
)

// GetClientAllocs is answered from the server's view.
func (h *host) GetClientAllocs(ctx context.Context, req *rpc.NodeSpecificRequest, resume func(rpc.ClientAllocsCall)) (*rpc.NodeClientAllocsResponse, error) {
	const method = "Node.GetClientAllocs"
	if err := h.c.network.SendClient(ctx, req.NodeID, h.addr, method); err != nil {
		return nil, err
	}
	h.c.use(h.id, method+req.NodeID, h.c.cfg.Costs.RPC.Serve)
	query := &state.Watch{NodeID: req.NodeID, Index: req.MinQueryIndex}
	rest := func() (*rpc.NodeClientAllocsResponse, error) {
		snap := h.store.Snapshot()
		out := &rpc.NodeClientAllocsResponse{Allocs: snap.NodeAllocs(req.NodeID).All, Index: query.Answer(snap)}
		return out, h.c.network.SendClient(ctx, h.addr, req.NodeID, method)
	}
	query.Wake = func() { resume(rest) }
	longest := cmp.Or(req.MaxQueryTime, maxQueryTime)
	draw := simnet.HashStrings(h.seed^uint64(time.Now().UnixNano()), "query", req.NodeID)
	if h.store.Watch(query, longest+time.Duration(draw%uint64(max(longest/jitterFraction, 1)))) {
		return nil, nil
	}
	return rest()
}

// UpdateAlloc gathers clients' reports into batches. In Nomad the leader does that; here each server does it for the
// clients that call it.
func (h *host) UpdateAlloc(ctx context.Context, req *rpc.AllocUpdateRequest) (*rpc.WriteResponse, error) {
	return from(ctx, h, req.NodeID, "Node.UpdateAlloc", func() (*rpc.WriteResponse, error) {
		if len(req.Alloc) == 0 {
			return nil, fmt.Errorf("node %s: must update at least one allocation", req.NodeID)
		}
		now := time.Now().UnixNano()
		var updates []*rpc.Allocation
		for _, a := range req.Alloc {
			u := a.Copy()
			u.ModifyTime = now
			updates = append(updates, u)
		}
		index, err := h.reports.Add("", fsm.AllocClientUpdateRequest{Alloc: updates}).Wait()
		if err != nil {
			return nil, err
		}
		return &rpc.WriteResponse{Index: index}, nil
	})
}

func mergeReports(all *fsm.AllocClientUpdateRequest, one fsm.AllocClientUpdateRequest) {
	all.Alloc = append(all.Alloc, one.Alloc...)
}

func (h *host) writeReports(req fsm.AllocClientUpdateRequest) (uint64, error) {
	slices.SortFunc(req.Alloc, func(a, b *rpc.Allocation) int { return cmp.Compare(a.ID, b.ID) })
	return h.writeState(allocSubject+token(h.addr), fsm.AllocClientUpdate.With(&req), nil)
}
