package metrics

import (
	"runtime/debug"
	"time"
)

// Schema is the version of the Result file that this build writes.
const Schema = 1

// Result is everything that one run produced: the boundary between running and reporting.
// docs/result-format.md documents the file field by field. Virtual and wall time never share a
// field: everything but Host is measured on the run's own clock.
type Result struct {
	Schema     int         `json:"schema"`
	Run        Run         `json:"run"`
	Phases     []Phase     `json:"phases"`
	Totals     Phase       `json:"totals"`
	Series     []Series    `json:"series,omitempty"`
	Latencies  []Latency   `json:"latencies"`
	FanIn      FanIn       `json:"fan_in,omitzero"`
	Marks      []Mark      `json:"marks"`
	Invariants []Invariant `json:"invariants"`
	Thresholds []Verdict   `json:"thresholds,omitempty"`
	// Stopped is the limit that ended the run before it was over, as a flag: --max-time 2m0s; on real servers, also
	// an error. It is empty if none did. A run that was stopped has neither the rest of its phases nor the
	// checks of its end, and where it ends depends on the machine.
	Stopped string `json:"stopped,omitempty"`
	// Warnings say what a reader must know before any figure: that work was under way when the
	// run ended. They are no part of the digest.
	Warnings []string `json:"warnings,omitempty"`
	Host     Host     `json:"host"`
	// OfBaseline says that the run comes from a baseline, which keeps only a part of a run.
	OfBaseline bool `json:"-"`
}

// Run says what was run.
type Run struct {
	Scenario string         `json:"scenario"`
	Broker   string         `json:"broker"`
	Seed     int64          `json:"seed"`
	Clock    string         `json:"clock"`  // virtual or wall
	Target   string         `json:"target"` // simulated or a Nomad version
	Params   map[string]any `json:"params"`
	// Nodes is the size of the fleet, whatever the variables are called that it comes from; zero
	// in older files. It is no part of the digest, which covers Params.
	Nodes     int    `json:"nodes,omitempty"`
	Version   string `json:"version"`
	GoVersion string `json:"go_version"`
	// Rerun is the command line that repeats this run, less where its output goes.
	Rerun string `json:"rerun,omitempty"`
	// CostModel is what the cluster's work was charged; nil if nothing was.
	CostModel *CostModel `json:"cost_model,omitempty"`
}

// Version returns the commit that the Go tool stamped into this program, as Run has it.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}

// CostModel is the calibration that charged a run, as reports show it.
type CostModel struct {
	Class  string `json:"class"`  // published, loopback, …
	Source string `json:"source"` // where its figures were measured
	Costs  []Cost `json:"costs"`
}

// Cost is one figure of a cost model.
type Cost struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
}

