package metrics

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestSeriesAt: at its points a series has their values, and between two what lies between.
func TestSeriesAt(t *testing.T) {
	s := Series{AtS: []float64{1, 3, 3.5, 10}, Value: []float64{10, 20, 0, -13}}
	for at, want := range map[float64]float64{-5: 10, 0.9: 10, 1: 10, 2: 15, 2.5: 17.5, 3: 20, 3.25: 10, 3.5: 0, 5.5: -4, 10: -13, 99: -13} {
		if got := s.At(at); math.Abs(got-want) > 1e-9 {
			t.Errorf("at %g it is %g, want %g", at, got, want)
		}
	}
	for at, want := range map[float64]float64{-5: 0, 0.9: 0, 1: 10, 2: 15, 99: -13} {
		if got := s.SoFar(at); math.Abs(got-want) > 1e-9 {
			t.Errorf("up to %g it has counted %g, want %g", at, got, want)
		}
	}
	if at, soFar := (Series{}).At(1), (Series{}).SoFar(1); at != 0 || soFar != 0 {
		t.Errorf("a series without points is %g, and has counted %g", at, soFar)
	}
	got := Instants(Series{AtS: []float64{2, 5}}, Series{AtS: []float64{1, 5, 7}}, Series{}, s)
	if want := []float64{1, 2, 3, 3.5, 5, 7, 10}; !slices.Equal(got, want) {
		t.Errorf("instants %v, want %v", got, want)
	}
}

// TestSeriesSpent: each point is the share since the point before, as far as that lies between the instants.
func TestSeriesSpent(t *testing.T) {
	s := Series{AtS: []float64{1, 3, 4}, Value: []float64{9, 0.5, 1}}
	for _, c := range []struct{ from, to, want float64 }{{0, 9, 2}, {1, 3, 1}, {2, 3.5, 1}, {3.5, 3.75, 0.25}, {-5, 1, 0}, {4, 9, 0}} {
		if got := s.Spent(c.from, c.to); got != c.want {
			t.Errorf("from %g to %g it is %g, want %g", c.from, c.to, got, c.want)
		}
	}
	if got := (Series{}).Spent(0, 9); got != 0 {
		t.Errorf("of no points it is %g", got)
	}
}

// TestThinAtTheEdges: what is not longer than the limit stays, all that lies at one instant is
// one stretch, and of equal extremes the first stays.
func TestThinAtTheEdges(t *testing.T) {
	line := func(n int, at, value func(i int) float64) (s Series) {
		for i := range n {
			s.AtS, s.Value = append(s.AtS, at(i)), append(s.Value, value(i))
		}
		return s
	}
	same := func(int) float64 { return 7 }
	index := func(i int) float64 { return float64(i) }
	for _, c := range []struct {
		name  string
		s     Series
		limit int
		want  []float64 // values
	}{
		{"as long as the limit", line(6, index, index), 6, []float64{0, 1, 2, 3, 4, 5}},
		{"never fewer than four", line(4, index, index), 1, []float64{0, 1, 2, 3}},
		{"one instant", line(9, same, func(i int) float64 { return float64(i * (8 - i)) }), 6, []float64{0, 7, 16, 0}},
		{"five to four", line(6, index, func(i int) float64 { return []float64{1, 5, 2, 2, 5, 3}[i] }), 4, []float64{1, 5, 2, 3}},
		{"a long gap first", Series{AtS: []float64{0, 40, 50, 60, 70, 80, 90}, Value: []float64{0, 5, 1, 9, 1, 1, 0}}, 6, []float64{0, 5, 1, 9, 0}},
		{"two stretches", line(9, index, func(i int) float64 { return []float64{0, 4, 9, 4, 1, 6, 6, 6, 2}[i] }), 6, []float64{0, 4, 9, 1, 6, 2}},
	} {
		if got := c.s.Thin(c.limit); !slices.Equal(got.Value, c.want) || len(got.AtS) != len(got.Value) {
			t.Errorf("%s: %v at %v, want %v", c.name, got.Value, got.AtS, c.want)
		}
	}
}

// TestSeriesGrow: a run of equal values keeps its ends, and a series its bound.
func TestSeriesGrow(t *testing.T) {
	var s Series
	for i, v := range []float64{1, 1, 1, 2, 2, 2, 2, 1, 2} {
		s.add(float64(i), v)
	}
	if want := []float64{0, 2, 3, 6, 7, 8}; !slices.Equal(s.AtS, want) {
		t.Errorf("points at %v, want %v", s.AtS, want)
	}
	s = Series{}
	most := 0
	for i := range 3*thinAt + 1 {
		s.add(float64(i), float64(i%7))
		most = max(most, len(s.AtS))
	}
	if most != thinAt {
		t.Errorf("the series grew to %d points, want %d at most", most, thinAt)
	}
}

