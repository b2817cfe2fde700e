package explore_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/broker/explore"
	"github.com/simctl/simctl/broker/internal/script"
	"github.com/simctl/simctl/internal/nightly"
)

// The policies below are deliberately broken; each embeds a sound one.

// keepOldest sheds the newest evaluations and keeps the one that every other supersedes.
type keepOldest struct{ broker.Policy }

func (keepOldest) String() string { return "keep-oldest" }
func (keepOldest) Less(a, b *broker.Evaluation) bool {
	return a.ModifyIndex < b.ModifyIndex
}

// shedAll trusts that the acked run has seen every trigger.
type shedAll struct{ broker.Policy }

func (shedAll) String() string { return "shed-all" }
func (shedAll) Shed(p broker.PendingEvaluations) []*broker.Evaluation {
	return p.RemoveFunc(func(*broker.Evaluation) bool { return true })
}

// shedEarly trusts that the evaluation in flight will see a trigger that comes during its
// run, although its snapshot may be older.
type shedEarly struct{ broker.Policy }

func (shedEarly) String() string { return "shed-early" }
func (shedEarly) ShedOnEnqueue(p broker.PendingEvaluations) []*broker.Evaluation {
	return p.RemoveFunc(func(*broker.Evaluation) bool { return true })
}

// loses takes evaluations away without saying so.
type loses struct{ broker.Policy }

func (loses) String() string { return "loses" }
func (loses) Shed(p broker.PendingEvaluations) []*broker.Evaluation {
	p.KeepBest()
	return nil
}

// twice sheds an evaluation and keeps it.
type twice struct{ broker.Policy }

func (twice) String() string { return "twice" }
func (twice) Shed(p broker.PendingEvaluations) []*broker.Evaluation {
	return slices.Collect(p.All())[:1]
}

// named returns a policy whose name is known to be good.
func named(name string) broker.Policy {
	p, err := broker.PolicyByName(name)
	if err != nil {
		panic(err)
	}
	return p
}

// bounds are the default ones, changed.
func bounds(change func(b *explore.Bounds)) explore.Bounds {
	b := explore.DefaultBounds()
	change(&b)
	return b
}

func run(t *testing.T, p broker.Policy, b explore.Bounds) *explore.Report {
	t.Helper()
	r, err := explore.Run(t.Context(), p, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSound searches what `simctl broker explore` does, and other small systems. The number
// of states is part of the expectation: one that drops shows that the search misses some. Large
// searches wait for the night.
func TestSound(t *testing.T) {
	t.Parallel()
	full, small := explore.DefaultBounds(), bounds(func(b *explore.Bounds) { b.Evals = 3 })
	for _, tt := range []struct {
		name   string
		policy broker.Policy
		bounds explore.Bounds
		states int
	}{
		{"legacy", broker.Legacy(), full, 160571},
		{"shedding", broker.Shedding(), full, 506205},
		{"legacy, three triggers", broker.Legacy(), small, 38006},
		{"shedding, three triggers", broker.Shedding(), small, 69340},
		{"coalescing on enqueue", named("shedding+enqueue-keeps-best"), small, 96316},
		{"dedup leak", broker.WithQuirks(broker.Shedding(), broker.DedupLeak), bounds(func(b *explore.Bounds) { b.Evals = 2 }), 6070},
		{"one job, seven triggers", broker.Shedding(), bounds(func(b *explore.Bounds) { b.Jobs, b.Evals, b.Batch = 1, 7, 3 }), 42466},
		{"three jobs, one worker", broker.Shedding(), bounds(func(b *explore.Bounds) { b.Jobs, b.Evals, b.Workers, b.Timeouts = 3, 2, 1, 1 }), 9352},
		{"two failovers, two priorities", broker.Shedding(), bounds(func(b *explore.Bounds) {
			b.Jobs, b.Evals, b.Priorities, b.Failovers, b.Snapshot = 1, 4, 2, 2, explore.SnapshotJob
		}), 59147},
		{"no redelivery", broker.Shedding(), bounds(func(b *explore.Bounds) { b.Jobs, b.Evals, b.DeliveryLimit = 1, 3, 1 }), 1493},
		{"wait index, no shedding", broker.Legacy(), bounds(func(b *explore.Bounds) { b.Jobs, b.Evals, b.Priorities, b.Snapshot = 1, 4, 2, explore.SnapshotJob }), 18597},
		{"wait index, any is as good as the newest", keepOldest{broker.Shedding()}, bounds(func(b *explore.Bounds) { b.Evals, b.Snapshot = 2, explore.SnapshotJob }), 9015},
	} {
		if tt.states > 40_000 && !nightly.On {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, tt.policy, tt.bounds)
			if r.Violation != nil {
				t.Fatalf("%s", r.Violation.Script)
			}
			if !r.Complete || r.States != tt.states || r.Quiet == 0 {
				t.Errorf("%d states, want %d; complete %v, %d quiet ones", r.States, tt.states, r.Complete, r.Quiet)
			}
		})
	}
}

