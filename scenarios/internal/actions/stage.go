package actions

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
)

// Stage is what actions act on: the cluster and the fleet of a run, the faults under way and
// what clients do by themselves. It belongs to the goroutine of the events and, between
// phases, to that of the run.
type Stage struct {
	Ctx     context.Context
	Cluster Cluster
	// Fleet is nil if there is none.
	Fleet *nodesim.Fleet
	// Simulated is the cluster again; nil if it is a real one, which only actions of the kind
	// Real act on.
	Simulated *cluster.Cluster
	// Groups are the groups of the fleet, and Seed is that of behaviours.
	Groups []behaviours.Group
	Seed   int64
	// Note marks the present instant in the Result.
	Note func(mark string)

	// Doing is the mark of the action that is being done.
	Doing string

	faults   []fault
	healing  bool
	behaving map[string]*behaviours.Underway
	begun    int // behaviours so far
}

// fault is a fault under way.
type fault struct {
	due  time.Time // zero: it does not end by itself
	what string    // the mark of its beginning
	mark string
	end  func() error
}

// Begin notes a fault that ends after a while or, if that is zero, when everything is healed.
// The end is marked unless the mark is empty.
func (s *Stage) Begin(lasts time.Duration, mark string, end func() error) {
	f := fault{what: s.Doing, mark: mark, end: end}
	if lasts > 0 {
		f.due = time.Now().Add(lasts)
	}
	s.faults = append(s.faults, f)
}

// Faults returns what the faults under way do, and when each ends: the zero time unless it
// ends by itself.
func (s *Stage) Faults(yield func(what string, due time.Time) bool) {
	for _, f := range s.faults {
		if !yield(f.what, f.due) {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.behaving)) {
		if !yield(name, time.Time{}) {
			return
		}
	}
}

// Faulty reports whether a fault is under way.
func (s *Stage) Faulty() bool { return len(s.faults) > 0 }

// NextEnd returns when the next fault ends by itself, and what ends it; ok is false when none
// does.
func (s *Stage) NextEnd() (due time.Time, end func() error, ok bool) {
	at := -1
	for i, f := range s.faults {
		if !f.due.IsZero() && (at < 0 || f.due.Before(s.faults[at].due)) {
			at = i
		}
	}
	if at < 0 {
		return time.Time{}, nil, false
	}
	return s.faults[at].due, func() error { return s.end(at) }, true
}

func (s *Stage) end(i int) error {
	f := s.faults[i]
	s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
	if f.mark != "" {
		s.Note(f.mark)
	}
	s.Doing = f.what // some faults end by beginning anew
	return f.end()
}

// EndMarked ends the fault whose end has that mark, if one is under way.
func (s *Stage) EndMarked(mark string) error {
	i := slices.IndexFunc(s.faults, func(f fault) bool { return f.mark == mark })
	if i < 0 {
		return nil
	}
	return s.end(i)
}

// Heal ends every fault and starts every server that does not run.
func (s *Stage) Heal() error {
	s.healing = true
	defer func() { s.healing = false }()
	var errs []error
	for len(s.faults) > 0 {
		errs = append(errs, s.end(0))
	}
	for i := range s.Cluster.Servers() {
		errs = append(errs, s.StartServer(i))
	}
	return errors.Join(errs...)
}

// Healing reports whether Heal is ending a fault: another must not begin.
func (s *Stage) Healing() bool { return s.healing }

// StartServer starts a server unless it runs.
func (s *Stage) StartServer(i int) error {
	if s.Cluster.Running(i) {
		return nil
	}
	return s.Cluster.StartServer(i)
}

// Behaves reports whether clients behave that way.
func (s *Stage) Behaves(name string) bool { return s.behaving[name] != nil }

// BeginBehaviour lets clients behave that way from now on. They must not do so already.
func (s *Stage) BeginBehaviour(b *behaviours.Behaviour) {
	// No two behaviours act at one instant, nor with the timers of others.
	s.begun++
	offset := time.Duration(s.begun) * 1_013 * time.Nanosecond
	if s.behaving == nil {
		s.behaving = map[string]*behaviours.Underway{}
	}
	s.behaving[b.Name] = b.Start(s.Ctx, s.Seed, s.Groups, s.Fleet, offset)
}

// EndBehaviour ends a behaviour that has begun. The clients that it has silenced come back,
// unless leave is set.
func (s *Stage) EndBehaviour(name string, leave bool) {
	b := s.behaving[name]
	delete(s.behaving, name)
	b.End()
	if !leave {
		b.Silenced(s.Fleet.StartClients)
	}
}

// EndBehaviours ends every behaviour and leaves the clients as they are.
func (s *Stage) EndBehaviours() {
	for _, b := range s.behaving {
		b.End()
	}
	s.behaving = nil
}
