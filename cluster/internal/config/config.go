package config

import (
	"cmp"
	"fmt"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/state"
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
	Policy broker.Policy `scale:"-"`
	// Habits are those of the servers' release, beside Policy.
	Habits Habits
	// DatacenterFilterOff makes a change of a node call for evaluations of all system jobs,
	// not just of those that run in the node's datacenter: what that filter saves.
	DatacenterFilterOff bool
	// PauseEndsFailedReaper turns a defect of Nomad's on, which is there to 2.0.5 at least:
	// pausing the broker ends the leader's reaper of evaluations past their delivery limit
	// for good. Those that reach the limit afterwards stay in the broker, and hold up their
	// jobs, until another server leads.
	PauseEndsFailedReaper bool
	// IndependentReplicas makes every server apply every entry of the log for itself, so
	// that what they come to can be compared. Otherwise the first server to apply an entry
	// works out the state after it and the others adopt that: equal, and sooner. No figure of
	// a run depends on it.
	IndependentReplicas bool
	// Costs says what work costs in time; the zero value makes it free.
	Costs Costs
	// Seed fixes every random draw of the cluster.
	Seed int64

	Heartbeat HeartbeatConfig
	Reaper    ReaperConfig
	Raft      RaftConfig
	Eval      EvalConfig
	GC        GCConfig
	// Design is what no release of Nomad does; the zero value is Nomad.
	Design DesignConfig
	// PlanRejection is off by default, as in Nomad.
	PlanRejection PlanRejectionConfig

	// IdentityTTL is how long the identity of a client is good, which servers sign since
	// Nomad 1.11; zero means that clients need none.
	IdentityTTL time.Duration
	// BatchUpdateInterval is how long the leader gathers what comes over one connection of
	// clients' reports on allocations before it writes them in one entry; zero means 50 ms. The
	// other servers forward reports over one connection each.
	BatchUpdateInterval time.Duration
	// ClientConnections is how many connections to a server its clients share; zero means that
	// each has its own, as Nomad's have.
	ClientConnections int

	// DataDir, when not empty, is where servers keep their Raft logs, votes (BoltDB) and
	// snapshots, each in a directory of its own that Start makes and nobody removes. Empty
	// means in memory, as it must be on virtual time, which does not know how long a disk
	// takes.
	DataDir string
	// Resume lets servers go on from what an earlier process of as many servers, and with the
	// same LogLayout, left in DataDir. Otherwise there must be nothing of servers in it.
	Resume bool

	// Observer, when not nil, is told what the leader's broker does.
	Observer Observer `scale:"-"`
	// Follow, when not nil, is called by every server for every entry that it applies, in the
	// order of the log and on the goroutine that applies. It must not block.
	Follow func(Applied) `scale:"-"`
	// CarriedOut, when not nil, is called by a server whenever it does what a call asks for, be it to
	// pass it on to the leader. Calls are counted from 1 as they are made. It must not block.
	CarriedOut func(call uint64, method string) `scale:"-"`
}

// Applied is an entry of the log that a server has applied.
type Applied struct {
	Server int // counted from 0
	Life   int // of the server: one more for each time that it has started again
	// SetBack is how often a snapshot of the leader's has led the process back, to apply again what came after.
	SetBack int
	Index   uint64
	Type    string        // Nomad's name
	Took    time.Duration // on the clock of the run
	// State is that after the entry, and knows what it changed.
	State *state.Snapshot
}

