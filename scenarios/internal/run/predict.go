package run

import (
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/metrics"
)

// law says what one kind of event costs: so many entries of a type for each. The laws are
// those of Nomad's servers, and none of them looks at the log.
type law struct {
	entry string
	event string // what happened, as an account names it
	of    func(c cluster.Counters) int64
}

// count makes an unsigned count one that can be taken off.
func count(n uint64) int64 { return int64(n) }

var laws = []law{
	{metrics.EntryJobRegister, "jobs registered", func(c cluster.Counters) int64 { return count(c.Causes.JobsRegistered) }},
	{metrics.EntryJobRegister, "jobs scaled", func(c cluster.Counters) int64 { return count(c.Causes.JobsScaled) }},
	{metrics.EntryJobRegister, "launches of periodic jobs", func(c cluster.Counters) int64 { return count(c.Causes.JobsLaunched) }},
	{metrics.EntryJobDeregister, "jobs stopped", func(c cluster.Counters) int64 { return count(c.Causes.JobsStopped) }},
	{"ScalingEventRegisterRequestType", "jobs scaled", func(c cluster.Counters) int64 { return count(c.Causes.JobsScaled) }},
	{"SchedulerConfigRequestType", "scheduler configurations set", func(c cluster.Counters) int64 { return count(c.Causes.SchedulerConfigs) }},

	{metrics.EntryNodeRegister, "registrations of nodes", func(c cluster.Counters) int64 { return count(c.Causes.NodesRegistered) }},
	{metrics.EntryNodeUpdateStatus, "heartbeats of nodes that were not ready", func(c cluster.Counters) int64 { return count(c.Causes.NodesHeard) }},
	{metrics.EntryNodeUpdateStatus, "nodes whose time to live ran out", func(c cluster.Counters) int64 { return count(c.Causes.NodesMissed) }},
	{"UpsertNodeEventsType", "batches of nodes' events", func(c cluster.Counters) int64 { return count(c.Causes.NodeEvents) }},
	{"NodeUpdateEligibilityRequestType", "eligibilities set", func(c cluster.Counters) int64 { return count(c.Causes.EligibilitiesSet) }},
	{"NodeUpdateDrainRequestType", "drains set", func(c cluster.Counters) int64 { return count(c.Causes.DrainsSet) }},
	{"BatchNodeUpdateDrainRequestType", "batches of drains done", func(c cluster.Counters) int64 { return count(c.Causes.DrainsDone) }},

	{metrics.EntryEvalUpdate, "changes of nodes that called for evaluations", func(c cluster.Counters) int64 { return count(c.Causes.NodesWithEvals) }},
	{metrics.EntryEvalUpdate, "jobs scaled", func(c cluster.Counters) int64 { return count(c.Causes.JobsScaled) }},
	{metrics.EntryEvalUpdate, "evaluations processed", func(c cluster.Counters) int64 { return count(c.EvalsProcessed) }},
	{metrics.EntryEvalUpdate, "of these blocked again, which writes nothing", func(c cluster.Counters) int64 { return -count(c.Causes.EvalsReblocked) }},
	{metrics.EntryEvalUpdate, "evaluations made by workers", func(c cluster.Counters) int64 { return count(c.Causes.EvalsSpawned) }},
	{metrics.EntryEvalUpdate, "batches of shed evaluations", func(c cluster.Counters) int64 { return count(c.Causes.Reaps) }},
	{metrics.EntryEvalUpdate, "batches of blocked evaluations replaced by newer ones", func(c cluster.Counters) int64 { return count(c.Causes.Duplicates) }},
	{metrics.EntryEvalUpdate, "evaluations delivered too often", func(c cluster.Counters) int64 { return count(c.Causes.EvalsGivenUp) }},

	{metrics.EntryApplyPlanResults, "plans submitted", func(c cluster.Counters) int64 { return count(c.PlansSubmitted) }},
	{metrics.EntryApplyPlanResults, "of these refused whole", func(c cluster.Counters) int64 { return -count(c.Causes.PlansEmpty) }},
	{metrics.EntryAllocClientUpdate, "batches of clients' reports", func(c cluster.Counters) int64 { return count(c.Causes.AllocReports) }},
	{"AllocUpdateDesiredTransitionRequestType", "batches of allocations asked to move", func(c cluster.Counters) int64 { return count(c.Causes.Transitions) }},
	{"DeploymentStatusUpdateRequestType", "deployments given up", func(c cluster.Counters) int64 { return count(c.Causes.Deployments) }},
	{"EvalDeleteRequestType", "batches of collected evaluations and allocations", func(c cluster.Counters) int64 { return count(c.Causes.EvalsReaped) }},
	{"JobBatchDeregisterRequestType", "batches of collected jobs", func(c cluster.Counters) int64 { return count(c.Causes.JobsReaped) }},
	{"NodeBatchDeregisterRequestType", "batches of collected nodes", func(c cluster.Counters) int64 { return count(c.Causes.NodesReaped) }},
	{"OneTimeTokenExpireRequestType", "ticks that expire one-time tokens", func(c cluster.Counters) int64 { return count(c.Causes.TokensExpired) }},

	{metrics.EntryRaftNoop, "leaders elected", func(c cluster.Counters) int64 { return count(c.Causes.Leaderships) }},
	{metrics.EntryRaftBarrier, "waits of new leaders for their state", func(c cluster.Counters) int64 { return count(c.Causes.Barriers) }},
}

// predict works out what a stretch of a run should have cost the log, by what happened in
// it.
func predict(before, after cluster.Counters) []metrics.Expectation {
	var account []metrics.Expectation
	for _, l := range laws {
		if n := l.of(after) - l.of(before); n != 0 {
			account = append(account, metrics.Expectation{Type: l.entry, Event: l.event, Entries: n})
		}
	}
	return account
}
