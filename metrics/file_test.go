package metrics

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// sample returns a result that uses every field.
func sample(t testing.TB) *Result {
	t.Helper()
	rec := NewRecorder(epoch)
	rec.BeginPhase("drain", epoch, Counters{})
	rec.Mark(at(1), `schedulers <on>`)
	rec.Gauge(SeriesPending, "evaluations", at(1), 12)
	rec.Gauge(SeriesPending, "evaluations", at(2.25), 0.5)
	rec.Observe(LatencyWait, time.Second)
	rec.FanIn(3)
	rec.EndPhase(at(9), Counters{LastIndex: 20, EvalsCreated: 9, EvalsProcessed: 8, EvalsCanceled: 1, PlansSubmitted: 2, NodesDown: 3,
		MissedHeartbeats: 4}, PhaseEnd{QueueEmptyS: 3, RecoveryS: 6, AllocsReplacedS: 7,
		RaftEntriesByType: map[string]uint64{EntryEvalUpdate: 20}, EvalsByStatus: map[string]uint64{"complete": 8}})
	r, err := rec.Result(Run{
		Scenario: "heartbeat-storm", Broker: "shedding", Seed: 1, Clock: "virtual", Target: "simulated",
		Params: map[string]any{"nodes": 5000, "fraction": 0.5, "big": int64(1)<<60 + 1}, Version: "1.0", GoVersion: "go1.26.8",
		Rerun:     "simctl scenario heartbeat-storm",
		CostModel: &CostModel{Class: "published", Source: "the post", Costs: []Cost{{Name: "fsync", Unit: "s", Value: 0.001}}},
	}, []Invariant{{Name: "conservation", OK: true}}, Host{WallS: 1.5, CPUS: 2, PeakRSSBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	r.Thresholds = []Verdict{{Run: "shedding", Metric: "totals.raft_entries", Demand: "<= 250", Value: 20, OK: true}}
	return r
}

func TestFileRoundTrip(t *testing.T) {
	r := sample(t)
	path := filepath.Join(t.TempDir(), "r.json")
	if err := r.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if r.Digest() != loaded.Digest() {
		t.Error("the digest changed on the way through the file")
	}
	loaded.Run.Params = r.Run.Params // whose numbers are json.Number after loading
	if !reflect.DeepEqual(r, loaded) {
		t.Errorf("wrote %+v, read %+v", r, loaded)
	}
}

func TestFileKeepsPointsOnOneLine(t *testing.T) {
	data, err := sample(t).encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\"at_s\": [1,2.25],\n", "\"value\": [12,0.5]\n", "schedulers <on>"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %q in\n%s", want, data)
		}
	}
}

func TestJoinNumbersKeepsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := map[string]any{}
		for _, name := range []string{"numbers", "strings", "mixed"} {
			var list []any
			for range rapid.IntRange(0, 4).Draw(t, "n") {
				switch {
				case name == "numbers" || name == "mixed" && rapid.Bool().Draw(t, "number"):
					list = append(list, rapid.Float64().Draw(t, "f"))
				default:
					list = append(list, rapid.StringMatching(`[-0-9\]\[,"{} a]{0,6}`).Draw(t, "s"))
				}
			}
			v[name] = list
		}
		indented, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(indented, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(joinNumbers(indented), &b); err != nil {
			t.Fatalf("%v in %s", err, joinNumbers(indented))
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%s became %s", indented, joinNumbers(indented))
		}
	})
}

