package forecast

import (
	"math"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/closedform"
)

// storm returns a storm of so many nodes under the legacy broker.
func storm(nodes int) scenarios.Spec {
	return scenarios.Spec{Scenario: closedform.Scenario, Broker: broker.Legacy().String(), Seed: 1, Vars: map[string]any{"nodes": nodes}}
}

// drained is a run whose second phase of three is half over.
var drained = scenarios.Progress{Phase: "drain", PhaseIndex: 1, Phases: 3, Done: 0.5}

func TestForecast(t *testing.T) {
	runs := map[string]scenarios.Spec{"small": storm(100), "medium": storm(200), "large": storm(400)}
	f := New(2)
	total := 0.0
	for _, spec := range runs {
		f.Expect(spec)
		total += Of(spec).CPUS
	}
	about := func(what string, want float64) {
		t.Helper()
		if got := f.Left().Seconds(); got < want*0.99 || got > want*1.01 {
			t.Errorf("%s: %.2f s left, want %.2f", what, got, want)
		}
	}
	large := Of(runs["large"])
	about("before it starts", max(total/2, large.CPUS))

	now := time.Unix(0, 0)
	f.Started("large", runs["large"], now)
	f.Progress("large", drained)
	done := large.Done(drained) * large.CPUS
	about("the longest is under way", max((total-done)/2, large.CPUS-done))
	// It took three times as long as estimated: so will the others.
	f.Ended("large", now.Add(time.Duration(3*large.CPUS*float64(time.Second))))
	about("the longest done", 3*max((total-large.CPUS)/2, Of(runs["medium"]).CPUS))
	for _, key := range []string{"small", "medium"} {
		f.Started(key, runs[key], now)
		f.Ended(key, now)
	}
	if f.Left() != 0 {
		t.Errorf("all done, but %v left", f.Left())
	}

	small := Of(runs["small"]).CPUS
	f = New(1)
	f.Learn(runs["small"], metrics.Host{WallS: 10 * small})
	f.Expect(runs["small"])
	about("as an earlier sweep took", 10*small)
}

// TestCost holds the estimates to the order of magnitude of real runs: seconds of processor time,
// and bytes with little garbage.
func TestCost(t *testing.T) {
	for _, c := range []struct {
		broker    string
		vars      map[string]any
		cpuS, mib float64
	}{
		{"legacy", map[string]any{"nodes": 300}, 0.73, 57},
		{"shedding", map[string]any{"nodes": 2500}, 3.4, 141},
		{"legacy", map[string]any{"nodes": 2500}, 7.2, 142},
		{"legacy", map[string]any{"nodes": 500, "system_jobs": 40}, 4.8, 124},
		{"legacy", map[string]any{"nodes": 1000, "service_jobs": 20, "allocs_per_node": 20}, 64, 187},
		{"shedding", map[string]any{"nodes": 20000, "system_jobs": 20}, 63, 1164},
	} {
		spec := storm(1)
		spec.Broker, spec.Vars = c.broker, c.vars
		cost := Of(spec)
		near := func(what string, got, want float64) {
			if got < want/2 || got > want*2 {
				t.Errorf("%s %v: %s is %.3g, measured %.3g", c.broker, c.vars, what, got, want)
			}
		}
		near("processor time", cost.CPUS, c.cpuS)
		near("memory", cost.Memory/(1<<20), c.mib)
		if heap := 100 * cost.Memory; !cost.Known() || cost.Peak(0) != cost.Memory || cost.Peak(heap) != cost.Memory*Roomy {
			t.Errorf("%s %v: it is known %v and peaks at %g to %g", c.broker, c.vars, cost.Known(), cost.Peak(0), cost.Peak(heap))
		}
	}
	for _, spec := range []scenarios.Spec{{Scenario: "steady-state", Broker: "legacy"}, {Scenario: closedform.Scenario, Broker: "legacy", Clock: scenarios.ClockWall}} {
		if c := Of(spec); c.Known() || c.CPUS == 0 || c.Done(drained) != drained.Share() {
			t.Errorf("%s on the clock %q: %+v, want a guess without phases", spec.Scenario, spec.Clock, c)
		}
	}
}

