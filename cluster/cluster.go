package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/cpu"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/cluster/state"
)

// leaderPoll is how often Start looks for a leader.
const leaderPoll = 10 * time.Millisecond

// startStagger is how far apart the servers start: no two of Raft's first timers may
// share an instant.
const startStagger = 137 * time.Microsecond

// Cluster is a set of servers and the network between them. Its methods are safe for
// concurrent use.
type Cluster struct {
	cfg     Config
	net     *simnet.Network
	servers []*server
	pools   []*cpu.Pool
	hosts   []host // by server
	acked   ackedWrites

	mu      sync.Mutex
	running []bool
	counts  Counters
	// counted is the last index whose effects are in counts.
	counted uint64
	// cpu and workers are how much of each was in use at the last call of Stats.
	cpu, workers usage

	started time.Time
	work    workload
	// held says that nodes which fall silent stay as they are.
	held atomic.Bool
}

// Start starts a cluster and returns once one of its servers leads and serves. The
// caller must call Shutdown.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Cluster{
		cfg: cfg, running: make([]bool, cfg.Servers), started: time.Now(), hosts: make([]host, cfg.Servers),
		net: simnet.New(cfg.Seed, cfg.Costs.ServerLink, cfg.Costs.ClientLink),
	}
	if cfg.Costs.Pooled {
		c.pools = []*cpu.Pool{cpu.NewPool(cfg.Costs.Cores)}
	} else {
		for range cfg.Servers {
			c.pools = append(c.pools, cpu.NewPool(cfg.Costs.Cores))
		}
	}
	for i := range cfg.Servers {
		kept, err := newStorage(cfg.DataDir, serverAddr(i))
		if err != nil {
			return nil, errors.Join(err, c.Shutdown())
		}
		s := newServer(c, i, 0, c.pools[i%len(c.pools)], kept)
		s.sched = cfg.NumSchedulers
		c.servers = append(c.servers, s)
	}
	for i := range c.cfg.Servers {
		if err := c.startServer(i); err != nil {
			return nil, errors.Join(err, c.Shutdown())
		}
		time.Sleep(startStagger)
	}
	for c.leader() == nil {
		select {
		case <-time.After(leaderPoll):
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for a leader: %w", ctx.Err()), c.Shutdown())
		}
	}
	return c, nil
}

func (c *Cluster) startServer(i int) error {
	var peers raft.Configuration
	for id := range c.cfg.Servers {
		addr := serverAddr(id)
		peers.Servers = append(peers.Servers, raft.Server{ID: raft.ServerID(addr), Address: raft.ServerAddress(addr)})
	}
	c.mu.Lock()
	s := c.servers[i]
	c.mu.Unlock()
	if err := s.start(peers); err != nil {
		return errors.Join(err, s.closeFiles())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[i] = true
	return nil
}

// Shutdown stops every server and joins every goroutine.
func (c *Cluster) Shutdown() error {
	var errs []error
	for i := range c.cfg.Servers {
		if c.server(i) != nil {
			errs = append(errs, c.StopServer(i))
		}
	}
	c.mu.Lock()
	servers := slices.Clone(c.servers)
	c.mu.Unlock()
	for _, s := range servers {
		errs = append(errs, s.closeFiles()) // of those that never started
	}
	for _, p := range c.pools {
		p.Stop()
	}
	return errors.Join(errs...)
}

// Servers returns the number of servers, running or not.
func (c *Cluster) Servers() int { return c.cfg.Servers }

// NodeServer returns server i as a client reaches it, over its link.
func (c *Cluster) NodeServer(i int) rpc.NodeServer { return nodeServer{c, i} }

// State returns the state of server i. It belongs to the server: read it only.
func (c *Cluster) State(i int) *state.Store {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.servers[i].store
}

// SetNumSchedulers changes the number of workers of every server, as a reload of the
// configuration does. It returns when workers that must go have gone.
func (c *Cluster) SetNumSchedulers(n int) {
	for i := range c.cfg.Servers {
		if s := c.server(i); s != nil {
			s.setWorkers(n)
		}
	}
}

// server returns server i if it runs.
func (c *Cluster) server(i int) *server {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running[i] {
		return nil
	}
	return c.servers[i]
}

func (c *Cluster) byAddr(addr string) *server {
	for i := range c.cfg.Servers {
		if serverAddr(i) == addr {
			return c.server(i)
		}
	}
	return nil
}

// leader returns the server that leads and serves; nil when there is none. For a moment
// there may be two: one that is cut off and does not know yet, and its successor.
func (c *Cluster) leader() *server {
	var leader *server
	for i := range c.cfg.Servers {
		s := c.server(i)
		if s != nil && s.established.Load() && (leader == nil || s.raft.CurrentTerm() > leader.raft.CurrentTerm()) {
			leader = s
		}
	}
	return leader
}

// foremost returns the leader or, when there is none, the server that has applied the
// most; nil when none runs.
func (c *Cluster) foremost() *server {
	best := c.leader()
	if best != nil {
		return best
	}
	for i := range c.cfg.Servers {
		if s := c.server(i); s != nil && (best == nil || s.store.Index() > best.store.Index()) {
			best = s
		}
	}
	return best
}

// Counters count events since the start of the run, whichever server led.
type Counters struct {
	EvalsCreated     uint64
	EvalsProcessed   uint64 // dequeued and acked by a worker
	EvalsCanceled    uint64
	EvalsFailed      uint64
	PlansSubmitted   uint64
	MissedHeartbeats uint64
	NodesDown        uint64
	// EvalsCollected and NodesCollected were deleted from state, being over for long.
	EvalsCollected uint64
	NodesCollected uint64
	Causes         Causes
}

// count changes the counters for a committed entry, once for all servers.
func (c *Cluster) count(index uint64, change func(*Counters)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if index > c.counted {
		c.counted = index
		change(&c.counts)
	}
}

// countNow changes the counters for something that only the leader sees.
func (c *Cluster) countNow(change func(*Counters)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.counts)
}

