package server

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// ValidateNode says what is wrong with a node that registers.
func ValidateNode(n *rpc.Node) error {
	switch {
	case n == nil:
		return fmt.Errorf("missing node for client registration")
	case n.ID == "" || n.SecretID == "" || n.Name == "" || n.Datacenter == "":
		return fmt.Errorf("node %q: registration needs an ID, a secret ID, a name and a datacenter", n.ID)
	case len(n.Attributes) == 0:
		return fmt.Errorf("node %s: registration needs at least one attribute", n.ID)
	}
	return nil
}

// RegisterNode answers Node.Register on the leader.
func (s *Server) RegisterNode(req *rpc.NodeRegisterRequest) (*rpc.NodeUpdateResponse, error) {
	node := req.Node.Copy()
	node.Status = cmp.Or(node.Status, rpc.NodeStatusInit)
	node.SchedulingEligibility = cmp.Or(node.SchedulingEligibility, rpc.NodeEligible)
	node.StatusUpdatedAt = s.Wall().Unix()

	original := s.Snapshot().NodeByID(node.ID)
	if original != nil && original.SecretID != node.SecretID {
		return nil, fmt.Errorf("node %s: secret ID does not match the registered one", node.ID)
	}
	if original != nil && s.cfg.Habits.AllocUpdates == config.UpdatesBeforeReady {
		node.Status = original.Status
	}
	if err := s.shared.Identities.Register(node.ID, s.Wall()); err != nil {
		return nil, err
	}
	if original == nil && s.cfg.Habits.ClientIdentities {
		s.Compute("identity/"+node.ID, s.cfg.Costs.Plan.PerSignature)
	}
	s.Because(fsm.NodeRegistered)
	index, err := s.changeNode(node.ID, fsm.NodeRegister.With(&rpc.NodeRegisterRequest{Node: node}))
	if err != nil {
		return nil, err
	}
	resp := &rpc.NodeUpdateResponse{Index: index}
	if registrationNeedsEvals(original, node) {
		if err := s.createNodeEvals(node, index); err != nil {
			return nil, err
		}
	}
	s.Compute("count/"+node.ID, s.countingNodes())
	if node.Status != rpc.NodeStatusDown {
		return resp, s.grantTTL(node.ID, resp)
	}
	return resp, nil
}

// UpdateNodeStatus answers Node.UpdateStatus on the leader: a heartbeat, which writes
// nothing, or a change of status.
func (s *Server) UpdateNodeStatus(req *rpc.NodeUpdateStatusRequest) (*rpc.NodeUpdateResponse, error) {
	node := s.Snapshot().NodeByID(req.NodeID)
	if node == nil {
		return nil, rpc.ErrNodeNotFound
	}
	if req.Status == rpc.NodeStatusReady || req.Status == rpc.NodeStatusInit { // its client asks
		if err := s.shared.Identities.Heartbeat(req.NodeID, s.Wall()); err != nil {
			return nil, err
		}
	}
	resp := &rpc.NodeUpdateResponse{}
	status := s.nextStatus(node, req.Status)
	written := node.Status != status || s.cfg.Habits.WritesEvents && req.NodeEvent != ""
	if !written {
		c := s.cfg.Costs.RPC
		s.Compute("heartbeat/"+req.NodeID, c.Heartbeat+s.countingNodes())
	} else {
		cause := fsm.NodeMissed
		if req.Status == rpc.NodeStatusReady {
			cause = fsm.NodeHeard
		}
		s.Because(cause)
		change := *req
		change.Status, change.UpdatedAt = status, s.Wall().Unix()
		if node.Status == rpc.NodeStatusDown && change.NodeEvent == "" {
			change.NodeEvent = "Node reregistered by heartbeat"
		}
		var err error
		if resp.Index, err = s.changeNode(req.NodeID, fsm.NodeUpdateStatus.With(&change)); err != nil {
			return nil, err
		}
	}
	if status == rpc.NodeStatusDown || transitionNeedsEvals(status, node.Status) {
		if err := s.createNodeEvals(node, resp.Index); err != nil {
			return nil, err
		}
	}
	if written {
		s.Compute("count/"+req.NodeID, s.countingNodes())
	}
	if status != rpc.NodeStatusDown {
		return resp, s.grantTTL(req.NodeID, resp)
	}
	return resp, nil
}

