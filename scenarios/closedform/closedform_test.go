package closedform

import (
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/simctl/simctl/scenarios"
)

// TestMain lets the test binary be the child that RunAll starts.
func TestMain(m *testing.M) {
	scenarios.ServeIfChild()
	debug.SetGCPercent(400) // these tests end soon
	m.Run()
}

func spec(broker string, vars map[string]any) scenarios.Spec {
	return scenarios.Spec{Scenario: Scenario, Broker: broker, Seed: 1, Vars: vars}
}

func estimate(t *testing.T, s scenarios.Spec) *Estimate {
	t.Helper()
	e, err := Of(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestMainJob holds the formulae to what the simulation gave for the published benchmark
// (README.md): counts of evaluations exactly, the rest as well as a formula can.
func TestMainJob(t *testing.T) {
	for broker, want := range map[string]map[string][2]float64{ // value and tolerance
		"legacy": {
			"phases.drain.evals_processed": {50_010, 0},
			"phases.drain.raft_entries":    {50_024, 0.01},
			"phases.drain.recovery_s":      {2774, 0.1},
			"phases.storm.evals_created":   {50_000, 0},
			"phases.storm.evals_processed": {50_000, 0},
			"phases.storm.raft_entries":    {63_549, 0.05},
			"phases.storm.recovery_s":      {2632, 0.1},
		},
		"shedding": {
			"phases.drain.evals_processed": {20, 0},
			"phases.drain.evals_canceled":  {49_990, 0},
			"phases.drain.raft_entries":    {99, 0.1},
			"phases.drain.queue_empty_s":   {7.6, 0.25},
			"phases.drain.recovery_s":      {254, 0.1},
			"phases.storm.evals_processed": {3833, 0.1},
			"phases.storm.raft_entries":    {21_284, 0.05},
			"phases.storm.recovery_s":      {210, 0.05},
		},
	} {
		e := estimate(t, spec(broker, nil))
		for path, w := range want {
			if got := e.Value(path); !(math.Abs(got-w[0]) <= w[1]*w[0]) {
				t.Errorf("%s %s is %.1f, simulated %.1f, want within %g%%", broker, path, got, w[0], 100*w[1])
			}
		}
	}
}

// TestWorkedExample is the published one: 5,000 nodes, 100 system jobs, 20 service
// allocations a node, a tenth of the nodes lost.
func TestWorkedExample(t *testing.T) {
	e := estimate(t, spec("legacy", map[string]any{"system_jobs": 100, "service_jobs": 1000, "allocs_per_node": 20, "fraction": 0.1}))
	if got := e.Value("phases.storm.evals_created"); got != 60_000 {
		t.Errorf("500·20 + 500·100 evaluations are %g", got)
	}
}

// TestAgainstSmallRuns simulates two small storms, with service jobs besides.
func TestAgainstSmallRuns(t *testing.T) {
	vars := map[string]any{"nodes": 120, "system_jobs": 8, "service_jobs": 6, "allocs_per_node": 3, "fraction": 0.5, "reaper_batch": 50}
	specs := []scenarios.Spec{spec("legacy", vars), spec("shedding", vars)}
	results, err := scenarios.RunAll(t.Context(), specs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, res := range results {
		e := estimate(t, specs[i])
		for path, tolerance := range map[string]float64{
			"phases.register.evals_created": 0,
			"phases.register.raft_entries":  0,
			"phases.drain.evals_processed":  0.15,
			"phases.drain.raft_entries":     0.35,
			"phases.storm.evals_created":    0.15,
		} {
			want, _, err := res.Lookup(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Value(path); math.Abs(got-want) > tolerance*want {
				t.Errorf("%s %s is %.1f, simulated %.1f", e.Broker, path, got, want)
			}
		}
	}
}

// TestFewJobs has as few jobs as make workers wait for their servers, which is what a drain
// then mostly consists of.
func TestFewJobs(t *testing.T) {
	s := spec("legacy", map[string]any{"nodes": 80, "system_jobs": 1})
	results, err := scenarios.RunAll(t.Context(), []scenarios.Spec{s}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, want := estimate(t, s).Value("phases.drain.recovery_s"), results[0].Phase("drain").RecoveryS
	if got < want/1.5 || got > want*1.5 {
		t.Errorf("a single job drains in %.1f s, simulated %.1f", got, want)
	}
}

func TestMoreOfEachSettingDoesWhatItShould(t *testing.T) {
	base := map[string]any{}
	recovery := func(name string, value any, broker, phase string) float64 {
		vars := map[string]any{name: value}
		for k, v := range base {
			vars[k] = v
		}
		return estimate(t, spec(broker, vars)).Value("phases." + phase + ".recovery_s")
	}
	for _, c := range []struct {
		name          string
		less, more    any
		broker, phase string
		slower        bool
	}{
		{"nodes", 1000, 2000, "legacy", "drain", true},
		{"system_jobs", 10, 20, "legacy", "storm", true},
		{"schedulers", 1, 4, "legacy", "drain", false},
		{"schedulers", 1, 4, "legacy", "storm", false},
		{"reaper_batch", 100, 1000, "shedding", "drain", false},
		{"reaper_interval_s", 1, 10, "shedding", "drain", true},
		{"heartbeat_grace_s", 10, 60, "shedding", "storm", true},
		{"max_heartbeats_per_second", 10, 100, "shedding", "storm", false},
	} {
		less, more := recovery(c.name, c.less, c.broker, c.phase), recovery(c.name, c.more, c.broker, c.phase)
		if c.slower != (more > less) || less == more {
			t.Errorf("%s: %s recovers in %.1f s with %s %v and in %.1f s with %v", c.broker, c.phase, less, c.name, c.less, more, c.more)
		}
	}
}

func TestNoFormulae(t *testing.T) {
	for want, s := range map[string]scenarios.Spec{
		"there are no formulae for the scenario mine":                {Scenario: "mine", Source: "x", Broker: "legacy"},
		"there are no formulae for the broker legacy+last-slot-peek": spec("legacy+last-slot-peek", nil),
		`--nodes "0"`: spec("legacy", map[string]any{"nodes": 0}),
		"broker":      spec("fastest", nil),
	} {
		if _, err := Of(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

func TestEveryFigureHasItsFormula(t *testing.T) {
	for _, broker := range []string{"legacy", "shedding"} {
		e := estimate(t, spec(broker, map[string]any{"system_jobs": 0, "service_jobs": 3, "allocs_per_node": 1}))
		for _, f := range e.Figures {
			if f.Formula == "" || math.IsNaN(f.Value) || math.IsInf(f.Value, 0) || f.Value < 0 {
				t.Errorf("%s: %+v", broker, f)
			}
		}
		if !math.IsNaN(e.Value("phases.none.recovery_s")) {
			t.Error("a figure that there is none of has a value")
		}
	}
}
