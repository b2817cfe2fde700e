package metrics

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func pair() (legacy, shedding *Result) {
	legacy = &Result{Run: Run{Scenario: "s", Broker: "legacy", Params: map[string]any{"nodes": 10}},
		Phases: []Phase{{Name: "drain", RaftEntries: 1000, RecoveryS: 100, QueueEmptyS: 100}, {Name: "storm", RaftEntries: 50, RecoveryS: -1}}}
	shedding = &Result{Run: Run{Scenario: "s", Broker: "shedding", Params: map[string]any{"nodes": json.Number("10")}},
		Phases:    []Phase{{Name: "drain", RaftEntries: 40, RecoveryS: 25, EvalsCanceled: 9}, {Name: "calm", RecoveryS: 3}},
		Latencies: []Latency{{Name: LatencyWait, P99: 4}},
		Series:    []Series{{Name: SeriesPending, AtS: []float64{0, 1, 2}, Value: []float64{4, 9, 1}}},
		FanIn:     FanIn{P50: 6}, Host: Host{WallS: 2}}
	for _, r := range []*Result{legacy, shedding} {
		r.Totals = Totals(r.Phases)
	}
	return legacy, shedding
}

func TestCompare(t *testing.T) {
	c := Compare(pair())
	if c.Old != "legacy" || c.New != "shedding" {
		t.Errorf("compares %s to %s", c.Old, c.New)
	}
	if want := []string{"storm", "calm"}; !reflect.DeepEqual(c.Unmatched, want) {
		t.Errorf("unmatched %v, want %v", c.Unmatched, want)
	}
	if len(c.Params) != 0 {
		t.Errorf("params %v differ, but 10 is 10 before and after loading", c.Params)
	}
	var metrics []string
	for _, d := range c.Phases[0].Deltas {
		metrics = append(metrics, d.Metric)
	}
	if want := names(PhaseMetrics(), func(m Metric) string { return m.Name }); !reflect.DeepEqual(metrics, want) {
		t.Errorf("compares %v, want %v", metrics, want)
	}
	find := func(metric string) Delta {
		for _, d := range c.Phases[0].Deltas {
			if d.Metric == metric {
				return d
			}
		}
		t.Fatalf("no delta of %s", metric)
		return Delta{}
	}
	if d := find("raft_entries"); *d.Delta != -960 || *d.Ratio != 0.04 {
		t.Errorf("raft_entries: delta %g, ratio %g, want -960 and 0.04", *d.Delta, *d.Ratio)
	}
	if d := find("evals_canceled"); *d.Delta != 9 || d.Ratio != nil {
		t.Errorf("evals_canceled from 0 to 9 has ratio %v, want none", d.Ratio)
	}
	m, _ := PhaseMetric("recovery_s")
	if d := NewDelta(m, 100, -1); d.Delta != nil || d.Ratio != nil {
		t.Errorf("a recovery that never came has delta %v and ratio %v, want none", d.Delta, d.Ratio)
	}
	m, _ = PhaseMetric("allocs_replaced_s")
	if d := NewDelta(m, 0, 30); d.Delta != nil || d.Ratio != nil {
		t.Errorf("replacements of which the older run had none have delta %v and ratio %v, want none", d.Delta, d.Ratio)
	}
}

// TestTotalsOfTimes: a phase with nothing to wait for says nothing about the run, one in
// which a time never came only if none did.
func TestTotalsOfTimes(t *testing.T) {
	for _, tt := range []struct {
		phases []float64
		want   float64
	}{{nil, 0}, {[]float64{0, 0}, 0}, {[]float64{0, -1, 0}, -1}, {[]float64{-1, 7, 0}, 7}, {[]float64{3, 7, -1}, 7}} {
		var phases []Phase
		for _, at := range tt.phases {
			phases = append(phases, Phase{CancelsWrittenS: at, AllocsReplacedS: at})
		}
		if got := Totals(phases); got.CancelsWrittenS != tt.want || got.AllocsReplacedS != tt.want {
			t.Errorf("phases %v: cancels %g, replacements %g, want %g", tt.phases, got.CancelsWrittenS, got.AllocsReplacedS, tt.want)
		}
	}
}

