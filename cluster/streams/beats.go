package streams

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
)

// beats are a server's timers of clients that must call again in time. Every server has a timer for every
// client, since the server that a client calls tells all servers, by a message that no stream keeps, how much
// time it has granted.
type beats struct {
	expire func(nodeID string)

	mu      sync.Mutex
	timers  map[string]*time.Timer // nil once stopped
	running sync.WaitGroup
}

func newBeats(expire func(string)) *beats {
	return &beats{expire: expire, timers: map[string]*time.Timer{}}
}

// arm expects the node within d. The timer of a node that is down stays away until it calls.
func (b *beats) arm(nodeID string, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timers == nil {
		return
	}
	if t := b.timers[nodeID]; t != nil && t.Stop() {
		b.running.Done()
	}
	b.running.Add(1)
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		defer b.running.Done()
		b.mu.Lock()
		current := b.timers[nodeID] == t
		if current {
			delete(b.timers, nodeID)
		}
		b.mu.Unlock()
		if current {
			b.expire(nodeID)
		}
	})
	b.timers[nodeID] = t
}

// active returns the number of nodes that are expected.
func (b *beats) active() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.timers)
}

// stop disarms all timers and waits for those that have fired.
func (b *beats) stop() {
	b.mu.Lock()
	for _, t := range b.timers {
		if t.Stop() {
			b.running.Done()
		}
	}
	b.timers = nil
	b.mu.Unlock()
	b.running.Wait()
}

// listen hears what other servers grant to clients.
func (h *host) listen() error {
	_, err := h.nc.Subscribe(beatSubject+"*", func(m *nats.Msg) {
		// The timers of a client fire on one server after the other, so that mostly just one writes that it is down.
		d := time.Duration(binary.BigEndian.Uint64(m.Data)) + time.Duration(h.id)*expiryStagger
		h.beats.arm(string(m.Data[8:]), d)
	})
	if err != nil {
		return fmt.Errorf("listen for heartbeats: %w", err)
	}
	return h.nc.Flush()
}

// expiryStagger is how much later each server takes a client for down than the server before it.
const expiryStagger = 250 * time.Millisecond

// grant gives a client a time to live, as Nomad's leader does (nomad/heartbeat.go), and tells all
// servers.
func (h *host) grant(nodeID string) (time.Duration, error) {
	cfg := h.c.cfg.Heartbeat
	ttl := max(cfg.MinTTL, time.Duration(float64(h.beats.active())/cfg.MaxPerSecond*float64(time.Second)))
	draw := simnet.HashStrings(h.seed^uint64(time.Now().UnixNano()), "ttl", nodeID)
	ttl += time.Duration(draw % uint64(ttl))
	data := binary.BigEndian.AppendUint64(nil, uint64(ttl+cfg.Grace))
	if err := h.nc.Publish(beatSubject+token(nodeID), append(data, nodeID...)); err != nil {
		return 0, fmt.Errorf("tell of a heartbeat: %w", err)
	}
	return ttl, nil
}

// expire writes that a client is down, unless something else was written of it meanwhile.
func (h *host) expire(nodeID string) {
	node := h.store.Snapshot().NodeByID(nodeID)
	if node == nil || node.Status == rpc.NodeStatusDown || h.ctx.Err() != nil {
		return
	}
	_, err := h.writeState(nodeSubject+token(nodeID), fsm.NodeUpdateStatus.With(&rpc.NodeUpdateStatusRequest{
		NodeID: nodeID, Status: rpc.NodeStatusDown, UpdatedAt: time.Now().Unix(), NodeEvent: "Node heartbeat missed",
	}), &node.ModifyIndex)
	if err == nil {
		h.c.journal.count(func(j *journal) { j.counters.MissedHeartbeats++ })
	}
}
