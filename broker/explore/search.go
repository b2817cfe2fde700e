package explore

import (
	"context"
	"errors"
	"hash/maphash"
	"math/rand/v2"
	"slices"

	"github.com/simctl/simctl/broker"
)

// hash128 stands for a state's canonical description. Among a hundred million states the
// chance that two have the same is below one in 10^22.
type hash128 [2]uint64

// counter is a random source for tokens: no two draws of any clones are the same.
type counter uint64

func (c *counter) Uint64() uint64 {
	*c++
	return uint64(*c)
}

// search visits the states reachable from the start, each once.
type search struct {
	policy   broker.Policy
	bounds   Bounds
	rand     *rand.Rand
	seeds    [2]maphash.Seed
	seen     map[hash128]struct{}
	buf      []byte
	free     []*world         // memory for clones
	progress func(states int) // may be nil
	report   Report
}

func newSearch(p broker.Policy, bounds Bounds, progress func(states int)) *search {
	return &search{
		policy: p, bounds: bounds, progress: progress, rand: rand.New(new(counter)),
		seeds:  [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		seen:   make(map[hash128]struct{}),
		report: Report{Policy: p.String(), Bounds: bounds},
	}
}

func (s *search) clone(w *world) *world {
	c := &world{b: new(broker.EvalBroker)}
	if n := len(s.free); n > 0 {
		c, s.free = s.free[n-1], s.free[:n-1]
	}
	w.cloneInto(c)
	return c
}

// visit observes a state and counts it if it is new. It returns the steps from there, or
// none if it was visited before. The error is a *violation.
func (s *search) visit(w *world) ([]step, error) {
	if err := w.observe(); err != nil {
		return nil, err
	}
	s.buf = w.key(s.buf[:0])
	h := hash128{maphash.Bytes(s.seeds[0], s.buf), maphash.Bytes(s.seeds[1], s.buf)}
	if _, ok := s.seen[h]; ok {
		return nil, nil
	}
	s.seen[h] = struct{}{}
	if s.report.States++; s.progress != nil && s.report.States&(1<<14-1) == 0 {
		s.progress(s.report.States)
	}
	steps := w.steps()
	if slices.ContainsFunc(steps, func(st step) bool { return !st.kind.fault }) {
		return steps, nil
	}
	s.report.Quiet++
	return steps, w.checkQuiet()
}

// arrive applies a step and visits the state that it leads to.
func (s *search) arrive(w *world, by step) ([]step, error) {
	if err := w.apply(by); err != nil {
		return nil, err
	}
	return s.visit(w)
}

// frame is a state on the path from the start to where depthFirst is.
type frame struct {
	w     *world
	steps []step
}

// depthFirst visits every state and reports whether one violates a property.
func (s *search) depthFirst(ctx context.Context) (violating bool, err error) {
	root := newWorld(s.policy, &s.bounds, s.rand)
	steps, violation := s.visit(root)
	if violation != nil {
		return true, nil
	}
	path := []frame{{root, steps}}
	for len(path) > 0 {
		top := &path[len(path)-1]
		n := len(top.steps)
		if n == 0 {
			path = path[:len(path)-1]
			continue
		}
		if s.report.Transitions++; s.report.Transitions&1023 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		st := top.steps[n-1]
		w := top.w
		if top.steps = top.steps[:n-1]; n > 1 {
			w = s.clone(w) // the last step needs no copy of the state before it
		}
		steps, violation := s.arrive(w, st)
		if violation != nil {
			return true, nil
		}
		if s.report.States >= s.bounds.MaxStates {
			return false, nil
		}
		if len(steps) == 0 {
			s.free = append(s.free, w)
			continue
		}
		path = append(path, frame{w, steps})
		s.report.Depth = max(s.report.Depth, len(path)-1)
	}
	s.report.Complete = true
	return false, nil
}

// arrival is how breadthFirst reached a state first; nil: it is the start.
type arrival struct {
	from *arrival
	by   step
}

// breadthFirst visits states until one violates a property, and returns a shortest history
// of it.
func (s *search) breadthFirst(ctx context.Context) (*Counterexample, error) {
	type node struct {
		frame
		how *arrival
	}
	root := newWorld(s.policy, &s.bounds, s.rand)
	steps, violation := s.visit(root)
	if violation != nil {
		return s.replay(nil, violation), nil
	}
	queue := []node{{frame{root, steps}, nil}}
	for len(queue) > 0 {
		n := queue[0]
		queue[0] = node{} // frees its world
		queue = queue[1:]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, st := range n.steps {
			w, how := s.clone(n.w), &arrival{n.how, st}
			steps, violation := s.arrive(w, st)
			switch {
			case violation != nil:
				return s.replay(how, violation), nil
			case len(steps) == 0:
				s.free = append(s.free, w)
			default:
				queue = append(queue, node{frame{w, steps}, how})
			}
		}
	}
	return nil, errors.New("explore: a violation was found depth-first but not breadth-first: the policy does not always answer alike")
}

// replay repeats a history and records it.
func (s *search) replay(how *arrival, why error) *Counterexample {
	var path []step
	for ; how != nil; how = how.from {
		path = append(path, how.by)
	}
	w := newWorld(s.policy, &s.bounds, s.rand)
	w.rec = &recorder{}
	for _, st := range slices.Backward(path) {
		_ = w.apply(st) // the last one may be the violation itself
	}
	var v *violation
	errors.As(why, &v)
	return &Counterexample{
		Property: v.property,
		Detail:   v.detail,
		Steps:    w.rec.steps,
		Script:   w.rec.render(s.policy, s.bounds, v),
	}
}
