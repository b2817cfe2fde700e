package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/internal/server"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/cluster/state"
)

// NodeServer returns server i as a client reaches it, over its link.
func (c *Cluster) NodeServer(i int) rpc.NodeServer { return nodeServer{c, i} }

// SetClients lets servers ask clients, if the design has them do so.
func (c *Cluster) SetClients(clients rpc.Clients) { c.shared.Clients.Store(&clients) }

// nodeServer is one server as clients see it: over their link, and through it to the
// leader where the call must be answered there (nomad/node_endpoint.go).
type nodeServer struct {
	cluster *Cluster
	id      int
}

var _ rpc.NodeServer = nodeServer{}

func (n nodeServer) server() *server.Server { return n.cluster.server(n.id) }

func (n nodeServer) Register(ctx context.Context, req *rpc.NodeRegisterRequest) (*rpc.NodeUpdateResponse, error) {
	if err := server.ValidateNode(req.Node); err != nil {
		return nil, err
	}
	return server.ToLeader(ctx, n.server(), req.Node.ID, "Node.Register", req.Node.ID, func(l *server.Server) (*rpc.NodeUpdateResponse, error) {
		return l.RegisterNode(req)
	})
}

func (n nodeServer) UpdateStatus(ctx context.Context, req *rpc.NodeUpdateStatusRequest) (*rpc.NodeUpdateResponse, error) {
	return server.ClientToLeader(ctx, n.server(), req.NodeID, "Node.UpdateStatus", req.NodeID, func(l *server.Server) (*rpc.NodeUpdateResponse, error) {
		return l.UpdateNodeStatus(req)
	})
}

func (n nodeServer) UpdateAlloc(ctx context.Context, req *rpc.AllocUpdateRequest) (*rpc.WriteResponse, error) {
	through := n.server()
	return server.ClientToLeader(ctx, through, req.NodeID, "Node.UpdateAlloc", req.NodeID, func(l *server.Server) (*rpc.WriteResponse, error) {
		if err := n.cluster.shared.Identities.Check(req.NodeID, l.Wall()); err != nil {
			return nil, err
		}
		return l.UpdateAllocs(through, req)
	})
}

// GetClientAllocs is answered by the server itself, however stale: clients allow that after their first call, which the
// leader answers (client/client.go, watchAllocations).
func (n nodeServer) GetClientAllocs(ctx context.Context, req *rpc.NodeSpecificRequest, resume func(rpc.ClientAllocsCall)) (*rpc.NodeClientAllocsResponse, error) {
	if err := n.cluster.shared.Identities.Check(req.NodeID, time.Now()); err != nil {
		return nil, err
	}
	return server.ClientAllocs(ctx, n.server(), req, resume)
}

// HoldNodes makes nodes that fall silent stay as they are from now on. It is for the end of
// a run, when what the cluster has come to is to be looked at, which takes time on the wall
// clock, and the clients are gone.
func (c *Cluster) HoldNodes() { c.shared.Held.Store(true) }

// EndWrites makes servers refuse every write from now on, as if they had no leader. It is for the end of
// a run that may not have come to rest: what is on its way to the log gets there, and then servers can be compared.
func (c *Cluster) EndWrites() { c.shared.Ended.Store(true) }

// Drained reports whether every server that runs has applied all that was written, and nothing is on its way.
func (c *Cluster) Drained() bool {
	last := map[uint64]bool{}
	for i := range c.cfg.Servers {
		if s := c.server(i); s != nil {
			if !s.Drained() {
				return false
			}
			last[s.LastIndex()] = true
		}
	}
	return len(last) <= 1
}

// nodeEventsWait is how long a client gathers events before it sends them, and at random
// up to as long again (client/client.go, nodeUpdateRetryIntv).
const nodeEventsWait = 5 * time.Second

// EmitNodeEvents makes something happen on nodes at this instant that their clients have
// to report, n events on each. A client gathers what happens for 5 to 10 s, keeping the
// newest of more than ten, and sends it in one call, which is one entry whatever the
// number of events (client/client.go, watchNodeEvents; nodesim's clients know nothing of
// it). It returns when all have sent theirs.
func (c *Cluster) EmitNodeEvents(ctx context.Context, nodeIDs []string, n int, message string) error {
	if n < 1 {
		return fmt.Errorf("emit %d events: at least one has to happen", n)
	}
	at := time.Now()
	var wg sync.WaitGroup
	errs := make([]error, len(nodeIDs))
	for i, id := range nodeIDs {
		batch := fsm.NodeEvents{NodeID: id, Events: make([]state.NodeEvent, min(n, state.MaxNodeEvents))}
		for j := range batch.Events {
			batch.Events[j] = state.NodeEvent{Message: message, Timestamp: at.Unix()}
		}
		stagger := simnet.HashStrings(uint64(c.cfg.Seed)^uint64(at.UnixNano()), "node-events", id) % uint64(nodeEventsWait)
		wg.Go(func() {
			leader.Sleep(ctx, nodeEventsWait+time.Duration(stagger))
			if err := c.ReportNodeEvents(ctx, i%c.cfg.Servers, batch.NodeID, batch.Events); err != nil {
				errs[i] = fmt.Errorf("events of node %s: %w", id, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// ReportNodeEvents sends a client's Node.EmitEvents to server i (nomad/node_endpoint.go).
func (c *Cluster) ReportNodeEvents(ctx context.Context, i int, nodeID string, events []state.NodeEvent) error {
	_, err := server.ClientToLeader(ctx, c.server(i), nodeID, "Node.EmitEvents", nodeID, func(l *server.Server) (struct{}, error) {
		return struct{}{}, l.EmitEvents(fsm.NodeEvents{NodeID: nodeID, Events: events})
	})
	return err
}
