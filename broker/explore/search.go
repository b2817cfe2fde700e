package explore

import (
	"math/rand/v2"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/interleave"
)

// system is a world and all that can become of it, as package interleave searches it.
type system struct {
	policy broker.Policy
	bounds *Bounds
	rand   *rand.Rand
	free   []*world // memory for clones
}

var _ interleave.System[*world, step] = (*system)(nil)

func newSystem(p broker.Policy, bounds Bounds) *system {
	return &system{policy: p, bounds: &bounds, rand: interleave.Tokens()}
}

func (s *system) Start() *world { return newWorld(s.policy, s.bounds, s.rand) }

func (s *system) Clone(w *world) *world {
	c := &world{b: new(broker.EvalBroker)}
	if n := len(s.free); n > 0 {
		c, s.free = s.free[n-1], s.free[:n-1]
	}
	w.cloneInto(c)
	return c
}

func (s *system) Free(w *world)                { s.free = append(s.free, w) }
func (*system) Observe(w *world) error         { return w.observe() }
func (*system) Key(w *world, to []byte) []byte { return w.key(to) }
func (*system) Steps(w *world) []step          { return w.steps() }
func (*system) Fault(s step) bool              { return s.kind.fault }
func (*system) Apply(w *world, s step) error   { return w.apply(s) }
func (*system) Quiet(w *world) error           { return w.checkQuiet() }

// replay repeats a history and records it.
func (s *system) replay(path []step, v *interleave.Violation) *Counterexample {
	w := s.Start()
	w.rec = &recorder{}
	for _, st := range path {
		_ = w.apply(st) // the last one may be the violation itself
	}
	return &Counterexample{
		Counterexample: interleave.Counterexample{Property: v.Property, Detail: v.Detail, Steps: w.rec.steps},
		Script:         w.rec.render(s.policy, *s.bounds, v),
	}
}
