package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simctl/simctl/metrics"
)

// study returns a study of the heartbeat storm over some axes.
func study(t testing.TB, axes ...string) *Study {
	t.Helper()
	st := &Study{Base: base(), Brokers: []string{"legacy", "shedding"}, Seeds: []int64{1}}
	if err := st.Parse(axes); err != nil {
		t.Fatal(err)
	}
	return st
}

func limit(t testing.TB, text string) metrics.Threshold {
	t.Helper()
	l, err := (&metrics.Vocabulary{Phases: []string{"register", "drain", "storm"}}).ParseLimit(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestGrid(t *testing.T) {
	st := study(t, "nodes=10,20", "system_jobs=1,2,3", "broker=shedding")
	st.Seeds = []int64{5, 6}
	runs, most, err := st.Plan()
	if err != nil || len(runs) != 12 || most != 12 {
		t.Fatalf("%d runs, at most %d (%v), want 2 × 3 cells with 2 seeds", len(runs), most, err)
	}
	seen := map[string]bool{}
	for _, r := range runs {
		if r.Spec.Broker != "shedding" || r.Spec.Vars["nodes"] != r.Point[0] || r.Spec.Vars["system_jobs"] != r.Point[1] {
			t.Errorf("the run at %v is %+v", r.Point, r.Spec)
		}
		seen[st.Label(r)] = true
	}
	if len(seen) != 12 {
		t.Errorf("only %d different runs: %v", len(seen), seen)
	}
	if first := st.Label(runs[0]); first != "nodes=10 system_jobs=1 shedding seed=5" {
		t.Errorf("the first run is called %q", first)
	}
}

// TestValuesOfOneBroker runs values that were named for one broker under that alone.
func TestValuesOfOneBroker(t *testing.T) {
	for _, c := range []struct {
		name   string
		axes   []string
		design DesignKind
		want   string
	}{
		{"grid", []string{"nodes=10,20", "shedding:system_jobs=1,2"}, Grid,
			"10 1 shedding; 10 2 shedding; 20 1 shedding; 20 2 shedding"},
		{"some for all", []string{"system_jobs=1,3", "shedding:system_jobs=2,3"}, Grid,
			"1 legacy; 1 shedding; 2 shedding; 3 legacy; 3 shedding"},
		{"each its own", []string{"legacy:system_jobs=1,2", "shedding:system_jobs=2,3"}, Grid,
			"1 legacy; 2 legacy; 2 shedding; 3 shedding"},
		{"both, one after the other", []string{"legacy:system_jobs=1", "shedding:system_jobs=1,3", "legacy:system_jobs=3"}, Grid,
			"1 legacy; 1 shedding; 3 legacy; 3 shedding"},
		{"one at a time, the base under both", []string{"reaper_batch=91", "shedding:schedulers=1,2", "legacy:schedulers=8"}, OneAtATime,
			"728 2 legacy; 728 2 shedding; 91 2 legacy; 91 2 shedding; 728 1 shedding; 728 8 legacy"},
	} {
		st := study(t, c.axes...)
		st.Design.Kind = c.design
		runs, most, err := st.Plan()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, r := range runs {
			got = append(got, strings.Join(r.Point, " ")+" "+r.Spec.Broker)
		}
		if text := strings.Join(got, "; "); text != c.want || most != len(runs) {
			t.Errorf("%s: of at most %d runs are planned\n%s\nwant\n%s", c.name, most, text, c.want)
		}
	}
}

func TestBadStudies(t *testing.T) {
	for _, c := range []struct {
		axes   []string
		change func(*Study)
		want   string
	}{
		{nil, nil, "nothing varies"},
		{[]string{"broker=legacy"}, nil, "every cell compares the brokers"},
		{[]string{"nodes=10", "nodes=20"}, nil, "stands twice"},
		{[]string{"nodes=10", "fast:nodes=20"}, nil, `unknown broker of the axis nodes "fast"`},
		{[]string{"legacy:nodes=10", "nodes=20..30"}, nil, "stands twice"},
		{[]string{"legacy:nodes=10..20"}, nil, "must be named"},
		{[]string{"legacy:nodes=10,20"}, func(st *Study) { st.Design = Design{Kind: Sample, Cells: 4} }, "for one broker alone"},
		{[]string{"seed=1,2"}, nil, "--seeds"},
		{[]string{"nodes=10", "broker=fast"}, nil, `--broker "fast": it must be legacy or shedding`},
		{[]string{"nodes=10", "broker=legacy,legacy"}, nil, "stands twice"},
		{[]string{"nodes=10,-5"}, nil, "cell nodes=-5"},
		{[]string{"cost=cheap"}, nil, "cell cost=cheap"},
		{[]string{"nodes=10..20"}, nil, "does not say which values"},
		{[]string{"nodes=1..1000:+1", "system_jobs=1..1000:+1"}, nil, "more than 100000"},
		{[]string{"nodes=1..400:+1", "system_jobs=1..200:+1"}, nil, "160000 runs"},
		{[]string{"nodes=10..20"}, func(st *Study) { st.Design = Design{Kind: Sample, Cells: 1} }, "from 2 to"},
		{[]string{"nodes=10..20"}, func(st *Study) { st.Design = Design{Kind: OneAtATime} }, "does not say which values"},
		{[]string{"nodes=10..20"}, func(st *Study) { st.Design = Design{Kind: Knee, Axis: "nods"} }, `unknown axis of the knee "nods": it must be one of nodes`},
		{[]string{"nodes=10..20"}, func(st *Study) { st.Design = Design{Kind: Knee, Axis: "nodes"} }, "name one, such as"},
		{[]string{"nodes=10", "cost=published"}, func(st *Study) {
			st.Design, st.Limits = Design{Kind: Knee, Axis: "nodes"}, []metrics.Threshold{limit(t, "recovery_s<=1")}
		}, "must be a range"},
		{[]string{"cost=published,loopback"}, func(st *Study) {
			st.Design, st.Limits = Design{Kind: Knee, Axis: "cost"}, []metrics.Threshold{limit(t, "recovery_s<=1")}
		}, "no numbers"},
	} {
		st := &Study{Base: base(), Brokers: []string{"legacy", "shedding"}, Seeds: []int64{1}}
		err := st.Parse(c.axes)
		if err == nil {
			if c.change != nil {
				c.change(st)
			}
			_, _, err = st.Plan()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: error %v, want one line that says %q", c.axes, err, c.want)
		}
	}
}

// TestSampleIsALatinHypercube cuts every axis into as many slices as there are cells: each
// must hold exactly one.
func TestSampleIsALatinHypercube(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 60).Draw(t, "cells")
		st := &Study{Base: base(), Seeds: []int64{1}, Design: Design{Kind: Sample, Cells: n}}
		st.Base.Seed = rapid.Int64().Draw(t, "seed")
		if err := st.Parse([]string{"fraction=0.1..0.9", "heartbeat_grace_s=1..1000"}); err != nil {
			t.Fatal(err)
		}
		points, _, err := st.Design.points(st)
		if err != nil || len(points) != n {
			t.Fatalf("%d cells (%v), want %d", len(points), err, n)
		}
		for i, a := range st.Axes {
			taken := make([]int, n)
			for _, p := range points {
				v, err := a.number(p[i])
				if err != nil {
					t.Fatal(err)
				}
				share := (v - a.Range.Low) / (a.Range.High - a.Range.Low)
				if a.Range.High/a.Range.Low >= 10 {
					share = math.Log(v/a.Range.Low) / math.Log(a.Range.High/a.Range.Low)
				}
				taken[min(max(int(share*float64(n)+1e-4), 0), n-1)]++
			}
			// Values are rounded to six digits, which may carry one over an edge.
			for slice, count := range taken {
				if count > 2 {
					t.Errorf("slice %d of axis %s holds %d cells: %v", slice, a.Name, count, taken)
				}
			}
			if empty := strings.Count(fmt.Sprint(taken), " 0"); empty > 2 {
				t.Errorf("axis %s leaves %d slices empty: %v", a.Name, empty, taken)
			}
		}
		again, _, _ := st.Design.points(st)
		if !slices.EqualFunc(points, again, slices.Equal) {
			t.Error("the same seed gives another sample")
		}
	})
}

