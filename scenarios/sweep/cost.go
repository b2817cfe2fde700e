package sweep

import (
	"math"
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/closedform"
	"github.com/simctl/simctl/scenarios/language"
)

// HostCost is what a run costs the machine it runs on.
type HostCost struct {
	CPUS float64 // processor time in seconds
	// Memory is what the process needs, in bytes. It runs faster with up to roomy times as
	// much.
	Memory float64
}

// What an entry, an evaluation and an allocation cost a run of three servers, measured at
// 200 to 1,000 nodes; what a sweep sees itself corrects them (Forecast, Local).
const (
	entryCPUS, evalCPUS                   = 0.16e-3, 0.2e-3
	baseBytes                             = 30e6
	entryBytes, evalBytes, allocB         = 5.5e3, 9.2e3, 4.6e3
	roomy                         float64 = 2.5
	// A client that nothing happens to asks for its allocations every five minutes, and
	// heartbeats when that call returns: in a drain of hours, that is what costs most.
	clientCalls, callCPUS = 2.0 / 300, 40e-6
)

// Cost estimates what a run costs the machine, before it has run. A broker that there are no
// formulae for counts as the legacy one, and a scenario of one's own as a heartbeat storm
// with what its variables have in common with that.
func Cost(spec scenarios.Spec) HostCost {
	if spec.Broker != broker.Shedding().String() {
		spec.Broker = broker.Legacy().String()
	}
	e, err := closedform.Of(spec)
	if err != nil {
		if e, err = closedform.Of(likeStorm(spec)); err != nil {
			return HostCost{CPUS: 10, Memory: 1 << 30}
		}
	}
	sum := func(name string) float64 {
		total := 0.0
		for _, phase := range []string{"register", "drain", "storm"} {
			if v := e.Value("phases." + phase + "." + name); !math.IsNaN(v) {
				total += v
			}
		}
		return total
	}
	entries, evals := sum("raft_entries"), sum("evals_created")
	idle := e.Value("phases.drain.recovery_s")
	if math.IsNaN(idle) {
		idle = 0
	}
	servers := (1 + float64(e.Servers)) / 4 // a leader does as much as its followers of three servers' run
	return HostCost{
		CPUS:   0.3 + servers*(entries*entryCPUS+evals*evalCPUS) + idle*e.Nodes*clientCalls*callCPUS,
		Memory: baseBytes + servers*(entries*entryBytes+evals*evalBytes+e.Allocs*allocB),
	}
}

// likeStorm returns the heartbeat storm with the values that the Spec gives to variables of
// the same names.
func likeStorm(spec scenarios.Spec) scenarios.Spec {
	like := scenarios.Spec{Scenario: stormScenario, Broker: spec.Broker, Cost: spec.Cost}
	own, err := spec.Variables()
	if err != nil {
		return like
	}
	known, err := like.Variables()
	if err != nil {
		return like
	}
	for _, v := range own {
		if v.Value == nil || !slices.ContainsFunc(known, func(k language.Variable) bool { return k.Name == v.Name && k.Type == v.Type }) {
			continue
		}
		with := like
		with.Set(v.Name, v.Value)
		if _, err := scenarios.Compile(with); err == nil {
			like = with
		}
	}
	return like
}

// stormScenario is the scenario that there are formulae for.
const stormScenario = "heartbeat-storm"
