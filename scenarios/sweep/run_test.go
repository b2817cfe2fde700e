package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/forecast"
)

// TestMain lets the test binary be the child that Local starts.
func TestMain(m *testing.M) {
	scenarios.ServeIfChild()
	goleak.VerifyTestMain(m)
}

// stage is an executor that plays a part: fail says which attempts go wrong.
type stage struct {
	side int
	fail func(spec scenarios.Spec, attempt int) error

	mu      sync.Mutex
	ran     []string
	running int
	peak    int
}

func (s *stage) Side() int     { return s.side }
func (s *stage) Build() string { return "v1" }

func (s *stage) Run(ctx context.Context, spec scenarios.Spec, _ string, attempt int, tell func(scenarios.Progress)) (*metrics.Result, error) {
	s.mu.Lock()
	s.ran = append(s.ran, fmt.Sprintf("%d %s %d/%d", nodesOf(spec), spec.Broker, spec.Seed, attempt))
	s.running++
	s.peak = max(s.peak, s.running)
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.running--; s.mu.Unlock() }()
	tell(scenarios.Progress{Phase: "storm", Phases: 1, Done: 0.5})
	if s.fail != nil {
		if err := s.fail(spec, attempt); err != nil {
			return nil, err
		}
	}
	return result(spec), ctx.Err()
}

// nodesOf returns the number of nodes of a run.
func nodesOf(spec scenarios.Spec) int {
	n, _ := strconv.Atoi(fmt.Sprint(spec.Vars["nodes"]))
	return n
}

// result is a run that recovers in a second for every ten nodes, or in a tenth of that.
func result(spec scenarios.Spec) *metrics.Result {
	recovery := float64(nodesOf(spec)) / 10
	if spec.Broker == "shedding" {
		recovery /= 10
	}
	phases := []metrics.Phase{{Name: "storm", EndS: recovery, RecoveryS: recovery, QueueEmptyS: recovery, EvalsProcessed: 1, RaftEntries: uint64(nodesOf(spec))}}
	return &metrics.Result{
		Schema: metrics.Schema,
		Run: metrics.Run{Scenario: spec.Scenario, Broker: spec.Broker, Seed: spec.Seed, Clock: "virtual", Target: "simulated",
			Params: map[string]any{"nodes": nodesOf(spec)}, Version: "v1"},
		Phases: phases, Totals: metrics.Totals(phases),
		Series: []metrics.Series{{Name: metrics.SeriesPending, AtS: []float64{0}, Value: []float64{1}}},
	}
}

// witness records what it is told.
type witness struct {
	mu      sync.Mutex
	planned int
	kept    int
	retried []string
	ended   []string
	told    int
}

func (w *witness) Expect(planned []Run, _ int, kept []metrics.SweepRun) {
	w.planned, w.kept = len(planned), len(kept)
}
func (w *witness) Started(Run, string) {}
func (w *witness) Progress(Run, scenarios.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told++
}
func (w *witness) Retried(_ Run, label string, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.retried = append(w.retried, fmt.Sprintf("%s: %v", label, why))
}
func (w *witness) Ended(_ Run, label string, out metrics.SweepRun) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = append(w.ended, label)
}

// perform runs a study in a directory of its own or one that was used before.
func perform(t *testing.T, ctx context.Context, st *Study, ex Executor, dir string) (*metrics.Sweep, *witness, error) {
	t.Helper()
	j, err := OpenJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{}
	s, err := st.Do(ctx, ex, j, w)
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	return s, w, err
}

