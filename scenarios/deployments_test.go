package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

const deployingText = `title = "t"
cluster {
  schedulers = 2
}
fleet {
  report_allocations = true
  group "west" {
    nodes = 6
    racks = 2
  }
  group "east" {
    nodes = 6
  }
}
job "web" {
  type         = "service"
  count        = 6
  max_parallel = 2
}
phase "start" {
  event "start_clients" {}
  event "register_jobs" {
    at = "20s"
  }
  until "deployed" {}
}
phase "deploy" {
  event "update_job" {
    job = "web"
  }
  until "settled" {}
}
`

// TestDeploymentsUnderWay: a rolling deployment waits with no evaluation pending, so a phase that
// waits for those alone ends in its middle. The Result says so, and a phase that waits for
// deployments has their duration.
func TestDeploymentsUnderWay(t *testing.T) {
	cut := runOne(t, fileSpec(t, deployingText), nil)
	wantSound(t, cut)
	if p := cut.Phase("deploy"); p.DeploymentS != -1 || p.EndS-p.StartS > 15 {
		t.Errorf("the phase ended after %g s, its deployment took %g s; want one that was cut off", p.EndS-p.StartS, p.DeploymentS)
	}
	if len(cut.Warnings) != 1 || !strings.Contains(cut.Warnings[0], `1 deployment under way at the end (web`) {
		t.Errorf("the warnings are %q", cut.Warnings)
	}
	whole := runOne(t, fileSpec(t, strings.Replace(deployingText, "settled", "deployed", 1)), nil)
	wantSound(t, whole)
	for _, p := range whole.Phases { // three steps of at least ten seconds each in the second
		if least := map[string]float64{"start": 10, "deploy": 30}[p.Name]; p.DeploymentS < least || p.DeploymentS > p.EndS-p.StartS {
			t.Errorf("in phase %s of %g s, the deployment took %g s, want %g s at least", p.Name, p.EndS-p.StartS, p.DeploymentS, least)
		}
	}
	if len(whole.Warnings) != 0 || whole.Totals.DeploymentS != whole.Phase("deploy").DeploymentS {
		t.Errorf("the warnings are %q, and the longest deployment took %g s", whole.Warnings, whole.Totals.DeploymentS)
	}
}

// TestDeploymentWithoutRoom: since 1.11 a system job has a deployment, which does not wait for nodes that have no room
// for it.
func TestDeploymentWithoutRoom(t *testing.T) {
	t.Parallel()
	spec := fileSpec(t, `title = "a system job that one node has no room for"
cluster {
  schedulers = 2
}
fleet {
  report_allocations = true
  group "large" {
    nodes = 3
  }
  group "small" {
    nodes = 1
    resources {
      cpu    = 100
      memory = 100
      disk   = 100
    }
  }
}
job "agent" {
  type = "system"
  resources {
    cpu    = 500
    memory = 500
    disk   = 50
  }
}
phase "start" {
  event "start_clients" {}
  event "register_jobs" {
    at = "20s"
  }
  until "deployed" {}
}
`)
	spec.Broker = "2.0.5"
	if res := elsewhere(t, spec); res.Phase("start").DeploymentS <= 0 || len(res.Warnings) > 0 {
		t.Errorf("the deployment took %g s, and the warnings are %q", res.Phase("start").DeploymentS, res.Warnings)
	}
}

// TestPartitionsOfPlaces: the clients of a group, of a datacenter or of a rack are cut off, and no
// others.
func TestPartitionsOfPlaces(t *testing.T) {
	t.Parallel()
	for place, down := range map[string]uint64{`group = "west"`: 6, `datacenter = "dc1"`: 12, "group = \"west\"\nracks = [2]": 3} {
		res := elsewhere(t, fileSpec(t, strings.Replace(deployingText, `event "update_job" {
    job = "web"
  }
  until "settled" {}`, `event "partition" {
    for = "5m"
    from {
      `+place+`
    }
  }
  until "settled" {}`, 1)))
		wantSound(t, res)
		if got := res.Phase("deploy").NodesDown; got != down {
			t.Errorf("%s: %d nodes went down, want %d", place, got, down)
		}
		if !slices.ContainsFunc(res.Marks, func(m metrics.Mark) bool { return strings.HasPrefix(m.Name, "a partition between the clients of ") }) {
			t.Errorf("%s: the marks are %v", place, res.Marks)
		}
	}
}
