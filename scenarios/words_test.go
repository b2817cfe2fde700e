package scenarios

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/actions/operations"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/language"
)

// TestTheLanguageIsDocumented: every word, and every attribute of every word, is in the
// reference, whose example can be run.
func TestTheLanguageIsDocumented(t *testing.T) {
	data, err := os.ReadFile("../docs/scenario-language.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	structs := map[string]any{"cluster": &defaultCluster, "fleet": &language.Fleet{}, "group": &language.Group{}, "job": &language.Job{}, "threshold": &language.Threshold{}, "broker": &brokerWord{}}
	for _, words := range []map[string]any{actions.Keywords.Prototypes(), conditions.Keywords.Prototypes(), behaviours.Kinds.Prototypes()} {
		maps.Copy(structs, words)
		for _, word := range slices.Sorted(maps.Keys(words)) {
			if !strings.Contains(text, "`"+word+"`") {
				t.Errorf("the reference does not name %q", word)
			}
		}
	}
	for _, word := range slices.Sorted(maps.Keys(structs)) {
		for name, v := range language.Fields(reflect.ValueOf(structs[word]).Elem()) {
			if name == "at" || name == "name" || v.Kind() == reflect.Map && name != "attributes" {
				continue
			}
			if !strings.Contains(text, "`"+name) && !strings.Contains(text, " "+name+" ") {
				t.Errorf("the reference does not name the attribute %s of %s", name, word)
			}
		}
	}
	_, example, _ := strings.Cut(text, "```hcl\n")
	example, _, _ = strings.Cut(example, "```")
	if err := compileErr(fileSpec(t, example)); err != nil {
		t.Errorf("the reference's example: %v", err)
	}
	if formatted, err := language.Format("example", []byte(example)); err != nil || string(formatted) != example {
		t.Errorf("the reference's example is not formatted (%v)", err)
	}
}

// TestEventsOnGroups: an event on a group concerns its clients and no others.
func TestEventsOnGroups(t *testing.T) {
	text := `title = "groups"
fleet {
  group "staying" {
    nodes = 10
  }
  group "going" {
    nodes = 5
  }
}
job "agent" {
  type = "system"
}
job "web" {
  type  = "service"
  count = 30
}
cluster {
  schedulers = 2
}
phase "start" {
  event "register_jobs" {
    at = "20s"
  }
  event "start_clients" {}
  until "settled" {}
}
phase "ops" {
  %s
  until "recovered" {
    for        = "30s"
    after_down = true
  }
}
`
	for _, c := range []struct {
		events string
		kind   string
		want   uint64
		mark   string
		down   uint64
	}{
		{`event "drain_nodes" {
    group = "going"
  }`, "NodeUpdateDrainRequestType", 5, "group going drains", 0},
		{`event "set_eligibility" {
    group = "going"
  }`, "NodeUpdateEligibilityRequestType", 5, "group going becomes ineligible", 0},
		{`event "stop_clients" {
    group = "going"
  }`, metrics.EntryNodeUpdateStatus, 5, "the clients of group going stop", 5},
		{`event "stop_clients" {
    group = "going"
  }
  event "resume_clients" {
    at    = "2m"
    group = "going"
  }`, metrics.EntryNodeRegister, 5, "the clients of group going are back", 5},
	} {
		res := runOne(t, fileSpec(t, fmt.Sprintf(text, c.events)), nil)
		wantSound(t, res)
		ops := res.Phase("ops")
		if got := ops.RaftEntriesByType[c.kind]; got < c.want || got > 2*c.want || ops.NodesDown != c.down {
			t.Errorf("%s: %d entries of %s and %d nodes down, want %d (to twice that) and %d", c.events, got, c.kind, ops.NodesDown, c.want, c.down)
		}
		if !slices.ContainsFunc(res.Marks, func(m metrics.Mark) bool { return m.Name == c.mark }) {
			t.Errorf("%s: marks %+v, want %q", c.events, res.Marks, c.mark)
		}
	}
	for events, want := range map[string]string{
		`event "drain_nodes" {}`: "must say which nodes",
		`event "drain_nodes" {
    group    = "going"
    fraction = 0.5
  }`: "must say which nodes",
		`event "stop_clients" {
    group = "going"
    for   = "5s"
  }`: "stops as a whole",
		`event "scale_job" {
    job   = "agent"
    count = 5
  }`: "has no count",
		`event "stop_job" {
    job    = "web"
    copies = 2
  }`: "it has 1",
		`event "update_job" {
    job   = "web"
    count = 2000000000
  }`: "it must be from 0 to 1000000",
		`event "flap_clients" {
    up    = "1s"
    down  = "1s"
    times = 1000000000000
  }`: "times is 1000000000000; it must be from 0 to 100000",
	} {
		err := compileErr(fileSpec(t, fmt.Sprintf(text, events)))
		if err == nil || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), want) {
			t.Errorf("%s: error %v, want one that says %q", events, err, want)
		}
	}
}

