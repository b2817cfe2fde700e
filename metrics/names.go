package metrics

// Names of the series every run records; the units are those of Series.Unit.
const (
	SeriesReady      = "nomad.nomad.broker.total_ready"
	SeriesUnacked    = "nomad.nomad.broker.total_unacked"
	SeriesPending    = "nomad.nomad.broker.total_pending"
	SeriesWaiting    = "nomad.nomad.broker.total_waiting"
	SeriesCancelable = "nomad.nomad.broker.total_cancelable"
	SeriesRaftIndex  = "nomad.raft.last_index"
	SeriesCompleted  = "simctl.evals.complete" // cumulative, as are the next two
	SeriesCanceled   = "simctl.evals.canceled"
	SeriesFailed     = "simctl.evals.failed"
	SeriesNodesReady = "simctl.nodes.ready"
	SeriesNodesDown  = "simctl.nodes.down"
	SeriesHeartbeats = "nomad.nomad.heartbeat.active"
	SeriesPlanQueue  = "nomad.nomad.plan.queue_depth"
	SeriesCPU        = "simctl.cpu.utilisation" // 0 to 1 of all cores

	SeriesNodesInit         = "simctl.nodes.initializing"
	SeriesNodesDisconnected = "simctl.nodes.disconnected"
	SeriesWorkers           = "simctl.workers.utilisation" // 0 to 1 of the serving workers
	// SeriesEntriesPrefix before an entry type (Entry…) names the cumulative count of
	// such entries since the start of the run.
	SeriesEntriesPrefix = "simctl.raft.entries."
)

// Names of the latencies: how long an evaluation waited in the broker, how long a worker held
// it, and both together.
const (
	LatencyWait     = "nomad.broker.wait_time"
	LatencyProcess  = "nomad.broker.process_time"
	LatencyResponse = "nomad.broker.response_time"
)

// Raft entry types that reports and predictions name: Nomad's (nomad/structs/structs.go,
// MessageType), and two that Raft writes of its own accord.
const (
	EntryNodeRegister      = "NodeRegisterRequestType"
	EntryNodeUpdateStatus  = "NodeUpdateStatusRequestType"
	EntryJobRegister       = "JobRegisterRequestType"
	EntryJobDeregister     = "JobDeregisterRequestType"
	EntryEvalUpdate        = "EvalUpdateRequestType"
	EntryEvalDelete        = "EvalDeleteRequestType"
	EntryAllocClientUpdate = "AllocClientUpdateRequestType"
	EntryApplyPlanResults  = "ApplyPlanResultsRequestType"
	EntryRaftNoop          = "raft:Noop"
	EntryRaftBarrier       = "raft:Barrier"
)
