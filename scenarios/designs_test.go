package scenarios

import (
	"slices"
	"testing"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/designs"
)

// TestDesigns runs each design beside the broker that it changes, and compares the figure
// that it is for.
func TestDesigns(t *testing.T) {
	t.Parallel()
	type figure func(*metrics.Result) float64
	type vars = map[string]any
	phase := func(r *metrics.Result, name string) *metrics.Phase {
		if r.Phase(name) == nil {
			t.Fatalf("%s has no phase %s", r.Run.Scenario, name)
		}
		return r.Phase(name)
	}
	writtenOff := func(r *metrics.Result) float64 { return phase(r, "drain").CancelsWrittenS }
	storm := func(r *metrics.Result) float64 { return float64(phase(r, "storm").RaftEntries) }
	emptied := func(r *metrics.Result) float64 { return phase(r, "drain").QueueEmptyS }
	created := func(r *metrics.Result) float64 { return float64(phase(r, "storm").EvalsCreated) }
	processed := func(r *metrics.Result) float64 { return float64(phase(r, "drain").EvalsProcessed) }
	wentDown := func(r *metrics.Result) float64 { return float64(r.Totals.NodesDown) }
	each := func(r *metrics.Result) float64 { // seconds for an evaluation, when many come
		p := phase(r, "ramp")
		return (p.EndS - p.StartS) / float64(p.EvalsProcessed)
	}
	notNacked := func(r *metrics.Result) float64 { // the design is for having more that wait after a nack
		i := slices.IndexFunc(r.Series, func(s metrics.Series) bool { return s.Name == metrics.SeriesWaiting })
		return -slices.Max(r.Series[i].Value)
	}
	failed := func(r *metrics.Result) (n float64) {
		for _, i := range r.Invariants {
			if !i.OK {
				n++
			}
		}
		return n
	}
	ramp := vars{"nodes": 30, "rising_to": 1200, "seconds": 10, "schedulers": 16, "p99_s": 0.4}
	rows := []struct {
		broker, design, scenario string
		vars                     vars
		less                     figure // what the design has less of
	}{
		{"shedding", "reap-until-empty", "heartbeat-storm", vars{"nodes": 60, "reaper_batch": 10}, writtenOff},
		{"shedding", "reap-by-backlog", "heartbeat-storm", vars{"nodes": 60, "reaper_batch": 10}, writtenOff},
		{"shedding", "batch-updates", "heartbeat-storm", vars{"nodes": 60}, storm},
		{"shedding", "gather-downs", "heartbeat-storm", vars{"nodes": 60}, storm},
		{"shedding", "up-only", "heartbeat-storm", vars{"nodes": 60}, created},
		{"shedding", "skip-queued", "heartbeat-storm", vars{"nodes": 60}, created},
		{"shedding+skip-queued", "newest-state", "", nil, failed},
		{"shedding", "restore-best", "failover-mid-drain", vars{"nodes": 60, "after_s": 1, "reaper_batch": 5}, processed},
		{"shedding", "ask-client", "metastable", vars{"nodes": 60, "share": 0.02}, wentDown},
		{"shedding", "pipeline-4", "submit-ramp", ramp, each},
		{"shedding+pipeline-4", "nack-unseen", "submit-ramp", ramp, notNacked},
		{"legacy", "wake-at-index", "heartbeat-storm", vars{"nodes": 60}, emptied},
		{"shedding", "work-queue", "heartbeat-storm", vars{"nodes": 60}, storm},
		// reap-keeps-failed changes no run: in a cluster a write fails with the leadership alone, and the
		// next leader restores what was not written. TestReaperThatFails has it, in the leader's package.
	}
	tried := []string{"reap-keeps-failed"}
	var specs []Spec
	var like [][2]int // the places of each row's Specs: without the design, and with it
	for _, tt := range rows {
		_, found := designs.Split("shedding+" + tt.design)
		tried = append(tried, found[0].Stem())
		var at [2]int
		for i, broker := range []string{tt.broker, tt.broker + "+" + tt.design} {
			spec := Spec{Scenario: tt.scenario}
			if tt.scenario == "" {
				var err error
				spec, err = FromFile("testdata/skipped.hcl")
				must(t, err)
			}
			spec.Broker, spec.Seed = broker, 1
			for name, value := range tt.vars {
				spec.Set(name, value)
			}
			specs, at[i] = placed(specs, spec)
		}
		like = append(like, at)
	}
	results, err := RunAll(t.Context(), specs, nil)
	must(t, err)
	for i, tt := range rows {
		without, with := tt.less(results[like[i][0]]), tt.less(results[like[i][1]])
		if with >= without {
			t.Errorf("%s: with the design %v, without %v", tt.design, with, without)
		}
	}
	for _, d := range designs.All() {
		if !slices.Contains(tried, d.Word) {
			t.Errorf("no row asks what %s is for", d.Word)
		}
	}
}
