package scenarios

import (
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/actions/operations"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/internal/judge"
	"github.com/simctl/simctl/scenarios/internal/run"
)

// deed is an event that no scenario file has, and that no healing ends.
type deed func(*actions.Stage) error

func (deed) Mark() string                { return "" }
func (d deed) Do(s *actions.Stage) error { return d(s) }

// TestRunsThatDoNotRest: at the end servers are judged when they have stopped writing and have applied what was written, however
// long that takes. A run that leaves evaluations says so, and tells of no difference or loss, of which it knows nothing.
func TestRunsThatDoNotRest(t *testing.T) {
	slowFollower := deed(func(s *actions.Stage) error {
		s.Simulated.SlowApply((s.Simulated.Leader()+1)%s.Simulated.Servers(), 3*time.Second)
		return nil
	})
	for _, tt := range []struct {
		name  string
		slow  bool          // one server takes far longer than the others to apply what is written
		works time.Duration // on each evaluation; zero: there are no jobs
	}{
		{"a follower is behind", true, 0},
		{"workers are busy", false, 20 * time.Second},
		{"workers are busy and a follower is behind", true, 20 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sc, err := scenarioOf(small("legacy"))
			must(t, err)
			sc.Phases = sc.Phases[:2]
			register := &sc.Phases[0]
			if tt.works == 0 {
				sc.Phases = sc.Phases[:1]
				register.Events = slices.DeleteFunc(register.Events, func(e run.Event) bool {
					_, jobs := e.Action.(operations.RegisterJobs)
					return jobs
				})
			} else {
				sc.Cluster.Costs.Scheduler = map[string]cluster.SchedulerCosts{rpc.JobTypeSystem: {Base: tt.works}}
				sc.Phases[1].Until = conditions.Elapsed{For: 5 * time.Second}
			}
			if tt.slow {
				register.Events = slices.Insert(register.Events, 0, run.Event{Action: slowFollower})
			}
			res, err := run.Run(t.Context(), sc, nil)
			must(t, err)
			for _, c := range res.Invariants {
				if left := c.Name == judge.InvariantNonePending && tt.works > 0; c.OK == left {
					t.Errorf("%s: %v: %s", c.Name, c.OK, c.Detail)
				}
			}
			if asked := slices.ContainsFunc(res.Invariants, func(c metrics.Invariant) bool { return c.Name == judge.InvariantOracle }); asked == (tt.works > 0) {
				t.Errorf("the oracle was asked: %v", asked)
			}
		})
	}
}
