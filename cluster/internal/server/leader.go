package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/cpu"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
)

// barrierRetry is how long a new leader waits before it tries again to catch up.
const barrierRetry = time.Second

// monitorLeadership starts and stops the leader's loops as Raft says
// (nomad/leader.go, monitorLeadership).
func (s *Server) monitorLeadership() {
	var stop func()
	for {
		select {
		case is := <-s.Leading():
			if is == (stop != nil) {
				continue
			}
			if is {
				stop = s.lead()
			} else {
				stop()
				stop = nil
			}
		case <-s.ctx.Done():
			if stop != nil {
				stop()
			}
			return
		}
	}
}

// lead runs the leader until the returned function is called, which waits for it.
func (s *Server) lead() (stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Because(fsm.LeaderElected)
		for s.catchUp() != nil {
			if leader.Sleep(ctx, barrierRetry); ctx.Err() != nil {
				return
			}
		}
		s.establishLeadership(ctx)
	}()
	return func() {
		s.established.Store(false)
		cancel()
		<-done
	}
}

// catchUp waits until this server has applied what the leaders before it wrote.
func (s *Server) catchUp() error {
	s.Because(fsm.LeaderCaughtUp)
	return s.Barrier()
}

// nodeWatchEvery is how often the drainer reads the nodes at most (nomad/drainer/drainer.go,
// LimitStateQueriesPerSecond).
const nodeWatchEvery = 10 * time.Millisecond

// watchNodes spends what the drainer does to read all nodes whenever one has changed.
func (s *Server) watchNodes(ctx context.Context) {
	cost := s.cfg.Costs.RPC.NodeWatch
	for cost > 0 {
		select {
		case <-s.nodesChanged:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return
		}
		d := s.readingNodes(cost, false)
		s.charge("node-watch", cpu.Work{Takes: d, Left: s.garbage("node-watch", d, 0)})
		leader.Sleep(ctx, nodeWatchEvery)
	}
}

// gaugesEvery is how often a leader that is watched sets its gauges (nomad/eval_broker.go, EmitStats).
const gaugesEvery = time.Second

// setGauges sets the gauges at once, and then once a second. How old they are when somebody asks depends on when
// the leader was established. On real servers that has nothing to do with when a run begins. So here the seed sets
// the part of the second, and consecutive seeds are spread over it. The nanosecond on top keeps the gauges off the
// instants at which the leader does other things once a second: it would be chance whether evaluations that are
// enqueued then are counted.
func (s *Server) setGauges(ctx context.Context) {
	const golden = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio: its multiples spread most evenly
	defer s.gauges.Store(nil)
	set := func() {
		held := s.evals.Broker.Stats()
		s.gauges.Store(&held)
	}
	set()
	share := float64((uint64(s.shared.Config.Seed)+1)*golden) / (1 << 64)
	leader.Sleep(ctx, time.Duration(share*float64(gaugesEvery))+time.Nanosecond)
	leader.Every(ctx, gaugesEvery, set)
}

// establishLeadership enables everything only the leader runs, in Nomad's order,
// waits until leadership ends, and disables it all again.
func (s *Server) establishLeadership(ctx context.Context) {
	var loops sync.WaitGroup
	s.pauseWorkers(true)
	s.plans.SetEnabled(true)
	loops.Go(func() { s.applyPlans(ctx) })
	restore := s.evals.SetEnabled(true)
	s.deployments.Start(s.Snapshot())
	s.drains.Start(s.Snapshot())
	if restore {
		s.evals.Restore()
	}
	missed := s.periodic.Start(s.Snapshot())
	s.beats.Start(ctx, slices.Collect(s.Snapshot().Nodes()))
	s.established.Store(true)

	s.evals.Reap(ctx, &loops)
	loops.Go(func() { s.drains.Run(ctx) })
	loops.Go(func() { s.watchNodes(ctx) })
	loops.Go(func() { s.watchDeployments(ctx) })
	if s.cfg.Costs.Monitoring != (config.MonitoringCosts{}) {
		loops.Go(func() { s.setGauges(ctx) })
	}
	loops.Go(func() { s.periodic.Run(ctx, missed) })
	s.scheduleCore(ctx, &loops)

	<-ctx.Done()
	s.established.Store(false)
	s.plans.SetEnabled(false)
	s.evals.SetEnabled(false)
	s.evals.Flushed()
	s.deployments.Stop()
	s.periodic.Stop()
	s.beats.Stop()
	loops.Wait()
	s.drains.Stop()
	s.pauseWorkers(false)
}
