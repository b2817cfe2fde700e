package metrics

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestBaselineHoldsRunsToWhatTheyWere(t *testing.T) {
	legacy, shedding := pair()
	path := filepath.Join(t.TempDir(), "base.json")
	if err := NewBaseline(json.RawMessage(`{"scenario":"s"}`), 0.1, []*Result{legacy, shedding}).WriteFile(path); err != nil {
		t.Fatal(err)
	}
	base, err := LoadBaseline(path)
	if err != nil {
		t.Fatal(err)
	}
	if base.Runs[1].Series != nil || shedding.Series == nil {
		t.Error("a baseline keeps no series, and the run its own")
	}
	failed := func(change func(r *Result)) []string {
		t.Helper()
		a, b := pair()
		change(b)
		verdicts, err := Check([]*Result{a, b}, base.Runs, base.Thresholds())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, v := range verdicts {
			if !v.OK {
				names = append(names, v.Run+" "+v.Metric)
			}
		}
		return names
	}
	for _, c := range []struct {
		what   string
		change func(*Result)
		want   []string
	}{
		{"nothing", func(*Result) {}, nil},
		{"a tenth of the entries", func(r *Result) { r.Phases[0].RaftEntries = 44 }, nil},
		{"more than a tenth", func(r *Result) { r.Phases[0].RaftEntries = 45 }, []string{"shedding phases.drain.raft_entries"}},
		{"fewer", func(r *Result) { r.Phases[0].RaftEntries = 30 }, []string{"shedding phases.drain.raft_entries"}},
		{"a small count by two", func(r *Result) { r.Phases[0].EvalsCanceled = 7 }, nil},
		{"a small count by three", func(r *Result) { r.Phases[0].EvalsCanceled = 6 }, []string{"shedding phases.drain.evals_canceled"}},
		{"a count that was zero", func(r *Result) { r.Phases[0].NodesDown = 3 }, []string{"shedding phases.drain.nodes_down"}},
		{"a count that was zero, within the slack", func(r *Result) { r.Phases[0].NodesDown = 2 }, nil},
		{"a time that never comes now", func(r *Result) { r.Phases[0].RecoveryS = -1 }, []string{"shedding phases.drain.recovery_s"}},
	} {
		if got := failed(c.change); !slices.Equal(got, c.want) {
			t.Errorf("%s changed: %q failed, want %q", c.what, got, c.want)
		}
	}
	// The old broker's storm never recovers in the baseline: coming is as much a change.
	a, b := pair()
	a.Phases[1].RecoveryS = 3
	verdicts, err := Check([]*Result{a, b}, base.Runs, base.Thresholds())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(verdicts, func(v Verdict) bool { return v.Metric == "phases.storm.recovery_s" })
	if at < 0 || verdicts[at].OK || verdicts[at].Demand != "never, as in the baseline" {
		t.Errorf("verdicts %+v", verdicts)
	}
}

func TestChanges(t *testing.T) {
	legacy, shedding := pair()
	old := NewBaseline(nil, 0.05, []*Result{legacy, shedding})
	if got := old.Changes(old); got != nil {
		t.Errorf("a baseline differs from itself: %q", got)
	}
	next := *shedding
	next.Run.Seed++
	next.Run.Params = maps.Clone(shedding.Run.Params)
	next.Run.Params["nodes"], next.Run.Params["new"] = 120, true
	next.Phases = append(slices.Clone(shedding.Phases[:1]), Phase{Name: "more"})
	want := []string{
		"tolerance: 1%, was 5%", "new: true, was unset", "nodes: 120, was 10", "seed: 1, was 0",
		"phase storm: no longer in the baseline", "phase more: new in the baseline", "broker legacy: no longer in the baseline",
	}
	if got := old.Changes(NewBaseline(nil, 0.01, []*Result{&next})); !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
	gone, fresh := old.Unlike([]string{"drain", "more"})
	if !slices.Equal(gone, []string{"storm"}) || !slices.Equal(fresh, []string{"more"}) {
		t.Errorf("gone %q, fresh %q", gone, fresh)
	}
}

func TestLoadBaselineRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "the file is empty: write it again with simctl gate SCENARIO --update",
		`{"schema":1,"run":{}}`:    `not a baseline of simctl gate: it has no "baseline"`,
		`{"baseline":1,`:           "truncated: its JSON breaks off at byte 14: write it again",
		"{\n<<<<<<< HEAD\n":        "it has a merge conflict in line 2: write it again",
		`{"baseline":1,"rums":[]}`: `it has a field "rums", which this simctl does not know`,
		`{"baseline":2,"runs":[]}`: "baseline version 2 and this simctl reads 1",
		`[1]`:                      "its content is a JSON array: it must be an object",
		`{"baseline":"1"}`:         "baseline is a JSON string: it must be a whole number",
		`{"baseline":1,"tolerance":0,"tolerance":9,"runs":[]}`:                                                `the field "tolerance" twice in one object, the second time in line 1: write it again`,
		`{"baseline":1,"runs":[]}`:                                                                            "no runs",
		`{"baseline":1,"tolerance":-1,"runs":[{"run":{"scenario":"s","broker":"b"}}]}`:                        "tolerance",
		`{"baseline":1,"runs":[{"run":{}}]}`:                                                                  "run.scenario",
		`{"baseline":1,"runs":[null]}`:                                                                        "runs[0] is null: write it again",
		`{"baseline":1,"runs":[{"run":{"scenario":"s","broker":"b"}},{"run":{"scenario":"s","broker":"b"}}]}`: `the baseline has two runs of "b": write it again`,
		`{"baseline":1,"runs":[{"schema":99,"run":{"scenario":"s","broker":"b"}}]}`:                           "runs[0] has schema 99",
		`{"baseline":1,"runs":[{"run":{"scenario":"s","broker":"\u001b[31mb"}}]}`:                             `the text "\x1b[31mb" has a control character`,
	} {
		path := filepath.Join(t.TempDir(), "base.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadBaseline(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: error %v, want one that says %q", text, err, want)
		}
	}
}

func TestApplicable(t *testing.T) {
	legacy, _ := pair()
	v := 1.0
	apply, skipped := Applicable([]*Result{legacy}, nil, []Threshold{
		{Metric: "totals.raft_entries", Max: &v},
		{Name: "new", Metric: "totals.raft_entries", Broker: "shedding", Max: &v},
		{Name: "ratio", Metric: "totals.raft_entries", MaxRatio: &v, RatioOf: "shedding"},
		{Name: "base", Metric: "totals.raft_entries", Tolerance: &v},
	})
	want := []string{"new: no run of shedding", "ratio: no run of shedding to compare with", "base: no baseline"}
	if len(apply) != 1 || !slices.Equal(skipped, want) {
		t.Errorf("apply %+v, skipped %q, want %q", apply, skipped, want)
	}
}

// vocabulary is that of runs of some phases.
func vocabulary(phases ...string) *Vocabulary {
	return &Vocabulary{
		Phases: phases, EntryTypes: []string{EntryNodeRegister, EntryEvalUpdate},
		EvalStatuses: []string{"pending", "blocked", "complete", "failed", "canceled"},
	}
}

func TestCheckPath(t *testing.T) {
	v := vocabulary("drain")
	for _, path := range []string{
		"phases.drain.raft_entries", "phases.drain.raft_entries_by_type.EvalUpdateRequestType", "totals.recovery_s", "fan_in.p99",
		"latencies." + LatencyWait + ".p90", "series." + SeriesPending + ".max", "series.simctl.raft.entries.EvalUpdateRequestType.last", "host.wall_s",
	} {
		if err := v.CheckPath(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for path, what := range map[string]string{
		"phases.drian.raft_entries": "phase", "phases.drain.raft_entrys": "figure of a phase", "total.recovery_s": "group",
		"latencies.wait.p90": "latency", "series.pending.max": "series", "fan_in.p42": "figure", "phases.drain.evals_by_status.done": "key",
		"totals.raft_entries_by_type.Eval": "key",
	} {
		unknown, ok := errors.AsType[*PathError](v.CheckPath(path))
		if !ok || unknown.What != what || unknown.Path != path || len(unknown.Known) == 0 {
			t.Errorf("%s: %+v, want an unknown %s", path, unknown, what)
		}
	}
	if err, want := v.CheckPath("totals.raft_entries_by_type.Eval"), `unknown key "Eval": there is NodeRegisterRequestType`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}