// Stats is the cluster at one instant, as its leader sees it.
type Stats struct {
	// Leader is the address of the leader; empty, and the rest of the broker's figures
	// zero, when there is none.
	Leader    string
	Broker    broker.Stats
	LastIndex uint64
	Counters  Counters
	// StatePending is the number of evaluations that are pending in state.
	StatePending  int
	EvalsByStatus map[string]uint64
	NodesByStatus map[string]int
	// HeartbeatsActive is the number of nodes the leader expects to hear from.
	HeartbeatsActive int
	PlanQueueDepth   int
	BlockedJobs      int
	// CPUUtilisation is the share of all cores in use since the last call, 0 to 1.
	CPUUtilisation float64
	// WorkerUtilisation is the share of their time, since the last call, that workers had an
	// evaluation in hand, 0 to 1. Paused ones do not count.
	WorkerUtilisation float64
}

// Stats returns the present figures. Without a leader the state figures are those of
// the server that has applied the most.
func (c *Cluster) Stats() Stats {
	st := Stats{}
	best := c.foremost()
	if l := best; l != nil && l.established.Load() {
		st.Leader, st.Broker = l.addr, l.evals.Stats()
		st.HeartbeatsActive, st.PlanQueueDepth, st.BlockedJobs = l.beats.active(), l.plans.depth(), l.blocked.size()
	}
	if best != nil {
		snap := best.store.Snapshot()
		st.LastIndex = best.raft.LastIndex()
		st.EvalsByStatus, st.NodesByStatus = snap.EvalsByStatusCount(), snap.NodesByStatusCount()
		st.StatePending = int(st.EvalsByStatus[broker.StatusPending])
	}
	now := time.Now()
	spent, cores := c.cpuTime()
	worked, served := c.work.totals(now)
	c.mu.Lock()
	defer c.mu.Unlock()
	st.CPUUtilisation = c.cpu.look(now, spent, time.Duration(cores)*now.Sub(c.started))
	st.WorkerUtilisation = c.workers.look(now, worked, served)
	st.Counters = c.counts
	return st
}

// cpuTime returns the CPU time spent so far, and on how many cores.
func (c *Cluster) cpuTime() (spent time.Duration, cores int) {
	for _, p := range c.pools {
		spent += p.Busy()
		cores += p.Cores()
	}
	return spent, cores
}

// EntriesBetween counts the log entries with after < index ≤ upTo by Nomad's name of
// their type, as the log of the present leader has them or, without one, that of the
// server that has applied the most.
func (c *Cluster) EntriesBetween(after, upTo uint64) map[string]uint64 {
	counts := map[string]uint64{}
	best := c.foremost()
	if best == nil || upTo <= after {
		return counts
	}
	types := best.logs.typesBetween(after, upTo)
	for i := range c.cfg.Servers {
		// What a snapshot spared one server, others have in their logs.
		if !slices.Contains(types, 0) {
			break
		}
		c.mu.Lock()
		other := c.servers[i].logs.typesBetween(after, upTo)
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
