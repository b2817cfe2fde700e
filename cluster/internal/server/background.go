package server

import (
	"context"
	"time"

	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/simnet"
)

// idleEvery is how often what a server spends without anything to do is charged.
const idleEvery = 100 * time.Millisecond

// idle spends what a server does without anything to do.
func (s *Server) idle() {
	share := time.Duration(idleEvery.Seconds() * float64(s.cfg.Costs.Idle))
	leader.Every(s.ctx, idleEvery, func() { s.opts.CPU.Spend(simnet.HashStrings(s.seed, "idle"), share) })
}

// How often simctl asks a leader of Nomad (scenarios/internal/realcluster).
const (
	monitorEvery   = time.Second
	monitorRestsTo = 10 * time.Second
)

// beMonitored spends what it costs that somebody watches the leader.
func (s *Server) beMonitored(ctx context.Context) {
	c := s.cfg.Costs.Monitoring
	var rests time.Time
	leader.Every(ctx, monitorEvery, func() {
		snap := s.Snapshot()
		s.opts.CPU.Spend(simnet.HashStrings(s.seed, "monitoring"), c.Base+time.Duration(snap.NodeCount())*c.PerNode)
		asked := time.Now()
		if asked.Before(rests) {
			return
		}
		s.allocate("monitored", time.Duration(snap.EvalTotal())*c.PerEval)
		answered := time.Now()
		rests = answered.Add(min(time.Duration(c.Rests)*answered.Sub(asked), monitorRestsTo))
	})
}
