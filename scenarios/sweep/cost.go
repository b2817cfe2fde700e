package sweep

import (
	"math"
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/closedform"
	"github.com/simctl/simctl/scenarios/language"
)

// HostCost is what a run costs the machine that it runs on.
type HostCost struct {
	CPUS   float64 // processor time in seconds
	Memory float64 // what the process needs, in bytes
}

// Roomy returns the bytes up to which more memory makes the run faster: its garbage takes
// what the process does not need.
func (c HostCost) Roomy() float64 { return c.Memory * roomy }

// The cost of an entry, an evaluation and an allocation in a run of three servers, measured
// at 200 to 1,000 nodes. Forecast and Local correct it by what a sweep sees.
const (
	entryCPUS, evalCPUS                   = 0.16e-3, 0.2e-3
	baseBytes                             = 30e6
	entryBytes, evalBytes, allocB         = 5.5e3, 9.2e3, 4.6e3
	roomy                         float64 = 2.5
	// An idle client asks for its allocations every five minutes, and heartbeats when that
	// call returns. In a drain of hours, that costs most.
	clientCalls, callCPUS = 2.0 / 300, 40e-6
)

// Cost estimates what a run costs the machine. A broker without formulae counts as the legacy
// one. A scenario of one's own counts as a heartbeat storm with the variables that both have.
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
	sum := func(name string, phases ...string) (total float64) {
		for _, phase := range phases {
			if v := e.Value("phases." + phase + "." + name); !math.IsNaN(v) {
				total += v
			}
		}
		return total
	}
	entries, evals := sum("raft_entries", "register", "drain", "storm"), sum("evals_created", "register", "drain", "storm")
	idle := sum("recovery_s", "drain")
	servers := (1 + float64(e.Servers)) / 4 // of three servers, the leader does as much as both followers
	return HostCost{
		CPUS:   0.3 + servers*(entries*entryCPUS+evals*evalCPUS) + idle*e.Nodes*clientCalls*callCPUS,
		Memory: baseBytes + servers*(entries*entryBytes+evals*evalBytes+e.Allocs*allocB),
	}
}

// likeStorm returns the heartbeat storm with the values that the Spec gives to variables of
// the same names.
func likeStorm(spec scenarios.Spec) scenarios.Spec {
	like := scenarios.Spec{Scenario: closedform.Scenario, Broker: spec.Broker, Cost: spec.Cost}
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
