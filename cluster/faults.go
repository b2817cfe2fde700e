package cluster

import (
	"fmt"

	"github.com/simctl/simctl/cluster/simnet"
)

// Faults: what a scenario can do to a cluster while it runs.

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
	s := newServer(c, i, old.cpu)
	s.logs, s.stable, s.snaps, s.sched = old.logs, old.stable, old.snaps, old.sched
	c.mu.Lock()
	c.servers[i] = s
	c.mu.Unlock()
	return c.startServer(i)
}

// Leader returns the number of the server that leads and serves; -1 when none does.
func (c *Cluster) Leader() int {
	if l := c.leader(); l != nil {
		return l.id
	}
	return -1
}

// Partition splits the servers: each group hears only itself, and those not named form
// a group of their own. Clients reach every server.
func (c *Cluster) Partition(groups ...[]int) {
	named := make([][]string, len(groups))
	for i, g := range groups {
		for _, id := range g {
			named[i] = append(named[i], serverAddr(id))
		}
	}
	c.net.Partition(named...)
}

// Heal ends every partition and every change of a link.
func (c *Cluster) Heal() {
	c.net.Heal()
	c.net.ClearLinks()
}

// SetLink changes the link from one server to another, in that direction only.
func (c *Cluster) SetLink(from, to int, l simnet.Link) {
	c.net.SetLink(serverAddr(from), serverAddr(to), l)
}
