package cluster

// Causes counts what happens in the control plane that should cost entries of the Raft
// log, each at the place where it happens and not where the entry is written: what they
// should cost can then be held against what the log has grown by. All of them only grow.
type Causes struct {
	JobsRegistered, JobsStopped, JobsScaled uint64 // by users
	SchedulerConfigs                        uint64 // set by users
	EligibilitiesSet, DrainsSet             uint64 // by users

	NodesRegistered uint64 // calls, of new nodes and of known ones
	// NodesHeard is heartbeats that changed a node's status, NodesMissed TTLs that ran out and
	// did.
	NodesHeard, NodesMissed uint64
	// NodesWithEvals is changes of nodes that called for evaluations.
	NodesWithEvals uint64
	NodeEvents     uint64 // batches of what happened on a node
	AllocReports   uint64 // batches of what clients report of their allocations
	Transitions    uint64 // batches of allocations that are asked to move
	DrainsDone     uint64 // batches of nodes whose drain ended
	Deployments    uint64 // deployments that failed for want of progress

	// JobsLaunched is periodic jobs whose time came, or that a user launched.
	JobsLaunched uint64
	// EvalsReaped, JobsReaped and NodesReaped are batches of what was collected; TokensExpired
	// is how often one-time tokens were.
	EvalsReaped, JobsReaped, NodesReaped, TokensExpired uint64

	// EvalsSpawned is evaluations that workers made while they processed others,
	// EvalsReblocked processed ones that went back to wait for room, which is not written.
	EvalsSpawned, EvalsReblocked uint64
	// Reaps is batches of shed evaluations, Duplicates of blocked ones that a newer one
	// replaced, EvalsGivenUp evaluations that were delivered too often.
	Reaps, Duplicates, EvalsGivenUp uint64
	// PlansEmpty is submitted plans of which nothing was left to commit.
	PlansEmpty uint64

	// Leaderships is servers that came to lead, Barriers how often they waited for their
	// state to catch up.
	Leaderships, Barriers uint64
}

// happened counts a cause.
func (s *server) happened(count func(*Causes)) {
	s.cluster.countNow(func(c *Counters) { count(&c.Causes) })
}

// ledBefore reports whether the leader that is being established is not the cluster's first.
func (c *Cluster) ledBefore() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts.Causes.Leaderships > 1
}
