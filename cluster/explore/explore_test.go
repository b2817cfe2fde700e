package explore

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/nightly"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the histories of testdata from what the search finds now")

// bounds are the default ones without faults, changed.
func bounds(change func(b *Bounds)) Bounds {
	b := DefaultBounds()
	b.Downs, b.Timeouts, b.Failovers = 0, 0, 0
	change(&b)
	return b
}

// skipping are bounds in which the change of a node finds an evaluation of the job that no worker has.
func skipping(newest bool) Bounds {
	return bounds(func(b *Bounds) {
		b.Jobs, b.Triggers, b.Downs, b.Failovers, b.SkipQueued, b.NewestState = 1, 1, 1, 1, true, newest
	})
}

// TestSound searches small systems with one fault of some kinds. The number of states is part of the
// expectation: one that drops shows that the search misses some. Large searches wait for the night.
func TestSound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		policy broker.Policy
		bounds Bounds
		states int
	}{
		{"a node goes down", broker.Shedding(), bounds(func(b *Bounds) { b.Downs = 1 }), 72454},
		{"a nack timer fires", broker.Legacy(), bounds(func(b *Bounds) { b.Timeouts = 1 }), 12986},
		{"the leader changes", broker.Shedding(), bounds(func(b *Bounds) { b.Failovers = 1 }), 11361},
		{"all of it to one job", broker.Shedding(), bounds(func(b *Bounds) { b.Jobs, b.Downs, b.Timeouts, b.Failovers = 1, 1, 1, 1 }), 16991},
		{"triggers while it is worked on", broker.Shedding(), bounds(func(b *Bounds) { b.Jobs, b.Triggers, b.Timeouts, b.Failovers = 1, 2, 1, 1 }), 124974},
		{"an applier that keeps its state", broker.Legacy(), bounds(func(b *Bounds) { b.Timeouts, b.KeptSnapshot = 1, true }), 13183},
		{"an evaluation is skipped, and workers wait for the newest state", broker.Shedding(), skipping(true), 48833},
		{"workers wait for the newest state", broker.Legacy(), bounds(func(b *Bounds) { b.Timeouts, b.Failovers, b.NewestState = 1, 1, true }), 101109},
		{"two plans at a time", broker.Shedding(), bounds(func(b *Bounds) { b.Failovers, b.Pipeline = 1, 2 }), 11394},
		{"two plans at a time, and a node goes down", broker.Shedding(), bounds(func(b *Bounds) { b.Jobs, b.Triggers, b.Downs, b.Pipeline = 1, 1, 1, 2 }), 4425},
		{"two plans at a time, and an applier's old state", broker.Shedding(), bounds(func(b *Bounds) { b.Room, b.Sooner, b.Failovers, b.Pipeline = 2, 1, 1, 2 }), 11655},
	} {
		if tt.states > 40_000 && !nightly.On {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			r, err := Run(t.Context(), tt.policy, tt.bounds, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Violation != nil || !r.Complete || r.States != tt.states || r.Quiet == 0 {
				t.Errorf("want %d states, all of them sound:\n%s", tt.states, text(t, r))
			}
		})
	}
}

func text(t *testing.T, r *Report) string {
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFound are histories that the service does not survive: those of Nomad's that it shares
// (docs/adr/0508), and those of designs.
func TestFound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		bounds   Bounds
		property string
		golden   string // empty: named by the property
	}{
		{"a worker that lost its call nacks, and its plan is applied beside that of the next", bounds(func(b *Bounds) { b.Lost = 1 }), "no plan applied twice", ""},
		{"a plan is verified, waits, and is applied after its node went down", bounds(func(b *Bounds) { b.Room, b.Downs = 2, 1 }), "convergence", ""},
		{"an evaluation is skipped for one that a worker takes with an older state", skipping(false), "no lost wake-up", ""},
		{"a refused worker tries again on a state without the plan that it was refused for", bounds(func(b *Bounds) { b.Sooner = 1 }), "placement", ""},
		{"a plan fails for the applier's old state, and is applied all the same", bounds(func(b *Bounds) { b.Room, b.Sooner, b.Pipeline, b.NackUnseen = 2, 1, 1, true }), "no node overcommitted", ""},
		{"a plan is newer than the applier's state, and is verified on another that lacks the plan under way", bounds(func(b *Bounds) { b.Sooner, b.Triggers = 2, 1 }), "no node overcommitted", "forgotten-plan"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Run(t.Context(), broker.Shedding(), tt.bounds, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := text(t, r)
			if r.Violation == nil || r.Violation.Property != tt.property {
				t.Fatalf("want a violation of %q:\n%s", tt.property, got)
			}
			golden := filepath.Join("testdata", cmp.Or(tt.golden, strings.ReplaceAll(tt.property, " ", "-"))+".txt")
			if *rewrite {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the history is not that of %s:\n%s", golden, got)
			}
		})
	}
}

