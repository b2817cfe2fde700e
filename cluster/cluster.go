package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster/internal/cpu"
	"github.com/simctl/simctl/cluster/internal/raftnode"
	"github.com/simctl/simctl/cluster/internal/server"
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
	cfg    Config
	shared server.Shared
	cores  []cpu.Meter
	hosts  []server.Host // by server

	mu      sync.Mutex
	servers []*server.Server
	running []bool
	// cpu and workers are how much of each was in use at the last call of Stats.
	cpu, workers cpu.Usage

	monitor monitor

	started time.Time
}

// Start starts a cluster and returns once one of its servers leads and serves. The
// caller must call Shutdown.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Cluster{cfg: cfg, running: make([]bool, cfg.Servers), started: time.Now(), hosts: make([]server.Host, cfg.Servers)}
	c.shared.Config, c.shared.ByAddr = &c.cfg, c.byAddr
	c.shared.Network = simnet.New(cfg.Seed, cfg.Costs.ServerLink, cfg.Costs.ClientLink)
	c.shared.Identities.TTL = cfg.IdentityTTL
	c.shared.Results.Servers, c.shared.Results.Independent = cfg.Servers, cfg.IndependentReplicas
	cores := c.addCores()
	storages := raftnode.NewStorages(cfg.DataDir, cfg.Resume)
	for i := range cfg.Servers {
		kept, err := storages.New(server.Addr(i))
		if err != nil {
			return nil, errors.Join(err, c.Shutdown())
		}
		c.servers = append(c.servers, server.New(&c.shared, server.Options{
			ID: i, Schedulers: cfg.NumSchedulers, CPU: cores[i], Host: &c.hosts[i], Storage: kept,
		}))
	}
	for i := range c.cfg.Servers {
		if err := c.startServer(i, c.servers[i]); err != nil {
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

// addCores adds the machines on which the servers run, and returns what each server's work is charged to.
func (c *Cluster) addCores() (cores []cpu.Cores) {
	costs := c.cfg.Costs
	for i := range c.cfg.Servers {
		switch shared := i > 0 && costs.Pooled; {
		case costs.Cores > 0 && costs.Processors > 0:
			if !shared {
				c.cores = append(c.cores, cpu.NewMachine(costs.Cores, cpu.Waking{Exit: costs.ExitLatency, Takes: costs.ThreadWake}))
			}
			if costs.Pooled && !shared {
				c.shared.Fleet = c.cores[0].(*cpu.Machine).Process(costs.Processors)
			}
			cores = append(cores, c.cores[len(c.cores)-1].(*cpu.Machine).Process(costs.Processors))
		case shared:
			cores = append(cores, cores[0])
		default:
			pool := cpu.NewPool(costs.Cores)
			c.cores, cores = append(c.cores, pool), append(cores, pool)
		}
	}
	return cores
}

// startServer starts a process of server i, which takes the place of the one before it once it runs.
func (c *Cluster) startServer(i int, s *server.Server) error {
	if err := s.Start(); err != nil {
		return errors.Join(err, s.Close())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.servers[i], c.running[i] = s, true
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
		errs = append(errs, s.Close()) // of those that never started
	}
	for _, m := range c.cores {
		m.Stop()
	}
	return errors.Join(errs...)
}

// Servers returns the number of servers, running or not.
func (c *Cluster) Servers() int { return c.cfg.Servers }

// State returns the state of server i. It belongs to the server: read it only.
func (c *Cluster) State(i int) *state.Store {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.servers[i].Store()
}

// server returns server i if it runs.
func (c *Cluster) server(i int) *server.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running[i] {
		return nil
	}
	return c.servers[i]
}

// byAddr returns the server at addr if it runs.
func (c *Cluster) byAddr(addr string) *server.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.servers {
		if c.running[i] && s.Addr() == addr {
			return s
		}
	}
	return nil
}

// leader returns the server that leads and serves; nil when there is none. For a moment
// there may be two: one that is cut off and does not know yet, and its successor.
func (c *Cluster) leader() *server.Server {
	var leader *server.Server
	for i := range c.cfg.Servers {
		s := c.server(i)
		if s != nil && s.Established() && (leader == nil || s.Term() > leader.Term()) {
			leader = s
		}
	}
	return leader
}

// foremost returns the leader or, when there is none, the server that has applied the
// most; nil when none runs.
func (c *Cluster) foremost() *server.Server {
	best := c.leader()
	if best != nil {
		return best
	}
	for i := range c.cfg.Servers {
		if s := c.server(i); s != nil && (best == nil || s.Store().Index() > best.Store().Index()) {
			best = s
		}
	}
	return best
}
