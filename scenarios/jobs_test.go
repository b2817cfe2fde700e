package scenarios

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/language"
)

// definedJobs is a scenario of a job with a definition, beside which the block says %s.
const definedJobs = `title = "defined"
cluster {
  schedulers = 2
}
fleet {
  group "all" {
    nodes = 4
  }
}
job "web" {
  spec = "web.json"
  ATTRIBUTES
}
phase "start" {
  event "register_jobs" {}
  event "start_clients" {}
  until "settled" {}
}
`

const definition = `{"Job": {"ID": "shop", "Namespace": "prod", "Type": "service", "Priority": 70, "Datacenters": ["dc1"],
  "Spreads": [{"Attribute": "${node.datacenter}", "Weight": 100}],
  "TaskGroups": [
    {"Name": "front", "Count": 3, "Update": {"MaxParallel": 2}, "EphemeralDisk": {"SizeMB": 10},
     "Tasks": [{"Name": "a", "Resources": {"CPU": 30, "MemoryMB": 20}}, {"Name": "b", "Resources": {"CPU": 20, "MemoryMB": 10}}]},
    {"Name": "back", "Count": 2, "Tasks": [{"Name": "c", "Resources": {"CPU": 50, "MemoryMB": 30}}]}]}}`

// definedSpec returns the Spec of definedJobs, with the definition in the file of that name.
func definedSpec(t *testing.T, attributes, name, text string) Spec {
	t.Helper()
	spec := fileSpec(t, strings.NewReplacer("ATTRIBUTES", attributes, "web.json", name).Replace(definedJobs))
	if err := os.WriteFile(filepath.Join(filepath.Dir(spec.File), name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return spec
}

// TestJobDefinitions: a job is what its definition says, unless its block says otherwise.
func TestJobDefinitions(t *testing.T) {
	for _, c := range []struct {
		attributes string
		check      func(*rpc.Job) bool
	}{
		{"", func(j *rpc.Job) bool {
			return j.ID == "web" && j.Namespace == rpc.DefaultNamespace && j.Type == rpc.JobTypeService && j.Priority == 70 && len(j.Definition) == 0 &&
				j.TaskGroups[0].Count == 3 && j.TaskGroups[0].Resources == rpc.Resources{CPUMHz: 50, MemoryMB: 30, DiskMB: 10} && j.TaskGroups[0].MaxParallel == 2 &&
				j.TaskGroups[1].Count == 2 && j.TaskGroups[1].MaxParallel == 1
		}},
		{"priority = 20", func(j *rpc.Job) bool { return j.Priority == 20 }},
		{"count = 0", func(j *rpc.Job) bool { return j.TaskGroups[0].Count == 0 && j.TaskGroups[1].Count == 0 }},
		{"max_parallel = 0", func(j *rpc.Job) bool { return j.TaskGroups[0].MaxParallel == 0 && j.TaskGroups[1].MaxParallel == 0 }},
		{`max_client_disconnect = "1h"`, func(j *rpc.Job) bool { return j.TaskGroups[1].MaxClientDisconnect == time.Hour }},
		{`datacenters = ["dc2"]`, func(j *rpc.Job) bool { return j.Datacenters[0] == "dc2" }},
		{`type = "batch"`, func(j *rpc.Job) bool { return j.Type == rpc.JobTypeBatch && j.TaskGroups[0].MaxParallel == 0 }},
		{"type = \"batch\"\n  every = \"1h\"", func(j *rpc.Job) bool { return j.Periodic.Every == time.Hour }},
		{"resources {\n    cpu = 1\n    memory = 2\n    disk = 3\n  }", func(j *rpc.Job) bool {
			return j.TaskGroups[0].Resources == rpc.Resources{CPUMHz: 1, MemoryMB: 2, DiskMB: 3}
		}},
	} {
		spec := definedSpec(t, c.attributes, "web.json", definition)
		compiled, err := Compile(spec)
		if err != nil {
			t.Errorf("%s: %v", c.attributes, err)
			continue
		}
		if err := os.Remove(filepath.Join(filepath.Dir(spec.File), "web.json")); err != nil {
			t.Fatal(err)
		}
		if _, err := Compile(compiled.Spec()); err != nil {
			t.Errorf("a complete Spec reads a file: %v", err)
		}
		b := &builder{def: compiled.def, cost: compiled.cost, readJob: compiled.Spec().readJob}
		if err := b.makeJobs(); err != nil {
			t.Fatal(err)
		}
		if job := b.setting.Jobs["web"][0]; !c.check(job) {
			t.Errorf("with %q the job is %+v", c.attributes, job)
		}
		if said := strings.Join(compiled.Warnings(), "\n"); !strings.Contains(said, "spec web.json: job web: the simulated schedulers do not look at spread") || !strings.Contains(said, "prod") {
			t.Errorf("warnings %q", said)
		}
	}
}

// TestJobspec: an agent parses a jobspec in HCL, once: a complete Spec has what it answered. The
// answers are those of real agents.
func TestJobspec(t *testing.T) {
	jobspec := read(t, "testdata/jobspec/web.nomad.hcl")
	for _, version := range []string{"1.4.3", "2.0.5"} {
		asked := 0
		agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var req api.JobsParseRequest
			if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.URL.Path != "/v1/jobs/parse" || req.JobHCL != jobspec {
				t.Errorf("asked %s for %q: %v", r.URL, req.JobHCL, err)
			}
			asked++
			_, _ = io.WriteString(w, read(t, "testdata/jobspec/nomad-"+version+".json"))
		}))
		t.Cleanup(agent.Close)
		t.Setenv("NOMAD_ADDR", agent.URL)
		compiled, err := Compile(definedSpec(t, "", "web.nomad.hcl", jobspec))
		if err != nil {
			t.Fatal(err)
		}
		agent.Close()
		if compiled, err = Compile(compiled.Spec()); err != nil || asked != 1 {
			t.Fatalf("%s: the agent was asked %d times: %v", version, asked, err)
		}
		want := rpc.TaskGroup{Name: "front", Count: 2, Resources: rpc.Resources{CPUMHz: 200, MemoryMB: 128, DiskMB: 300}, MaxParallel: 1, ProgressDeadline: 10 * time.Minute}
		if got := compiled.registered()[0]; got.ID != "web" || got.Type != rpc.JobTypeService || got.TaskGroups[0] != want {
			t.Errorf("%s: the job is %+v, want the group %+v", version, got, want)
		}
	}
	for _, c := range []struct {
		code       int
		body, want string
	}{
		{http.StatusBadRequest, "input.hcl:1,9-10: Unclosed configuration block", "web.nomad.hcl:1,9-10: Unclosed configuration block"},
		{http.StatusNotImplemented, "no parser here", "no parser here"},
		{http.StatusOK, "[1]", "cannot unmarshal"},
		{0, "", "connection refused"},
	} {
		agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.code)
			_, _ = io.WriteString(w, c.body)
		}))
		t.Setenv("NOMAD_ADDR", strings.Replace(agent.URL, "//", "//user:secret@", 1))
		if c.code == 0 {
			agent.Close()
		}
		err := compileErr(definedSpec(t, "", "web.nomad.hcl", "job \"web\" {"))
		agent.Close()
		if err == nil || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%d %s: error %v, want %q", c.code, c.body, err, c.want)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRefusedDefinitions(t *testing.T) {
	t.Setenv("NOMAD_ADDR", "")
	for _, c := range []struct{ name, text, want string }{
		{"web.nomad", "job \"web\" {}", "web.nomad: a jobspec in HCL is parsed by a Nomad agent: set NOMAD_ADDR to the address of one, or name a file that holds what `nomad job run -output FILE` prints"},
		{"web.nomad.hcl", "job \"web\" {}", "a jobspec in HCL"},
		{"web.json", "job \"web\" {}", "it is no JSON object"},
		{"web.json", "{}", "missing job task groups"},
		{"web.json", `{"ParameterizedJob":{},"Type":"batch","TaskGroups":[{"Name":"g","Tasks":[{"Name":"t"}]}]}`, "parameterized"},
		{"web.json", `{"TaskGroups":[{"Name":"front"}]}`, `missing tasks for task group "front"`},
		{"web.json", `{"Type":"batch","Periodic":{"Spec":"0 3 * * 1-5"},"TaskGroups":[{"Name":"g","Tasks":[{"Name":"t"}]}]}`, `periodic "0 3 * * 1-5"`},
		{"web.json", `{"Periodic":{"Spec":"@hourly"},"TaskGroups":[{"Name":"g","Tasks":[{"Name":"t"}]}]}`, "Job web, a service job, launches every 1h0m0s"},
	} {
		err := compileErr(definedSpec(t, "", c.name, c.text))
		if _, ok := errors.AsType[*language.Error](err); !ok || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), c.want) {
			t.Errorf("%s: error %v, want %q", c.text, err, c.want)
		}
	}
	spec := definedSpec(t, "", "web.json", definition)
	if err := os.Remove(filepath.Join(filepath.Dir(spec.File), "web.json")); err != nil {
		t.Fatal(err)
	}
	if err := compileErr(spec); err == nil || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), "cannot be read: no such file") {
		t.Errorf("no such file: %v", err)
	}
	if err := compileErr(fileSpec(t, strings.Replace(definedJobs, "spec = \"web.json\"\n  ATTRIBUTES", "", 1))); err == nil || !strings.Contains(err.Error(), "Missing type") {
		t.Errorf("neither type nor spec: %v", err)
	}
}