func TestPace(t *testing.T) {
	start := time.Unix(0, 0)
	after := func(p *Pace, s int, at scenarios.Progress) time.Duration {
		left, ok := p.Left(start.Add(time.Duration(s)*time.Second), at)
		if !ok {
			return -1
		}
		return left.Round(time.Second)
	}
	began := scenarios.Progress{Phase: "register", Phases: 3}
	placing := scenarios.Progress{Phase: "drain", PhaseIndex: 1, Phases: 3, Done: 0.001}
	last := scenarios.Progress{Phase: "storm", PhaseIndex: 2, Phases: 3, Done: 0.25}

	known := &Pace{Cost: Cost{CPUS: 10, phases: []phase{{0, 1}, {2, 2}, {0, 5}}}}
	for _, c := range []struct {
		s    int
		at   scenarios.Progress
		want time.Duration
	}{
		{0, began, -1}, {3, drained, -1}, {60, began, -1},
		{20, placing, -1},
		{40, drained, 60 * time.Second}, // 4 of 10
		{60, last, 36 * time.Second},    // 6.25 of 10
	} {
		if got := after(known, c.s, c.at); got != c.want {
			t.Errorf("a storm after %d s, %+v: %v left, want %v", c.s, c.at, got, c.want)
		}
	}

	unknown := &Pace{}
	for _, c := range []struct {
		s    int
		at   scenarios.Progress
		want time.Duration
	}{
		{0, began, -1}, {30, drained, -1}, {40, last, -1}, {50, last, 30 * time.Second},
	} {
		if got := after(unknown, c.s, c.at); got != c.want {
			t.Errorf("a scenario without formulae after %d s, %+v: %v left, want %v", c.s, c.at, got, c.want)
		}
	}
}

