package cluster

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/simctl/simctl/cluster/simnet"
)

// Faults: what a scenario can do to a cluster while it runs.

// LinkFault makes links between servers (Addr), or between servers and clients (their node
// IDs), slower, lossy or cuts them.
type LinkFault = simnet.Fault

// Link is what a LinkFault adds to a link.
type Link = simnet.Link

// StopServer stops server i as a crash or an orderly end of its process would. What
// was in memory is gone; its Raft log, votes and snapshots stay for StartServer.
func (c *Cluster) StopServer(i int) error {
	c.mu.Lock()
	was := c.running[i]
	c.running[i] = false
	s := c.servers[i]
	c.mu.Unlock()
	if !was {
		return fmt.Errorf("stop %s: it does not run", s.addr)
	}
	return s.stop()
}

// StartServer starts a stopped server from what it left on its disk.
func (c *Cluster) StartServer(i int) error {
	c.mu.Lock()
	old, running := c.servers[i], c.running[i]
	c.mu.Unlock()
	if running {
		return fmt.Errorf("start %s: it runs already", old.addr)
	}
	kept, err := old.reopen()
	if err != nil {
		return fmt.Errorf("start %s: %w", old.addr, err)
	}
	s := newServer(c, i, old.life+1, old.cpu, kept)
	old.mu.Lock()
	s.sched = old.sched
	old.mu.Unlock()
	c.mu.Lock()
	c.servers[i] = s
	c.mu.Unlock()
	return c.startServer(i)
}

// Running reports whether server i runs.
func (c *Cluster) Running(i int) bool { return c.server(i) != nil }

// Leader returns the number of the server that leads and serves; -1 when none does.
func (c *Cluster) Leader() int {
	if l := c.leader(); l != nil {
		return l.id
	}
	return -1
}

// Addr returns the address of server i, counted from 0, on the network.
func (c *Cluster) Addr(i int) string { return serverAddr(i) }

// DisturbLinks makes links worse until end is called.
func (c *Cluster) DisturbLinks(f LinkFault) (end func()) { return c.net.Disturb(f) }

// SlowDisk makes every write to server i's Raft log take that much longer; a negative
// duration takes an earlier call back. Restarting the server changes nothing about its disk.
func (c *Cluster) SlowDisk(i int, longer time.Duration) { c.hosts[i].disk.Add(int64(longer)) }

// SlowApply makes server i take that much longer to apply each entry to its state; a
// negative duration takes an earlier call back. It takes time, not cores.
func (c *Cluster) SlowApply(i int, longer time.Duration) { c.hosts[i].apply.Add(int64(longer)) }

// host is what a server runs on, and keeps when it restarts. The zero value is as fast as
// the cost model says.
type host struct {
	disk, apply atomic.Int64 // durations on top
}

// fsync is what one write to the Raft log waits for the disk.
func (s *server) fsync() time.Duration {
	return s.cfg.Costs.Fsync + time.Duration(s.host.disk.Load())
}

// applyDelay is what applying an entry takes beside the cost model.
func (s *server) applyDelay() time.Duration { return time.Duration(s.host.apply.Load()) }

// applyPoll is how often a follower that has too much to apply looks whether it still has.
const applyPoll = time.Millisecond

// awaitApplied blocks entries that arrive while the state machine is far behind what is
// committed: Raft's main goroutine would block on it instead (see maxUnapplied). What is
// committed is applied without further messages, so it cannot block forever.
func (s *server) awaitApplied() {
	for !s.dead() && s.behind(maxUnapplied) {
		sleepContext(s.ctx, applyPoll+time.Duration(s.id+1)*time.Microsecond)
	}
}

// behind reports whether more than so many entries are committed here and not yet applied.
func (s *server) behind(entries uint64) bool {
	return s.logs.lastCommand(s.raft.CommitIndex()) > s.applied.Load()+entries
}
