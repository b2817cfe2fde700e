package run

import (
	"cmp"
	"fmt"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/internal/scale"
)

// Clocks a run can be on.
const (
	ClockVirtual = "virtual"
	ClockWall    = "wall"
)

// Scenario is a run, worked out: everything that happens and when it ends, as data.
type Scenario struct {
	// Run describes the run in its Result, less what the program knows of itself.
	Run metrics.Run `scale:"-"`
	// Warnings say what of the scenario the run leaves out. They are the first of its Result.
	Warnings []string `scale:"-"`

	Cluster cluster.Config // schedulers are off until a phase turns them on
	Fleet   nodesim.Config // Servers and Dial are set when it runs
	Phases  []Phase
	// TimeScale multiplies every duration, on the wall clock; zero means 1.
	TimeScale float64
	// LogsOnDisk keeps the servers' Raft logs in files that are gone when the run ends.
	LogsOnDisk bool
	// Thorough makes clients read from all servers and judges what they see, and makes a digest of
	// every event. The run takes a little longer, on its own clock, too.
	Thorough bool
	Limits   Limits `scale:"-"`
}

// Phase is one stretch of a run: events, and a condition that ends it.
type Phase struct {
	Name   string
	Events []Event
	Until  conditions.Condition
	// Stall ends the phase, and fails the run, when it has come no nearer to its end for that
	// long; zero means a default.
	Stall time.Duration
	// Timeout ends the phase, and fails the run, at last; zero means 30 days, which only a
	// cluster that goes on failing forever reaches.
	Timeout time.Duration
}

// Event is an action at an offset from its phase's start. Events of a phase are ascending
// in At; one that takes time delays those after it.
type Event struct {
	At     time.Duration
	Action actions.Action
}

// wall reports whether the run is on the wall clock.
func (s *Scenario) wall() bool { return s.Run.Clock == ClockWall }

// factor is what every duration is multiplied by.
func (s *Scenario) factor() float64 { return cmp.Or(s.TimeScale, 1) }

// Scaled returns the scenario as it runs: defaults filled in, and every duration multiplied.
func (s Scenario) Scaled() *Scenario {
	s.Cluster, s.Fleet.Timing = s.Cluster.WithDefaults(), s.Fleet.Timing.WithDefaults()
	fast := scale.Durations(s, s.factor())
	return &fast
}

// validate names the first event that cannot happen.
func (s *Scenario) validate() error {
	for _, p := range s.Phases {
		for i, e := range p.Events {
			c, ok := e.Action.(actions.Checker)
			if !ok {
				continue
			}
			if err := c.Check(s.Cluster.Servers); err != nil {
				return fmt.Errorf("phase %s, event %d: %w", p.Name, i+1, err)
			}
		}
	}
	return nil
}
