package closedform_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/closedform"
)

const another = `title = "another cluster"
cluster {
  servers = 5
}
fleet {
  group "few" {
    nodes = 100
  }
  group "many" {
    nodes = 900
  }
}
job "agent" {
  type = "system"
  copies = 4
}
job "web" {
  type = "service"
  copies = 30
  count = 10
}
job "none" {
  type  = "batch"
  count = 0
}
phase "start" {
  event "register_jobs" {}
  event "start_clients" {}
  event "schedulers" {
    per_server = 8
  }
  until "recovered" {}
}
`

// TestLike: a storm is of the size of another scenario, and so is its check, which has fewer nodes.
func TestLike(t *testing.T) {
	like, err := scenarios.FromText(filepath.Join(t.TempDir(), "mine.hcl"), []byte(another))
	if err != nil {
		t.Fatal(err)
	}
	vars, err := closedform.Like(like)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"nodes": 1000, "servers": 5, "schedulers": 8, "system_jobs": 4, "service_jobs": 31, "allocs_per_node": 0.3} {
		if vars[name] != want {
			t.Errorf("%s is %v, want %v", name, vars[name], want)
		}
	}
	spec := scenarios.Spec{Scenario: closedform.Scenario, Broker: "legacy", Seed: 1, Vars: vars}
	if _, err := closedform.Of(spec); err != nil {
		t.Error(err)
	}
	for nodes, jobs := range map[int]int{500: 31, 50: 15, 3: 0} {
		small := spec
		closedform.Shrink(&small, nodes)
		if got := small.Vars["service_jobs"]; got != jobs {
			t.Errorf("on %d nodes there are %v service jobs, want %d", nodes, got, jobs)
		}
		if _, err := closedform.Of(small); err != nil {
			t.Errorf("on %d nodes: %v", nodes, err)
		}
	}
	text := strings.NewReplacer("copies = 4", "copies = 0", "copies = 30", "copies = 0").Replace(another)
	idle, err := scenarios.FromText("idle.hcl", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if vars, err := closedform.Like(idle); err == nil || err.Error() != "idle.hcl: it has no jobs with allocations: a storm costs nothing there" {
		t.Errorf("a cluster without jobs: %v, %v", vars, err)
	}
}
