package scenarios

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/scenarios/language"
)

// fileSpec is the Spec of a scenario file of that text.
func fileSpec(t *testing.T, text string) Spec {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mine.hcl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err := FromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spec.Broker, spec.Seed = "shedding", 1
	return spec
}

// TestAFileRunsAsTheBuiltInItIsACopyOf: in a child process, without the file being read
// again.
func TestAFileRunsAsTheBuiltInItIsACopyOf(t *testing.T) {
	text, _ := Text("heartbeat-storm")
	copied := fileSpec(t, string(text))
	copied.Vars = small("").Vars
	if err := os.Remove(copied.File); err != nil {
		t.Fatal(err)
	}
	results, err := RunAll(t.Context(), []Spec{small("shedding"), copied}, nil)
	if err != nil {
		t.Fatal(err)
	}
	builtin, file := results[0], results[1]
	if file.Run.Scenario != "mine" || !strings.Contains(file.Run.Rerun, "simctl scenario run "+copied.File+" --var nodes=40 --var system_jobs=3") {
		t.Errorf("the file's run is %s, repeated by %q", file.Run.Scenario, file.Run.Rerun)
	}
	file.Run.Scenario, file.Run.Rerun = builtin.Run.Scenario, builtin.Run.Rerun
	if file.Digest() != builtin.Digest() {
		t.Error("a copy of the built-in scenario gave another result")
	}
}