// TestSideBySide: what goes on at a time adds up, and what nobody knows makes the rest unknown.
func TestSideBySide(t *testing.T) {
	compile := func(spec scenarios.Spec) *scenarios.Compiled {
		c, err := scenarios.Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	one := compile(storm(500))
	alone, memory, ok := SideBySide([]*scenarios.Compiled{one})
	took, both, _ := SideBySide([]*scenarios.Compiled{one, one})
	if !ok || took < alone || took > 2*alone || both < memory || both > 2*memory {
		t.Errorf("one takes %v and %.0f bytes (known: %v), two %v and %.0f", alone, memory, ok, took, both)
	}
	if _, within, _ := SideBySide([]*scenarios.Compiled{one.Within(scenarios.Limits{Memory: 1 << 20})}); within >= memory {
		t.Errorf("a run within 1 MiB takes %.0f bytes, one without a limit %.0f", within, memory)
	}
	if _, _, ok := SideBySide([]*scenarios.Compiled{one, compile(scenarios.Spec{Scenario: "steady-state", Broker: "legacy", Seed: 1, Clock: scenarios.ClockWall})}); ok {
		t.Error("the cost of a run on the wall clock is known")
	}
}

// TestCostOfEvaluations: a run that waits for a number of evaluations costs by that number, within a
// factor of two of what incidents took.
func TestCostOfEvaluations(t *testing.T) {
	for _, c := range []struct {
		broker             string
		nodes, evaluations int
		cpuS               float64
	}{
		{"legacy", 500, 100_000, 23},
		{"shedding", 500, 100_000, 15},
		{"legacy", 1000, 200_000, 57},
		{"shedding", 1000, 200_000, 33},
		{"legacy", 2000, 1_000_000, 340},
		{"shedding", 2000, 1_000_000, 190},
	} {
		cost := Of(scenarios.Spec{Scenario: "incident", Broker: c.broker, Vars: map[string]any{"nodes": c.nodes, "evaluations": c.evaluations}})
		if !cost.Told() || cost.CPUS < c.cpuS/2 || cost.CPUS > c.cpuS*2 {
			t.Errorf("%s, %d nodes, %d evaluations: %.0f s (told: %v), took %.0f s", c.broker, c.nodes, c.evaluations, cost.CPUS, cost.Told(), c.cpuS)
		}
	}
}

// TestCostOfLoads: a run costs by what its text says that it will do, within a factor of 2.2 of
// seconds of processor time and MB that runs took.
func TestCostOfLoads(t *testing.T) {
	for _, c := range []struct {
		scenario, broker string
		nodes            int
		cpuS, mb         float64
	}{
		{"steady-state", "legacy", 100, 1.5, 69},
		{"steady-state", "shedding", 1000, 3.6, 185},
		{"flapping", "legacy", 100, 1.4, 92},
		{"flapping", "legacy", 1000, 8.1, 289},
		{"flapping", "shedding", 1000, 7.4, 273},
		{"fingerprint-churn", "legacy", 1000, 5.9, 265},
		{"lagging-follower", "legacy", 1000, 4.1, 290},
		{"partition-heal", "legacy", 1000, 2.2, 180},
		{"pause-resume", "shedding", 1000, 1.7, 179},
		{"worked-example", "legacy", 100, 1.1, 133}, // its jobs come after its clients
		{"alloc-failures", "legacy", 200, 0.81, 91},
		{"blocked-thrash", "legacy", 1000, 6.9, 140},
		{"blocked-thrash", "shedding", 1000, 6.9, 136},
		{"disconnect-reconnect", "legacy", 3000, 28.3, 338},
		{"decommission", "legacy", 1000, 2.2, 188},
		{"decommission", "shedding", 1000, 2.3, 188},
		{"disconnect-reconnect", "legacy", 1000, 4.6, 160},
		{"disconnect-reconnect", "shedding", 1000, 4.6, 160},
		{"alloc-updates", "legacy", 100, 3.4, 177},
		{"alloc-updates", "legacy", 1000, 45, 1119},
		{"system-rollout", "legacy", 1000, 9.3, 166},
		{"rolling-deploy-under-flap", "legacy", 1000, 3.7, 167},
		{"rolling-deploy-under-flap", "shedding", 1000, 3.6, 164},
	} {
		cost := Of(scenarios.Spec{Scenario: c.scenario, Broker: c.broker, Vars: map[string]any{"nodes": c.nodes}})
		if !cost.Told() || cost.Known() || cost.CPUS < c.cpuS/2.2 || cost.CPUS > c.cpuS*2.2 {
			t.Errorf("%s, %s, %d nodes: %.1f s (told: %v), took %.1f s", c.scenario, c.broker, c.nodes, cost.CPUS, cost.Told(), c.cpuS)
		}
		if peak := cost.Peak(640e6) / 1e6; peak < c.mb/2 || peak > c.mb*2 {
			t.Errorf("%s, %s, %d nodes: %.0f MB, took %.0f MB", c.scenario, c.broker, c.nodes, peak, c.mb)
		}
	}
}

// TestCostOfDispatches: what batch jobs cost that wait for room, within a factor of two, or a little more where
// many wait or none should, of seconds of processor time that runs took.
func TestCostOfDispatches(t *testing.T) {
	for _, c := range []struct {
		scenario     string
		vars         map[string]any
		cpuS, within float64
	}{
		{"dispatch", nil, 0.54, 2},
		{"dispatch", map[string]any{"dispatches": 2000}, 3.0, 2},
		{"dispatch", map[string]any{"dispatches": 6000}, 12.1, 2},
		{"dispatch", map[string]any{"dispatches": 2000, "schedulers": 8}, 4.5, 2},
		{"dispatch", map[string]any{"dispatches": 2000, "servers": 1}, 1.7, 2},
		{"dispatch", map[string]any{"dispatches": 2000, "nodes": 5}, 8.1, 2},
		{"dispatch", map[string]any{"dispatches": 2000, "nodes": 100}, 2.0, 2},       // all find room
		{"dispatch", map[string]any{"dispatches": 2000, "per_second": 20}, 3.8, 3.1}, // just as many come as end
		{"submit-ramp", nil, 4.0, 2.5},
	} {
		cost := Of(scenarios.Spec{Scenario: c.scenario, Broker: "legacy", Vars: c.vars})
		if !cost.Told() || cost.CPUS < c.cpuS/c.within || cost.CPUS > c.cpuS*c.within {
			t.Errorf("%s %v: %.2f s (told: %v), took %.2f s", c.scenario, c.vars, cost.CPUS, cost.Told(), c.cpuS)
		}
	}
}

// TestCostOfNothing: a submission of no jobs costs nothing.
func TestCostOfNothing(t *testing.T) {
	const text = `title = "none"
cluster {
  servers    = 1
  schedulers = 1
}
fleet {
  group "all" {
    nodes = 3
  }
}
job "a" {
  type  = "batch"
  count = 1
}
phase "only" {
  event "submit_jobs" {
    job        = "a"
    copies     = 0
    per_second = 1
  }
  until "settled" {}
}
`
	if c := Of(scenarios.Spec{Scenario: "none", File: "none.hcl", Source: text, Broker: "legacy"}); !c.Told() || c.CPUS > 1 {
		t.Errorf("%.2f s (told: %v)", c.CPUS, c.Told())
	}
}

// TestOverload: of a leader that heartbeats alone keep busy, nobody can say what it will cause itself.
func TestOverload(t *testing.T) {
	for _, c := range []struct {
		scenario string
		vars     map[string]any
		busy     float64
	}{
		{"metastable", map[string]any{"nodes": 150}, 0.5},
		{"metastable", map[string]any{"nodes": 1000}, 0.5},
		{"metastable", map[string]any{"nodes": 1000, "load": 0.9}, 0.9},
		{"metastable", map[string]any{"nodes": 1000, "load": 0.1}, 0},
		{"steady-state", map[string]any{"nodes": 5000}, 0},
		{"flapping", map[string]any{"nodes": 1000}, 0},
	} {
		cost := Of(scenarios.Spec{Scenario: c.scenario, Broker: "legacy", Vars: c.vars})
		if got := cost.Overload(); math.Abs(got-c.busy) > 0.05 {
			t.Errorf("%s %v: heartbeats take %.2f of the leader, want %.2f", c.scenario, c.vars, got, c.busy)
		}
	}
	// What two runs of 1,000 nodes took, in seconds of processor time.
	for broker, took := range map[string]float64{"legacy": 80, "shedding": 19} {
		cost := Of(scenarios.Spec{Scenario: "metastable", Broker: broker, Vars: map[string]any{"nodes": 1000}})
		if took < cost.CPUS/2 || took > cost.CPUS*Runaway {
			t.Errorf("%s: %.1f s to %d times that, took %.0f s", broker, cost.CPUS, Runaway, took)
		}
	}
}
