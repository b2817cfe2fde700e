package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/cluster/state"
)

const (
	// maxQueryTime bounds a blocking query that names no bound (nomad/rpc.go).
	maxQueryTime   = 5 * time.Minute
	jitterFraction = 16 // structs.JitterFraction
)

// ClientAllocs carries Node.GetClientAllocs from a client to a server, which answers it itself,
// however stale it is, but for the first call of a client's life. A call that must wait is left with the server's state,
// which keeps no goroutine for it.
func ClientAllocs(ctx context.Context, s *Server, req *rpc.NodeSpecificRequest, resume func(rpc.ClientAllocsCall)) (*rpc.NodeClientAllocsResponse, error) {
	if s == nil {
		return nil, rpc.ErrUnreachable
	}
	byQuery := func(s *Server, nodeID, method string) *path {
		return s.fromClient(nodeID, method, s.cfg.Costs.RPC.Query)
	}
	query := &state.Watch{NodeID: req.NodeID, Index: req.MinQueryIndex, FromTable: s.cfg.Habits.TableIndexFirst}
	news := false // the servers have asked something of the client since
	look := func(at *Server) (*rpc.NodeClientAllocsResponse, error) {
		snap := at.Snapshot()
		on := snap.NodeAllocs(req.NodeID)
		news = on.AskedSince(req.MinQueryIndex)
		return &rpc.NodeClientAllocsResponse{Allocs: on.All, Index: query.Answer(snap)}, nil
	}
	told := func(resp *rpc.NodeClientAllocsResponse, err error) (*rpc.NodeClientAllocsResponse, error) {
		if err != nil || !news {
			return resp, err
		}
		return fetch(ctx, s, req.NodeID, resp)
	}
	if req.MinQueryIndex == 0 {
		return told(toLeader(ctx, s, byQuery, req.NodeID, "Node.GetClientAllocs", req.NodeID, look))
	}
	p := byQuery(s, req.NodeID, "Node.GetClientAllocs")
	if err := p.there(ctx); err != nil {
		return nil, err
	}
	answer := func() (*rpc.NodeClientAllocsResponse, error) {
		resp, err := look(s)
		return told(back(ctx, p, resp, err))
	}
	asked := time.Now()
	query.Wake = func() {
		resume(func() (*rpc.NodeClientAllocsResponse, error) {
			// A change at the instant of the question ends the watch at once or was there before it:
			// the runtime decides which. Either way it is in the first answer, and nothing is asked again.
			if !time.Now().Equal(asked) {
				s.inTurn(p.key+"/again", s.cfg.Costs.RPC.Query)
			}
			return answer()
		})
	}
	if s.store.Watch(query, s.longestQuery(req)) {
		return nil, nil
	}
	return answer()
}

// fetch takes as long as the call Alloc.GetAllocs. In Nomad a client is first told the indexes of
// its allocations, and then fetches those that have changed (client/client.go, watchAllocations).
// Here resp has the allocations already.
func fetch(ctx context.Context, s *Server, nodeID string, resp *rpc.NodeClientAllocsResponse) (*rpc.NodeClientAllocsResponse, error) {
	p := s.fromClient(nodeID, "Alloc.GetAllocs", s.cfg.Costs.RPC.Query)
	if err := p.there(ctx); err != nil {
		return nil, err
	}
	return back(ctx, p, resp, nil)
}

// longestQuery returns how long a blocking query may wait: up to a sixteenth longer than it
// asks for, so that queries that began together do not end together (nomad/rpc.go, blockingRPC).
func (s *Server) longestQuery(req *rpc.NodeSpecificRequest) time.Duration {
	longest := cmp.Or(req.MaxQueryTime, maxQueryTime)
	draw := simnet.HashStrings(s.seed^uint64(time.Now().UnixNano()), "query", req.NodeID)
	return longest + time.Duration(draw%uint64(max(longest/jitterFraction, 1)))
}

// UpdateAllocs answers Node.UpdateAlloc on the leader, which the report has reached through a
// server: itself, or one that has forwarded it. The report joins the batch that is being gathered
// from its connection, and the call returns when the batch is written.
func (s *Server) UpdateAllocs(through *Server, req *rpc.AllocUpdateRequest) (*rpc.WriteResponse, error) {
	if len(req.Alloc) == 0 {
		return nil, fmt.Errorf("node %s: must update at least one allocation", req.NodeID)
	}
	snap := s.Snapshot()
	node := snap.NodeByID(req.NodeID)
	if node == nil {
		return nil, rpc.ErrNodeNotFound
	}
	if err := mayUpdate(s.cfg.Habits.AllocUpdates, node); err != nil {
		return nil, err
	}
	now := s.Wall().UnixNano()
	var evals []*broker.Evaluation
	updates := make([]*rpc.Allocation, 0, len(req.Alloc))
	for _, a := range req.Alloc {
		u := a.Copy()
		u.ModifyTime = now
		updates = append(updates, u)
		old := snap.AllocByID(a.ID)
		if old == nil {
			continue
		}
		if trigger := allocTrigger(snap, old, u); trigger != "" {
			evals = append(evals, leader.PendingEval(s.NewID("alloc-eval", a.ID), trigger, leader.JobOf(snap, old)))
		}
	}
	index, err := s.updates.Add(s.connection(through, req), fsm.AllocClientUpdateRequest{Alloc: updates, Evals: evals}).Wait()
	if err != nil {
		return nil, err
	}
	return &rpc.WriteResponse{Index: index}, nil
}

