package leader

import (
	"context"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
)

// Heartbeats is the leader's table of clients that must be heard from
// (nomad/heartbeat.go). Each node has a timer; when it fires, the node is down.
type Heartbeats struct {
	cfg    config.HeartbeatConfig
	seed   uint64
	expire func(ctx context.Context, nodeID string)

	mu     sync.Mutex
	ctx    context.Context        // ends with the leadership
	timers map[string]*time.Timer // nil while this server does not lead
	joined timers
}

// NewHeartbeats returns a table that tracks nobody. Expire is called on a goroutine of its
// own for each node that was not heard from in time; Stop joins it. Its context is that of Start.
func NewHeartbeats(cfg config.HeartbeatConfig, seed uint64, expire func(ctx context.Context, nodeID string)) *Heartbeats {
	return &Heartbeats{cfg: cfg, seed: seed, expire: expire}
}

// Start arms a timer for every node that may still speak up, with the time to live
// that a new leader grants.
func (h *Heartbeats) Start(ctx context.Context, nodes []*rpc.Node) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ctx = ctx
	h.timers = make(map[string]*time.Timer, len(nodes))
	for _, n := range nodes {
		if n.Status != rpc.NodeStatusDown {
			// Nomad arms them all at one instant; a few microseconds apart keeps the
			// order of expiries a matter of the seed.
			h.arm(n.ID, h.cfg.FailoverTTL+h.stagger(n.ID, time.Millisecond))
		}
	}
}

// Stop disarms every timer and waits for expiries under way.
func (h *Heartbeats) Stop() {
	h.mu.Lock()
	for _, t := range h.timers {
		h.joined.disarm(t)
	}
	h.timers = nil
	h.mu.Unlock()
	h.joined.Wait()
}

// Reset grants the node a new time to live and returns it; ok is false on a server
// that does not lead.
func (h *Heartbeats) Reset(nodeID string) (ttl time.Duration, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timers == nil {
		return 0, false
	}
	ttl = max(h.cfg.MinTTL, time.Duration(float64(len(h.timers))/h.cfg.MaxPerSecond*float64(time.Second)))
	ttl += h.stagger(nodeID, ttl)
	h.arm(nodeID, ttl+h.cfg.Grace)
	return ttl, true
}

// Clear forgets a node that is not registered any more.
func (h *Heartbeats) Clear(nodeID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.joined.disarm(h.timers[nodeID])
	delete(h.timers, nodeID)
}

// Tracks reports whether the node must be heard from.
func (h *Heartbeats) Tracks(nodeID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.timers[nodeID] != nil
}

// Active returns the number of nodes that are tracked.
func (h *Heartbeats) Active() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.timers)
}

func (h *Heartbeats) arm(nodeID string, d time.Duration) {
	if t, ok := h.timers[nodeID]; ok {
		if !t.Stop() {
			h.joined.Add(1) // it has fired already; the new arming is one more
		}
		t.Reset(d)
		return
	}
	h.timers[nodeID] = h.joined.after(d, func() {
		h.mu.Lock()
		_, tracked := h.timers[nodeID]
		delete(h.timers, nodeID)
		ctx := h.ctx
		h.mu.Unlock()
		if tracked {
			h.expire(ctx, nodeID)
		}
	})
}

// stagger draws from [0, span) by node and instant, not from a shared source, so that
// nodes that are served at the same instant get the same draws in any order.
func (h *Heartbeats) stagger(nodeID string, span time.Duration) time.Duration {
	draw := simnet.HashStrings(h.seed^uint64(time.Now().UnixNano()), "ttl", nodeID)
	return time.Duration(draw % uint64(span))
}