// TestEventsOutOfOrder: what cannot happen when it would is refused before anything runs.
func TestEventsOutOfOrder(t *testing.T) {
	text := `title = "order"
cluster {
  schedulers = 1
}
fleet {
  report_allocations = true
  group "all" {
    nodes = 3
  }
}
behaviour "stop" "b" {}
job "j" {
  type = "service"
}
phase "p" {
  %s
  until "recovered" {}
}
`
	begin, end := "event \"begin\" {\n at = \"%ds\"\n behaviour = \"b\"\n}\n", "event \"end\" {\n at = \"%ds\"\n behaviour = \"b\"\n}\n"
	const start, fail = "event \"start_clients\" {}\n", "event \"fail_allocs\" {\n job = \"j\"\n count = 1\n}\n"
	for events, want := range map[string]string{
		start + fmt.Sprintf(begin+end+begin, 1, 2, 3):                 "",
		start + fmt.Sprintf(end+begin, 2, 1):                          "",
		fmt.Sprintf(begin, 1):                                         "no clients yet",
		start + start + fmt.Sprintf(begin, 1):                         "started already",
		start + fmt.Sprintf(begin+begin, 1, 2):                        "has begun already",
		start + fmt.Sprintf(end+begin, 1, 2):                          "has not begun",
		start + fmt.Sprintf(begin+end+end, 1, 2, 3):                   "has not begun",
		"event \"stop_clients\" {}\n" + start + fmt.Sprintf(begin, 1): "no clients yet",
		fail + start + fmt.Sprintf(begin, 1):                          "no clients yet",
		start + fail + fmt.Sprintf(begin, 1):                          "",
	} {
		err := compileErr(fileSpec(t, fmt.Sprintf(text, events)))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), want) {
			t.Errorf("%s: error %v, want %q", events, err, want)
		}
	}
	silent := strings.Replace(text, "report_allocations = true", "report_allocations = false", 1)
	if err := compileErr(fileSpec(t, fmt.Sprintf(silent, start+fail+fmt.Sprintf(begin, 1)))); err == nil || !strings.Contains(err.Error(), "report_allocations = true") {
		t.Errorf("allocations fail of clients that do not report: error %v, want one that says how they do", err)
	}
}

// TestFlappingNoTimes: an event that happens no time is left out, and so are its instant and its mark.
func TestFlappingNoTimes(t *testing.T) {
	for flaps, want := range []int{2, 3, 3} {
		sc, err := scenarioOf(Spec{Scenario: "eval-delete", Broker: "legacy", Vars: map[string]any{"flaps": flaps}})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(sc.Phases[0].Events); got != want {
			t.Errorf("%d flaps: %d events in the first phase, want %d", flaps, got, want)
		}
	}
}

