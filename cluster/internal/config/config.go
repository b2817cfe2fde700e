package config

import (
	"cmp"
	"fmt"
	"time"

	"github.com/simctl/simctl/broker"
)

// Config describes a cluster. The zero value of every field means Nomad's default.
type Config struct {
	// Servers is the number of servers; zero means 3.
	Servers int
	// NumSchedulers is the number of scheduler workers on each server; zero means that
	// schedulers are off until SetNumSchedulers. The leader pauses 3/4 of its own,
	// rounded down.
	NumSchedulers int
	// Policy decides what the leader's broker sheds; nil means broker.Legacy().
	Policy broker.Policy
	// RefuseUpdateAllocNotReady refuses allocation updates from nodes that are not
	// ready, as Nomad 1.4.3 and later do (#15068).
	RefuseUpdateAllocNotReady bool
	// DatacenterFilterOff makes a change of a node call for evaluations of all system jobs,
	// not just of those that run in the node's datacenter: what that filter saves.
	DatacenterFilterOff bool
	// PauseEndsFailedReaper turns a defect of Nomad's on, which is there to 2.0.5 at least:
	// pausing the broker ends the leader's reaper of evaluations past their delivery limit
	// for good. Those that reach the limit afterwards stay in the broker, and hold up their
	// jobs, until another server leads.
	PauseEndsFailedReaper bool
	// Costs says what work costs in time; the zero value makes it free.
	Costs Costs
	// Seed fixes every random draw of the cluster.
	Seed int64

	Heartbeat HeartbeatConfig
	Reaper    ReaperConfig
	Raft      RaftConfig
	Eval      EvalConfig
	GC        GCConfig
	// PlanRejection is off by default, as in Nomad.
	PlanRejection PlanRejectionConfig

	// BatchUpdateInterval is how long a server gathers allocation updates of clients
	// before it writes them in one entry; zero means 50 ms.
	BatchUpdateInterval time.Duration

	// DataDir, when not empty, is where servers keep their Raft logs, votes (BoltDB) and
	// snapshots, each in a directory of its own that Start makes and nobody removes; there
	// must be none of an earlier cluster. Empty means in memory, as it must be on virtual
	// time, which does not know how long a disk takes.
	DataDir string

	// Observer, when not nil, is told what the leader's broker does.
	Observer Observer
}

// HeartbeatConfig is how the leader tracks clients (nomad/heartbeat.go).
type HeartbeatConfig struct {
	MinTTL       time.Duration // zero means 10 s
	MaxPerSecond float64       // zero means 50
	Grace        time.Duration // zero means 10 s
	FailoverTTL  time.Duration // zero means 300 s
}

// ReaperConfig is how the leader writes off cancelable evaluations (nomad/leader.go).
type ReaperConfig struct {
	Interval time.Duration // zero means 5 s
	Batch    int           // evaluations in one entry; zero means 728
}

// EvalConfig is how the leader's broker retries evaluations (nomad/config.go).
type EvalConfig struct {
	NackTimeout            time.Duration // zero means 60 s
	InitialNackDelay       time.Duration // zero means 1 s
	SubsequentNackDelay    time.Duration // zero means 20 s
	DeliveryLimit          int           // zero means 3
	FailedFollowupBaseline time.Duration // zero means 1 min
	FailedFollowupRange    time.Duration // zero means 5 min
}

// RaftConfig is Raft's own timing (raft_multiplier 1) and log compaction.
type RaftConfig struct {
	HeartbeatTimeout   time.Duration // zero means 1 s
	ElectionTimeout    time.Duration // zero means 1 s
	LeaderLeaseTimeout time.Duration // zero means 500 ms
	CommitTimeout      time.Duration // zero means 50 ms
	// SnapshotThreshold is the number of entries after which a server takes a snapshot
	// and compacts its log; zero means 8192, Nomad's.
	SnapshotThreshold uint64
	// TrailingLogs is how many entries a snapshot leaves in the log; zero means 10240.
	TrailingLogs uint64
}

// Raft's timeouts on a scaled clock go no lower than this: the servers of a run share a
// process, which on a busy machine may stand still for longer than a tenth of it. A lease
// must not outlast the heartbeat's timeout.
const (
	raftFloor       = 200 * time.Millisecond
	raftLeaseFloor  = 150 * time.Millisecond
	raftCommitFloor = 5 * time.Millisecond
)