func TestDoRunsEveryCell(t *testing.T) {
	st := study(t, "nodes=100,10,1000")
	st.Seeds = []int64{1, 2}
	ex := &stage{side: 3}
	s, w, err := perform(t, t.Context(), st, ex, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if w.planned != 12 || w.kept != 0 || len(w.ended) != 12 || w.told != 12 || len(ex.ran) != 12 {
		t.Errorf("12 runs, but %+v and %d", w, len(ex.ran))
	}
	if ex.peak > 3 {
		t.Errorf("%d runs at a time, at most 3 were asked for", ex.peak)
	}
	var order []string
	for _, r := range s.Runs {
		order = append(order, fmt.Sprintf("%s%s%d", r.Point[0], r.Broker[:1], r.Seed))
		if r.Result == nil || len(r.Result.Series) > 0 || r.Attempts != 1 {
			t.Errorf("run %+v: want a result without series after one attempt", r)
		}
	}
	if want := "10l1 10l2 10s1 10s2 100l1 100l2 100s1 100s2 1000l1 1000l2 1000s1 1000s2"; strings.Join(order, " ") != want {
		t.Errorf("the runs are in the order %v", order)
	}
	if a := s.Axes[0]; !slices.Equal(a.Values, []string{"10", "100", "1000"}) || !a.Numeric || !a.Load {
		t.Errorf("the axis is %+v", a)
	}
}

func TestTheLongestRunsStartFirst(t *testing.T) {
	ex := &stage{side: 1}
	if _, _, err := perform(t, t.Context(), study(t, "nodes=10,1000,100", "broker=legacy"), ex, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1000 legacy 1/1", "100 legacy 1/1", "10 legacy 1/1"}; !slices.Equal(ex.ran, want) {
		t.Errorf("the runs started in the order %v, want %v", ex.ran, want)
	}
}

func TestAFailedRunIsTriedAgainAndRecorded(t *testing.T) {
	st := study(t, "nodes=10,20,30", "broker=legacy")
	dir := t.TempDir()
	broken := errors.New("out\nof luck")
	ex := &stage{side: 2, fail: func(spec scenarios.Spec, attempt int) error {
		if nodesOf(spec) == 20 || nodesOf(spec) == 30 && attempt == 1 {
			return broken
		}
		return nil
	}}
	s, w, err := perform(t, t.Context(), st, ex, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := []int{s.Runs[0].Attempts, s.Runs[1].Attempts, s.Runs[2].Attempts}; !slices.Equal(got, []int{1, 2, 2}) {
		t.Errorf("attempts %v, want 1, 2, 2", got)
	}
	if s.Runs[1].Result != nil || s.Runs[1].Error != "out of luck" || s.Runs[2].Result == nil || s.Runs[2].Error != "" {
		t.Errorf("the runs ended as %+v", s.Runs)
	}
	if len(w.retried) != 2 {
		t.Errorf("retries told: %v", w.retried)
	}
	// What failed is tried again by the same command, and nothing else is.
	ex = &stage{side: 2}
	s, w, err = perform(t, t.Context(), st, ex, dir)
	if err != nil || w.kept != 2 || !slices.Equal(ex.ran, []string{"20 legacy 1/1"}) || s.Runs[1].Result == nil {
		t.Errorf("again: %d kept, ran %v, %+v (%v)", w.kept, ex.ran, s, err)
	}
}

func TestAnInterruptKeepsWhatHasFinished(t *testing.T) {
	st := study(t, "nodes=10,20,30,40,50", "broker=legacy")
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("ctrl-c")
	ex := &stage{side: 1, fail: func(spec scenarios.Spec, _ int) error {
		if nodesOf(spec) == 30 { // the third, since the longest go first
			cancel(why)
			return why
		}
		return nil
	}}
	if _, _, err := perform(t, ctx, st, ex, dir); !errors.Is(err, why) {
		t.Fatalf("the interrupted sweep gave %v, want %v", err, why)
	}
	// Half a line, as a crash leaves it.
	file, err := os.OpenFile(filepath.Join(dir, journalName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"key":"123`); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	ex = &stage{side: 1}
	s, w, err := perform(t, t.Context(), st, ex, dir)
	if err != nil || w.kept != 2 || !slices.Equal(ex.ran, []string{"30 legacy 1/1", "20 legacy 1/1", "10 legacy 1/1"}) {
		t.Errorf("resumed with %d kept, ran %v (%v)", w.kept, ex.ran, err)
	}
	if len(s.Runs) != 5 || slices.ContainsFunc(s.Runs, func(r metrics.SweepRun) bool { return r.Result == nil }) {
		t.Errorf("the resumed sweep has the runs %+v", s.Runs)
	}
	// More values run only those; another build of the program runs everything.
	ex = &stage{side: 1}
	if _, w, _ := perform(t, t.Context(), study(t, "nodes=10,20,60", "broker=legacy"), ex, dir); w.kept != 2 || len(ex.ran) != 1 {
		t.Errorf("with another value %d are kept and %v ran", w.kept, ex.ran)
	}
	newer := &newBuild{stage{side: 1}}
	if _, w, _ := perform(t, t.Context(), st, newer, dir); w.kept != 0 || len(newer.ran) != 5 {
		t.Errorf("a newer program keeps %d runs and runs %v", w.kept, newer.ran)
	}
}

type newBuild struct{ stage }

func (*newBuild) Build() string { return "v2" }

func TestGivingUpEndsTheSweep(t *testing.T) {
	ex := &stage{side: 1, fail: func(scenarios.Spec, int) error { return fmt.Errorf("no cluster: %w", ErrGiveUp) }}
	if _, _, err := perform(t, t.Context(), study(t, "nodes=10,20,30"), ex, t.TempDir()); !errors.Is(err, ErrGiveUp) || len(ex.ran) != 1 {
		t.Errorf("error %v after %v, want to give up after the first", err, ex.ran)
	}
	st := study(t, "nodes=10..1000", "broker=legacy")
	st.Design, st.Limits = Design{Kind: Knee, Axis: "nodes"}, []metrics.Threshold{limit(t, "recovery_s<=300")}
	if _, _, err := perform(t, t.Context(), st, ex, t.TempDir()); !errors.Is(err, ErrGiveUp) || len(ex.ran) != 2 {
		t.Errorf("error %v after %v, want the search to give up after its first", err, ex.ran)
	}
}

// TestValuesThatAreNoNumbers come in the order in which they were given, whichever run ends first.
func TestValuesThatAreNoNumbers(t *testing.T) {
	for _, given := range [][]string{{"published", "loopback"}, {"loopback", "published"}} {
		s, _, err := perform(t, t.Context(), study(t, "cost="+strings.Join(given, ","), "broker=legacy"), &stage{side: 1}, t.TempDir())
		if err != nil || !slices.Equal(s.Axes[0].Values, given) || s.Runs[0].Point[0] != given[0] {
			t.Errorf("the values %v are %+v (%v)", given, s, err)
		}
	}
}

func TestKnees(t *testing.T) {
	st := study(t, "nodes=10..100000")
	st.Design = Design{Kind: Knee, Axis: "nodes", Within: 0.05}
	st.Limits = []metrics.Threshold{limit(t, "recovery_s<=300")}
	ex := &stage{side: 2}
	dir := t.TempDir()
	s, _, err := perform(t, t.Context(), st, ex, dir)
	if err != nil || len(s.Knees) != 2 {
		t.Fatalf("knees %+v (%v)", s, err)
	}
	// 300 s are 3,000 nodes under the legacy broker and 30,000 under the shedding one.
	for i, knee := range []float64{3000, 30000} {
		k := s.Knees[i]
		if k.Point[0] != "" {
			t.Errorf("the knee is at a point of its own axis: %+v", k)
		}
		passes, _ := st.Axes[0].number(k.Passes)
		fails, _ := st.Axes[0].number(k.Fails)
		if k.Broker != st.Brokers[i] || passes > knee || fails <= knee || fails-passes > 0.05*fails+1 {
			t.Errorf("the knee is %+v, want %v", k, knee)
		}
	}
	st.Limits = []metrics.Threshold{limit(t, "recovery_s<=0.01")}
	if none, _, err := perform(t, t.Context(), st, &stage{side: 2}, t.TempDir()); err != nil || none.Knees[0].Passes != "" || none.Knees[0].Fails != "10" {
		t.Errorf("where nothing passes the knees are %+v (%v)", none.Knees, err)
	}
	st.Limits = []metrics.Threshold{limit(t, "recovery_s<=300")}
	ran := len(ex.ran)
	if again := (&stage{side: 2}); true {
		if _, _, err := perform(t, t.Context(), st, again, dir); err != nil || len(again.ran) != 0 || ran == 0 {
			t.Errorf("searched again, %v ran (%v)", again.ran, err)
		}
	}
}

func TestLocalRunsARealCell(t *testing.T) {
	st := study(t, "nodes=20", "broker=shedding")
	st.Base.Set("system_jobs", 2)
	local := NewLocal(0, 256<<20)
	s, _, err := perform(t, t.Context(), st, local, t.TempDir())
	if err != nil || s.Runs[0].Result == nil {
		t.Fatalf("%+v (%v)", s, err)
	}
	if res := s.Runs[0].Result; res.Phase("drain").EvalsProcessed != 4 || res.Host.PeakRSSBytes == 0 {
		t.Errorf("the result is %+v", res)
	}
}

func TestSharesOfMemory(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		side         int
		memory, need float64
		worst        float64
		want         float64
	}{
		{2, 8 * gib, 1 * gib, 0, 2.5 * gib},    // all it can make use of
		{2, 4 * gib, 1 * gib, 0, 2 * gib},      // an equal part
		{2, 4 * gib, 3 * gib, 0, 3 * gib},      // what it needs: the other waits, or is small
		{2, 2 * gib, 3 * gib, 0, 2 * gib},      // all there is
		{2, 4 * gib, 1.5 * gib, 5, 3 * gib},    // runs turned out twice as large
		{8, 4 * gib, 0.1 * gib, 0, 0.25 * gib}, // small ones
	} {
		l := NewLocal(c.side, int64(c.memory))
		l.worst = c.worst
		if got := float64(l.grant(forecast.Cost{Memory: c.need})); got < c.want*0.999 || got > c.want*1.001 {
			t.Errorf("%+v: a share of %.2f GiB, want %.2f", c, got/gib, c.want/gib)
		}
	}
	if free := forecast.FreeMemory(); free < 64<<20 {
		t.Errorf("this machine has %d bytes free", free)
	}
}
