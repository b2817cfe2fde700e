package scenarios

import (
	"time"

	"github.com/simctl/simctl/cluster"
)

// clusterWords is a cluster block.
type clusterWords struct {
	Servers             int `lang:"min=1,max=15"` // as many as the cluster's log writer keeps apart
	Schedulers          int `lang:"max=1024"`
	Cores               int `lang:"max=1024"` // 0 = as the costs say
	BatchUpdateInterval time.Duration
	Heartbeat           cluster.HeartbeatConfig
	Reaper              cluster.ReaperConfig
	Evaluations         cluster.EvalConfig
	Raft                cluster.RaftConfig
	Garbage             cluster.GCConfig
	PlanRejection       cluster.PlanRejectionConfig
	// Brokers are those that differ in more than their policy.
	Brokers []brokerWord `lang:"name=broker"`
	// DatacenterFilter leaves out the evaluations of system jobs that do not run in a
	// changed node's datacenter.
	DatacenterFilter bool
	// PauseEndsFailedReaper is a defect of Nomad's.
	PauseEndsFailedReaper bool
}

// defaultCluster has the defaults of a cluster. They are Nomad's, but for the threshold of Raft
// snapshots, which no run reaches: a snapshot changes no figure and costs no virtual time, but
// every 8192 entries it would take a second of real time on each server.
var defaultCluster = func() clusterWords {
	c := cluster.Config{Raft: cluster.RaftConfig{SnapshotThreshold: 1 << 62}}.WithDefaults()
	return clusterWords{
		Servers: c.Servers, BatchUpdateInterval: c.BatchUpdateInterval, Heartbeat: c.Heartbeat, Reaper: c.Reaper,
		Evaluations: c.Eval, Raft: c.Raft, Garbage: c.GC, PlanRejection: c.PlanRejection, DatacenterFilter: true,
	}
}()

// config returns the cluster that the words describe, less what its broker decides.
func (w *clusterWords) config(costs cluster.Costs) cluster.Config {
	return cluster.Config{
		Servers: w.Servers, NumSchedulers: w.Schedulers, BatchUpdateInterval: w.BatchUpdateInterval,
		Heartbeat: w.Heartbeat, Reaper: w.Reaper, Raft: w.Raft, GC: w.Garbage, PlanRejection: w.PlanRejection,
		DatacenterFilterOff: !w.DatacenterFilter, PauseEndsFailedReaper: w.PauseEndsFailedReaper, Costs: costs,
	}
}
