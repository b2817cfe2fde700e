package cluster

import (
	"cmp"
	"fmt"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/server"
	"github.com/simctl/simctl/cluster/rpc"
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
		return fmt.Errorf("stop %s: it does not run", s.Addr())
	}
	return s.Stop()
}

// StartServer starts a stopped server from what it left on its disk.
func (c *Cluster) StartServer(i int) error {
	c.mu.Lock()
	old, running := c.servers[i], c.running[i]
	c.mu.Unlock()
	if running {
		return fmt.Errorf("start %s: it runs already", old.Addr())
	}
	s, err := old.Next()
	if err != nil {
		return err
	}
	return c.startServer(i, s)
}

// Running reports whether server i runs.
func (c *Cluster) Running(i int) bool { return c.server(i) != nil }

// Leader returns the number of the server that leads and serves; -1 when none does.
func (c *Cluster) Leader() int {
	if l := c.leader(); l != nil {
		return l.ID()
	}
	return -1
}

// Addr returns the address of server i, counted from 0, on the network.
func (c *Cluster) Addr(i int) string { return server.Addr(i) }

// DisturbLinks makes links worse until end is called.
func (c *Cluster) DisturbLinks(f LinkFault) (end func()) { return c.shared.Network.Disturb(f) }

// SlowDisk makes every write to server i's Raft log take that much longer; a negative
// duration takes an earlier call back. Restarting the server changes nothing about its disk.
func (c *Cluster) SlowDisk(i int, longer time.Duration) { c.hosts[i].Disk.Add(int64(longer)) }

// FillDisk leaves no room on the disk of server i's Raft log, or takes an earlier call back. The
// server neither leads nor follows until then. Restarting it changes nothing about its disk.
func (c *Cluster) FillDisk(i int, full bool) {
	if full {
		c.hosts[i].Full.Add(1)
	} else {
		c.hosts[i].Full.Add(-1)
	}
}

// StepClock sets the wall clock of server i forward, or back if by is negative. Timers that run
// are not told, as in Go. Restarting the server changes nothing about its clock.
func (c *Cluster) StepClock(i int, by time.Duration) { c.hosts[i].Ahead.Add(int64(by)) }

// SlowApply makes server i take that much longer to apply each entry to its state; a
// negative duration takes an earlier call back. It takes time, not cores.
func (c *Cluster) SlowApply(i int, longer time.Duration) { c.hosts[i].Apply.Add(int64(longer)) }

// CrashWorkers makes the workers of server i lose the next n evaluations they dequeue, as
// if each crashed with it and was replaced at once: nobody acks or nacks them, so that
// they come back when their nack timers fire. What is left of an earlier n adds up; a
// restart of the server forgets it.
func (c *Cluster) CrashWorkers(i, n int) error {
	s := c.server(i)
	if s == nil || n < 1 {
		return fmt.Errorf("crash %d workers of %s: it must run, and at least one must crash", n, server.Addr(i))
	}
	s.CrashWorkers(n)
	return nil
}

// StickApplier makes the plan applier of server i stand still before the next plan, or lets
// it go on. It matters while the server leads: plans wait, and with them their workers,
// whose evaluations' nack timers stand still too. A restart of the server frees it.
func (c *Cluster) StickApplier(i int, stuck bool) error {
	s := c.server(i)
	if s == nil {
		return fmt.Errorf("stick the plan applier of %s: it does not run", server.Addr(i))
	}
	s.StickApplier(stuck)
	return nil
}

// PoisonJob makes every scheduler that takes an evaluation of a job panic, on whichever server:
// the worker gives the evaluation back. With poisoned false it takes an earlier call back. An
// empty namespace stands for "default".
func (c *Cluster) PoisonJob(namespace, id string, poisoned bool) {
	n := 1
	if !poisoned {
		n = -1
	}
	c.shared.Poison.Add(broker.JobID{Namespace: cmp.Or(namespace, rpc.DefaultNamespace), ID: id}, n)
}

// FailSigning keeps servers from signing identities of clients, as an external keyring does that is
// not there, or takes an earlier call back. It matters if Config.IdentityTTL is set.
func (c *Cluster) FailSigning(fail bool) {
	n := 1
	if !fail {
		n = -1
	}
	c.shared.Identities.FailSigning(n)
}