// TestUpdatesAddUp: every event of an update makes another version.
func TestUpdatesAddUp(t *testing.T) {
	spec := fileSpec(t, `title = "updates"
cluster {
  schedulers = 1
}
fleet {
  group "all" {
    nodes = 3
  }
}
job "web" {
  type   = "service"
  copies = 2
}
phase "p" {
  event "register_jobs" {}
  event "update_job" {
    at    = "1m"
    job   = "web"
    times = 2
    every = "1m"
  }
  event "update_job" {
    at     = "90s"
    job    = "web"
    copies = 1
    count  = 7
  }
  until "elapsed" {
    for = "5m"
  }
}
`)
	sc, err := scenarioOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range sc.Phases[0].Events[1:] {
		actions := []actions.Action{e.Action}
		if s, ok := e.Action.(operations.Series); ok {
			actions = s.Actions
		}
		for _, a := range actions {
			j := a.(operations.UpdateJob).Job
			got = append(got, fmt.Sprintf("%s %d %d", j.ID, j.TaskGroups[0].Resources.CPUMHz, j.TaskGroups[0].Count))
		}
	}
	want := []string{"web-000 21 1", "web-001 21 1", "web-000 22 7", "web-000 23 7", "web-001 22 1"}
	if !slices.Equal(got, want) {
		t.Errorf("versions %q, want %q", got, want)
	}
	if first := sc.Phases[0].Events[0].Action.(operations.RegisterJobs).Jobs[0]; first.TaskGroups[0].Resources.CPUMHz != 20 {
		t.Errorf("the first version became %+v", first)
	}
}

func TestDepthConditions(t *testing.T) {
	text := `title = "depth"
fleet {
  group "all" {
    nodes = 20
  }
}
job "agent" {
  type   = "system"
  copies = 3
}
phase "fill" {
  event "register_jobs" {}
  event "start_clients" {}
  until %s
}
phase "drain" {
  event "schedulers" {
    per_server = 2
  }
  until "recovered" {}
}
`
	for until, least := range map[string]uint64{
		"\"queue\" {\n    at_least = 40\n  }":                                       40,
		"\"queue\" {\n    at_least = 10\n    at_most = 1000\n    for = \"2s\"\n  }": 10,
		"\"evals\" {\n    at_least = 30\n  }":                                       30,
	} {
		res := runOne(t, fileSpec(t, fmt.Sprintf(text, until)), nil)
		wantSound(t, res)
		if fill := res.Phase("fill"); fill.EvalsCreated < least {
			t.Errorf("%s ended the phase at %d evaluations", until, fill.EvalsCreated)
		}
	}
	for until, want := range map[string]string{
		`"queue" {}`: "at_least or at_most", "\"queue\" {\n    at_least = 5\n    at_most = 4\n  }": "nothing is 5 at least and 4 at most", `"elapsed" {}`: "no for here",
		"\"settled\" {\n    for = \"8000h\"\n  }":                  "must hold for 8000h0m0s, and the phase fails after 720h0m0s",
		"\"elapsed\" {\n    for = \"2h\"\n  }\n  timeout = \"1h\"": "must hold for 2h0m0s, and the phase fails after 1h0m0s: give it a greater timeout",
	} {
		err := compileErr(fileSpec(t, fmt.Sprintf(text, until)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %q", until, err, want)
		}
	}
}

// FuzzScenarioFile: whatever a file says, the answer is a scenario or an error, soon.
func FuzzScenarioFile(f *testing.F) {
	for _, name := range Names() {
		text, _ := Text(name)
		f.Add(string(text))
	}
	f.Add(strings.NewReplacer("MORE", "cores = 3\n  broker \"b\" {\n    release = \"1.4.2\"\n  }", "RATE", "fsync = \"1ms\"").Replace(profilesText))
	f.Fuzz(func(t *testing.T, text string) {
		spec := Spec{Scenario: "fuzz", File: "fuzz.hcl", Source: text, Broker: "shedding"}
		sc, err := scenarioOf(spec)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		if sc.Fleet.Nodes < 1 || sc.Fleet.Nodes > maxNodes || len(sc.Phases) == 0 || sc.Fleet.Validate() == nil {
			t.Errorf("half a scenario: %+v", sc) // Dial is not there yet, so the fleet must say so
		}
		if again, err := readOrder(strings.NewReader(jsonOf(t, spec))); err != nil || again.Source != text && utf8.ValidString(text) {
			t.Errorf("the spec does not survive: %v", err)
		}
	})
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
