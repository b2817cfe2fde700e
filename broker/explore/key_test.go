package explore

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/simctl/simctl/broker"
)

// detail describes an observed world with all that key leaves out, but for finished
// evaluations' places and the exact time.
func (w *world) detail() string {
	out := fmt.Sprintln(w.gaining, w.timeouts, w.failovers, w.writeFailures, w.jobs)
	for _, wk := range w.workers {
		out += fmt.Sprintln(wk.busy, wk.done, wk.eval, wk.snapshot)
	}
	for i, e := range w.evals {
		out += fmt.Sprintln(e.eval.ID, e.status, e.lost, w.view.places[i])
	}
	return out
}

// TestKey verifies that key forgets nothing that matters: it visits every state as told
// apart by detail, and all of those with equal keys must lead to states with equal keys.
func TestKey(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		policy broker.Policy
		change func(b *Bounds)
	}{
		{broker.Legacy(), func(b *Bounds) { b.Evals, b.Timeouts = 2, 1 }},
		{broker.Shedding(), func(b *Bounds) { b.Evals, b.Timeouts = 2, 1 }},
		{broker.Shedding(), func(b *Bounds) { b.Jobs, b.Batch = 1, 1 }},
		{broker.Shedding(), func(b *Bounds) { b.Jobs, b.Evals, b.Priorities, b.Snapshot = 1, 3, 2, SnapshotJob }},
	} {
		bounds := DefaultBounds()
		tt.change(&bounds)
		s := newSystem(tt.policy, bounds)
		var queue []*world
		seen := map[string]bool{}
		type state struct{ detail, next string }
		states := map[string]state{} // by key
		arrive := func(w *world) string {
			if err := w.observe(); err != nil {
				t.Fatal(err)
			}
			if d := w.detail(); !seen[d] {
				seen[d] = true
				queue = append(queue, w)
			}
			return string(w.key(nil))
		}
		arrive(s.Start())
		for len(queue) > 0 {
			w := queue[0]
			queue = queue[1:]
			if err := w.observe(); err != nil {
				t.Fatal(err)
			}
			key, detail := string(w.key(nil)), w.detail()
			next := map[string]bool{}
			for _, st := range w.steps() {
				c := s.Clone(w)
				if err := c.apply(st); err != nil {
					t.Fatal(err)
				}
				next[arrive(c)] = true
			}
			is := state{detail, fmt.Sprintf("%q", slices.Sorted(maps.Keys(next)))}
			if was, ok := states[key]; ok && was.next != is.next {
				t.Fatalf("%s: two states of one key can do different things:\n%s\n%s\n%s\n%s",
					tt.policy, was.detail, was.next, is.detail, is.next)
			}
			states[key] = is
		}
		if len(states) == len(seen) {
			t.Errorf("%s: key joins none of %d states", tt.policy, len(seen))
		}
		t.Logf("%s: %d states, %d by key", tt.policy, len(seen), len(states))
	}
}
