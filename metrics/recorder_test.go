package metrics

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func at(s float64) time.Time { return epoch.Add(time.Duration(s * float64(time.Second))) }

func TestRecorderPhases(t *testing.T) {
	rec := NewRecorder(epoch)
	rec.Gauge(SeriesPending, "evaluations", at(0), 0)
	rec.BeginPhase("register", at(1), Counters{LastIndex: 7})
	rec.Gauge(SeriesPending, "evaluations", at(2), 900)
	rec.EndPhase(at(11), Counters{LastIndex: 3007, EvalsCreated: 1000}, PhaseEnd{QueueEmptyS: -1, RecoveryS: -1})
	rec.BeginPhase("drain", at(11), Counters{LastIndex: 3007, EvalsCreated: 1000})
	rec.Gauge(SeriesPending, "evaluations", at(12), 800)
	rec.Gauge(SeriesCancelable, "evaluations", at(12), 650)
	rec.Gauge(SeriesCancelable, "evaluations", at(15.5), 0)
	rec.EndPhase(at(20), Counters{LastIndex: 3050, EvalsCreated: 1000, EvalsProcessed: 20, EvalsCanceled: 980, PlansSubmitted: 10},
		PhaseEnd{QueueEmptyS: 2, RecoveryS: 4.5, RaftEntriesByType: map[string]uint64{EntryEvalUpdate: 33, EntryApplyPlanResults: 10},
			EvalsByStatus: map[string]uint64{"complete": 20, "canceled": 980}})

	r, err := rec.Result(Run{}, nil, Host{})
	if err != nil {
		t.Fatal(err)
	}
	drain := r.Phase("drain")
	if drain.RaftEntries != 43 || drain.EvalsProcessed != 20 || drain.EvalsCreated != 0 || drain.PlansSubmitted != 10 {
		t.Errorf("drain is not the difference of its counters: %+v", drain)
	}
	if drain.PeakPending != 900 {
		t.Errorf("peak_pending = %d, want 900: the queue was that long when the phase began", drain.PeakPending)
	}
	if drain.PeakCancelable != 650 || drain.CancelsWrittenS != 4.5 {
		t.Errorf("peak_cancelable = %d, cancels_written_s = %g, want 650 and 4.5", drain.PeakCancelable, drain.CancelsWrittenS)
	}
	want := Phase{StartS: 1, EndS: 20, QueueEmptyS: 2, RecoveryS: 4.5, CancelsWrittenS: 4.5, RaftEntries: 3043}
	if got := r.Totals; got.StartS != want.StartS || got.EndS != want.EndS || got.QueueEmptyS != want.QueueEmptyS ||
		got.RecoveryS != want.RecoveryS || got.RaftEntries != want.RaftEntries || got.CancelsWrittenS != want.CancelsWrittenS {
		t.Errorf("totals = %+v, want %+v", got, want)
	}
	if got := r.Totals.EvalsByStatus["complete"]; got != 20 {
		t.Errorf("totals.evals_by_status.complete = %d, want the last phase's 20", got)
	}
}

// TestRecorderCancelsUnseen has evaluations canceled between two samples.
func TestRecorderCancelsUnseen(t *testing.T) {
	rec := NewRecorder(epoch)
	rec.Gauge(SeriesCanceled, "evaluations", at(1), 70)
	rec.BeginPhase("calm", at(2), Counters{})
	rec.Gauge(SeriesCanceled, "evaluations", at(3), 70)
	rec.EndPhase(at(4), Counters{}, PhaseEnd{})
	rec.BeginPhase("storm", at(4), Counters{})
	rec.Gauge(SeriesCancelable, "evaluations", at(5), 0)
	rec.Gauge(SeriesCanceled, "evaluations", at(5), 90)
	rec.Gauge(SeriesCancelable, "evaluations", at(8), 0)
	rec.Gauge(SeriesCanceled, "evaluations", at(9), 60) // old ones were collected
	rec.EndPhase(at(9), Counters{}, PhaseEnd{})
	r, err := rec.Result(Run{}, nil, Host{})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Phase("calm").CancelsWrittenS; got != 0 {
		t.Errorf("calm: cancels_written_s = %g without a cancel, want 0", got)
	}
	if got := r.Phase("storm").CancelsWrittenS; got != 1 {
		t.Errorf("storm: cancels_written_s = %g, want 1", got)
	}
}

func TestRecorderCancelsNeverWritten(t *testing.T) {
	rec := NewRecorder(epoch)
	rec.BeginPhase("drain", epoch, Counters{})
	rec.Gauge(SeriesCancelable, "evaluations", at(1), 1)
	rec.EndPhase(at(2), Counters{}, PhaseEnd{})
	r, err := rec.Result(Run{}, nil, Host{})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Phases[0].CancelsWrittenS; got != -1 {
		t.Errorf("cancels_written_s = %g with evaluations still cancelable, want -1", got)
	}
}

