package apitypes

import (
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// webJob is a job as Nomad's command prints it, shortened.
const webJob = `{
  "Job": {
    "ID": "web", "Name": "web", "Type": "service", "Priority": 70, "Datacenters": ["east", "west"],
    "Constraints": [{"LTarget": "${attr.kernel.name}", "RTarget": "linux", "Operand": "="}],
    "TaskGroups": [
      {
        "Name": "front", "Count": 3, "EphemeralDisk": {"SizeMB": 150}, "Update": {"MaxParallel": 2},
        "MaxClientDisconnect": 300000000000, "Services": [null],
        "Tasks": [
          {"Name": "server", "Driver": "docker", "Resources": {"CPU": 500, "MemoryMB": 256}},
          {"Name": "sidecar", "Driver": "docker", "Resources": {"CPU": 100, "MemoryMB": 64}}
        ]
      },
      {"Name": "back", "Count": 2, "Affinities": [{"LTarget": "${node.class}", "RTarget": "big", "Weight": 50}],
        "Tasks": [{"Name": "worker", "Driver": "exec", "Lifecycle": {"Hook": "prestart"}}]}
    ]
  }
}`

func TestReadJob(t *testing.T) {
	text := strings.Replace(webJob, `, "Services": [null]`, "", 1)
	bare := strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text)[1:], "\n  \"Job\":")), "}")
	for name, text := range map[string]string{"with the outer object": text, "bare": bare} {
		def, err := ReadJob([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		job, warnings, err := ToJob(def)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		front, back := job.TaskGroups[0], job.TaskGroups[1]
		want := rpc.TaskGroup{
			Name: "front", Count: 3, Resources: rpc.Resources{CPUMHz: 600, MemoryMB: 320, DiskMB: 150},
			MaxClientDisconnect: 5 * time.Minute, MaxParallel: 2, ProgressDeadline: 10 * time.Minute,
		}
		if front != want {
			t.Errorf("%s: the first group is %+v, want %+v", name, front, want)
		}
		if back.Count != 2 || back.Resources != (rpc.Resources{CPUMHz: 100, MemoryMB: 300, DiskMB: 300}) || back.MaxParallel != 1 {
			t.Errorf("%s: the second group, with the defaults of Nomad, is %+v", name, back)
		}
		if job.Priority != 70 || len(job.Datacenters) != 2 {
			t.Errorf("%s: the job is %+v", name, job)
		}
		if said := strings.Join(warnings, "\n"); !strings.Contains(said, "constraint") || !strings.Contains(said, "group back: the simulated schedulers do not look at affinity") || !strings.Contains(said, "lifecycle") {
			t.Errorf("%s: warnings %q", name, warnings)
		}
	}
}

func TestReadJobRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`job "web" {}`:                "it is no JSON object",
		`[]`:                          "it is no JSON object",
		`{"ID": 5}`:                   "it is no job: json: cannot unmarshal number into Go struct field Job.ID of type string",
		webJob:                        "TaskGroups[0].Services[0] is null: leave it out",
		`{"Job": {"Spreads":[null]}}`: "Spreads[0] is null: leave it out",
	} {
		if _, err := ReadJob([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// TestNumbersAreBounded: a count that would take all memory is refused, and so are resources that would make others fit.
func TestNumbersAreBounded(t *testing.T) {
	for text, want := range map[string]string{
		`"Count":2000000000,"Tasks":[{"Name":"t"}]`:                                    `task group "g" count is 2000000000, and this cluster takes at most 1000000`,
		`"Tasks":[{"Name":"t","Resources":{"CPU":-5000}}]`:                             `task "t" of group "g": CPU is -5000, and must be from 1 to 2147483647`,
		`"Tasks":[{"Name":"t","Resources":{"CPU":9223372036854775807}}]`:               `CPU is 9223372036854775807`,
		`"Tasks":[{"Name":"t","Resources":{"CPU":0,"Cores":2,"MemoryMB":9}}]`:          `MemoryMB is 9, and must be from 10`,
		`"EphemeralDisk":{"SizeMB":-1},"Tasks":[{"Name":"t","Resources":{"Cores":2}}]`: `the ephemeral disk of group "g": SizeMB is -1`,
	} {
		def, err := ReadJob([]byte(`{"ID":"a","Type":"batch","TaskGroups":[{"Name":"g",` + text + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ToJob(def); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %q alone", text, err, want)
		}
	}
}

// FuzzReadJob: whatever a file holds, it is a job that clusters can hold, or an error.
func FuzzReadJob(f *testing.F) {
	f.Add([]byte(webJob))
	f.Add([]byte(`{"Type":"batch","ID":"b","Periodic":{"Spec":"@hourly"},"TaskGroups":[{"Name":"g","Tasks":[{"Name":"t"}]}]}`))
	f.Add([]byte(`{"ID":"s","Type":"sysbatch","TaskGroups":[{"Name":"g","Update":{},"Scaling":{},"Tasks":[{"Name":"t","Resources":{"Cores":2,"Devices":[{"Name":"gpu"}]}}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		def, err := ReadJob(text)
		if err != nil {
			return
		}
		job, _, err := ToJob(def)
		if err != nil {
			return
		}
		if job.ID == "" || len(job.TaskGroups) == 0 || job.Priority < 1 || job.Priority > 100 || job.Periodic != nil && job.Periodic.Every <= 0 {
			t.Errorf("%s is read as %+v", text, job)
		}
	})
}