// TestFileFields pins the names that docs/result-format.md gives the file's fields.
func TestFileFields(t *testing.T) {
	data, err := json.Marshal(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	phase := file["phases"].([]any)[0]
	wants := []struct {
		where  string
		object any
		fields string
	}{
		{"file", file, "schema run phases totals series latencies fan_in marks invariants host"},
		{"run", file["run"], "scenario broker seed clock target params version go_version"},
		{"phase", phase, "name start_s end_s queue_empty_s recovery_s raft_entries raft_entries_by_type evals_created " +
			"evals_processed evals_canceled evals_by_status plans_submitted peak_pending peak_cancelable nodes_down missed_heartbeats"},
		{"totals", file["totals"], "raft_entries recovery_s peak_pending"},
		{"series", file["series"].([]any)[0], "name unit at_s value"},
		{"latency", file["latencies"].([]any)[0], "name unit count p50 p90 p99 max"},
		{"fan_in", file["fan_in"], "p50 p99 max"},
		{"mark", file["marks"].([]any)[0], "at_s name"},
		{"invariant", file["invariants"].([]any)[0], "name ok detail"},
		{"host", file["host"], "wall_s cpu_s peak_rss_bytes"},
	}
	for _, w := range wants {
		for field := range strings.FieldsSeq(w.fields) {
			if _, ok := w.object.(map[string]any)[field]; !ok {
				t.Errorf("%s has no field %q", w.where, field)
			}
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	whole, err := sample(t).encode()
	if err != nil {
		t.Fatal(err)
	}
	replace := func(old, new string) string {
		s := strings.Replace(string(whole), old, new, 1)
		if s == string(whole) {
			t.Fatalf("%q is not in the sample", old)
		}
		return s
	}
	tests := []struct{ name, content, want string }{
		{"empty", " \n", "the file is empty"},
		{"truncated early", string(whole[:40]), "truncated: its JSON breaks off at byte 40"},
		{"truncated late", string(whole[:len(whole)-3]), "truncated"},
		{"text", "# Results\n", "not a simctl result, which is JSON: invalid character '#'"},
		{"other JSON", `{"name":"x"}`, `it has no "schema" and "run"`},
		{"list", `[1,2]`, "not a simctl result"},
		{"schema of another tool", `{"schema":"https://x","run":{}}`, `no object with a whole number "schema"`},
		{"future", replace(`"schema": 1`, `"schema": 99`), "schema 99, but this simctl reads up to 1: use a newer simctl"},
		{"schema zero", replace(`"schema": 1`, `"schema": 0`), "schemas count from 1"},
		{"unknown field", replace(`"peak_pending"`, `"peek_pending"`), `it has a field "peek_pending", which this simctl does not know`},
		{"a field twice", replace(`"end_s": 9`, "\"end_s\": 9,\n\"end_s\": 10"), `it has the field "end_s" twice in one object, the second time in line `},
		{"a setting twice", `{"schema":1,"run":{"scenario":"s","broker":"b","params":{"\"\\":1,"\u0022\\":"}"}}}`, `it has the field "\"\\" twice in one object, the second time in line 1`},
		{"two results", string(whole) + string(whole), "something follows the result"},
		{"no schema", `{"run":{}}`, `it has no "schema" and "run"`},
		{"no run", `{"schema":1}`, `it has no "schema" and "run"`},
		{"no scenario", `{"schema":1,"run":{"broker":"b"}}`, "run.scenario and run.broker must be set"},
		{"a phase without a name", `{"schema":1,"run":{"scenario":"s","broker":"b"},"phases":[{"name":""}]}`, "is empty or taken"},
		{"two phases of a name", `{"schema":1,"run":{"scenario":"s","broker":"b"},"phases":[{"name":"p"},{"name":"p"}]}`, "is empty or taken"},
		{"no broker", replace(`"broker": "shedding"`, `"broker": ""`), "run.broker must be set"},
		{"uneven series", replace(`[1,2.25]`, `[1]`), "instants with values: 1 and 2"},
		{"time goes back", replace(`[1,2.25]`, `[1,0.5]`), "goes back in time"},
		{"a number that no chart holds", replace(`[1,2.25]`, `[1,1e101]`), "the number 1e+101 is beyond ±1e+100"},
		{"phase ends early", replace(`"end_s": 9`, `"end_s": -9`), "before its start"},
		{"stopped in no phase", `{"schema":1,"run":{"scenario":"s","broker":"b"},"stopped":"--max-time 2m0s"}`, "in no phase"},
		{"text that a terminal obeys, of a setting", `{"schema":1,"run":{"scenario":"s","broker":"b","params":{"x":"\u001b[31m"}}}`, `the text "\x1b[31m" has a control character`},
		{"and in its name", `{"schema":1,"run":{"scenario":"s","broker":"b","params":{"\u001bx":1}}}`, `has a control character`},
		{"text that runs backwards", `{"schema":1,"run":{"scenario":"s","broker":"b","params":{"x":"\u202eevil"}}}`, `the text "\u202eevil" has a control character`},
		{"negative count", replace(`"evals_created": 9`, `"evals_created": -9`), "evals_created"},
		{"uneven distribution", replace(`"count": [1]`, `"count": []`), "bounds with counts: 1 and 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.json")
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Load(path)
			if r != nil || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with the path and %q", err, tt.want)
			}
		})
	}
	if _, err := Decode([]byte(`{"schema":1,"run":{"scenario":"s","broker":"b","params":{"x":"a\tb\nc"}}}`)); err != nil {
		t.Errorf("a setting of two lines with a tab: %v", err)
	}
	if _, err := Decode([]byte(`{"schema":1,"run":{"scenario":"s","broker":"b","params":{"s":"{\"s\":[","b":[{"b":1},{"b":"b"}],"B":{}}}}`)); err != nil {
		t.Errorf("a field of several objects: %v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.json")); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("error %v, want one that names the missing file", err)
	}
}

