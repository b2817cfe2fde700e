package planless

import (
	"math/rand/v2"
	"time"
)

// Span is a range of durations, from which draws are uniform.
type Span struct{ Min, Max time.Duration }

func (s Span) draw(r *rand.Rand) time.Duration {
	if s.Max <= s.Min {
		return s.Min
	}
	return s.Min + time.Duration(r.Int64N(int64(s.Max-s.Min)))
}

// Size is what an allocation needs and what a node offers, in units of each resource.
type Size struct{ CPU, Memory int }

func (s Size) fits(o Size) bool { return o.CPU <= s.CPU && o.Memory <= s.Memory }
func (s Size) add(o Size) Size  { return Size{s.CPU + o.CPU, s.Memory + o.Memory} }
func (s Size) sub(o Size) Size  { return Size{s.CPU - o.CPU, s.Memory - o.Memory} }
func (s Size) times(n int) Size { return Size{s.CPU * n, s.Memory * n} }
func (s Size) load(o Size) float64 { // of o in s, in the fuller resource
	return max(float64(o.CPU)/float64(s.CPU), float64(o.Memory)/float64(s.Memory))
}

// Params are what is simulated: racks of nodes, jobs that fill them to a part, half an hour in
// which racks come and go, and at last racks that leave together for good.
type Params struct {
	Seed  uint64
	Nodes int
	Racks int
	Room  Size // of each node
	// Jobs have Count allocations each, of one of Sizes, which is the job's own. Fill is the share of all room that they
	// ask for, from which Jobs follow.
	Count int
	Sizes []Size
	Fill  float64

	// Share of the racks flap for a time: up and down for so long, all nodes of a rack together.
	Share    float64
	Up, Down Span
	Flapping time.Duration
	// Exit is the share of the racks that leave at the end, at once.
	Exit float64

	// A node is taken for down when it has been silent for its time to live, which is TTL and up to as much again, and
	// Grace. It was last heard from at any time of its time to live.
	TTL, Grace time.Duration

	Schedulers int
	Hop        Span          // a message's way
	Look       time.Duration // a scheduler's time for each node that it considers for an allocation
	Commit     time.Duration // of a write to a replicated log, and of what it waits for
	Timeout    time.Duration // after which a call without an answer has failed, or a scheduler tries again
}

// Default returns the parameters of a number of nodes. Nodes, racks and their coming and going are those of the scenario flapping, the
// rest is of the class of machines published.
func Default(nodes int) Params {
	return Params{
		Seed: 1, Nodes: nodes, Racks: 20, Room: Size{32, 64},
		Count: 20, Sizes: []Size{{1, 1}, {1, 4}, {2, 2}, {4, 4}, {4, 12}, {8, 8}}, Fill: 0.7,
		Share: 0.25, Up: Span{2 * time.Minute, 6 * time.Minute}, Down: Span{30 * time.Second, 90 * time.Second}, Flapping: 30 * time.Minute,
		Exit: 0.25, TTL: max(10*time.Second, time.Duration(nodes)*time.Second/50), Grace: 10 * time.Second,
		Schedulers: 3, Hop: Span{250 * time.Microsecond, 350 * time.Microsecond}, Look: 30 * time.Microsecond,
		Commit: 2 * time.Millisecond, Timeout: time.Second,
	}
}

// The stretches of a simulation.
const (
	filling  = 2 * time.Minute  // the jobs come in the first half of it
	resting  = 3 * time.Minute  // after the flapping: every rack is back
	emptying = 10 * time.Minute // after the exit
)

// Exit returns the instant at which racks leave for good.
func Exit(p Params) time.Duration { return filling + p.Flapping + resting }