// Phase is one stretch of a run. StartS and EndS count from the start of the run, all other
// times from the start of the phase; -1 means that the condition was never met.
//
// In Totals the counts are sums, the peaks and times are the largest, and StartS and EndS span
// the run. A phase that never met a condition does not count unless none did. EvalsByStatus,
// which is a state and no growth, is the last phase's.
type Phase struct {
	Name   string  `json:"name"`
	StartS float64 `json:"start_s"`
	EndS   float64 `json:"end_s"`
	// QueueEmptyS is when ready, unacked and pending were all zero, for good; the ticks of
	// garbage collection (_core) do not count.
	QueueEmptyS float64 `json:"queue_empty_s"`
	// RecoveryS is when neither the broker (ready, unacked, pending, cancelable) nor the state
	// held a pending evaluation, and stayed so for 5 s, which are not counted.
	RecoveryS float64 `json:"recovery_s"`
	// CancelsWrittenS is when the last evaluation was canceled and none was cancelable any
	// more; zero if there was none.
	CancelsWrittenS float64 `json:"cancels_written_s,omitempty"`
	// AllocsReplacedS is when every service job that lost an allocation with its node in the
	// phase had its count again, on nodes that are up; zero if none was lost.
	AllocsReplacedS float64 `json:"allocs_replaced_s,omitempty"`
	// DeploymentS is how long the longest deployment took that ended in the phase, from its own
	// beginning; zero if there was none, -1 if one was under way when the phase ended. It is no
	// part of the digest.
	DeploymentS float64 `json:"deployment_s,omitempty"`
	// RaftEntries is the growth of the leader's last log index.
	RaftEntries       uint64            `json:"raft_entries"`
	RaftEntriesByType map[string]uint64 `json:"raft_entries_by_type"`
	// RaftEntriesExpectedByType is what the events of the phase should have cost, and
	// RaftAccount the lines of that sum; both are empty if nobody worked it out.
	RaftEntriesExpectedByType map[string]uint64 `json:"raft_entries_expected_by_type,omitempty"`
	RaftAccount               []Expectation     `json:"raft_account,omitempty"`
	EvalsCreated              uint64            `json:"evals_created"`
	// EvalsProcessed counts evaluations that a worker dequeued and acked.
	EvalsProcessed   uint64            `json:"evals_processed"`
	EvalsCanceled    uint64            `json:"evals_canceled"`
	EvalsByStatus    map[string]uint64 `json:"evals_by_status"` // at the end of the phase
	PlansSubmitted   uint64            `json:"plans_submitted"`
	PeakPending      uint64            `json:"peak_pending"`
	PeakCancelable   uint64            `json:"peak_cancelable"`
	NodesDown        uint64            `json:"nodes_down"`
	MissedHeartbeats uint64            `json:"missed_heartbeats"`
}

// Series is one quantity over time. AtS and Value have equal length; AtS ascends.
type Series struct {
	Name  string    `json:"name"`
	Unit  string    `json:"unit"`
	AtS   []float64 `json:"at_s"`
	Value []float64 `json:"value"`
}

// Latency summarises a distribution of durations. The quantiles are exact to 0.1% or a
// microsecond, and Max is exact.
type Latency struct {
	Name         string       `json:"name"`
	Unit         string       `json:"unit"`
	Count        uint64       `json:"count"`
	P50          float64      `json:"p50"`
	P90          float64      `json:"p90"`
	P95          float64      `json:"p95,omitempty"` // no part of the digest; zero in older files
	P99          float64      `json:"p99"`
	Max          float64      `json:"max"`
	Distribution Distribution `json:"distribution,omitzero"`
}

// Distribution is a cumulative histogram: Count[i] observations were at most LE[i]. Both
// slices have equal length and ascend. The last count is all of them.
type Distribution struct {
	LE    []float64 `json:"le"`
	Count []uint64  `json:"count"`
}

// IsZero reports whether nothing was observed.
func (d Distribution) IsZero() bool { return len(d.LE) == 0 }

// FanIn summarises how many triggers one processed evaluation stood for: itself and every
// evaluation of its job that was shed in its favour.
type FanIn struct {
	P50          float64      `json:"p50"`
	P99          float64      `json:"p99"`
	Max          float64      `json:"max"`
	Distribution Distribution `json:"distribution,omitzero"`
}

// IsZero reports whether nothing was observed.
func (f FanIn) IsZero() bool {
	return f.P50 == 0 && f.P99 == 0 && f.Max == 0 && f.Distribution.IsZero()
}

// Mark names an instant of the run.
type Mark struct {
	AtS  float64 `json:"at_s"`
	Name string  `json:"name"`
}

// Invariant is a property that is checked at the end of a run.
type Invariant struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Host is what the run cost the machine. It is no part of the digest.
type Host struct {
	Started      time.Time `json:"started,omitzero"` // zero in older files
	WallS        float64   `json:"wall_s"`
	CPUS         float64   `json:"cpu_s"`
	PeakRSSBytes uint64    `json:"peak_rss_bytes"`
}