// readingNodes is the CPU time of reading all nodes. Each is the cost of a node that is not in the processor's caches. Nodes
// are there, and cost less, if they were read a moment ago (soon), or if no scheduler works that would displace them.
func (s *Server) readingNodes(each time.Duration, soon bool) time.Duration {
	c := s.cfg.Costs.RPC
	if c.NodeRecount > 0 && c.NodeCount > 0 && (soon || s.evals.Broker.Stats().Unacked == 0) {
		each = each * c.NodeRecount / c.NodeCount
	}
	return time.Duration(s.Snapshot().NodeCount()) * each
}

// countingNodes is readingNodes for an answer that says how many there are.
func (s *Server) countingNodes() time.Duration {
	return s.readingNodes(s.cfg.Costs.RPC.NodeCount, s.counted.soon())
}

// nodesCached is how long nodes stay in the processor's caches after they were counted, while schedulers work. Clients that report have
// them counted every other millisecond, and those that do not every 20 ms or less often (max_heartbeats_per_second).
const nodesCached = 10 * time.Millisecond

// lately remembers the last two instants at which something was done. Doing it several times at one instant counts
// as once: otherwise the runtime would choose which of them is the first, and costs more.
type lately struct {
	mu           sync.Mutex
	last, before time.Time
}

// soon takes note that it is done, and reports whether it was not long ago.
func (l *lately) soon() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.After(l.last) {
		l.before, l.last = l.last, now
	}
	return l.last.Sub(l.before) < nodesCached
}

// nextStatus returns the status of a node that asks for one, or for which the leader does. A
// node that was disconnected is not ready before it has reported its live allocations, unless
// the release is an old one (node_endpoint.go, UpdateStatus).
func (s *Server) nextStatus(node *rpc.Node, asked string) string {
	if s.cfg.Habits.AllocUpdates != config.UpdatesBeforeReady || asked != rpc.NodeStatusReady {
		return asked
	}
	switch node.Status {
	case rpc.NodeStatusDisconnected:
		return rpc.NodeStatusInit
	case rpc.NodeStatusInit:
		if snap := s.Snapshot(); len(snap.NodeAllocs(node.ID).Live) > 0 && !snap.NodeReported(node.ID) {
			return rpc.NodeStatusInit
		}
	}
	return asked
}

func (s *Server) grantTTL(nodeID string, resp *rpc.NodeUpdateResponse) error {
	ttl, ok := s.beats.Reset(nodeID)
	if !ok {
		return fmt.Errorf("reset heartbeat of node %s: %w", nodeID, rpc.ErrNoLeader)
	}
	resp.HeartbeatTTL = ttl
	return nil
}

// registrationNeedsEvals reports whether a registration may change what runs where
// (nomad/node_endpoint.go, shouldCreateNodeEval).
func registrationNeedsEvals(original, updated *rpc.Node) bool {
	if updated.Status == rpc.NodeStatusDown {
		return true
	}
	if original == nil {
		return transitionNeedsEvals(updated.Status, rpc.NodeStatusInit)
	}
	return transitionNeedsEvals(updated.Status, original.Status) ||
		original.Datacenter != updated.Datacenter || original.Name != updated.Name ||
		original.NodeClass != updated.NodeClass || !maps.Equal(original.Attributes, updated.Attributes)
}

// transitionNeedsEvals is nodeStatusTransitionRequiresEval of nomad/node_endpoint.go.
func transitionNeedsEvals(to, from string) bool {
	if (from == rpc.NodeStatusDisconnected) != (to == rpc.NodeStatusDisconnected) {
		return true
	}
	return to == rpc.NodeStatusReady && (from == rpc.NodeStatusInit || from == rpc.NodeStatusDown)
}