// HeartbeatConfig is how the leader tracks clients (nomad/heartbeat.go).
type HeartbeatConfig struct {
	MinTTL       time.Duration // zero means 10 s
	MaxPerSecond float64       `scale:"rate"` // zero means 50
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

// RaftConfig is Raft's own timing (raft_multiplier 1) and log compaction. On a faster clock no
// timeout goes below a floor: the servers of a run share a process, which on a busy machine may
// stand still for a tenth of it.
type RaftConfig struct {
	HeartbeatTimeout time.Duration `scale:"floor=200ms"` // zero means 1 s
	ElectionTimeout  time.Duration `scale:"floor=200ms"` // zero means 1 s
	// LeaderLeaseTimeout must not be longer than HeartbeatTimeout; zero means 500 ms.
	LeaderLeaseTimeout time.Duration `scale:"floor=150ms"`
	CommitTimeout      time.Duration `scale:"floor=5ms"` // zero means 50 ms
	// SnapshotThreshold is the number of entries after which a server takes a snapshot
	// and compacts its log; zero means 8192, Nomad's.
	SnapshotThreshold uint64
	// SnapshotInterval is how often, at least, a server looks whether it is time for a snapshot, and at
	// most half as often; zero means 2 min.
	SnapshotInterval time.Duration `scale:"floor=5ms"`
	// TrailingLogs is how many entries a snapshot leaves in the log; zero means 10240.
	TrailingLogs uint64
}

// GCConfig is how the leader collects what is over (nomad/config.go).
type GCConfig struct {
	Interval      time.Duration // of each kind; zero means 5 min
	TokenInterval time.Duration // of one-time tokens; zero means 10 min
	EvalThreshold time.Duration // zero means 1 h
	// BatchEvalThreshold is that of evaluations of batch jobs if Habits.CollectsBatch; zero means 24 h.
	BatchEvalThreshold  time.Duration
	JobThreshold        time.Duration // zero means 4 h
	NodeThreshold       time.Duration // zero means 24 h
	DeploymentThreshold time.Duration // zero means 1 h
	TimeGranularity     time.Duration // how exactly the age of an entry is known; zero means 5 min
}

// PlanRejectionConfig is plan_rejection_tracker of the server configuration: nodes whose
// part of a plan is refused again and again are marked as ineligible, since whatever is
// wrong with them keeps evaluations from ending.
type PlanRejectionConfig struct {
	Enabled   bool
	Threshold int           // refusals of one node within Window; zero means 100
	Window    time.Duration // zero means 5 min
}

// Observer is told what the leader's broker does, without any lock of the cluster held.
// What the broker does at one instant may be told in another order. Implementations must
// be safe for concurrent use and must not block. Evaluations of core jobs, which state
// knows nothing of, are not its business.
type Observer interface {
	// Dequeued: a worker took e, which had waited since it could first be dequeued.
	Dequeued(at time.Time, e *broker.Evaluation, waited time.Duration)
	// Acked: the worker is done with e, which it held that long; shed evaluations of
	// e's job became cancelable with it.
	Acked(at time.Time, e *broker.Evaluation, held time.Duration, shed int)
	// Nacked: e was given back, or its nack timer expired.
	Nacked(at time.Time, e *broker.Evaluation)
	// Flushed: the leader lost leadership, or the broker was paused: nothing is in
	// flight any more.
	Flushed(at time.Time)
}

// WithDefaults returns the configuration with Nomad's defaults (nomad/config.go and the files
// named beside the types) in place of zeros.
func (c Config) WithDefaults() Config {
	def(&c.Servers, 3)
	if c.Policy == nil {
		c.Policy = broker.Legacy()
	}
	def(&c.Heartbeat.MinTTL, 10*time.Second)
	def(&c.Heartbeat.MaxPerSecond, 50)
	def(&c.Heartbeat.Grace, 10*time.Second)
	def(&c.Heartbeat.FailoverTTL, 300*time.Second)
	def(&c.Reaper.Interval, 5*time.Second)
	def(&c.Reaper.Batch, 728)
	def(&c.Raft.HeartbeatTimeout, time.Second)
	def(&c.Raft.ElectionTimeout, time.Second)
	def(&c.Raft.LeaderLeaseTimeout, 500*time.Millisecond)
	def(&c.Raft.CommitTimeout, 50*time.Millisecond)
	def(&c.Raft.SnapshotThreshold, 8192)
	def(&c.Raft.SnapshotInterval, 2*time.Minute)
	def(&c.Raft.TrailingLogs, 10240)
	def(&c.Eval.NackTimeout, time.Minute)
	def(&c.Eval.InitialNackDelay, time.Second)
	def(&c.Eval.SubsequentNackDelay, 20*time.Second)
	def(&c.Eval.DeliveryLimit, 3)
	def(&c.Eval.FailedFollowupBaseline, time.Minute)
	def(&c.Eval.FailedFollowupRange, 5*time.Minute)
	def(&c.GC.Interval, 5*time.Minute)
	def(&c.GC.TokenInterval, 10*time.Minute)
	def(&c.GC.EvalThreshold, time.Hour)
	def(&c.GC.BatchEvalThreshold, 24*time.Hour)
	def(&c.GC.JobThreshold, 4*time.Hour)
	def(&c.GC.NodeThreshold, 24*time.Hour)
	def(&c.GC.DeploymentThreshold, time.Hour)
	def(&c.GC.TimeGranularity, 5*time.Minute)
	def(&c.PlanRejection.Threshold, 100)
	def(&c.PlanRejection.Window, 5*time.Minute)
	def(&c.BatchUpdateInterval, 50*time.Millisecond)
	return c
}

// Validate names the first value that no cluster can have.
func (c Config) Validate() error {
	if c.Servers < 1 || c.NumSchedulers < 0 {
		return fmt.Errorf("cluster of %d servers with %d schedulers each: at least 1 server and no negative number of schedulers", c.Servers, c.NumSchedulers)
	}
	return c.Costs.Validate()
}

// def gives a field that was left zero its default.
func def[T comparable](field *T, value T) { *field = cmp.Or(*field, value) }
