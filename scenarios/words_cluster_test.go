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

// TestImpossibleClusters: what no cluster can have is told by its block, before anything runs.
func TestImpossibleClusters(t *testing.T) {
	for block, want := range map[string]string{
		"heartbeat {\n min_ttl = \"0s\"\n}":                  "min_ttl of heartbeat is 0: it must be above 0",
		"reaper {\n batch = 0\n}":                            "batch of reaper is 0: it must be above 0",
		"evaluations {\n delivery_limit = 0\n}":              "delivery_limit of evaluations is 0: it must be above 0",
		"garbage {\n eval_threshold = \"0s\"\n}":             "eval_threshold of garbage is 0: it must be above 0",
		"garbage {\n interval = \"1ms\"\n}":                  "interval of garbage is 1ms: it must be 100ms at least",
		"reaper {\n interval = \"1ns\"\n}":                   "interval of reaper is 1ns: it must be 1ms at least",
		"raft {\n snapshot_threshold = 0\n}":                 "snapshot_threshold of raft is 0: it must be above 0",
		"raft {\n commit_timeout = \"1us\"\n}":               "commit_timeout of raft is 1µs: it must be 1ms at least",
		"raft {\n leader_lease_timeout = \"2s\"\n}":          "heartbeat_timeout of raft is 1s: it must be 2s at least",
		"raft {\n election_timeout = \"500ms\"\n}":           "election_timeout of raft is 500ms: it must be 1s at least",
		"batch_update_interval = \"0s\"":                     "batch_update_interval is 0s: it must be 1ns at least",
		"raft {\n heartbeat_timeout = \"1ns\"\n}\nservers=1": "heartbeat_timeout of raft is 1ns: it must be 500ms at least",
	} {
		text := strings.Replace(periodicText, "  garbage {\n    eval_threshold   = \"1m\"\n    interval         = \"30s\"\n    time_granularity = \"10s\"\n  }", block, 1)
		err := compileErr(fileSpec(t, strings.Replace(text, "FILTER", "true", 1)))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "mine.hcl line 3") {
			t.Errorf("%s: error %v, want one that says %q and where", block, err, want)
		}
	}
}
