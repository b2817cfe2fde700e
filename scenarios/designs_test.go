package scenarios

import (
	"testing"

	"github.com/simctl/simctl/metrics"
)

// TestDesigns runs each design beside the broker that it changes, and compares the figure
// that it is for.
func TestDesigns(t *testing.T) {
	type figure func(*metrics.Result) float64
	phase := func(r *metrics.Result, name string) *metrics.Phase {
		for i := range r.Phases {
			if r.Phases[i].Name == name {
				return &r.Phases[i]
			}
		}
		t.Fatalf("%s has no phase %s", r.Run.Scenario, name)
		return nil
	}
	writtenOff := func(r *metrics.Result) float64 { return phase(r, "drain").CancelsWrittenS }
	storm := func(r *metrics.Result) float64 { return float64(phase(r, "storm").RaftEntries) }
	emptied := func(r *metrics.Result) float64 { return phase(r, "drain").QueueEmptyS }
	created := func(r *metrics.Result) float64 { return float64(phase(r, "storm").EvalsCreated) }
	for _, tt := range []struct {
		broker, design string
		vars           map[string]any
		less           figure // what the design has less of
	}{
		{"shedding", "reap-until-empty", map[string]any{"reaper_batch": 10}, writtenOff},
		{"shedding", "reap-by-backlog", map[string]any{"reaper_batch": 10}, writtenOff},
		{"shedding", "batch-updates", nil, storm},
		{"shedding", "gather-downs", nil, storm},
		{"shedding", "up-only", nil, created},
		{"shedding", "skip-queued", nil, created},
		{"legacy", "wake-at-index", nil, emptied},
		{"shedding", "work-queue", nil, storm},
	} {
		t.Run(tt.design, func(t *testing.T) {
			var got [2]float64
			for i, broker := range []string{tt.broker, tt.broker + "+" + tt.design} {
				spec := Spec{Scenario: "heartbeat-storm", Broker: broker, Seed: 1}
				spec.Set("nodes", 60)
				for name, value := range tt.vars {
					spec.Set(name, value)
				}
				results, err := RunAll(t.Context(), []Spec{spec}, nil)
				must(t, err)
				got[i] = tt.less(results[0])
			}
			if got[1] >= got[0] {
				t.Errorf("with the design %v, without %v", got[1], got[0])
			}
		})
	}
}
