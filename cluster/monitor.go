package cluster

import (
	"maps"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/cpu"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/internal/pacer"
)

// monitor is who watches the cluster as simctl watches real servers, and knows what it has asked them
// (scenarios/internal/realcluster).
type monitor struct {
	pace  pacer.Pacer // of asking for a number of evaluations while the log grows
	index uint64      // of the log's last entry when it last looked
	// As it counted the evaluations last, all statuses: by status, and the log's index.
	byStatus map[string]uint64
	counted  uint64
	again    bool // the last two counts at rest differ
}

// asks returns how often the leader counts the evaluations of a status for this look. While the log grows it is asked
// how many are canceled. When the log rests and no scheduler works all are counted, until two counts are the same.
func (m *monitor) asks(index uint64, working bool, byStatus func() map[string]uint64) int {
	rests := index == m.index && !working
	m.index = index
	switch {
	case m.byStatus == nil || m.again || rests && index != m.counted:
		was := m.byStatus
		m.byStatus, m.counted = byStatus(), index
		m.again = rests && !maps.Equal(was, m.byStatus)
		return len(broker.Statuses)
	case index != m.counted && !m.pace.Rests():
		return 1
	}
	return 0
}

// Monitor spends what asking real servers for what Stats returns costs, and returns when they have answered. Without
// costs of monitoring that is at once. It is for one caller at a time.
func (c *Cluster) Monitor() {
	costs := c.cfg.Costs.Monitoring
	leader := c.leader()
	if costs == (MonitoringCosts{}) || leader == nil {
		return
	}
	own := costs.Base + time.Duration(leader.Snapshot().NodeCount())*costs.PerNode
	if fleet := c.shared.Fleet; fleet != nil {
		fleet.Do(cpu.Work{Key: simnet.HashStrings(uint64(c.cfg.Seed), "monitor"), Takes: own})
	} else {
		leader.Compute("monitor", own)
	}
	if !c.cfg.Habits.CountsEvals {
		return
	}
	c.monitor.pace.Share = time.Duration(costs.Rests)
	held, snap := leader.BrokerStats(), leader.Snapshot()
	working := held.Unacked > held.ByScheduler[rpc.JobTypeCore].Unacked // core jobs' evaluations are in no log
	for range c.monitor.asks(leader.LastIndex(), working, snap.EvalsByStatusCount) {
		asked := time.Now()
		leader.Compute("monitored", time.Duration(snap.EvalTotal())*costs.PerEval)
		c.monitor.pace.Asked(asked)
	}
}
