package forecast

import (
	"math"
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/closedform"
	"github.com/simctl/simctl/scenarios/language"
)

// Cost is what a run costs the machine that it runs on.
type Cost struct {
	CPUS   float64 // processor time in seconds
	Memory float64 // what the process needs, in bytes
	phases []phase // nil if no formula knows the run
	waits  bool    // for a number of evaluations, which says most of what the run costs
}

// phase is the processor time of a phase: what it takes before it moves towards its end, such as
// placing everything, and what it takes then.
type phase struct{ first, rest float64 }

// moves is the share of a phase from which on it moves.
const moves = 0.01

// Roomy is how many times what it needs a process can make use of: garbage takes the rest.
const Roomy = 2.5

// Peak returns the memory that the process holds at most if its heap may grow to so many bytes
// before it collects garbage in earnest.
func (c Cost) Peak(heap float64) float64 { return min(max(c.Memory, heap), c.Memory*Roomy) }

// Known reports whether formulae know the run, and not only one that is like it.
func (c Cost) Known() bool { return c.phases != nil }

// Told reports whether the cost is worth telling: formulae know the run, or it waits for a number
// of evaluations.
func (c Cost) Told() bool { return c.Known() || c.waits }

// Done returns the share of the cost, 0 to 1, that a run has had by now. Without formulae all
// phases count alike.
func (c Cost) Done(p scenarios.Progress) float64 {
	if !c.Known() {
		return p.Share()
	}
	spent := 0.0
	for i, cost := range c.phases {
		switch {
		case i < p.PhaseIndex:
			spent += cost.first + cost.rest
		case i == p.PhaseIndex && p.Done >= moves:
			spent += cost.first + cost.rest*p.Done
		}
	}
	return spent / c.CPUS
}

// What a run of three servers costs, in seconds of processor time and in bytes. The times are
// fitted to 20 heartbeat storms of 100 to 5,000 nodes, of which some had 40 system jobs or 20
// service jobs, and to where their phases began; since runs have become cheaper they are 0.7 of
// that, by the storms of docs/performance/nodes and jobs. The bytes are fitted to 14 with GOGC=50, the least
// garbage that a child process allows itself. Estimates of times are then within a factor of 1.7 of
// what was measured, but 3.6 times too high for service jobs under the shedding broker, of which
// the formulae let workers process too many; those of bytes are within a quarter. Forecast, Pace
// and sweep.Local correct them by what they see.
const (
	startCPUS            = 0.1
	entryCPUS            = 0.042e-3
	createdCPUS          = 0.025e-3 // an evaluation, whatever becomes of it
	processedCPUS        = 0.077e-3 // and one that a worker processes
	placedCPUS, lostCPUS = 0.12e-3, 0.077e-3
	seenCPUS             = 4.2e-6 // an allocation of its job, for an evaluation of a service job
	// An idle client asks for its allocations every five minutes, and heartbeats when that
	// call returns. In a drain of hours, that costs much.
	clientCalls, callCPUS = 2.0 / 300, 28e-6

	// A run that waits for a number of evaluations takes so long for each: 0.37 and 0.26 ms at 500
	// nodes and 200,000 of them, 0.55 and 0.30 ms at 2,000 nodes and a million.
	legacyWaitedCPUS, waitedCPUS = 0.45e-3, 0.28e-3

	startBytes, nodeBytes             = 35e6, 22e3
	entryBytes, evalBytes, allocBytes = 1e3, 1e3, 4.5e3
)

// Of estimates what a run costs the machine. A broker without formulae counts as the legacy
// one. A scenario of one's own counts as a heartbeat storm with the variables that both have.
func Of(spec scenarios.Spec) Cost {
	if spec.Broker != broker.Shedding().String() {
		spec.Broker = broker.Legacy().String()
	}
	e, err := closedform.Of(spec)
	known := err == nil && spec.Clock != scenarios.ClockWall
	if err != nil {
		if e, err = closedform.Of(likeStorm(spec)); err != nil {
			return Cost{CPUS: 10, Memory: 1 << 30}
		}
	}
	c := ofStorm(e)
	if !known {
		c.phases = nil
		c.wait(spec)
	}
	return c
}

// wait adds the evaluations that a phase waits for. They may come at any pace, so the cost goes by
// their number alone.
func (c *Cost) wait(spec scenarios.Spec) {
	compiled, err := scenarios.Compile(spec)
	if err != nil || compiled.Evaluations() == 0 {
		return
	}
	n, each := float64(compiled.Evaluations()), waitedCPUS
	entries := 0.0
	if spec.Broker == broker.Legacy().String() {
		each, entries = legacyWaitedCPUS, n
	}
	c.waits = true
	c.CPUS += n * each
	c.Memory += n*evalBytes + entries*entryBytes
}

// ofStorm returns the cost of a storm from what the formulae say of it.
func ofStorm(e *closedform.Estimate) Cost {
	c := Cost{CPUS: startCPUS, Memory: startBytes + e.Nodes*nodeBytes + e.Allocs*allocBytes}
	// A follower has a third of the leader's work with an entry.
	servers := (2 + float64(e.Servers)) / 5
	idle := figure(e, "drain", "recovery_s") * e.Nodes * clientCalls * callCPUS
	for _, p := range []struct {
		name        string
		first, rest float64
	}{
		{"register", 0, 0}, {"drain", e.Allocs * placedCPUS, idle}, {"storm", e.AllocsLost * lostCPUS, e.AllocsSeen * seenCPUS},
	} {
		entries, created := figure(e, p.name, "raft_entries"), figure(e, p.name, "evals_created")
		p.rest += servers*entries*entryCPUS + created*createdCPUS + figure(e, p.name, "evals_processed")*processedCPUS
		c.phases = append(c.phases, phase{p.first, p.rest})
		c.CPUS += p.first + p.rest
		c.Memory += entries*entryBytes + created*evalBytes
	}
	return c
}

// figure returns a figure of a phase; zero if there is no formula for it.
func figure(e *closedform.Estimate, phase, name string) float64 {
	v := e.Value("phases." + phase + "." + name)
	if math.IsNaN(v) {
		return 0
	}
	return v
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