func TestOneAtATime(t *testing.T) {
	st := study(t, "schedulers=1,2,4", "reaper_batch=100,728")
	st.Design.Kind = OneAtATime
	points, _, err := st.Design.points(st)
	want := "[[2 728] [1 728] [4 728] [2 100]]" // the base's come first
	if err != nil || fmt.Sprint(points) != want {
		t.Errorf("the cells are %v (%v), want %s", points, err, want)
	}
}

// TestSearchFindsTheKnee searches axes with a knee anywhere: what passes must lie below
// it, what fails above, and the two close together.
func TestSearchFindsTheKnee(t *testing.T) {
	vars := variables(t)
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.IntRange(0, 500).Draw(t, "low")
		high := low + rapid.IntRange(1, 100_000).Draw(t, "width")
		knee := rapid.IntRange(low-10, high+10).Draw(t, "knee") // the largest value that passes
		within := rapid.Float64Range(0.001, 0.5).Draw(t, "within")
		a, err := parseAxis(fmt.Sprintf("nodes=%d..%d", low, high), vars)
		if err != nil {
			t.Fatal(err)
		}
		s := newSearch(a, within)
		steps := 0
		for text, ok := s.next(); ok; text, ok = s.next() {
			v, err := strconv.Atoi(text)
			if err != nil || v < low || v > high {
				t.Fatalf("step %d tries %q, out of %d to %d", steps, text, low, high)
			}
			if s.passed && v <= int(s.passes) || s.failed && v >= int(s.fails) {
				t.Fatalf("step %d tries %d though %v passes and %v fails", steps, v, s.passes, s.fails)
			}
			s.tell(text, v <= knee)
			if steps++; steps > 100 {
				t.Fatal("the search does not end")
			}
		}
		switch {
		case knee < low:
			if s.passed || s.fails != float64(low) {
				t.Errorf("everything fails, but %+v", s)
			}
		case knee >= high:
			if s.failed || s.passes != float64(high) {
				t.Errorf("everything passes, but %+v", s)
			}
		default:
			if int(s.passes) > knee || int(s.fails) <= knee {
				t.Errorf("knee %d, but %v passes and %v fails", knee, s.passes, s.fails)
			}
			if gap := s.fails - s.passes; gap > 1 && gap > within*s.fails+1 {
				t.Errorf("%v and %v are further apart than %v", s.passes, s.fails, within)
			}
		}
	})
}

