package config

import "time"

// DesignConfig turns on what no release of Nomad does, to see what it would bring and what
// it would cost. Package designs names each of them.
type DesignConfig struct {
	// ReapUntilEmpty makes the reaper of shed evaluations write batch after batch until none
	// is left, and not one batch on each wake-up.
	ReapUntilEmpty bool
	// ReapShare makes a batch of the reaper that share of the shed evaluations, from 0 to 1,
	// where that is more than ReaperConfig.Batch.
	ReapShare float64
	// ReapKeepsFailed gives a batch that Raft did not write back to the broker.
	ReapKeepsFailed bool
	// RestoreBest makes a new leader restore the best pending evaluation of each job, and hand
	// the others to the reaper.
	RestoreBest bool
	// UpdateWindow is how long the leader gathers workers' updates of evaluations into one
	// entry; zero means that each has its own.
	UpdateWindow time.Duration
	// DownWindow is how long the leader gathers nodes that fell silent into one entry, which
	// has their evaluations, too: one a job. Zero means two entries for each node.
	DownWindow time.Duration
	// DownSkipsSystem makes no evaluations of system jobs for nodes that are down.
	DownSkipsSystem bool
	// AskTimeout is how long the leader waits for an answer of a client that it has not heard of in
	// time before its node is down. Zero means that it does not ask.
	AskTimeout time.Duration
	// SkipQueued makes no evaluation for a change of a node if the broker holds one of the job
	// that no worker has.
	SkipQueued bool
	// NewestState makes a worker wait until its server has applied all that the leader had applied
	// when it gave out the evaluation.
	NewestState bool
	// Pipeline is how many plans may be on their way to the log at a time, above zero: the applier
	// then keeps its state meanwhile, as Habits.KeptSnapshot says. Zero means one, and the habits
	// of the release.
	Pipeline int
	// NackUnseen tells the worker of a plan that it failed, although it is on its way to the log,
	// if its evaluation is newer than the state that the applier keeps.
	NackUnseen bool
	// WakeAtIndex wakes workers that wait for an index when their server has applied it. In
	// Nomad they poll.
	WakeAtIndex bool
	// WorkQueue has workers take jobs in place of evaluations: none is written to the log.
	WorkQueue bool
}
