package explore

import (
	"fmt"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/leader"
)

// Bounds limit the system that is searched. Start from DefaultBounds.
type Bounds struct {
	Jobs    int `json:"jobs"`    // 1 or 2, each registered once, with one allocation
	Workers int `json:"workers"` // 1 to 3
	Room    int `json:"room"`    // allocations that fit on the node that goes down, 1 or 2
	// Triggers is how often users ask for an evaluation of a job, beyond its registration.
	Triggers int `json:"triggers"`

	// How often each fault may occur in one history.
	Downs     int `json:"downs"`     // the node on which everything fits best goes down: 0 or 1
	Timeouts  int `json:"timeouts"`  // a nack timer fires
	Failovers int `json:"failovers"` // the leader is deposed, and another restores from state
	Lost      int `json:"lost"`      // the answer to a plan is lost on its way

	// Sooner is how often a user's entry reaches the log before plans that are on their way there.
	Sooner int `json:"sooner"`
	// KeptSnapshot is the habit of old releases' appliers; see leader.PlanBase.
	KeptSnapshot bool `json:"kept_snapshot"`
	// These are of config.DesignConfig.
	SkipQueued  bool `json:"skip_queued"`
	NewestState bool `json:"newest_state"`
	Pipeline    int  `json:"pipeline"` // 0 to 3
	NackUnseen  bool `json:"nack_unseen"`
	// MaxStates ends a longer search unfinished.
	MaxStates int `json:"max_states"`
}

// DefaultBounds returns two jobs, two workers, and each fault once but for lost answers, which the
// service does not survive (docs/adr/0508).
func DefaultBounds() Bounds {
	return Bounds{Jobs: 2, Workers: 2, Room: 1, Downs: 1, Timeouts: 1, Failovers: 1, MaxStates: 20_000_000}
}

// BoundError is returned for Bounds that cannot be searched.
type BoundError struct {
	Bound            string // the field's name as in a flag
	Value, Low, High int
}

func (e *BoundError) Error() string {
	return fmt.Sprintf("bound %s is %d: it must be from %d to %d", e.Bound, e.Value, e.Low, e.High)
}

// design returns what of the bounds is a design.
func (b Bounds) design() config.DesignConfig {
	return config.DesignConfig{SkipQueued: b.SkipQueued, NewestState: b.NewestState, Pipeline: b.Pipeline, NackUnseen: b.NackUnseen}
}

// planBase returns what an applier begins with.
func (b Bounds) planBase() leader.PlanBase {
	return leader.NewPlanBase(config.Habits{KeptSnapshot: b.KeptSnapshot}, b.design())
}

// Check returns a *BoundError if the bounds cannot be searched. Run calls it.
func (b Bounds) Check() error {
	for _, e := range []BoundError{
		{"jobs", b.Jobs, 1, 2},
		{"workers", b.Workers, 1, 3},
		{"room", b.Room, 1, 2},
		{"triggers", b.Triggers, 0, 4},
		{"downs", b.Downs, 0, 1},
		{"timeouts", b.Timeouts, 0, 4},
		{"failovers", b.Failovers, 0, 4},
		{"lost", b.Lost, 0, 4},
		{"sooner", b.Sooner, 0, 2},
		{"pipeline", b.Pipeline, 0, 3},
		{"max-states", b.MaxStates, 1, 1_000_000_000},
	} {
		if e.Value < e.Low || e.Value > e.High {
			return &e
		}
	}
	return nil
}
