package interleave

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
)

// System is what is searched. W is one state of it, and S one step of one actor. The same step
// from the same state must always lead to the same state. What is wrong is a *Violation.
type System[W, S any] interface {
	Start() W
	// Clone returns an independent copy. Free takes back a state that is not used any more.
	Clone(W) W
	Free(W)
	// Observe looks at a state before anything else does, and returns what is wrong with it.
	Observe(W) error
	// Key appends what tells the observed state from others.
	Key(W, []byte) []byte
	// Steps returns what may happen next. A state in which nothing but faults may happen is
	// quiet: a history may end there.
	Steps(W) []S
	Fault(S) bool
	// Quiet returns what is wrong with a state that is quiet.
	Quiet(W) error
	// Apply makes a step. The error says what is wrong with that.
	Apply(W, S) error
}

// Tokens returns the source of a system's tokens: no two draws of any clones are the same.
func Tokens() *rand.Rand { return rand.New(new(counter)) }

type counter uint64

func (c *counter) Uint64() uint64 {
	*c++
	return uint64(*c)
}

// Found counts what a search has seen.
type Found struct {
	// States counts the distinct states reached, Transitions the steps taken from them.
	States      int `json:"states"`
	Transitions int `json:"transitions"`
	// Depth is the length of the longest history searched.
	Depth int `json:"depth"`
	// Quiet counts the states in which nobody has anything to do.
	Quiet int `json:"quiet"`
	// Complete is false if the search ended at its limit or because something is wrong.
	Complete bool `json:"complete"`
}

// Violation is an error that says which property does not hold, and where.
type Violation struct{ Property, Detail string }

func (v *Violation) Error() string { return v.Property + ": " + v.Detail }

// Violated returns a *Violation.
func Violated(property, format string, args ...any) error {
	return &Violation{property, fmt.Sprintf(format, args...)}
}

// Counterexample is a shortest history that breaks a property.
type Counterexample struct {
	Property string   `json:"property"`
	Detail   string   `json:"detail"`
	Steps    []string `json:"steps"`
}

// Verdict returns in a few words what the search found; broken is nil if every property holds.
func (f Found) Verdict(broken *Counterexample) string {
	switch {
	case broken != nil:
		return fmt.Sprintf("VIOLATES %q after %d steps", broken.Property, len(broken.Steps))
	case !f.Complete:
		return "unfinished: no violation in as many states as were allowed"
	}
	return "holds in every state"
}

// Explore visits every state of a system, up to so many, and counts them. If something is wrong with
// one, it returns a shortest history that goes wrong, and what is wrong then. It calls progress,
// unless that is nil, every 16,384 states. The error is ctx's, or says that a second search does not
// find again what the first has found.
func Explore[W, S any](ctx context.Context, s System[W, S], maxStates int, progress func(states int)) (found Found, path []S, wrong *Violation, err error) {
	first := newSearch(s, maxStates, progress)
	violating, err := first.depthFirst(ctx)
	found = first.found
	if !violating {
		return found, nil, nil, err
	}
	path, bad, err := newSearch(s, maxStates, nil).shortest(ctx)
	if err != nil {
		return found, nil, nil, err
	}
	return found, path, bad.(*Violation), nil
}

// search visits the states of a System, each once.
type search[W, S any] struct {
	System[W, S]
	maxStates int
	progress  func(states int) // may be nil
	found     Found

	seeds [2]maphash.Seed
	seen  map[hash128]struct{}
	buf   []byte
}

// hash128 stands for a state's key. Among a hundred million states the chance that two have the
// same is below one in 10^22.
type hash128 [2]uint64

func newSearch[W, S any](s System[W, S], maxStates int, progress func(states int)) *search[W, S] {
	return &search[W, S]{
		System: s, maxStates: maxStates, progress: progress,
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, seen: make(map[hash128]struct{}),
	}
}

// visit observes a state and counts it if it is new. It returns the steps from there, or none if
// it was visited before.
func (s *search[W, S]) visit(w W) ([]S, error) {
	if err := s.Observe(w); err != nil {
		return nil, err
	}
	s.buf = s.Key(w, s.buf[:0])
	h := hash128{maphash.Bytes(s.seeds[0], s.buf), maphash.Bytes(s.seeds[1], s.buf)}
	if _, ok := s.seen[h]; ok {
		return nil, nil
	}
	s.seen[h] = struct{}{}
	if s.found.States++; s.progress != nil && s.found.States&(1<<14-1) == 0 {
		s.progress(s.found.States)
	}
	steps := s.Steps(w)
	if slices.ContainsFunc(steps, func(st S) bool { return !s.Fault(st) }) {
		return steps, nil
	}
	s.found.Quiet++
	return steps, s.Quiet(w)
}

// arrive makes a step and visits the state that it leads to.
func (s *search[W, S]) arrive(w W, by S) ([]S, error) {
	if err := s.Apply(w, by); err != nil {
		return nil, err
	}
	return s.visit(w)
}

// depthFirst visits every state, which takes little memory, and reports whether something is
// wrong with one. The error is ctx's.
func (s *search[W, S]) depthFirst(ctx context.Context) (wrong bool, err error) {
	type frame struct {
		w     W
		steps []S
	}
	root := s.Start()
	steps, bad := s.visit(root)
	if bad != nil {
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
		if s.found.Transitions++; s.found.Transitions&1023 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		st := top.steps[n-1]
		w := top.w
		if top.steps = top.steps[:n-1]; n > 1 {
			w = s.Clone(w) // the last step needs no copy of the state before it
		}
		steps, bad := s.arrive(w, st)
		if bad != nil {
			return true, nil
		}
		if s.found.States >= s.maxStates {
			return false, nil
		}
		if len(steps) == 0 {
			s.Free(w)
			continue
		}
		path = append(path, frame{w, steps})
		s.found.Depth = max(s.found.Depth, len(path)-1)
	}
	s.found.Complete = true
	return false, nil
}

// arrival is how a state was first reached; nil: it is the start.
type arrival[S any] struct {
	from *arrival[S]
	by   S
}

// errUnsteady means that a search does not find again what another found.
var errUnsteady = errors.New("something wrong was found depth-first but not breadth-first: the system does not always answer alike")

// shortest visits states in the order of their distance from the start. It returns a shortest
// history that goes wrong, and what is wrong then. The error is ctx's, or says that nothing is wrong.
func (s *search[W, S]) shortest(ctx context.Context) (path []S, wrong, err error) {
	type node struct {
		w     W
		steps []S
		how   *arrival[S]
	}
	root := s.Start()
	steps, bad := s.visit(root)
	if bad != nil {
		return nil, bad, nil
	}
	queue := []node{{root, steps, nil}}
	for len(queue) > 0 {
		n := queue[0]
		queue[0] = node{} // frees its state
		queue = queue[1:]
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		for _, st := range n.steps {
			w, how := s.Clone(n.w), &arrival[S]{n.how, st}
			steps, bad := s.arrive(w, st)
			switch {
			case bad != nil:
				return how.path(), bad, nil
			case len(steps) == 0:
				s.Free(w)
			default:
				queue = append(queue, node{w, steps, how})
			}
		}
	}
	return nil, nil, errUnsteady
}

func (a *arrival[S]) path() []S {
	var path []S
	for ; a != nil; a = a.from {
		path = append(path, a.by)
	}
	slices.Reverse(path)
	return path
}
