package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/cluster/state"
)

// nodeEventsWait is how long a client gathers events before it sends them, and at random
// up to as long again (client/client.go, nodeUpdateRetryIntv).
const nodeEventsWait = 5 * time.Second

// nodeEvents is what one node reports.
type nodeEvents struct {
	NodeID string
	Events []state.NodeEvent
}

// emitNodeEventsRequest is Node.EmitEvents's argument.
type emitNodeEventsRequest struct {
	Nodes []nodeEvents // in the order of their IDs
}

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
	var mu sync.Mutex
	failed := map[string]error{}
	for i, id := range nodeIDs {
		batch := nodeEvents{NodeID: id, Events: make([]state.NodeEvent, min(n, state.MaxNodeEvents))}
		for j := range batch.Events {
			batch.Events[j] = state.NodeEvent{Message: message, Timestamp: at.Unix()}
		}
		stagger := simnet.HashStrings(uint64(c.cfg.Seed)^uint64(at.UnixNano()), "node-events", id) % uint64(nodeEventsWait)
		wg.Go(func() {
			sleepContext(ctx, nodeEventsWait+time.Duration(stagger))
			server := nodeServer{c, i % c.cfg.Servers}
			err := server.emitEvents(ctx, batch)
			mu.Lock()
			defer mu.Unlock()
			failed[id] = err
		})
	}
	wg.Wait()
	var errs []error
	for _, id := range nodeIDs {
		if err := failed[id]; err != nil {
			errs = append(errs, fmt.Errorf("events of node %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// emitEvents answers Node.EmitEvents (nomad/node_endpoint.go).
func (n nodeServer) emitEvents(ctx context.Context, events nodeEvents) error {
	_, err := clientCall(ctx, n, events.NodeID, "Node.EmitEvents", func(s *server) (struct{}, error) {
		return forward(ctx, s, "Node.EmitEvents/"+events.NodeID, func(l *server) (struct{}, error) {
			l.happened(func(c *Causes) { c.NodeEvents++ })
			_, err := l.raftApply(upsertNodeEventsType, &emitNodeEventsRequest{Nodes: []nodeEvents{events}})
			return struct{}{}, err
		})
	})
	return err
}

func (f *fsm) addNodeEvents(index uint64, req *emitNodeEventsRequest) error {
	f.charge(len(req.Nodes), f.srv.cfg.Costs.FSM.Node)
	return f.srv.store.Update(index, func(tx *state.Tx) error {
		for _, n := range req.Nodes {
			if err := tx.AddNodeEvents(n.NodeID, n.Events...); err != nil {
				return err
			}
		}
		return nil
	})
}