// createNodeEvals writes, in one entry, an evaluation for every job that a change of
// the node concerns: those with allocations on it, live or not, and the system jobs of
// its datacenter, or all of them if that filter is off. Newer releases leave some of them
// out, and write the entry even if none is left.
func (s *Server) createNodeEvals(node *rpc.Node, nodeIndex uint64) error {
	snap := s.Snapshot()
	all, any, left := s.nodeEvals(snap, node, nodeIndex)
	evals := s.wanted(snap, node, all)
	if !any || len(evals) == 0 && len(all) > 0 {
		s.shared.Unevaluated.set(node.ID, left)
		return nil
	}
	s.Because(fsm.NodeEvaluated)
	s.Compute("node-evals/"+node.ID, time.Duration(len(evals))*s.cfg.Costs.RPC.NodeEval)
	if _, err := s.changeNode(node.ID, fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: evals})); err != nil {
		return fmt.Errorf("create evaluations for node %s: %w", node.ID, err)
	}
	s.shared.Unevaluated.set(node.ID, left)
	return nil
}

// changeNode writes a change of a node, or the evaluations that a change calls for. A write that fails may be in the log all
// the same. Whoever tries again then finds nothing to change, so nobody creates the evaluations: the node is Unevaluated.
func (s *Server) changeNode(id string, c fsm.Command) (index uint64, err error) {
	if index, err = s.Write(c); err != nil {
		s.shared.Unevaluated.set(id, true)
	}
	return index, err
}

// Unevaluated are the nodes whose last change may lack evaluations: the leader did not get to create them, or left out
// that of a system job. It is safe for concurrent use.
type Unevaluated struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (u *Unevaluated) set(id string, is bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case !is:
		delete(u.ids, id)
	case u.ids == nil:
		u.ids = map[string]bool{id: true}
	default:
		u.ids[id] = true
	}
}

// IDs returns the IDs of the nodes.
func (u *Unevaluated) IDs() map[string]bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.ids)
}

// wanted returns those of the evaluations that the cluster's design does not leave out.
func (s *Server) wanted(snap *state.Snapshot, node *rpc.Node, evals []*broker.Evaluation) []*broker.Evaluation {
	now := snap.NodeByID(node.ID)
	down := now != nil && now.Status == rpc.NodeStatusDown
	return slices.DeleteFunc(slices.Clone(evals), func(e *broker.Evaluation) bool {
		return s.cfg.Design.DownSkipsSystem && down && e.Type == rpc.JobTypeSystem || s.cfg.Design.SkipQueued && s.evals.Broker.Queued(e.Job())
	})
}

// nodeEvals returns the evaluations, whether there is anything that a change of the node
// could concern, and whether a system job that it does concern is left out.
func (s *Server) nodeEvals(snap *state.Snapshot, node *rpc.Node, nodeIndex uint64) (evals []*broker.Evaluation, any, left bool) {
	seen := map[broker.JobID]bool{}
	add := func(job *rpc.Job) {
		id := broker.JobID{Namespace: job.Namespace, ID: job.ID}
		if seen[id] {
			return
		}
		seen[id] = true
		e := leader.PendingEval(s.NewID("node-eval", node.ID, job.Namespace, job.ID), broker.TriggeredByNodeUpdate, job)
		e.NodeID, e.NodeModifyIndex = node.ID, nodeIndex
		evals = append(evals, e)
	}
	on := snap.NodeAllocs(node.ID)
	allocs := on.All
	if s.cfg.Habits.FirstAllocDecides {
		allocs = slices.Concat(on.Live, on.All)
	}
	for _, a := range allocs {
		any = true
		job := leader.JobOf(snap, a)
		switch id := (broker.JobID{Namespace: job.Namespace, ID: job.ID}); {
		case !s.leftAlone(a, job.Type):
			add(job)
		case s.cfg.Habits.FirstAllocDecides:
			left = left || job.Type == rpc.JobTypeSystem && !seen[id]
			seen[id] = true
		}
	}
	for _, job := range snap.JobsByType(rpc.JobTypeSystem) {
		if (s.cfg.DatacenterFilterOff || job.RunsIn(node.Datacenter)) && !(s.cfg.Habits.StoppedLeftAlone && job.Stop) {
			any = true
			add(job)
		}
	}
	return evals, any, left
}

