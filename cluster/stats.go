package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/raftnode"
)

// Stats is the cluster at one instant, as its leader sees it.
type Stats struct {
	// Leader is the address of the leader; empty, and the rest of the broker's figures
	// zero, when there is none.
	Leader    string
	Broker    broker.Stats
	LastIndex uint64
	Counters  Counters
	// Account counts what should have cost entries of the log.
	Account Account
	// StatePending is the number of evaluations that are pending in state. Where none is
	// written, it is that of the jobs that wait for a time.
	StatePending  int
	EvalsByStatus map[string]uint64
	NodesByStatus map[string]int
	// HeartbeatsActive is the number of nodes the leader expects to hear from.
	HeartbeatsActive int
	PlanQueueDepth   int
	BlockedJobs      int
	// CPUUtilisation is the share of all cores in use since the last call, 0 to 1.
	CPUUtilisation float64
	// CPUStolen is the share of real servers' cores that the host of their machine took away meanwhile; NaN if that is not known,
	// and zero of simulated servers.
	CPUStolen float64
	// WorkerUtilisation is the share of their time, since the last call, that workers had an
	// evaluation in hand, 0 to 1. Paused ones do not count.
	WorkerUtilisation float64
	// MemoryRead is how long a read of the memory of real servers' machine takes; zero if that is not known,
	// and of simulated servers.
	MemoryRead time.Duration
}

// Stats returns the present figures. Without a leader the state figures are those of
// the server that has applied the most.
func (c *Cluster) Stats() Stats {
	var st Stats
	if best := c.foremost(); best != nil {
		if best.Established() {
			st.Leader, st.Broker = best.Addr(), best.BrokerStats()
			st.HeartbeatsActive, st.PlanQueueDepth, st.BlockedJobs = best.Queues()
		}
		snap := best.Snapshot()
		st.LastIndex = best.LastIndex()
		st.EvalsByStatus, st.NodesByStatus = snap.EvalsByStatusCount(), snap.NodesByStatusCount()
		st.StatePending = int(st.EvalsByStatus[broker.StatusPending])
		if c.cfg.Design.WorkQueue {
			st.StatePending = st.Broker.Waiting
		}
	}
	now := time.Now()
	spent, cores := c.cpuTime()
	st.Counters, st.Account = c.shared.Ledger.Read()
	worked, served := c.shared.Workers.Totals(now)
	c.mu.Lock()
	defer c.mu.Unlock()
	st.CPUUtilisation = c.cpu.Look(now, spent, time.Duration(cores)*now.Sub(c.started))
	st.WorkerUtilisation = c.workers.Look(now, worked, served)
	return st
}

// cpuTime returns the CPU time spent so far, and on how many cores.
func (c *Cluster) cpuTime() (spent time.Duration, cores int) {
	for _, m := range c.cores {
		spent += m.Busy()
		cores += m.Cores()
	}
	return spent, cores
}

// EntriesBetween counts the log entries with after < index ≤ upTo by Nomad's name of
// their type. The log is that of the present leader or, without one, of the server that
// has applied the most.
func (c *Cluster) EntriesBetween(after, upTo uint64) map[string]uint64 {
	counts := map[string]uint64{}
	best := c.foremost()
	if best == nil || upTo <= after {
		return counts
	}
	types := best.Logs.TypesBetween(after, upTo)
	for i := range c.cfg.Servers {
		// What a snapshot spared one server, others have in their logs.
		if !slices.Contains(types, 0) {
			break
		}
		c.mu.Lock()
		other := c.servers[i].Logs.TypesBetween(after, upTo)
		c.mu.Unlock()
		for at, t := range other {
			if types[at] == 0 {
				types[at] = t
			}
		}
	}
	for _, t := range types {
		if t != 0 {
			counts[t.String()]++
		}
	}
	return counts
}