// TestMisplacedKeywords: a keyword in the place of a block is answered by where it belongs.
func TestMisplacedKeywords(t *testing.T) {
	plain := strings.Replace(definedJobs, "spec = \"web.json\"\n  ATTRIBUTES", "type = \"system\"", 1)
	for old, want := range map[string]string{
		`event "start_clients" {}`: `start_clients is an event: write event "start_clients" { … } in a phase.`,
		`until "settled" {}`:       `settled is a condition: write until "settled" { … } in a phase.`,
	} {
		word := strings.Split(old, `"`)[1]
		err := compileErr(fileSpec(t, strings.Replace(plain, old, word+" {}", 1)))
		if err == nil || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), want) {
			t.Errorf("%s: error %v, want %q", word, err, want)
		}
	}
	err := compileErr(fileSpec(t, plain+"flap \"racks\" {}\n"))
	if err == nil || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), `flap is a kind of behaviour: write behaviour "flap" "NAME" { … }.`) {
		t.Errorf("flap: error %v", err)
	}
}

// TestJobsThatRunNowhere: a job for datacenters without clients is no error, since Nomad takes it, but is warned of.
func TestJobsThatRunNowhere(t *testing.T) {
	for datacenters, warned := range map[string]bool{`["dc2"]`: true, `["dc2", "dc1"]`: false, `["d*"]`: false} {
		c, err := Compile(fileSpec(t, `title = "nowhere"
cluster {
  schedulers = 1
}
fleet {
  group "all" {
    nodes = 3
  }
}
job "web" {
  type        = "service"
  datacenters = `+datacenters+`
}
phase "p" {
  event "register_jobs" {}
  until "recovered" {}
}
`))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Warnings(), "; "); (got == "job web runs nowhere: it is for dc2, and the clients are in dc1") != warned {
			t.Errorf("datacenters %s: warnings %q, warned %v", datacenters, got, warned)
		}
	}
}