// Scaled returns the configuration, defaults filled in, with every timeout multiplied, but
// for what would come out shorter than 200 ms (150 ms for the lease, 5 ms for commits) and
// was longer: that stops there.
func (c RaftConfig) Scaled(factor float64) RaftConfig {
	c = c.withDefaults()
	for _, t := range []struct {
		timeout *time.Duration
		floor   time.Duration
	}{
		{&c.HeartbeatTimeout, raftFloor}, {&c.ElectionTimeout, raftFloor}, {&c.LeaderLeaseTimeout, raftLeaseFloor}, {&c.CommitTimeout, raftCommitFloor},
	} {
		*t.timeout = max(time.Duration(float64(*t.timeout)*factor), min(*t.timeout, t.floor))
	}
	return c
}

func (c RaftConfig) withDefaults() RaftConfig {
	def(&c.HeartbeatTimeout, time.Second)
	def(&c.ElectionTimeout, time.Second)
	def(&c.LeaderLeaseTimeout, 500*time.Millisecond)
	def(&c.CommitTimeout, 50*time.Millisecond)
	def(&c.SnapshotThreshold, 8192)
	def(&c.TrailingLogs, 10240)
	return c
}

// GCConfig is how the leader collects what is over (nomad/config.go).
type GCConfig struct {
	Interval        time.Duration // of each kind; zero means 5 min
	TokenInterval   time.Duration // of one-time tokens; zero means 10 min
	EvalThreshold   time.Duration // zero means 1 h
	JobThreshold    time.Duration // zero means 4 h
	NodeThreshold   time.Duration // zero means 24 h
	TimeGranularity time.Duration // how exactly the age of an entry is known; zero means 5 min
}

func (c GCConfig) withDefaults() GCConfig {
	def(&c.Interval, 5*time.Minute)
	def(&c.TokenInterval, 10*time.Minute)
	def(&c.EvalThreshold, time.Hour)
	def(&c.JobThreshold, 4*time.Hour)
	def(&c.NodeThreshold, 24*time.Hour)
	def(&c.TimeGranularity, 5*time.Minute)
	return c
}

// Scaled returns the configuration, defaults filled in, with every duration multiplied.
func (c GCConfig) Scaled(factor float64) GCConfig {
	c = c.withDefaults()
	for _, d := range []*time.Duration{&c.Interval, &c.TokenInterval, &c.EvalThreshold, &c.JobThreshold, &c.NodeThreshold, &c.TimeGranularity} {
		*d = time.Duration(float64(*d) * factor)
	}
	return c
}

// PlanRejectionConfig is plan_rejection_tracker of the server configuration: nodes whose
// part of a plan is refused again and again are marked as ineligible, since whatever is
// wrong with them keeps evaluations from ending.
type PlanRejectionConfig struct {
	Enabled   bool
	Threshold int           // refusals of one node within Window; zero means 100
	Window    time.Duration // zero means 5 min
}

// WithDefaults returns the configuration with defaults for what is zero. The error says
// what cannot be.
func (c Config) WithDefaults() (Config, error) {
	def(&c.Servers, 3)
	if c.Servers < 1 || c.NumSchedulers < 0 {
		return c, fmt.Errorf("cluster of %d servers with %d schedulers each: at least 1 server and no negative number of schedulers", c.Servers, c.NumSchedulers)
	}
	if c.Policy == nil {
		c.Policy = broker.Legacy()
	}
	def(&c.Heartbeat.MinTTL, 10*time.Second)
	def(&c.Heartbeat.MaxPerSecond, 50)
	def(&c.Heartbeat.Grace, 10*time.Second)
	def(&c.Heartbeat.FailoverTTL, 300*time.Second)
	def(&c.Reaper.Interval, 5*time.Second)
	def(&c.Reaper.Batch, 728)
	c.Raft = c.Raft.withDefaults()
	def(&c.Eval.DeliveryLimit, 3)
	def(&c.Eval.FailedFollowupBaseline, time.Minute)
	def(&c.Eval.FailedFollowupRange, 5*time.Minute)
	c.GC = c.GC.withDefaults()
	def(&c.PlanRejection.Threshold, 100)
	def(&c.PlanRejection.Window, 5*time.Minute)
	def(&c.BatchUpdateInterval, 50*time.Millisecond)
	return c, nil
}

// def gives a field that was left zero its default.
func def[T comparable](field *T, value T) { *field = cmp.Or(*field, value) }