// StorageError returns an error if some server could not store an entry of its Raft log, as on a
// full disk. The cluster does not recover from that.
func (c *Cluster) StorageError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.servers {
		if err := s.Logs.Broken(); err != nil {
			return fmt.Errorf("%s cannot write its Raft log: %w", s.Addr(), err)
		}
	}
	return nil
}

// Waiting is what the leader knows of those who wait, mostly for room, and the state does not say.
type Waiting struct {
	// Since is the index from which on the leader has announced room. What it took over from an
	// earlier leader, or when its broker was resumed, was told of no room that appeared before
	// that (Nomad, too, restores blocked evaluations without looking: nomad/leader.go, restoreEvals).
	Since uint64
	// Untold has the nodes, by ID, that have got room of which nobody was told, and the index at
	// which they got it.
	Untold map[string]uint64
	// Unwritten has the jobs that wait, and the index since which each does, if no evaluation is
	// written.
	Unwritten map[broker.JobID]uint64
	// SysBatchLeftAlone says that no change of a node makes an evaluation of a sysbatch job: what runs
	// of it on a node that has gone waits for something else to do so.
	SysBatchLeftAlone bool
	// SystemLeftAlone says the same of system jobs that the node has allocations of, were they over.
	SystemLeftAlone bool
	// DrainEndsBatch says that what a drain ends of batch jobs is not replaced.
	DrainEndsBatch bool
	// NamesOnce says that schedulers do not leave two allocations of a group with one name.
	NamesOnce bool
	// SystemsSurvive says that what is unknown of a system or sysbatch job may outlive its node, if its group has no time for that.
	SystemsSurvive bool
	// StopsOneGroup says that a service or batch job that is stopped may have groups that run on.
	StopsOneGroup bool
	// Overlooked has the IDs of allocations that the plan applier did not know of when it verified later
	// plans, in releases that go on so: their nodes may have got too much.
	Overlooked map[string]bool
	// Unevaluated has the IDs of nodes whose last change may have been written although no evaluation was: the leader lost
	// its place in between, or its release leaves out a system job that had an allocation there, even one that is collected since.
	Unevaluated map[string]bool
}

// Waiting returns what is known without a leader if there is none.
func (c *Cluster) Waiting() (w Waiting) {
	w.SysBatchLeftAlone, w.SystemLeftAlone = c.cfg.Habits.SysBatchLeftAlone, c.cfg.Habits.FirstAllocDecides
	w.Overlooked = c.shared.Overlooked.IDs()
	w.StopsOneGroup = c.cfg.Habits.Scheduler.StopsOneGroup
	w.DrainEndsBatch, w.NamesOnce = c.cfg.Habits.Scheduler.DrainEndsBatch, c.cfg.Habits.Scheduler.NamesOnce
	w.SystemsSurvive = c.cfg.Habits.Scheduler.SystemsSurvive
	w.Unevaluated = c.shared.Unevaluated.IDs()
	if l := c.leader(); l != nil {
		w.Since, w.Untold = l.Blocked().Announced()
		if c.cfg.Design.WorkQueue {
			w.Unwritten = l.Blocked().Jobs()
		}
	}
	return w
}

// Acknowledged returns the highest index of a write that a caller was told of.
func (c *Cluster) Acknowledged() uint64 { return c.shared.Acked.Highest() }

// CheckLogs compares the Raft logs of all servers, stopped ones included, with each other
// and with the writes that were acknowledged, as far as every running server has applied
// them. What a snapshot has removed from a log is compared by term only, and so is the log
// of a stopped server that is on disk.
func (c *Cluster) CheckLogs() Agreement {
	c.mu.Lock()
	var members []raftnode.Member
	for i, s := range c.servers {
		members = append(members, raftnode.Member{Addr: s.Addr(), Logs: s.Logs, Running: c.running[i]})
	}
	c.mu.Unlock()
	for i := range members {
		if members[i].Running {
			members[i].Applied = c.servers[i].AppliedIndex()
		}
	}
	return raftnode.Check(members, &c.shared.Acked)
}