func TestCompareTellsDifferentSettings(t *testing.T) {
	a, b := pair()
	b.Run.Seed = 2
	b.Run.Params = map[string]any{"nodes": 20, "extra": true}
	got := Compare(a, b).Params
	want := []ParamDifference{{"extra", nil, true}, {"nodes", 10, 20}, {"seed", int64(0), int64(2)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("differences %v, want %v", got, want)
	}
}

// TestPhaseMetricsCoverPhase keeps the catalogue and the struct together: every number of a
// phase is a metric under its name in the file.
func TestPhaseMetricsCoverPhase(t *testing.T) {
	phase := reflect.TypeFor[Phase]()
	for i := range phase.NumField() {
		name, _, _ := strings.Cut(phase.Field(i).Tag.Get("json"), ",")
		p := Phase{}
		f := reflect.ValueOf(&p).Elem().Field(i)
		switch f.Kind() {
		case reflect.Float64:
			f.SetFloat(7)
		case reflect.Uint64:
			f.SetUint(7)
		default:
			continue
		}
		m, ok := PhaseMetric(name)
		if !ok {
			t.Errorf("field %s is no metric", name)
			continue
		}
		if got := m.Value(&p); got != 7 {
			t.Errorf("metric %s reads %g where the field is 7", name, got)
		}
		if m.Time() != (f.Kind() == reflect.Float64) {
			t.Errorf("metric %s has unit %q", name, m.Unit)
		}
	}
}

func TestLookup(t *testing.T) {
	_, r := pair()
	r.Phases[0].RaftEntriesByType = map[string]uint64{EntryEvalUpdate: 30}
	for path, want := range map[string]float64{
		"phases.drain.raft_entries":                                 40,
		"totals.evals_canceled":                                     9,
		"phases.drain.raft_entries_by_type.EvalUpdateRequestType":   30,
		"phases.drain.raft_entries_by_type.NodeRegisterRequestType": 0,
		"phases.drain.evals_by_status.failed":                       0,
		"latencies.nomad.broker.wait_time.p99":                      4,
		"series.nomad.nomad.broker.total_pending.max":               9,
		"series.nomad.nomad.broker.total_pending.last":              1,
		"fan_in.p50":  6,
		"host.wall_s": 2,
	} {
		if got, _, err := r.Lookup(path); err != nil || got != want {
			t.Errorf("%s = %g, %v, want %g", path, got, err, want)
		}
	}
	for path, want := range map[string]string{
		"":                                 `unknown group ""`,
		"raft_entries":                     `unknown group "raft_entries": there is phases, totals`,
		"phases":                           `unknown phase "": there is drain, calm`,
		"phases.drian.raft_entries":        `unknown phase "drian": there is drain, calm`,
		"phases.drain.raft_entrys":         `unknown figure of a phase "raft_entrys": there is raft_entries, evals_created`,
		"latencies.wait.p99":               `unknown latency "wait": there is nomad.broker.wait_time`,
		"latencies.nomad.broker.wait_time": `unknown latency "nomad.broker"`,
		"series.nomad.nomad.broker.x.max":  `unknown series "nomad.nomad.broker.x"`,
		"fan_in.p51":                       `unknown figure "p51": there is p50, p99, max`,
	} {
		if _, _, err := r.Lookup(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", path, err, want)
		}
	}
	r.FanIn = FanIn{} // as of a run that nobody could look into
	if _, _, err := r.Lookup("fan_in.p50"); err == nil || !strings.Contains(err.Error(), `unknown group "fan_in"`) {
		t.Errorf("a fan-in that nobody observed: error %v", err)
	}
	if slices.ContainsFunc(r.Figures(), func(f Figure) bool { return strings.HasPrefix(f.Path, "fan_in") }) {
		t.Error("a fan-in that nobody observed is among the figures")
	}
}

func TestCheck(t *testing.T) {
	legacy, shedding := pair()
	runs := []*Result{legacy, shedding}
	base, _ := pair()
	base.Phases[0].RaftEntries = 900
	baseline := []*Result{base}
	v := func(f float64) *float64 { return &f }
	tests := []struct {
		name string
		t    Threshold
		want []bool
	}{
		{"max of both", Threshold{Metric: "phases.drain.raft_entries", Max: v(500)}, []bool{false, true}},
		{"max itself is allowed", Threshold{Metric: "phases.drain.raft_entries", Max: v(1000)}, []bool{true, true}},
		{"max and min", Threshold{Metric: "phases.drain.raft_entries", Broker: "shedding", Max: v(50), Min: v(41)}, []bool{true, false}},
		{"ratio holds", Threshold{Metric: "phases.drain.raft_entries", Broker: "shedding", MaxRatio: v(0.05), RatioOf: "legacy"}, []bool{true}},
		{"ratio fails", Threshold{Metric: "phases.drain.raft_entries", Broker: "shedding", MaxRatio: v(0.03), RatioOf: "legacy"}, []bool{false}},
		{"tolerance holds", Threshold{Metric: "phases.drain.raft_entries", Broker: "legacy", Tolerance: v(0.12)}, []bool{true}},
		{"tolerance fails", Threshold{Metric: "phases.drain.raft_entries", Broker: "legacy", Tolerance: v(0.1)}, []bool{false}},
		{"a recovery that never came is not quick", Threshold{Metric: "phases.storm.recovery_s", Broker: "legacy", Max: v(60)}, []bool{false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Check(runs, baseline, []Threshold{tt.t})
			if err != nil {
				t.Fatal(err)
			}
			var ok []bool
			for _, v := range got {
				ok = append(ok, v.OK)
			}
			if !reflect.DeepEqual(ok, tt.want) {
				t.Errorf("verdicts %+v, want %v", got, tt.want)
			}
		})
	}
}

func TestCheckInputErrors(t *testing.T) {
	legacy, shedding := pair()
	v := 1.0
	for _, tt := range []struct {
		t    Threshold
		want string
		is   error
	}{
		{Threshold{Metric: "totals.raft_entries"}, "demands nothing", nil},
		{Threshold{Metric: "totals.raft_entrys", Max: &v}, `unknown figure of a phase "raft_entrys"`, nil},
		{Threshold{Metric: "totals.raft_entries", Broker: "newer", Max: &v}, `broker "newer"`, ErrNoSuchRun},
		{Threshold{Metric: "totals.raft_entries", MaxRatio: &v, RatioOf: "older"}, `a run of broker "older"`, ErrNoSuchRun},
		{Threshold{Metric: "totals.raft_entries", Tolerance: &v}, "a baseline run of s with broker legacy", ErrNoSuchRun},
	} {
		verdicts, err := Check([]*Result{legacy, shedding}, nil, []Threshold{tt.t})
		if verdicts != nil || err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%+v: error %v, want %q", tt.t, err, tt.want)
		}
	}
}