// TestPlanted puts bugs into the service, and each must be found.
func TestPlanted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		bug      func(*seams)
		bounds   Bounds
		property string
		steps    int
	}{
		{"a worker does not wait for the state that its evaluation needs", func(s *seams) {
			s.waitIndex = func(snap *state.Snapshot, e *broker.Evaluation) uint64 { return e.CreateIndex - 1 }
		}, bounds(func(b *Bounds) { b.Jobs, b.Workers = 1, 1 }), "no lost wake-up", 5},
		{"a worker waits for its evaluation, not for the newest of the job", func(s *seams) {
			s.waitIndex = func(snap *state.Snapshot, e *broker.Evaluation) uint64 { return e.CreateIndex }
		}, bounds(func(b *Bounds) { b.Timeouts = 1 }), "no plan applied twice", 20},
		{"a retried submission is taken under a token that is not valid any more", func(s *seams) {
			s.pause = func(b *broker.EvalBroker, now time.Time, id, token string) error {
				_ = b.PauseNackTimeout(now, id, token)
				return nil
			}
		}, bounds(func(b *Bounds) { b.Failovers = 1 }), "no plan applied twice", 19},
		{"nack timers go on while plans wait", func(s *seams) {
			s.pause = func(b *broker.EvalBroker, now time.Time, id, token string) error {
				return b.OutstandingReset(now, id, token)
			}
		}, bounds(func(b *Bounds) { b.Timeouts = 1 }), "no plan applied twice", 21},
		{"nack timers do not go on after a plan", func(s *seams) {
			s.resume = func(*broker.EvalBroker, time.Time, string, string) {}
		}, bounds(func(b *Bounds) { b.Jobs, b.Workers = 1, 1 }), "no lost wake-up", 7},
		{"a plan is verified without the one on its way", func(s *seams) {
			s.begin = func(b *leader.PlanBase, p *scheduler.Plan) bool { b.Begin(p); return true }
		}, bounds(func(b *Bounds) {}), "no node overcommitted", 13},
		{"a plan's entry does not touch its evaluation", func(s *seams) {
			s.planEval = func(*scheduler.Plan) string { return "" }
		}, bounds(func(b *Bounds) { b.Failovers = 1 }), "no plan applied twice", 18},
		{"a refused worker tries again on the state it had", func(s *seams) {
			s.refresh = func(snap uint64, _ *scheduler.PlanResult) uint64 { return snap }
		}, bounds(func(b *Bounds) {}), "placement", 16},
		{"a worker that stops waiting overlooks its answer", func(s *seams) { s.forgetsAnswer = true },
			bounds(func(b *Bounds) { b.Jobs, b.Workers = 1, 1 }), "no lost wake-up", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := sound(tt.bounds)
			tt.bug(&s)
			r, err := run(t.Context(), broker.Shedding(), tt.bounds, s, nil)
			if err != nil {
				t.Fatal(err)
			}
			if v := r.Violation; v == nil {
				t.Errorf("nothing was found in %d states", r.States)
			} else if v.Property != tt.property || len(v.Steps) != tt.steps {
				t.Errorf("violated %q by %d steps, want %q by %d:\n%s", v.Property, len(v.Steps), tt.property, tt.steps, text(t, r))
			}
		})
	}
}

// TestPlacedOnADeadNode: a plan must not place anything on a node that was down in the state on which
// it was made. No bug of one part alone leads there: the applier would refuse it.
func TestPlacedOnADeadNode(t *testing.T) {
	w := newWorld(newSystem(broker.Shedding(), DefaultBounds(), sound(DefaultBounds())))
	on := func(index uint64) error {
		return w.checkPlan(&submission{
			plan:   &scheduler.Plan{SnapshotIndex: index},
			result: &scheduler.PlanResult{NodeAllocation: map[string][]*rpc.Allocation{smallNode: {{Name: "a.group[0]"}}}},
		})
	}
	before := w.latest().Index()
	if err := w.down(step{}); err != nil {
		t.Fatal(err)
	}
	if err := on(before); err != nil {
		t.Errorf("the node was up: %v", err)
	}
	if err := on(w.latest().Index()); err == nil {
		t.Error("the node was down, and nothing is wrong")
	}
}

func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		bounds Bounds
		want   string
	}{
		{bounds(func(b *Bounds) { b.Jobs = 3 }), "bound jobs is 3: it must be from 1 to 2"},
		{bounds(func(b *Bounds) { b.Room = 0 }), "bound room is 0: it must be from 1 to 2"},
		{bounds(func(b *Bounds) { b.Downs = 2 }), "bound downs is 2: it must be from 0 to 1"},
	} {
		if _, err := Run(t.Context(), broker.Legacy(), tt.bounds, nil); err == nil || err.Error() != tt.want {
			t.Errorf("%+v: error %v, want %s", tt.bounds, err, tt.want)
		}
	}
	r, err := Run(t.Context(), broker.Legacy(), bounds(func(b *Bounds) { b.MaxStates = 100 }), nil)
	if err != nil || r.Complete || r.States != 100 || r.Violation != nil {
		t.Errorf("a search of at most 100 states: %+v, %v", r, err)
	}
}