// TestAccount: the lines of phases add up by type and event, and what they leave unexplained is
// told by type.
func TestAccount(t *testing.T) {
	phase := func(entries map[string]uint64, account ...Expectation) Phase {
		return Phase{RaftEntriesByType: entries, RaftAccount: account, RaftEntriesExpectedByType: expectedByType(account)}
	}
	first := phase(map[string]uint64{"a": 5, "b": 1, "c": 2}, Expectation{"a", "x", 3}, Expectation{"a", "y", 2}, Expectation{"b", "x", 4}, Expectation{"d", "x", 2}, Expectation{"d", "y", -2})
	if got, want := first.Unexplained(), map[string]int64{"b": -3, "c": 2}; !maps.Equal(got, want) {
		t.Errorf("unexplained %v, want %v", got, want)
	}
	if got, want := first.RaftEntriesExpectedByType, map[string]uint64{"a": 5, "b": 4}; !maps.Equal(got, want) {
		t.Errorf("expected %v, want %v", got, want)
	}
	none := phase(map[string]uint64{"a": 5})
	if got := none.Unexplained(); got != nil || none.RaftEntriesExpectedByType != nil {
		t.Errorf("without an account %v is unexplained and %v expected", got, none.RaftEntriesExpectedByType)
	}
	second := phase(map[string]uint64{"a": 1}, Expectation{"b", "y", 7}, Expectation{"a", "x", 1}, Expectation{"b", "x", 1})
	sum := Totals([]Phase{first, second})
	want := []Expectation{{"a", "x", 4}, {"a", "y", 2}, {"b", "x", 5}, {"d", "x", 2}, {"d", "y", -2}, {"b", "y", 7}}
	if !slices.Equal(sum.RaftAccount, want) {
		t.Errorf("the account is %v, want %v", sum.RaftAccount, want)
	}
	if want := map[string]uint64{"a": 6, "b": 1, "c": 2}; !maps.Equal(sum.RaftEntriesByType, want) {
		t.Errorf("entries %v, want %v", sum.RaftEntriesByType, want)
	}
	if want := map[string]int64{"b": -11, "c": 2}; !maps.Equal(sum.Unexplained(), want) {
		t.Errorf("unexplained of both %v, want %v", sum.Unexplained(), want)
	}
	if first.RaftAccount[0].Entries != 3 {
		t.Error("the account of a phase was written to")
	}
}

// TestTotals: what is added up, what is the most of all, and what is the last.
func TestTotals(t *testing.T) {
	got := Totals([]Phase{
		{StartS: 1, EndS: 5, QueueEmptyS: 3, RecoveryS: -1, EvalsByStatus: map[string]uint64{"pending": 4}, PeakPending: 9, PeakCancelable: 1, NodesDown: 1, MissedHeartbeats: 2,
			RaftEntries: 10, EvalsCreated: 1, EvalsProcessed: 2, EvalsCanceled: 3, PlansSubmitted: 4},
		{StartS: 5, EndS: 7, QueueEmptyS: 1, RecoveryS: 2, EvalsByStatus: map[string]uint64{"complete": 5}, PeakPending: 3, PeakCancelable: 8, NodesDown: 10, MissedHeartbeats: 20,
			RaftEntries: 100, EvalsCreated: 10, EvalsProcessed: 20, EvalsCanceled: 30, PlansSubmitted: 40},
	})
	want := Phase{Name: "total", StartS: 1, EndS: 7, QueueEmptyS: 3, RecoveryS: 2, EvalsByStatus: map[string]uint64{"complete": 5}, PeakPending: 9, PeakCancelable: 8,
		NodesDown: 11, MissedHeartbeats: 22, RaftEntries: 110, EvalsCreated: 11, EvalsProcessed: 22, EvalsCanceled: 33, PlansSubmitted: 44, RaftEntriesByType: map[string]uint64{}}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("totals %+v, want %+v", got, want)
	}
	if got := Totals(nil); got.QueueEmptyS != never || got.RecoveryS != never {
		t.Errorf("totals of nothing: %+v", got)
	}
}

