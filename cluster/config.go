package cluster

import (
	"slices"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/raftnode"
	"github.com/simctl/simctl/cluster/simnet"
)

// What a cluster is told.
type (
	// Config describes a cluster. The zero value of every field means Nomad's default.
	Config = config.Config
	// HeartbeatConfig is how the leader tracks clients.
	HeartbeatConfig = config.HeartbeatConfig
	// ReaperConfig is how the leader writes off cancelable evaluations.
	ReaperConfig = config.ReaperConfig
	// EvalConfig is how the leader's broker retries evaluations.
	EvalConfig = config.EvalConfig
	// RaftConfig is Raft's own timing and log compaction.
	RaftConfig = config.RaftConfig
	// GCConfig is how the leader collects what is over.
	GCConfig = config.GCConfig
	// PlanRejectionConfig is when nodes that refuse plans become ineligible.
	PlanRejectionConfig = config.PlanRejectionConfig
	// DesignConfig turns on what no release of Nomad does.
	DesignConfig = config.DesignConfig
	// Observer is told what the leader's broker does.
	Observer = config.Observer
	// Applied is an entry of the log that a server has applied.
	Applied = config.Applied
	// Habits are what servers and clients of a release of Nomad do that others do not.
	Habits = config.Habits
	// Version is a release of Nomad.
	Version = config.Version
	// Profile is a release that has a name.
	Profile = config.Profile

	// Costs says what work costs in time on one class of machines.
	Costs = config.Costs
	// RPCCosts is CPU time around remote calls.
	RPCCosts = config.RPCCosts
	// RaftCosts is CPU time of the Raft machinery.
	RaftCosts = config.RaftCosts
	// FSMCosts is CPU time of applying committed entries.
	FSMCosts = config.FSMCosts
	// SchedulerCosts is the CPU time of one scheduling attempt.
	SchedulerCosts = config.SchedulerCosts
	// PlanCosts is CPU time the leader spends on plans.
	PlanCosts = config.PlanCosts
	// DeploymentCosts is CPU time the leader spends on deployments beside everything else.
	DeploymentCosts = config.DeploymentCosts
	// CollectionCosts is what marking all that a server has in memory takes.
	CollectionCosts = config.CollectionCosts
	// MonitoringCosts is what it costs to watch real servers as simctl does.
	MonitoringCosts = config.MonitoringCosts

	// LinkFault makes links between servers (Addr), or between servers and clients (their node
	// IDs), slower, lossy or cuts them.
	LinkFault = simnet.Fault
	// Link is what a LinkFault adds to a link.
	Link = simnet.Link
)

// What a cluster tells.
type (
	// Counters count events since the start of the run.
	Counters = fsm.Counters
	// Account counts events that should cost entries of the log.
	Account = fsm.Account
	// Agreement is what CheckLogs found.
	Agreement = raftnode.Agreement
)

// What releases of Nomad differ in.
var (
	ParseVersion = config.ParseVersion
	ChangesUntil = config.ChangesUntil
	HabitsOf     = config.HabitsOf
)

// Profiles returns the releases that have names, the oldest first.
func Profiles() []Profile { return slices.Clone(config.Profiles) }

// EntryTypes returns Nomad's names of the types of entries that the log can hold, Raft's own
// included.
func EntryTypes() []string { return fsm.Types() }

// LogLayout returns a hash of what the bytes of logs and snapshots on disk mean to this build.
func LogLayout() string { return fsm.Layout() }

// SeedRaft begins a new sequence of the draws of every Raft in this process: hashicorp/raft
// draws its timeouts from math/rand's global source, and offers no other. It has no effect
// unless the process was built or started with GODEBUG randseednop=0.
func SeedRaft(seed int64) { raftnode.SeedRaft(seed) }
