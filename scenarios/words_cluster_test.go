package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/metrics"
)

const periodicText = `title = "periodic jobs beside nodes of another datacenter"

cluster {
  datacenter_filter = FILTER

  garbage {
    eval_threshold   = "1m"
    interval         = "30s"
    time_granularity = "10s"
  }
  plan_rejection {
    enabled   = true
    threshold = 5
  }
}
fleet {
  report_allocations = true
  group "near" {
    nodes = 6
  }
  group "far" {
    nodes      = 6
    datacenter = "dc2"
  }
}
job "agent" {
  type        = "system"
  datacenters = ["dc1"]
}
job "cron" {
  type             = "batch"
  count            = 2
  every            = "30s"
  prohibit_overlap = true
}
phase "start" {
  event "schedulers" {
    per_server = 2
  }
  event "register_jobs" {}
  event "start_clients" {}
  until "registered" {}
}
phase "act" {
  event "launch_job" {
    at  = "5s"
    job = "cron"
  }
  until "elapsed" {
    for = "5m"
  }
}
`

// TestWordsOfTheCluster: garbage collection, periodic jobs and the datacenter filter by a
// scenario file.
func TestWordsOfTheCluster(t *testing.T) {
	created := map[string]uint64{}
	for _, filter := range []string{"true", "false"} {
		spec := fileSpec(t, strings.Replace(periodicText, "FILTER", filter, 1))
		sc, err := scenarioOf(spec)
		if err != nil {
			t.Fatal(err)
		}
		c := sc.Cluster
		if c.GC.EvalThreshold != time.Minute || c.GC.NodeThreshold != 24*time.Hour || !c.PlanRejection.Enabled || c.PlanRejection.Threshold != 5 || c.PlanRejection.Window != 5*time.Minute {
			t.Errorf("garbage %+v, plan rejection %+v", c.GC, c.PlanRejection)
		}
		res := runOne(t, spec, nil)
		created[filter] = res.Phase("start").EvalsCreated
		act := res.Phase("act").RaftEntriesByType
		// One launch by force, which runs for ever; every other would overlap with it.
		if act[metrics.EntryJobRegister] != 1 {
			t.Errorf("%d launches, want one", act[metrics.EntryJobRegister])
		}
		if act[metrics.EntryEvalDelete] == 0 {
			t.Errorf("nothing was collected: %v", act)
		}
		if rest := res.Phase("act").Unexplained(); len(rest) > 0 {
			t.Errorf("entries that no event explains: %v", rest)
		}
	}
	// The six nodes of the other datacenter: an evaluation each, which the filter saves.
	if created["false"] != created["true"]+6 {
		t.Errorf("%d evaluations without the filter, %d with it: want 6 more", created["false"], created["true"])
	}
}

func TestPeriodicJobsThatCannotBe(t *testing.T) {
	text := strings.Replace(periodicText, "FILTER", "true", 1)
	for change, want := range map[string]string{
		`type             = "service"`:             "batch and sysbatch jobs can",
		`type = "batch"` + "\n" + `  priority = 1`: "",
	} {
		err := compileErr(fileSpec(t, strings.Replace(text, `type             = "batch"`, change, 1)))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), want)) {
			t.Errorf("%s: error %v, want one that says %q", change, err, want)
		}
	}
	err := compileErr(fileSpec(t, strings.Replace(text, `job = "cron"`, `job = "agent"`, 1)))
	if err == nil || !strings.Contains(err.Error(), "not periodic") {
		t.Errorf("launching a job that runs: error %v", err)
	}
}