func TestRecorderReportsMisuse(t *testing.T) {
	tests := []struct {
		name, want string
		misuse     func(*Recorder)
	}{
		{"backwards", "comes after one at 2 s", func(r *Recorder) { r.Gauge("g", "u", at(2), 1); r.Gauge("g", "u", at(1), 1) }},
		{"not a number", "no Result can hold", func(r *Recorder) { r.Gauge("g", "u", at(2), math.NaN()) }},
		{"left open", "phase drain was never ended", func(r *Recorder) { r.BeginPhase("drain", epoch, Counters{}) }},
		{"overlap", "before phase drain has ended", func(r *Recorder) {
			r.BeginPhase("drain", epoch, Counters{})
			r.BeginPhase("storm", epoch, Counters{})
		}},
		{"none open", "none is open", func(r *Recorder) { r.EndPhase(epoch, Counters{}, PhaseEnd{}) }},
		{"counter fell", "last log index went back from 9 to 8", func(r *Recorder) {
			r.BeginPhase("drain", epoch, Counters{LastIndex: 9})
			r.EndPhase(epoch, Counters{LastIndex: 8}, PhaseEnd{})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := NewRecorder(epoch)
			tt.misuse(rec)
			if _, err := rec.Result(Run{}, nil, Host{}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestRecorderLatencies(t *testing.T) {
	rec := NewRecorder(epoch)
	for i := 1; i <= 1000; i++ {
		rec.Observe(LatencyWait, time.Duration(i)*time.Millisecond)
		rec.FanIn(i)
	}
	rec.Observe(LatencyProcess, 0)
	rec.Observe(LatencyProcess, 200*time.Hour)
	r, err := rec.Result(Run{}, nil, Host{})
	if err != nil {
		t.Fatal(err)
	}
	wait := r.LatencyByName(LatencyWait)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > want/500 {
			t.Errorf("%s = %g, want %g to 0.2%%", what, got, want)
		}
	}
	near("p50", wait.P50, 0.5)
	near("p90", wait.P90, 0.9)
	near("p99", wait.P99, 0.99)
	near("fan_in.p50", r.FanIn.P50, 500)
	near("fan_in.p99", r.FanIn.P99, 990)
	if r.FanIn.Max != 1000 {
		t.Errorf("fan_in.max = %g, want exactly 1000", r.FanIn.Max)
	}
	if wait.Max != 1 || wait.Count != 1000 {
		t.Errorf("max %g of %d, want exactly 1 of 1000", wait.Max, wait.Count)
	}
	d := wait.Distribution
	if n := len(d.Count); n == 0 || n > 200 || d.Count[n-1] != 1000 {
		t.Errorf("the distribution has %d bounds and ends with %v, want at most 200 ending with 1000", n, d.Count)
	}
	for i, le := range d.LE {
		if want := math.Min(math.Floor(le*1000+1e-9), 1000); math.Abs(float64(d.Count[i])-want) > 1+want/500 {
			t.Errorf("%d waits of at most %g s, want %g", d.Count[i], le, want)
		}
	}
	if got := r.LatencyByName(LatencyProcess).Max; got != longestLatency.Seconds() {
		t.Errorf("a wait beyond the range counts as %g s, want it cut off at %g", got, longestLatency.Seconds())
	}
}

func TestThinKeepsShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Series{}
		now := 0.0
		for range rapid.IntRange(0, 400).Draw(t, "points") {
			now += rapid.Float64Range(0, 10).Draw(t, "step")
			s.AtS = append(s.AtS, now)
			s.Value = append(s.Value, float64(rapid.IntRange(-50, 50).Draw(t, "value")))
		}
		limit := rapid.IntRange(0, 100).Draw(t, "limit")
		thin := s.Thin(limit)
		if n := len(thin.AtS); n > max(limit, 4) {
			t.Fatalf("%d points of %d are left, limit %d", n, len(s.AtS), limit)
		}
		if len(s.AtS) == 0 {
			return
		}
		if a, b := extremes(s), extremes(thin); a != b {
			t.Fatalf("first, last, lowest, highest became %v, were %v", b, a)
		}
		for i := 1; i < len(thin.AtS); i++ {
			if thin.AtS[i] < thin.AtS[i-1] {
				t.Fatalf("time goes back at %d: %v", i, thin.AtS)
			}
		}
	})
}

func extremes(s Series) [6]float64 {
	last := len(s.AtS) - 1
	e := [6]float64{s.AtS[0], s.Value[0], s.AtS[last], s.Value[last], s.Value[0], s.Value[0]}
	for _, v := range s.Value {
		e[4], e[5] = math.Min(e[4], v), math.Max(e[5], v)
	}
	return e
}

func TestRecorderBoundsSeries(t *testing.T) {
	rec := NewRecorder(epoch)
	const samples, spike = 200_000, 123_457
	for i := range samples {
		v := float64(i % 7)
		if i == spike {
			v = 1e6
		}
		rec.Gauge("busy", "u", at(float64(i)/10), v)
		rec.Gauge("still", "u", at(float64(i)/10), 3)
	}
	r, err := rec.Result(Run{}, nil, Host{})
	if err != nil {
		t.Fatal(err)
	}
	busy := r.SeriesByName("busy")
	if n := len(busy.AtS); n > maxPoints {
		t.Errorf("%d samples left %d points, limit %d", samples, n, maxPoints)
	}
	if highest := extremes(*busy)[5]; highest != 1e6 {
		t.Errorf("the highest is %g, the peak of 1e6 was lost", highest)
	}
	if n := len(r.SeriesByName("still").AtS); n != 2 {
		t.Errorf("a constant takes %d points, want its two ends", n)
	}
}