// TestBroken verifies that each broken policy is caught, with a counterexample that is as
// expected and that the broker's script runner repeats.
func TestBroken(t *testing.T) {
	nomad := bounds(func(b *explore.Bounds) { b.Snapshot = explore.SnapshotJob })
	for _, tt := range []struct {
		policy   broker.Policy
		bounds   explore.Bounds
		property string
		steps    int
	}{
		{keepOldest{broker.Shedding()}, explore.DefaultBounds(), "no lost wake-up", 9},
		{shedAll{broker.Shedding()}, nomad, "no lost wake-up", 5},
		{shedEarly{broker.Shedding()}, nomad, "no lost wake-up", 5},
		{loses{broker.Shedding()}, explore.DefaultBounds(), "conservation", 6},
		{twice{broker.Shedding()}, explore.DefaultBounds(), "conservation", 5},
		{named("legacy+newest-first+ack-keeps-none"), explore.DefaultBounds(), "no lost wake-up", 5},
	} {
		t.Run(tt.policy.String(), func(t *testing.T) {
			r := run(t, tt.policy, tt.bounds)
			caught(t, tt.policy, r, tt.property, tt.steps)
		})
	}
}

// TestPriorityBeforeNewness shows what Nomad's wait index is for: shedding keeps an older
// evaluation of higher priority, which is enough only if its worker's snapshot is as
// new as the evaluations that were shed for it.
func TestPriorityBeforeNewness(t *testing.T) {
	t.Parallel()
	r := run(t, broker.Shedding(), bounds(func(b *explore.Bounds) { b.Priorities = 2 }))
	caught(t, broker.Shedding(), r, "no lost wake-up", 9)
}

func caught(t *testing.T, p broker.Policy, r *explore.Report, property string, steps int) {
	t.Helper()
	v := r.Violation
	if v == nil {
		t.Fatalf("nothing was found in %d states", r.States)
	}
	if v.Property != property || len(v.Steps) != steps || r.Complete {
		t.Errorf("violated %q by %d steps, want %q by %d", v.Property, len(v.Steps), property, steps)
	}
	golden := filepath.Join("testdata", p.String()+".txt")
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(v.Script), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if v.Script != string(want) {
		t.Errorf("the counterexample is not that of %s:\n%s", golden, v.Script)
	}
	repeats(t, golden, p)
}

// repeats runs a counterexample's script under the policy, and holds it to the answers there.
func repeats(t *testing.T, path string, p broker.Policy) {
	env := script.New(p)
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "policies" {
			return ""
		}
		out := env.Exec(d.FullCmd(), d.Input)
		if strings.Contains(out, "bad script") || strings.Contains(out, "invariant broken") {
			d.Fatalf(t, "%s", out)
		}
		return out
	})
}

func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		bounds explore.Bounds
		want   string
	}{
		{bounds(func(b *explore.Bounds) { b.Jobs = 5 }), "jobs is 5: it must be from 1 to 4"},
		{bounds(func(b *explore.Bounds) { b.Workers = 0 }), "workers is 0"},
		{bounds(func(b *explore.Bounds) { b.DeliveryLimit = 4 }), "bound delivery-limit is 4: it must be from 1 to 3"},
		{bounds(func(b *explore.Bounds) { b.Snapshot = "new" }), "bound snapshot is new: it must be eval or job"},
	} {
		_, err := explore.Run(t.Context(), broker.Legacy(), tt.bounds, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want one with %q", tt.bounds, err, tt.want)
		}
	}
	r := run(t, broker.Legacy(), bounds(func(b *explore.Bounds) { b.MaxStates = 100 }))
	if r.Complete || r.States != 100 {
		t.Errorf("a search of at most 100 states had %d, complete %v", r.States, r.Complete)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := explore.Run(ctx, broker.Legacy(), explore.DefaultBounds(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled search: %v", err)
	}
	if _, err := explore.RunAll(ctx, []broker.Policy{broker.Legacy(), broker.Shedding()}, explore.DefaultBounds(), nil); err != context.Canceled {
		t.Errorf("two canceled searches: %v", err)
	}
}