// TestACompleteSpecReadsNoFile: what was validated is what runs, whatever becomes of the file
// of the costs, which the scenario or the command line names.
func TestACompleteSpecReadsNoFile(t *testing.T) {
	text, _ := Text("heartbeat-storm")
	costs := filepath.Join(t.TempDir(), "mine.hcl")
	for _, byFlag := range []bool{true, false} {
		if err := os.WriteFile(costs, []byte(strings.Replace(sampleCost, "cores  = 2", "cores  = 7", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		spec := fileSpec(t, string(text)+fmt.Sprintf("cost {\n  class = %q\n}\n", costs))
		if byFlag {
			spec = small("shedding")
			spec.Cost = costs
		}
		spec.Vars = map[string]any{"nodes": 5, "system_jobs": 1}
		whole, err := Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(costs, []byte("no costs"), 0o600); err != nil {
			t.Fatal(err)
		}
		if compileErr(spec) == nil {
			t.Error("a Spec that is not complete reads no file")
		}
		results, err := RunAll(t.Context(), []Spec{whole.Spec()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if m := results[0].Run.CostModel; m.Class != "mine" || m.Costs[0].Name != "cores" || m.Costs[0].Value != 7 {
			t.Errorf("ran with class %s: %v", m.Class, m.Costs[0])
		}
	}
}

func TestVariables(t *testing.T) {
	spec := small("legacy")
	other := spec
	other.Set("reaper_batch", "100")
	other.Set("nodes", 7)
	if got := spec.Vars["nodes"]; got != 40 {
		t.Errorf("setting a variable of a copy set it to %v in the original", got)
	}
	vars, err := other.Variables()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, v := range vars {
		if !v.IsDefault() {
			texts = append(texts, v.Name+"="+v.Text())
		}
	}
	if want := []string{"nodes=7", "system_jobs=3", "reaper_batch=100"}; !slices.Equal(texts, want) {
		t.Errorf("variables that differ: %q, want %q", texts, want)
	}
	c, err := Compile(other)
	if err != nil {
		t.Fatal(err)
	}
	got := c.scenario.Run.Params
	if got["reaper_batch"] != int64(100) || got["report_allocations"] != false {
		t.Errorf("params %v", got)
	}
	if _, there := got["reaper_interval_s"]; there {
		t.Errorf("params %v list a variable that most runs leave alone", got)
	}
	sc, err := scenarioOf(other)
	if err != nil {
		t.Fatal(err)
	}
	if sc.Cluster.Reaper.Batch != 100 {
		t.Errorf("the reaper takes %d", sc.Cluster.Reaper.Batch)
	}
}

// TestRefusedFiles: what only the simulator can know is refused with the place, too.
func TestRefusedFiles(t *testing.T) {
	const text = `title = "t"
variable "nodes" {
  type    = "integer"
  default = 3
}
cluster {
  servers    = 3
  schedulers = 1
}
fleet {
  group "all" {
    nodes = var.nodes
  }
}
job "web" {
  type = "service"
}
phase "p" {
  event "register_jobs" {}
  until "recovered" {}
}
`
	if err := compileErr(fileSpec(t, text)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"default = 3", "default = 0", "no clients"},
		{"schedulers = 1", "schedulers = 0", "Nothing would ever place job web"},
		{"default = 3", "default = 10000000", "more than 1000000 take hours"},
		{`event "register_jobs" {}`, "event \"register_jobs\" {\n    jobs = [\"wbe\"]\n  }", `Did you mean "web"?`},
		{`event "register_jobs" {}`, "event \"kill_server\" {\n    server = 4\n  }", "there is no server 4"},
		{`event "register_jobs" {}`, "event \"kill_server\" {\n    server = \"boss\"\n  }", `"boss" is no server`},
		{`event "register_jobs" {}`, "event \"stop_clients\" {\n    fraction = 1.5\n  }", "from 0 to 1"},
		{`event "register_jobs" {}`, "event \"link_loss\" {\n    loss = 0.1\n    from {\n      servers = [1, 1]\n    }\n  }", "named twice"},
		{`event "register_jobs" {}`, "event \"partition\" {\n    from {\n      group = \"al\"\n    }\n  }", `Did you mean "all"?`},
		{`event "register_jobs" {}`, "event \"partition\" {\n    from {\n      datacenter = \"dc2\"\n    }\n  }", `no client is in datacenter "dc2": the groups are in dc1`},
		{`event "register_jobs" {}`, "event \"link_loss\" {\n    loss = 0.1\n    to {\n      racks = [2]\n    }\n  }", "there is no rack 2"},
		{`event "register_jobs" {}`, "event \"partition\" {\n    from {\n      clients = 0.5\n      group = \"all\"\n    }\n  }", "leave it out beside group, datacenter and racks"},
		{`until "recovered" {}`, "until \"recovered\" {}\n  timeout = \"0s\"", "timeout must be above 0"},
		{`until "recovered" {}`, "until \"recovered\" {}\n  stall = \"0s\"", "stall must be above 0"},
		{`event "register_jobs" {}`, "event \"register_jobs\" {\n    at = \"721h\"\n  }", "it comes after 721h0m0s, and the phase fails after 720h0m0s"},
		{"fleet {", "fleet {\n  register_stagger = \"0s\"", "register_stagger must be above 0"},
		{"fleet {", "fleet {\n  alloc_sync = \"0s\"", "alloc_sync must be above 0"},
		{"nodes = var.nodes", "nodes = var.nodes\n    racks = 0", "racks is 0; it must be 1 or more"},
		{`type = "service"`, "type = \"service\"\n  datacenters = []", "no datacenter"},
		{`type = "service"`, "type = \"sysbatch\"\n  max_parallel = 2", "Nomad refuses that of a sysbatch job"},
		{`type = "service"`, "type = \"service\"\n  copies = 1000000", "100000 at most"},
		{`phase "`, "threshold \"t\" {\n  metric = \"totals.recovery_s\"\n  min = 5\n  max = 1\n}\nphase \"", "No figure is 5 or more and 1 or less"},
		{`phase "`, "threshold \"t\" {\n  metric = \"totals.recovery_s\"\n  broker = \"legacy\"\n  max_ratio_of = \"legacy\"\n}\nphase \"", "The figure of legacy is compared with itself"},
	} {
		spec := fileSpec(t, strings.Replace(text, c.old, c.new, 1))
		err := compileErr(spec)
		if _, ok := errors.AsType[*language.Error](err); !ok || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), c.want) || !strings.Contains(err.Error(), "mine.hcl line") {
			t.Errorf("%s: error %v, want one of the file that says %q", c.new, err, c.want)
		}
	}
	large := fileSpec(t, strings.Replace(text, "default = 3", "default = 2000000", 1))
	large.Force = true
	if err := compileErr(large); err != nil {
		t.Errorf("2,000,000 clients by force: %v", err)
	}
	wrong := fileSpec(t, text)
	wrong.Set("nodes", "x")
	if err := compileErr(wrong); err == nil || err.Error() != `--var "nodes=x": it must be a whole number, such as 3` {
		t.Errorf("error %v", err)
	}
	if _, err := FromFile("nowhere.hcl"); err == nil || err.Error() != "nowhere.hcl: it cannot be read: no such file or directory" {
		t.Errorf("error %v", err)
	}
}