// leftAlone reports whether an allocation is no reason to evaluate its job when its node changes
// (node_endpoint.go, createNodeEvals, v1.11.3). A system job that runs in the node's datacenter is evaluated
// even so, unless Habits.FirstAllocDecides.
func (s *Server) leftAlone(a *rpc.Allocation, jobType string) bool {
	terminal := s.cfg.Habits.TerminalLeftAlone
	switch jobType {
	case rpc.JobTypeService:
		return terminal && a.ServerTerminal() && a.ClientTerminal()
	case rpc.JobTypeBatch:
		return terminal && a.ClientTerminal()
	case rpc.JobTypeSysBatch:
		return s.cfg.Habits.SysBatchLeftAlone
	}
	return terminal
}

// invalidateHeartbeat marks a node down, or disconnected, that was not heard from in
// time (nomad/heartbeat.go).
func (s *Server) invalidateHeartbeat(ctx context.Context, nodeID string) {
	if !s.Established() || s.shared.Held.Load() {
		return
	}
	s.shared.Ledger.HeartbeatMissed()
	if s.cfg.Design.AskTimeout > 0 && s.alive(ctx, nodeID) {
		return
	}
	req := &rpc.NodeUpdateStatusRequest{NodeID: nodeID, Status: rpc.NodeStatusDown, NodeEvent: "Node heartbeat missed"}
	if mayReconnect(s.Snapshot(), nodeID, s.Wall()) {
		req.Status = rpc.NodeStatusDisconnected
	}
	if s.cfg.Design.DownWindow > 0 && req.Status == rpc.NodeStatusDown {
		req.UpdatedAt = s.Wall().Unix()
		_, _ = s.downs.Add("", fsm.NodesDownRequest{Nodes: []rpc.NodeUpdateStatusRequest{*req}}).Wait()
		return
	}
	// The node stays as it is when the write fails: the next leader starts its timer anew.
	_, _ = s.UpdateNodeStatus(req)
}

// mergeDowns gathers nodes that fell silent.
func mergeDowns(all *fsm.NodesDownRequest, one fsm.NodesDownRequest) {
	all.Nodes = append(all.Nodes, one.Nodes...)
}

// writeDowns writes a batch of nodes that fell silent as one entry, with one evaluation for
// each job that has to be looked at.
func (s *Server) writeDowns(req fsm.NodesDownRequest) (uint64, error) {
	snap := s.Snapshot()
	req.Nodes = slices.DeleteFunc(req.Nodes, func(n rpc.NodeUpdateStatusRequest) bool { return snap.NodeByID(n.NodeID) == nil })
	if len(req.Nodes) == 0 {
		return 0, nil
	}
	slices.SortFunc(req.Nodes, func(a, b rpc.NodeUpdateStatusRequest) int { return strings.Compare(a.NodeID, b.NodeID) })
	seen := map[broker.JobID]bool{}
	for _, n := range req.Nodes {
		evals, _, _ := s.nodeEvals(snap, snap.NodeByID(n.NodeID), 0)
		for _, e := range evals {
			if !seen[e.Job()] {
				seen[e.Job()] = true
				req.Evals = append(req.Evals, e)
			}
		}
	}
	s.Because(fsm.NodesMissed)
	s.Compute("nodes-down", time.Duration(len(req.Evals))*s.cfg.Costs.RPC.NodeEval)
	return s.Write(fsm.NodesDown.With(&req))
}

// mayReconnect reports whether the node has an allocation that may outlast a disconnection: the servers want it to
// run, its group allows it (MaxClientDisconnect), and it has not been unknown for too long. Whether its client says
// that it has ended does not matter (nomad/heartbeat.go, disconnectState).
func mayReconnect(snap *state.Snapshot, nodeID string, now time.Time) bool {
	node := snap.NodeByID(nodeID)
	if node == nil || node.Status == rpc.NodeStatusDown || node.Status == rpc.NodeStatusInit {
		return false
	}
	return slices.ContainsFunc(snap.NodeAllocs(nodeID).All, func(a *rpc.Allocation) bool {
		tg := leader.JobOf(snap, a).TaskGroup(a.TaskGroup)
		return a.DesiredStatus == rpc.AllocDesiredRun && tg != nil && tg.MaxClientDisconnect > 0 &&
			(a.ClientStatus != rpc.AllocClientUnknown || a.DisconnectedAt() == 0 ||
				now.Before(time.Unix(0, a.DisconnectedAt()).Add(tg.MaxClientDisconnect)))
	})
}
