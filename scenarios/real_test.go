package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/simctl/simctl/internal/nomadproc"
	"github.com/simctl/simctl/metrics"
)

// TestCheckReal: what a real cluster cannot be told is named before anything starts.
func TestCheckReal(t *testing.T) {
	const file = `title = "t"
cluster {
  schedulers = %d
  %s
}
fleet {
  group "main" {
    nodes = 3
  }
}
job "sys" {
  type = "system"
}
job "cron" {
  type  = "batch"
  count = 1
  every = "1m"
}
phase "all" {
  event "register_jobs" {
    jobs = ["sys"]
  }
  event "start_clients" {}
  %s
  until "recovered" {}
}
`
	for _, c := range []struct {
		what, setting, event, version, want string // want is a part of the error; empty: none
		schedulers                          int    // that the cluster begins with; zero: 2
	}{
		{what: "nothing else"},
		{what: "the leader is killed", event: "event \"kill_leader\" {\n for = \"5s\"\n}"},
		{what: "a drain", event: "event \"drain_nodes\" {\n fraction = 0.5\n}"},
		{what: "a pause of the broker", event: "event \"pause_eval_broker\" {}"},
		{what: "heartbeats", setting: "heartbeat {\n max_per_second = 10\n}"},
		{what: "lost messages", event: "event \"link_loss\" {\n loss = 0.1\n for = \"5s\"\n}", want: `Event "link_loss" of phase all: no real cluster can be told that`},
		{what: "a periodic job", event: "event \"register_jobs\" {\n jobs = [\"cron\"]\n}", want: `Event "register_jobs" of phase all: job cron is periodic`},
		{what: "a reaper", setting: "reaper {\n batch = 10\n}", want: "sets reaper of its cluster"},
		{what: "more schedulers than cores", event: "event \"schedulers\" {\n per_server = 1024\n}", version: "1.10.0", want: "1024 schedulers a server: Nomad 1.10.0 takes"},
		{what: "more from the beginning", schedulers: 1024, version: "2.0.5", want: "the scenario's cluster begins with 1024 schedulers a server: Nomad 2.0.5 takes"},
		{what: "the same before 1.10", event: "event \"schedulers\" {\n per_server = 1024\n}", version: "1.4.3"},
	} {
		compiled, err := Compile(Spec{Scenario: "t", File: "t.hcl", Source: fmt.Sprintf(file, cmp.Or(c.schedulers, 2), c.setting, c.event), Seed: 1})
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		err = compiled.CheckReal(Real{Version: c.version})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.what, err, c.want)
		}
	}
}

// TestCostOnRealServers: before anything starts it is said that a scenario's costs have no effect.
func TestCostOnRealServers(t *testing.T) {
	for scenario, want := range map[string]int{"metastable": 1, "flapping": 0} {
		compiled, err := Compile(Spec{Scenario: scenario, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		r := Real{Version: "1.4.3", Bin: "no-such-program", Dir: t.TempDir(), Say: func(text string) { said = append(said, text) }}
		if _, err := RunReal(t.Context(), compiled, r, nil); !errors.Is(err, nomadproc.ErrProgram) {
			t.Errorf("%s: %v, want an error about the program", scenario, err)
		}
		if len(said) != want || want == 1 && !strings.Contains(said[0], "block cost") {
			t.Errorf("%s: it is said %q", scenario, said)
		}
	}
}

// TestRealNomad runs a scenario on real servers. It needs Nomad programs, and takes more than a
// minute for each.
func TestRealNomad(t *testing.T) {
	const variable = "SIMCTL_NOMAD"
	bins := os.Getenv(variable)
	if bins == "" {
		t.Skipf("%s is not set: it must be the paths of Nomad programs, with commas between them", variable)
	}
	all, err := Programs(t.Context(), strings.Split(bins, ","), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{Scenario: "heartbeat-storm", Seed: 1}
	spec.Set("nodes", 20)
	spec.Set("report_allocations", false)
	compiled, err := Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		t.Run(r.Name, func(t *testing.T) {
			res, err := RunReal(t.Context(), compiled, r, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range res.Invariants {
				if !i.OK {
					t.Errorf("%s: %s", i.Name, i.Detail)
				}
			}
			register, drain, storm := res.Phase("register"), res.Phase("drain"), res.Phase("storm")
			if n := register.RaftEntriesByType; n[metrics.EntryNodeRegister] != 20 || n[metrics.EntryNodeUpdateStatus] != 20 || register.EvalsCreated != 210 {
				t.Errorf("20 nodes registered with %v, and %d evaluations", n, register.EvalsCreated)
			}
			if n := drain.RaftEntriesByType[metrics.EntryApplyPlanResults]; n != 10 || drain.EvalsProcessed+drain.EvalsCanceled != 210 {
				t.Errorf("the drain has %d plans, and %d of 210 evaluations are over", n, drain.EvalsProcessed+drain.EvalsCanceled)
			}
			if storm.NodesDown != 20 || storm.EvalsCreated != 200 {
				t.Errorf("the storm has %d nodes down and %d evaluations", storm.NodesDown, storm.EvalsCreated)
			}
			if runtime.GOOS == "linux" && res.SeriesByName(metrics.SeriesMemoryRead) == nil {
				t.Error("nothing tells how fast the machine's memory was")
			}
		})
	}
}
