package forecast

import (
	"math"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/closedform"
)

// Cost is what a run costs the machine that it runs on.
type Cost struct {
	CPUS   float64 // processor time in seconds
	Memory float64 // what the process needs, in bytes
	phases []phase // nil if no formula knows the run
	told   bool    // the run goes on virtual time, and its text says what it does
	busy   float64 // the share of the leader's cores that heartbeats take at rest
}

// phase is the processor time of a phase: first is what it takes before it moves towards its end, such as
// for placing everything, and rest is what it takes from then on.
type phase struct{ first, rest float64 }

// moves is the share of a phase that must be done for it to count as moving towards its end.
const moves = 0.01

// Roomy is how many times the memory that it needs a process can make use of. Garbage fills the rest.
const Roomy = 2.5

// Runs of metastable, whose leaders are half busy, cost as much as their text says at 300 nodes, and
// up to 11 times that at 1,000.
const (
	overload = 1.0 / 3
	Runaway  = 15
)

// Peak returns the memory that the process holds at most if its heap may grow to so many bytes
// before it collects garbage in earnest.
func (c Cost) Peak(heap float64) float64 { return min(max(c.Memory, heap), c.Memory*Roomy) }

// Data returns the live data that the run has at most, in bytes.
func (c Cost) Data() float64 { return c.Memory / fitted }

// Known reports whether formulae know the run, and not only one that is like it.
func (c Cost) Known() bool { return c.phases != nil }

// Told reports whether the cost is worth telling.
func (c Cost) Told() bool { return c.told }

// Overload returns the share of the leader's cores that heartbeats take at rest if it is so large that
// the leader may fall behind, hear heartbeats late and cause itself more work: then the run costs up
// to Runaway times as much. It is zero otherwise.
func (c Cost) Overload() float64 {
	if c.busy < overload {
		return 0
	}
	return c.busy
}

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

// What a run of three servers costs, in seconds of processor time and in bytes. The figures are fitted to 21
// heartbeat storms of 100 to 20,000 nodes, of which some had 40 system jobs or 20 service jobs, and to ten other
// scenarios. The bytes are those with GOGC=50, so they are the live data multiplied by fitted. Estimates of
// time are within a factor of two of what was measured, except that those for service jobs under the shedding
// broker are 3.7 times too high: the formulae let workers process too many evaluations. Estimates of bytes are
// within a quarter. Forecast, Pace and sweep.Local correct them by what they see.
const (
	startCPUS            = 0.15
	entryCPUS            = 0.025e-3
	createdCPUS          = 0.018e-3 // an evaluation, whatever becomes of it
	processedCPUS        = 0.05e-3  // and one that a worker processes
	placedCPUS, lostCPUS = 0.07e-3, 0.025e-3
	reportedCPUS         = 0.04e-3 // what its client says of an allocation
	seenCPUS             = 2.9e-6  // an allocation of its job, for an evaluation of a service job
	searchedCPUS         = 0.1e-6  // a node, for one that finds no room
	vainCPUS             = 28e-6   // an evaluation that looks for room after others have taken it
	// An idle client asks for its allocations every five minutes, and heartbeats when that
	// call returns. In a drain of hours, that costs much.
	clientCalls, callCPUS = 2.0 / 300, 20e-6

	// A run that waits for a number of evaluations takes so long for each: 0.23 and 0.15 ms at 500
	// nodes and 100,000 of them, 0.34 and 0.19 ms at 2,000 nodes and a million.
	legacyWaitedCPUS, waitedCPUS = 0.3e-3, 0.18e-3

	// A virtual second of three servers: their heartbeats, and the samples of the run.
	virtualCPUS = 0.25e-3
	// How long a client waits between two heartbeats in a small cluster, and how many there are a
	// second in a large one.
	usualTTL, mostHeartbeats = 13.0, 40.0
	// An evaluation, and its part of the entries of its node and plan.
	entriesOfEvaluation = 1.5

	fitted                            = 1.5
	startBytes, nodeBytes             = 46e6, 5e3
	entryBytes, evalBytes, allocBytes = 0.4e3, 1.2e3, 0.9e3
)

// Of estimates what a run costs the machine. A broker without formulae counts as the legacy
// one. A scenario without formulae costs by what its text says that it will do.
func Of(spec scenarios.Spec) Cost {
	if spec.Broker != broker.Shedding().String() {
		spec.Broker = broker.Legacy().String()
	}
	if e, err := closedform.Of(spec); err == nil {
		c := ofStorm(e)
		c.told = spec.Clock != scenarios.ClockWall
		if !c.told {
			c.phases = nil
		}
		return c
	}
	compiled, err := scenarios.Compile(spec)
	if err != nil {
		return Cost{CPUS: 10, Memory: 1 << 30}
	}
	load := compiled.Load()
	c := ofLoad(compiled.Size(), load)
	c.busy = load.Busy
	c.told = spec.Clock != scenarios.ClockWall
	c.wait(float64(compiled.Evaluations()), spec.Broker)
	return c
}

// wait adds the evaluations that a phase waits for. They may come at any pace, so the cost goes by
// their number alone.
func (c *Cost) wait(n float64, name string) {
	each, entries := waitedCPUS, 0.0
	if name == broker.Legacy().String() {
		each, entries = legacyWaitedCPUS, n
	}
	c.CPUS += n * each
	c.Memory += n*evalBytes + entries*entryBytes
}

// ofLoad returns the cost of a run of which only its text is known. Every evaluation counts as if a
// worker processed it.
func ofLoad(size scenarios.Size, load scenarios.Load) Cost {
	seconds, nodes := load.Virtual.Seconds(), float64(size.Nodes)
	servers := (2 + float64(size.Servers)) / 5
	calls := seconds * (nodes*clientCalls/2 + min(nodes/usualTTL, mostHeartbeats))
	entries := load.Evaluations * entriesOfEvaluation
	return Cost{
		CPUS: startCPUS + servers*(seconds*virtualCPUS+entries*entryCPUS) + calls*callCPUS +
			load.Evaluations*(createdCPUS+processedCPUS) + load.Looks*seenCPUS + load.Allocs*(placedCPUS+reportedCPUS) +
			load.Retries*(servers*entryCPUS+processedCPUS) + load.Searches*searchedCPUS + load.Vain*vainCPUS,
		Memory: startBytes + nodes*nodeBytes + load.Allocs*allocBytes + entries*entryBytes + load.Evaluations*evalBytes,
	}
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