// TestFigures: every figure has a path, by which Lookup finds it. There is none of what had nothing to measure.
func TestFigures(t *testing.T) {
	r := sample(t)
	r.FanIn = FanIn{Max: 4}
	paths := map[string]bool{}
	for _, f := range r.Figures() {
		v, _, err := r.Lookup(f.Path)
		if err != nil || v != f.Value {
			t.Errorf("%s is %g, and %g by Lookup (%v)", f.Path, f.Value, v, err)
		}
		paths[f.Path] = true
	}
	for _, m := range PhaseMetrics() {
		for _, prefix := range []string{"totals.", "phases." + r.Phases[0].Name + "."} {
			if v, _, err := r.Lookup(prefix + m.Name); err != nil || paths[prefix+m.Name] != m.Measured(v) {
				t.Errorf("a figure %s%s: %v, of %g (%v)", prefix, m.Name, paths[prefix+m.Name], v, err)
			}
		}
	}
	if !paths["fan_in.max"] || len(PhaseMetrics()) < 10 {
		t.Errorf("figures %v", paths)
	}
	for path, want := range map[string]bool{"totals.recovery_s": true, "totals.raft_entries": false, "totals.raft_entries_by_type.X": false, "totals.evals_by_status.failed": false} {
		if _, isTime, err := r.Lookup(path); err != nil || isTime != want {
			t.Errorf("%s is a time: %v, want %v (%v)", path, isTime, want, err)
		}
	}
	if !(FanIn{}).IsZero() {
		t.Error("no fan-in is one")
	}
	for _, f := range []FanIn{{P50: 1}, {P99: 1}, {Max: 1}} {
		if f.IsZero() {
			t.Errorf("%+v is none", f)
		}
	}
	for _, isNaN := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		rec := NewRecorder(time.Unix(0, 0))
		rec.Gauge(SeriesPending, "", time.Unix(1, 0), isNaN)
		if _, err := rec.Result(Run{}, nil, Host{}); err == nil {
			t.Errorf("a gauge of %v was recorded", isNaN)
		}
	}
}

// TestDistributions: bounds and counts ascend.
func TestDistributions(t *testing.T) {
	for _, c := range []struct {
		d  Distribution
		ok bool
	}{
		{Distribution{}, true},
		{Distribution{LE: []float64{1, 2, 3}, Count: []uint64{1, 1, 4}}, true},
		{Distribution{LE: []float64{1, 1}, Count: []uint64{1, 2}}, false},
		{Distribution{LE: []float64{2, 1}, Count: []uint64{1, 2}}, false},
		{Distribution{LE: []float64{1, 2}, Count: []uint64{2, 1}}, false},
		{Distribution{LE: []float64{1}, Count: []uint64{2, 1}}, false},
	} {
		if err := c.d.validate(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.d, err)
		}
	}
	h := newHistogram(1_000_000)
	for _, v := range []int64{-3, 5, 5, 100_000, 2_000_000} {
		h.add(v)
	}
	d := h.distribution(10)
	if got, want := fmt.Sprint(d.LE[0], d.LE[1], d.Count), "0 0.5 [1 3 4 5]"; got != want || h.highest != 1_000_000 || d.LE[3] < 100_000 || d.LE[3] > 120_000 || d.LE[2] < 10_000 || d.LE[2] > 12_000 {
		t.Errorf("%s and up to %v, want %s and up to some 100000", got, d.LE[2:], want)
	}
}

// TestSweepOutcomes: what is read of a sweep's axes and runs.
func TestSweepOutcomes(t *testing.T) {
	s := plane(func(nodes, batch int) float64 { return float64(nodes) })
	cells, runs := s.Cells(), 0
	for _, c := range cells {
		runs += len(c.Runs)
	}
	if runs != len(s.Runs) || len(s.Results()) != len(s.Runs) {
		t.Errorf("%d runs in cells and %d Results of %d runs", runs, len(s.Results()), len(s.Runs))
	}
	s.Runs[2].Result = nil
	if got := s.Results(); len(got) != len(s.Runs)-1 || slices.Contains(got, nil) {
		t.Errorf("%d Results of %d runs, one of which failed", len(got), len(s.Runs))
	}
	s.Runs[0].Result.Totals.DeploymentS, s.Runs[0].Result.FanIn.Max = -1, -1
	if got := cells[0].Spread("fan_in.max"); got.Never || got.Low != -1 {
		t.Errorf("of a figure that is no time: %+v", got)
	}
	for value, want := range map[string]float64{"10": 10, "1e3": 1000, "x": math.NaN()} {
		if got := (Axis{Numeric: true}).Number(value); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%q is %g, want %g", value, got, want)
		}
	}
	if got := (Axis{}).Number("10"); !math.IsNaN(got) {
		t.Errorf("on an axis of names 10 is the number %g", got)
	}
	if err := s.WriteFile(filepath.Join(t.TempDir(), "sweep.json")); err != nil {
		t.Error(err)
	}
	if err := s.WriteFile(filepath.Join(t.TempDir(), "none", "sweep.json")); err == nil {
		t.Error("a sweep was written into no directory")
	}
}
