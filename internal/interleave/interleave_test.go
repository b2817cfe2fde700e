package interleave

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// counting is two actors that add to a counter, beside a clock that may tick three times.
type counting struct {
	atomic bool // they do not read it first and write it later
	wrong  error
}

type counted struct {
	Value, Written int
	Read           [2]int
	At             [2]int // steps made
	Ticks          int
}

const tick = -1 // a step; the others are of the actor

func (*counting) Start() *counted                   { return new(counted) }
func (*counting) Clone(w *counted) *counted         { return new(*w) }
func (*counting) Free(w *counted)                   { *w = counted{} }
func (*counting) Key(w *counted, key []byte) []byte { return fmt.Append(key, *w) }
func (*counting) Fault(s int) bool                  { return s == tick }
func (*counting) Quiet(w *counted) error            { return nil }

func (c *counting) Observe(w *counted) error {
	if w.Value != w.Written {
		return Violated("no addition is lost", "%d of %d", w.Value, w.Written)
	}
	err := c.wrong
	c.wrong = nil
	return err
}

// Steps has the tick last, which is where a search in depth begins.
func (*counting) Steps(w *counted) (steps []int) {
	for actor, at := range w.At {
		if at < 2 {
			steps = append(steps, actor)
		}
	}
	if w.Ticks < 3 {
		steps = append(steps, tick)
	}
	return steps
}

func (c *counting) Apply(w *counted, s int) error {
	switch {
	case s == tick:
		w.Ticks++
	case c.atomic:
		w.At[s], w.Value, w.Written = 2, w.Value+1, w.Written+1
	case w.At[s] == 0:
		w.At[s], w.Read[s] = 1, w.Value
	default:
		w.At[s], w.Value, w.Written = 2, w.Read[s]+1, w.Written+1
	}
	return nil
}

// TestExploreHolds: each of the 16 states is visited once, by each of its 28 steps; in four of them only the
// clock goes on.
func TestExploreHolds(t *testing.T) {
	c := &counting{atomic: true}
	found, path, wrong, err := Explore(t.Context(), c, 100, nil)
	if found.Depth = 0; found != (Found{States: 16, Transitions: 28, Quiet: 4, Complete: true}) || path != nil || wrong != nil || err != nil {
		t.Errorf("found %+v, %v, %v, %v", found, path, wrong, err)
	}
	if found, _, wrong, err := Explore(t.Context(), c, 5, nil); found.States != 5 || found.Complete || wrong != nil || err != nil {
		t.Errorf("with a limit of 5 states: found %+v, %v, %v", found, wrong, err)
	}
}

// TestExploreFindsTheShortest: both read before either writes, and no tick is in the way.
func TestExploreFindsTheShortest(t *testing.T) {
	found, path, wrong, err := Explore(t.Context(), new(counting), 1000, nil)
	if err != nil || wrong == nil || found.Complete {
		t.Fatalf("found %+v, %v, %v", found, wrong, err)
	}
	if !slices.Equal(path, []int{0, 1, 0, 1}) || wrong.Error() != "no addition is lost: 1 of 2" {
		t.Errorf("after %v: %v", path, wrong)
	}
}

func TestExploreNoticesAnUnsteadySystem(t *testing.T) {
	c := &counting{atomic: true, wrong: Violated("once", "")}
	if _, _, wrong, err := Explore(t.Context(), c, 100, nil); !errors.Is(err, errUnsteady) || wrong != nil {
		t.Errorf("%v, %v; want %v", wrong, err, errUnsteady)
	}
}
