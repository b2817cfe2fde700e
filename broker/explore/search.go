package explore

import (
	"context"
	"errors"
	"hash/maphash"
	"math/rand/v2"

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
	tokens   counter
	seeds    [2]maphash.Seed
	seen     map[hash128]struct{}
	buf      []byte
	free     []*world // memory for clones
	progress func(states int)
	report   Report
}

func newSearch(p broker.Policy, bounds Bounds, progress func(states int)) *search {
	s := &search{
		policy: p, bounds: bounds, progress: progress,
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		seen:  make(map[hash128]struct{}),
	}
	s.rand = rand.New(&s.tokens)
	s.report = Report{Policy: p.String(), Bounds: bounds}
	return s
}

func (s *search) clone(w *world) *world {
	c := &world{b: new(broker.EvalBroker)}
	if n := len(s.free); n > 0 {
		c, s.free = s.free[n-1], s.free[:n-1]
	}
	w.cloneInto(c)
	return c
}

// visit observes a state and counts it if it is new. It appends the steps from there, or
// none if it was visited before. The error is a *violation.
func (s *search) visit(w *world, to []step) ([]step, error) {
	if err := w.observe(); err != nil {
		return nil, err
	}
	s.buf = w.key(s.buf[:0])
	h := hash128{maphash.Bytes(s.seeds[0], s.buf), maphash.Bytes(s.seeds[1], s.buf)}
	if _, ok := s.seen[h]; ok {
		return nil, nil
	}
	s.seen[h] = struct{}{}
	if s.report.States++; s.report.States&(1<<14-1) == 0 {
		s.progress(s.report.States)
	}
	steps := w.steps(to)
	for _, st := range steps {
		if !st.isFault() {
			return steps, nil
		}
	}
	s.report.Quiet++
	return steps, w.checkQuiet()
}

// frame is a state on the path from the start to where depthFirst is.
type frame struct {
	w     *world
	steps []step
}

// depthFirst visits every state and reports whether one violates a property.
func (s *search) depthFirst(ctx context.Context) (violating bool, err error) {
	root := newWorld(s.policy, &s.bounds, s.rand)
	steps, violation := s.visit(root, nil)
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
		if w.apply(st) != nil {
			return true, nil
		}
		steps, violation := s.visit(w, nil)
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

// arrival is how breadthFirst reached a state first.
type arrival struct {
	from int32 // index of the state before; -1: the start
	by   step
}

// breadthFirst visits states until one violates a property, and returns a shortest history
// of it.
func (s *search) breadthFirst(ctx context.Context) (*Counterexample, error) {
	root := newWorld(s.policy, &s.bounds, s.rand)
	var history []arrival
	type node struct {
		frame
		id int32
	}
	steps, violation := s.visit(root, nil)
	if violation != nil {
		return s.replay(nil, violation), nil
	}
	history = append(history, arrival{from: -1})
	queue := []node{{frame{root, steps}, 0}}
	for len(queue) > 0 {
		n := queue[0]
		queue[0] = node{} // frees its world
		queue = queue[1:]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, st := range n.steps {
			w := s.clone(n.w)
			violation := w.apply(st)
			var steps []step
			if violation == nil {
				steps, violation = s.visit(w, nil)
			}
			if violation != nil {
				path := []step{st}
				for a := history[n.id]; a.from >= 0; a = history[a.from] {
					path = append(path, a.by)
				}
				return s.replay(path, violation), nil
			}
			if len(steps) == 0 {
				s.free = append(s.free, w)
			} else {
				history = append(history, arrival{n.id, st})
				queue = append(queue, node{frame{w, steps}, int32(len(history) - 1)})
			}
		}
	}
	return nil, errors.New("explore: a violation was found depth-first but not breadth-first: the policy does not always answer alike")
}

// replay repeats a path, which is given from its end, and records it.
func (s *search) replay(path []step, why error) *Counterexample {
	w := newWorld(s.policy, &s.bounds, s.rand)
	w.rec = &recorder{}
	for i := len(path) - 1; i >= 0; i-- {
		_ = w.apply(path[i]) // the last one may be the violation itself
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
