package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
)

// slow is a stage on which large runs never end by themselves, and others need too much memory.
type slow struct {
	stage
	endless, large func(scenarios.Spec) bool
}

func (s *slow) Run(ctx context.Context, spec scenarios.Spec, key string, attempt int, tell func(scenarios.Progress)) (*metrics.Result, error) {
	res, err := s.stage.Run(ctx, spec, key, attempt, tell)
	switch {
	case s.endless != nil && s.endless(spec):
		<-ctx.Done()
		return nil, ctx.Err()
	case s.large != nil && s.large(spec):
		return nil, &LimitError{"--max-memory 1MiB"}
	}
	return res, err
}

// missingText lists missing cells.
func missingText(s *metrics.Sweep) string {
	var all []string
	for _, c := range s.Missing {
		all = append(all, fmt.Sprintf("%s %s %s", c.Point[0], c.Broker, c.Limit))
	}
	return strings.Join(all, ", ")
}

func TestASweepThatReachesItsTimeKeepsItsCells(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		st := study(t, "nodes=10,20,30", "broker=legacy")
		st.Seeds = []int64{1, 2}
		st.MaxTime = 10 * time.Minute
		// Of the cell of 20 nodes, one of two seeds ends.
		ex := &slow{stage: stage{side: 1}, endless: func(s scenarios.Spec) bool { return nodesOf(s) == 30 || nodesOf(s) == 20 && s.Seed == 2 }}
		s, _, err := perform(t, t.Context(), st, ex, dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := missingText(s), "20 legacy --max-time 10m0s, 30 legacy --max-time 10m0s"; got != want {
			t.Errorf("missing are %q, want %q", got, want)
		}
		if len(s.Runs) != 2 || s.Runs[0].Point[0] != "10" || s.Runs[1].Point[0] != "10" {
			t.Errorf("the sweep has %+v, want the two runs of 10 nodes", s.Runs)
		}
		if values := s.Axes[0].Values; !slices.Equal(values, []string{"10"}) {
			t.Errorf("its axis has the values %v, want those that ran", values)
		}
		if !strings.HasPrefix(ex.ran[0], "10 ") || !strings.HasPrefix(ex.ran[2], "20 ") {
			t.Errorf("ran %v: the shortest should start first", ex.ran)
		}
		// The same sweep goes on from there, under the same name.
		again := *st
		again.MaxTime = 0
		if again.ID() != st.ID() {
			t.Error("a limit makes it another sweep")
		}
		rest := &stage{side: 1}
		s, w, err := perform(t, t.Context(), &again, rest, dir)
		if err != nil || w.kept != 3 || len(rest.ran) != 3 || len(s.Missing) != 0 || len(s.Runs) != 6 {
			t.Errorf("again: %d kept, ran %v, missing %v, %d runs (%v)", w.kept, rest.ran, s.Missing, len(s.Runs), err)
		}
	})
}

func TestARunThatReachesItsMemoryIsMissing(t *testing.T) {
	st := study(t, "nodes=10,20,30", "broker=legacy,shedding")
	ex := &slow{stage: stage{side: 2}, large: func(s scenarios.Spec) bool { return nodesOf(s) == 30 && s.Broker == "legacy" }}
	dir := t.TempDir()
	s, w, err := perform(t, t.Context(), st, ex, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := missingText(s), "30 legacy --max-memory 1MiB"; got != want || len(s.Runs) != 5 {
		t.Errorf("missing are %q and %d runs are there, want %q and 5", got, len(s.Runs), want)
	}
	if len(ex.ran) != 6 || len(w.retried) != 0 || len(w.ended) != 6 {
		t.Errorf("ran %v, retried %v, ended %v: want each run once", ex.ran, w.retried, w.ended)
	}
	if s, _, err := perform(t, t.Context(), st, &stage{side: 1}, dir); err != nil || len(s.Runs) != 6 {
		t.Errorf("without the limit it has %d runs (%v)", len(s.Runs), err)
	}
}

// TestALimitEndsASearch: where one search is stopped the others go on, unless the time is over.
func TestALimitEndsASearch(t *testing.T) {
	tooMuch := func(s scenarios.Spec) bool { return s.Broker == "legacy" && nodesOf(s) > 1000 }
	for _, c := range []struct {
		ex     *slow
		limit  string
		kneeOf []string
	}{
		{&slow{stage: stage{side: 4}, large: tooMuch}, "--max-memory 1MiB", []string{"shedding"}},
		{&slow{stage: stage{side: 4}, endless: tooMuch}, "--max-time 1h0m0s", []string{"shedding"}},
		{&slow{stage: stage{side: 4}, endless: func(scenarios.Spec) bool { return true }}, "--max-time 1h0m0s", nil},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			st := study(t, "nodes=100..100000")
			st.Design = Design{Kind: Knee, Axis: "nodes"}
			st.Limits = []metrics.Threshold{limit(t, "recovery_s<=300")}
			st.MaxTime = time.Hour
			s, _, err := perform(t, t.Context(), st, c.ex, dir)
			if err != nil || len(s.Knees) != 2 {
				t.Fatalf("knees %+v (%v)", s, err)
			}
			for _, k := range s.Knees {
				switch found := slices.Contains(c.kneeOf, k.Broker); {
				case found && (k.Limit != "" || k.Passes == "" || k.Fails == ""):
					t.Errorf("%s: the search was to end by itself: %+v", c.limit, k)
				case !found && (k.Limit != c.limit || k.Fails != ""):
					t.Errorf("%s: the search was to be stopped: %+v", c.limit, k)
				}
			}
		})
	}
}

// TestLocalEndsARunAtItsMemory runs a real cell that needs more memory than it may take.
func TestLocalEndsARunAtItsMemory(t *testing.T) {
	local := NewLocal(1, 256<<20)
	local.MaxMemory = 2 << 20
	s, _, err := perform(t, t.Context(), study(t, "nodes=20", "broker=shedding"), local, t.TempDir())
	if err != nil || missingText(s) != "20 shedding --max-memory 2MiB" {
		t.Errorf("missing are %q (%v)", missingText(s), err)
	}
}