// connection names the connection over which the leader gets a client's call. Nomad keeps the
// batch of Node.UpdateAlloc in an endpoint that every connection has one of (nomad/server.go,
// setupRpcServer). A server forwards all calls over one connection.
func (s *Server) connection(through *Server, req *rpc.AllocUpdateRequest) string {
	switch {
	case through != s:
		return through.addr
	case req.Connection != "":
		return req.Connection
	case s.cfg.ClientConnections > 0:
		return s.sharedConnection(req.NodeID)
	}
	return req.NodeID
}

// sharedConnection names the connection that a node's client shares with others.
func (s *Server) sharedConnection(nodeID string) string {
	return strconv.FormatUint(simnet.HashStrings(s.seed, "connection", nodeID)%uint64(s.cfg.ClientConnections), 10)
}

// mayUpdate returns an error unless a release takes reports of a node.
func mayUpdate(allowed config.AllocUpdates, node *rpc.Node) error {
	switch {
	case allowed == config.UpdatesOfReady && node.Status != rpc.NodeStatusReady:
		return fmt.Errorf("node %s is %s, not %s", node.ID, node.Status, rpc.NodeStatusReady)
	case allowed == config.UpdatesBeforeReady && node.Unresponsive():
		return fmt.Errorf("node %s may not update allocations while it is %s", node.ID, node.Status)
	}
	return nil
}

// allocTrigger says why an update of an allocation makes its job be looked at again;
// empty when it does not (nomad/node_endpoint.go, UpdateAlloc).
func allocTrigger(snap *state.Snapshot, old, updated *rpc.Allocation) string {
	job := snap.JobByID(old.Namespace, old.JobID)
	wasUnknown := old.ClientStatus == rpc.AllocClientUnknown
	switch {
	case !updated.Terminal() && !wasUnknown:
		return ""
	case job == nil:
		return broker.TriggeredByJobDeregister
	}
	failed := updated.ClientStatus == rpc.AllocClientFailed && old.FollowupEvalID == ""
	switch {
	case failed && job.TaskGroup(old.TaskGroup) == nil:
		return ""
	case wasUnknown:
		return broker.TriggeredByReconnect
	case failed && mayReschedule(snap, old, job, updated.ModifyTime):
		return broker.TriggeredByRetryFailedAlloc
	}
	return ""
}

// batchRescheduleInterval is how often a batch allocation may be replaced for having
// failed (structs.go, DefaultBatchJobReschedulePolicy).
const batchRescheduleInterval = 24 * time.Hour

// mayReschedule reports whether a failed allocation may be replaced by the default policy
// of its job's type (structs.go, Allocation.RescheduleEligible): services always, system
// jobs never, batch jobs once a day: a replacement of a failed one has had its turn.
func mayReschedule(snap *state.Snapshot, a *rpc.Allocation, job *rpc.Job, now int64) bool {
	switch job.Type {
	case rpc.JobTypeService:
		return true
	case rpc.JobTypeBatch:
		previous := snap.AllocByID(a.PreviousAllocation)
		return previous == nil || previous.ClientStatus != rpc.AllocClientFailed || now-a.CreateTime >= int64(batchRescheduleInterval)
	}
	return false
}

// mergeUpdates gathers updates of clients (nomad/node_endpoint.go, batchUpdate).
func mergeUpdates(all *fsm.AllocClientUpdateRequest, one fsm.AllocClientUpdateRequest) {
	all.Alloc = append(all.Alloc, one.Alloc...)
	all.Evals = append(all.Evals, one.Evals...)
}

// writeUpdates writes a batch as one entry, with one evaluation of each job.
func (s *Server) writeUpdates(req fsm.AllocClientUpdateRequest) (uint64, error) {
	slices.SortFunc(req.Alloc, func(a, b *rpc.Allocation) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(req.Evals, func(a, b *broker.Evaluation) int { return cmp.Compare(a.ID, b.ID) })
	seen := map[broker.JobID]bool{}
	req.Evals = slices.DeleteFunc(req.Evals, func(e *broker.Evaluation) bool {
		dup := seen[e.Job()]
		seen[e.Job()] = true
		return dup
	})
	s.Because(fsm.AllocsReported)
	return s.Write(fsm.AllocClientUpdate.With(&req))
}
