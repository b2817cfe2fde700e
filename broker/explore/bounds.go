package explore

import "fmt"

// SnapshotRule says how old a worker's snapshot may be.
type SnapshotRule string

const (
	// SnapshotEval waits for the index of the dequeued evaluation only. A policy that is
	// sound by this rule is sound by the other. It shows a policy that keeps the wrong
	// evaluation.
	SnapshotEval SnapshotRule = "eval"
	// SnapshotJob is Nomad's wait index: at least the newest index of any of the job's
	// evaluations at the time of the dequeue (nomad/eval_endpoint.go, getWaitIndex). It
	// makes any evaluation as good as the newest, so that shedding may keep an older one
	// of higher priority.
	SnapshotJob SnapshotRule = "job"
)

// Bounds limit the system that is searched. Start from DefaultBounds.
type Bounds struct {
	Jobs    int `json:"jobs"`    // 1 to 4
	Evals   int `json:"evals"`   // triggers of each job, 1 to 8, follow-ups not counted
	Workers int `json:"workers"` // 1 to 4
	Batch   int `json:"batch"`   // most evaluations the reaper takes at a time, 1 to 100

	// How often each fault may occur in one history, 10 at most.
	Timeouts      int `json:"timeouts"`       // a worker takes longer than the nack timeout, or nacks
	Failovers     int `json:"failovers"`      // the leader is deposed, another restores from state
	WriteFailures int `json:"write_failures"` // Raft refuses the reaper's batch

	DeliveryLimit int `json:"delivery_limit"` // 1 to 3
	// Priorities is 1 if all triggers have the same, or 2 if each may have a higher one,
	// under which Nomad's shedding needs SnapshotJob.
	Priorities int          `json:"priorities"`
	Snapshot   SnapshotRule `json:"snapshot"`
	// MaxStates ends a longer search unfinished.
	MaxStates int `json:"max_states"`
}

// DefaultBounds returns the default bounds of `simctl broker explore`.
func DefaultBounds() Bounds {
	return Bounds{
		Jobs: 2, Evals: 4, Workers: 2, Batch: 2,
		Timeouts: 2, Failovers: 1, WriteFailures: 1,
		DeliveryLimit: 2, Priorities: 1, Snapshot: SnapshotEval, MaxStates: 20_000_000,
	}
}

// BoundError is returned for Bounds that cannot be searched.
type BoundError struct {
	Bound string // the field's name as in a flag: write-failures
	Value any
	Want  string // what it must be
}

func (e *BoundError) Error() string {
	return fmt.Sprintf("bound %s is %v: it must be %s", e.Bound, e.Value, e.Want)
}

// Check returns a *BoundError if the bounds cannot be searched. Run calls it.
func (b Bounds) Check() error {
	if b.Snapshot != SnapshotJob && b.Snapshot != SnapshotEval {
		return &BoundError{"snapshot", b.Snapshot, fmt.Sprintf("%s or %s", SnapshotEval, SnapshotJob)}
	}
	for _, f := range []struct {
		name             string
		value, low, high int
	}{
		{"jobs", b.Jobs, 1, 4},
		{"evals", b.Evals, 1, 8},
		{"workers", b.Workers, 1, 4},
		{"batch", b.Batch, 1, 100},
		{"timeouts", b.Timeouts, 0, 10},
		{"failovers", b.Failovers, 0, 10},
		{"write-failures", b.WriteFailures, 0, 10},
		{"delivery-limit", b.DeliveryLimit, 1, 3},
		{"priorities", b.Priorities, 1, 2},
		{"max-states", b.MaxStates, 1, 1_000_000_000},
	} {
		if f.value < f.low || f.value > f.high {
			return &BoundError{f.name, f.value, fmt.Sprintf("from %d to %d", f.low, f.high)}
		}
	}
	return nil
}