func FuzzDecode(f *testing.F) {
	whole, err := sample(f).encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"schema":1,"run":{"scenario":"s","broker":"b","params":{"n":1e400}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode(data)
		if err != nil {
			return
		}
		again, err := r.encode()
		if err != nil {
			t.Fatalf("read, but cannot be written: %v", err)
		}
		if s, err := Decode(again); err != nil || s.Digest() != r.Digest() {
			t.Fatalf("written, but reads as another result (%v)", err)
		}
	})
}

func TestDigest(t *testing.T) {
	base := sample(t).Digest()
	r := sample(t)
	r.Host.WallS++
	if r.Digest() != base {
		t.Error("the digest depends on the host")
	}
	for name, change := range map[string]func(*Result){
		"nodes":      func(r *Result) { r.Run.Nodes++ },
		"warning":    func(r *Result) { r.Warnings = append(r.Warnings, "not over") },
		"deployment": func(r *Result) { r.Phases[0].DeploymentS, r.Totals.DeploymentS = -1, -1 },
		"p95":        func(r *Result) { r.Latencies[0].P95++ },
	} {
		r := sample(t)
		change(r)
		if r.Digest() != base {
			t.Errorf("the digest depends on the %s, which came later than the first digests", name)
		}
	}
	for name, change := range map[string]func(*Result){
		"run":    func(r *Result) { r.Run.Seed++ },
		"phase":  func(r *Result) { r.Phases[0].EvalsCreated++ },
		"series": func(r *Result) { r.Series[0].Value[1] = 0.25 },
		"mark":   func(r *Result) { r.Marks[0].AtS = 2 },
	} {
		r := sample(t)
		change(r)
		if r.Digest() == base {
			t.Errorf("the digest does not depend on the %s", name)
		}
	}
}

func TestWriteFileNamesWhatFailed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "r.json")
	if err := sample(t).WriteFile(path); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("error %v, want one that names the path", err)
	}
}

// TestWrongTypes: a value of another type is told by what the file says, not by types of Go.
func TestWrongTypes(t *testing.T) {
	for text, want := range map[string]string{
		`{"schema":1,"run":{"seed":"x"}}`:            "run.seed is a JSON string: it must be a whole number",
		`{"schema":1,"run":{"seed":1e30}}`:           "run.seed is a JSON number 1e30: it must be a whole number of at most 18 digits",
		`{"schema":1,"run":{},"phases":{}}`:          "phases is a JSON object: it must be a list",
		`{"schema":1,"run":{"broker":7}}`:            "run.broker is a JSON number: it must be text",
		`{"schema":1,"run":{"params":[]}}`:           "run.params is a JSON array: it must be an object",
		`{"schema":1,"run":{},"host":{"wall_s":""}}`: "host.wall_s is a JSON string: it must be a number",

		`{"schema":1,"run":{},"invariants":[{"ok":1}]}`:         "invariants.ok is a JSON number: it must be true or false",
		`{"schema":1,"run":{},"phases":[{"evals_created":-9}]}`: "phases.evals_created is a JSON number -9: it must be a whole number of at least 0",
	} {
		_, err := Decode([]byte(text))
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: error %v, want one that ends in %q", text, err, want)
		}
	}
	_, err := decodeBaseline([]byte(`{"baseline":1,"tolerance":"5%"}`))
	if err == nil || !strings.HasSuffix(err.Error(), "tolerance is a JSON string: it must be a number") {
		t.Errorf("a baseline: %v", err)
	}
}

// TestFileLayout: every line but the first and the last is indented, those after an array too.
// Two points at one instant are in order.
func TestFileLayout(t *testing.T) {
	r := sample(t)
	r.Series = append(r.Series, Series{Name: "steps", AtS: []float64{1, 1, 2}, Value: []float64{0, 5, 5}})
	data, err := r.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(data); err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i, line := range lines[1 : len(lines)-1] {
		if !strings.HasPrefix(line, " ") {
			t.Errorf("line %d is not indented: %q", i+2, line)
		}
	}
	if d := r.digested(); d.Run.Nodes != 0 || d.Totals.DeploymentS != 0 || d.Phases[0].DeploymentS != 0 || d.Host != (Host{}) {
		t.Errorf("the digest covers the host or what came later than the first digests: %+v", d)
	}
	r.Run.Params["nodes"] = math.NaN()
	if err := r.WriteFile(filepath.Join(t.TempDir(), "r.json")); err == nil || !strings.Contains(err.Error(), "r.json") {
		t.Errorf("error %v for a result that is no JSON, want one that names the file", err)
	}
}
