package metrics

import "slices"

// Metric is one figure of a phase, as tables, comparisons and exports show it.
type Metric struct {
	Name  string // as in the Result file
	Title string // for people
	Unit  string // s, entries, evaluations, plans, nodes or heartbeats
	// Value returns the figure. A time is -1 if its condition was never met.
	Value func(*Phase) float64
	// Optional metrics are zero if there was nothing to measure: no evaluation to cancel, no
	// allocation to replace.
	Optional bool
}

// Time reports whether the metric is a duration, of which a negative value means never.
func (m Metric) Time() bool { return m.Unit == "s" }

// Measured reports whether there was something to measure, given the metric's value.
func (m Metric) Measured(v float64) bool { return !m.Optional || v != 0 }

// Came reports whether v can be calculated with: it was measured, and is not a time that never came.
func (m Metric) Came(v float64) bool { return m.Measured(v) && !(m.Time() && v < 0) }

// PhaseMetrics returns every figure of a phase in the order in which people read them.
func PhaseMetrics() []Metric { return slices.Clone(phaseMetrics) }

func count(get func(*Phase) uint64) func(*Phase) float64 {
	return func(p *Phase) float64 { return float64(get(p)) }
}

var phaseMetrics = []Metric{
	{Name: "raft_entries", Title: "Raft entries", Unit: "entries", Value: count(func(p *Phase) uint64 { return p.RaftEntries })},
	{Name: "evals_created", Title: "evals created", Unit: "evaluations", Value: count(func(p *Phase) uint64 { return p.EvalsCreated })},
	{Name: "evals_processed", Title: "evals processed", Unit: "evaluations", Value: count(func(p *Phase) uint64 { return p.EvalsProcessed })},
	{Name: "evals_canceled", Title: "evals canceled", Unit: "evaluations", Value: count(func(p *Phase) uint64 { return p.EvalsCanceled })},
	{Name: "plans_submitted", Title: "plans submitted", Unit: "plans", Value: count(func(p *Phase) uint64 { return p.PlansSubmitted })},
	{Name: "queue_empty_s", Title: "queue empty", Unit: "s", Value: func(p *Phase) float64 { return p.QueueEmptyS }},
	{Name: "recovery_s", Title: "recovery", Unit: "s", Value: func(p *Phase) float64 { return p.RecoveryS }},
	{Name: "cancels_written_s", Title: "cancels written", Unit: "s", Value: func(p *Phase) float64 { return p.CancelsWrittenS }, Optional: true},
	{Name: "allocs_replaced_s", Title: "allocs replaced", Unit: "s", Value: func(p *Phase) float64 { return p.AllocsReplacedS }, Optional: true},
	{Name: "deployment_s", Title: "deployment", Unit: "s", Value: func(p *Phase) float64 { return p.DeploymentS }, Optional: true},
	{Name: "start_s", Title: "start", Unit: "s", Value: func(p *Phase) float64 { return p.StartS }},
	{Name: "end_s", Title: "end", Unit: "s", Value: func(p *Phase) float64 { return p.EndS }},
	{Name: "peak_pending", Title: "peak pending", Unit: "evaluations", Value: count(func(p *Phase) uint64 { return p.PeakPending })},
	{Name: "peak_cancelable", Title: "peak cancelable", Unit: "evaluations", Value: count(func(p *Phase) uint64 { return p.PeakCancelable })},
	{Name: "nodes_down", Title: "nodes down", Unit: "nodes", Value: count(func(p *Phase) uint64 { return p.NodesDown })},
	{Name: "missed_heartbeats", Title: "missed heartbeats", Unit: "heartbeats", Value: count(func(p *Phase) uint64 { return p.MissedHeartbeats })},
}

// PhaseMetric returns the metric of that name.
func PhaseMetric(name string) (Metric, bool) {
	i := slices.IndexFunc(phaseMetrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}, false
	}
	return phaseMetrics[i], true
}

// Phase returns the phase of that name; nil if the run had none.
func (r *Result) Phase(name string) *Phase {
	return find(r.Phases, func(p *Phase) bool { return p.Name == name })
}

func (r *Result) phaseNames() (names []string) {
	for _, p := range r.Phases {
		names = append(names, p.Name)
	}
	return names
}

// SeriesByName returns the series of that name; nil if the run recorded none.
func (r *Result) SeriesByName(name string) *Series {
	return find(r.Series, func(s *Series) bool { return s.Name == name })
}

// LatencyByName returns the latency of that name; nil if the run recorded none.
func (r *Result) LatencyByName(name string) *Latency {
	return find(r.Latencies, func(l *Latency) bool { return l.Name == name })
}

// find returns the first element that is wanted; nil if there is none.
func find[T any](list []T, wanted func(*T) bool) *T {
	for i := range list {
		if wanted(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

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
	SeriesMemoryRead        = "simctl.memory.read"         // of real servers' machine
	SeriesStolen            = "simctl.cpu.stolen"          // 0 to 1 of all cores, by the host of real servers' machine
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

// Raft entry types that reports, predictions and tests name: Nomad's (nomad/structs/structs.go,
// MessageType), and one that Raft writes of its own accord.
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
)