func TestKneePlanBoundsItsSteps(t *testing.T) {
	st := study(t, "nodes=100..20000", "system_jobs=1,10")
	st.Design = Design{Kind: Knee, Axis: "nodes", Within: 0.1}
	st.Limits = []metrics.Threshold{limit(t, "recovery_s<=300")}
	runs, most, err := st.Plan()
	if err != nil || len(runs) != 4 || runs[0].Point[0] != "100" {
		t.Fatalf("%d runs (%v), want the low end under 2 brokers with 2 numbers of jobs", len(runs), err)
	}
	if most < 4*8 || most > 4*16 {
		t.Errorf("at most %d runs, want 8 to 16 for each of 4 searches", most)
	}
	st = study(t, "fraction=0..1") // of which nothing else may pass but 0
	st.Design, st.Limits = Design{Kind: Knee, Axis: "fraction"}, []metrics.Threshold{limit(t, "recovery_s<=300")}
	if _, most, err := st.Plan(); err != nil || most > 2*20 {
		t.Errorf("at most %d runs from nothing (%v), want 20 under each broker at most", most, err)
	}
	st = study(t, "fraction=0.5..0.5000000000000001") // neighbours: there is nothing between them
	st.Design, st.Limits = Design{Kind: Knee, Axis: "fraction"}, []metrics.Threshold{limit(t, "recovery_s<=300")}
	if _, most, err := st.Plan(); err != nil || most > 2*3 {
		t.Errorf("at most %d runs between neighbours (%v), want 3 under each broker at most", most, err)
	}
}

// TestSearchTries: a search doubles its value, from nothing or less goes on by an eighth of the range, and then bisects. What no value
// above nothing passes is found to be so, without trying ever smaller ones.
func TestSearchTries(t *testing.T) {
	for _, c := range []struct {
		axis   string
		passes float64 // the largest value that does
		tries  string
	}{
		{"nodes=1..100", 100, "1 2 4 8 16 32 64 100"},
		{"nodes=1..100", 5, "1 2 4 8 6 5"},
		{"nodes=1..100", 0, "1"},
		{"nodes=0..3", 3, "0 1 2 3"},
		{"nodes=0..80", 80, "0 10 20 40 80"},
		{"nodes=-8..8", 8, "-8 -6 -4 -2 0 2 4 8"},
		{"fraction=0..1", 1, "0 0.125 0.25 0.5 1"},
		{"fraction=0..1", 0, "0 0.125 0.0625 0.03125 0.015625 0.0078125 0.00390625 0.00195312 0.00097656 0.00048828 0.00024414 0.00012207 0.000061035 0.0000305175 0.0000152588 0.0000076294 0.0000038147 0.00000190735 0.000000953675"},
		{"fraction=0..1", 0.1, "0 0.125 0.0625 0.09375 0.109375 0.101562"},
	} {
		a, err := parseAxis(c.axis, variables(t))
		if err != nil {
			t.Fatal(err)
		}
		s := newSearch(a, 0)
		var tries []string
		for text, ok := s.next(); ok && len(tries) < 100; text, ok = s.next() {
			tries = append(tries, text)
			v, _ := a.number(text)
			s.tell(text, v <= c.passes)
		}
		if got := strings.Join(tries, " "); got != c.tries {
			t.Errorf("%s, of which %v passes: tried\n%s\nwant\n%s", c.axis, c.passes, got[:min(len(got), 500)], c.tries)
		}
	}
}

func TestIDsAndKeys(t *testing.T) {
	st := study(t, "nodes=10,20")
	other := study(t, "nodes=10,20")
	other.Limits = []metrics.Threshold{limit(t, "recovery_s<=300")}
	if st.ID() != other.ID() {
		t.Error("a limit changes which sweep a grid is")
	}
	other.Seeds = []int64{1, 2}
	if st.ID() == other.ID() {
		t.Error("two seeds are the same sweep as one")
	}
	keys := map[string]bool{}
	for _, s := range []*Study{st, other} {
		runs, _, err := s.Plan()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			keys[r.Key()] = true
		}
	}
	if len(keys) != 8 { // 2 nodes, 2 brokers, 2 seeds; the first sweep's are among them
		t.Errorf("%d different keys, want 8", len(keys))
	}
}
