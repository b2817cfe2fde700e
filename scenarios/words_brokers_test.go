package scenarios

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/language"
)

// profilesText loses most of what clients send while their allocations start, and has a
// worker die with what it has dequeued.
const profilesText = `title = "brokers side by side"
cluster {
  schedulers = 1
  MORE
}
cost {
  RATE
}
fleet {
  report_allocations = true
  start_delay        = uniform("30s", "90s")
  group "all" {
    nodes = 20
  }
}
job "agent" {
  type   = "system"
  copies = 2
}
phase "start" {
  event "register_jobs" {}
  event "start_clients" {}
  until "registered" {}
}
phase "lossy" {
  event "link_loss" {
    loss = 0.8
    for  = "3m"
    from {
      clients = 1
    }
  }
  until "settled" {}
}
phase "crash" {
  event "crash_workers" {}
  event "update_job" {
    job = "agent"
  }
  until "settled" {}
}
`

func profilesSpec(t *testing.T, more, rate string) Spec {
	t.Helper()
	return fileSpec(t, strings.NewReplacer("MORE", more, "RATE", rate).Replace(profilesText))
}

// TestBrokersOfAFile: what a broker block makes of the servers, and of those without one.
func TestBrokersOfAFile(t *testing.T) {
	spec := profilesSpec(t, `
  evaluations {
    delivery_limit = 7
    nack_timeout   = "30s"
  }
  broker "patient" {
    policy         = "shedding+oldest-first"
    nack_timeout   = "2m"
    delivery_limit = 5
  }
  broker "old" {
    release = "1.4.2"
  }
  broker "new" {
    release = "1.4.3"
  }
  broker "shedding" {
    release = "1.4.2"
  }`, "")
	c, err := Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	if names, want := c.Brokers(), []string{"legacy", "shedding", "patient", "old", "new"}; !slices.Equal(names, want) {
		t.Fatalf("compared are %q, want %q", names, want)
	}
	said := cluster.EvalConfig{
		NackTimeout: 30 * time.Second, InitialNackDelay: time.Second, SubsequentNackDelay: 20 * time.Second, DeliveryLimit: 7,
		FailedFollowupBaseline: time.Minute, FailedFollowupRange: 5 * time.Minute,
	}
	patient := said
	patient.NackTimeout, patient.DeliveryLimit = 2*time.Minute, 5
	for _, c := range []struct {
		name, policy string
		refuses      bool
		evals        cluster.EvalConfig
	}{
		{"legacy", "legacy", false, said},
		{"legacy+last-slot-peek", "legacy+last-slot-peek", false, said},
		{"shedding+dedup-leak", "shedding+dedup-leak", true, said},
		{"shedding", "shedding", false, said},
		{"patient", "shedding+oldest-first", true, patient},
		{"old", "legacy", false, said},
		{"new", "shedding", true, said},
	} {
		spec.Broker = c.name
		sc, err := scenarioOf(spec)
		if err != nil {
			t.Fatal(err)
		}
		got := sc.Cluster
		if got.Policy.String() != c.policy || (got.Habits != cluster.Habits{}) != c.refuses || got.Eval != c.evals {
			t.Errorf("%s: policy %s, refuses %v, %+v; want %s, %v, %+v", c.name, got.Policy, got.Habits, got.Eval, c.policy, c.refuses, c.evals)
		}
	}
	spec.Broker = "patent"
	err = compileErr(spec)
	if input, ok := errors.AsType[*InputError](err); !ok || input.Input != InputBroker || !strings.Contains(input.Allowed, "one of the scenario's, patient, old, new, shedding, or legacy") {
		t.Errorf("an unknown broker gives %v", err)
	}
}

// TestClientsAreOfTheRelease: a fleet's clients report and watch as those of the servers' release do.
func TestClientsAreOfTheRelease(t *testing.T) {
	for broker, want := range map[string]nodesim.Config{
		"legacy": {RetriesShorten: true},
		"1.4.13": {RetriesShorten: true, IgnoresStale: true},
		"1.9.5":  {RetriesShorten: true, IgnoresStale: true, Timing: nodesim.Timing{AllocSyncTypical: time.Second}},
		"1.9.6":  {IgnoresStale: true, Timing: nodesim.Timing{AllocSyncTypical: time.Second}},
	} {
		sc, err := scenarioOf(Spec{Scenario: "steady-state", Broker: broker, Seed: 1})
		must(t, err)
		if got := sc.Fleet; got.RetriesShorten != want.RetriesShorten || got.IgnoresStale != want.IgnoresStale || got.AllocSyncTypical != want.AllocSyncTypical {
			t.Errorf("%s: retries shorten %v, stale answers are ignored %v, reports %v apart; want %v, %v, %v", broker,
				got.RetriesShorten, got.IgnoresStale, got.AllocSyncTypical, want.RetriesShorten, want.IgnoresStale, want.AllocSyncTypical)
		}
	}
}

func TestBrokersAndCoresThatCannotBe(t *testing.T) {
	for _, c := range []struct{ top, more, cost, want string }{
		{"", `broker "mine" {}`, "", `Broker "mine": its name is no policy`},
		{"", `broker "mine" { policy = "sheding" }`, "", `"sheding" is no policy, but "shedding" is`},
		{"", `broker "mine" { policy = "swift" }`, "", `unknown broker policy "swift"`},
		{"", `broker "legacy" { policy = "shedding" }`, "", "its name is that of a policy, which is not shedding"},
		{"", `broker "a,b" { policy = "shedding" }`, "", "comma"},
		{"", `broker "a/b" { policy = "shedding" }`, "", "no spaces, dots, slashes"},
		{"", `broker "mine" { release = "1.4.1" }`, "", `release "1.4.1": it must be a release of Nomad from 1.4.2 to 2.0.5`},
		{"", `broker "1.4.3" { policy = "legacy" }`, "", `no spaces, dots, slashes`},
		{"", `broker "current" { policy = "legacy" }`, "", `its name is that of a release`},
		{"", `broker "mine" { polcy = "shedding" }`, "", `Did you mean "policy"?`},
		{"", `broker "mine" { delivery_limit = -1 }`, "", "it must be 0 or more"},
		{"", "broker \"mine\" { policy = \"legacy\" }\n  broker \"mine\" { policy = \"legacy\" }", "", `another broker called "mine"`},
		{`brokers = ["legacy", "mien"]`, `broker "mine" { policy = "legacy" }`, "", `There is no broker "mien". Did you mean "mine"?`},
		{`brokers = ["legacy", "swift"]`, "", "", `There is no broker "swift": it must be legacy or shedding`},
		{`brokers = ["legacy", "legacy"]`, "", "", `"legacy" twice`},
		{"threshold \"t\" {\n  metric = \"totals.raft_entries\"\n  max = 1\n  broker = \"mien\"\n}", `broker "mine" { policy = "legacy" }`, "", `Did you mean "mine"?`},
		{"", "cores = 4", "cores = 2", "leave one of them out"},
		{"", "", `class = "loopbck"`, `"loopbck" is none, but "loopback" is.`},
		{"", "", `class = "quantum"`, `"quantum": it must be loopback, loopback-2.0.5, published or the path of a .hcl file.`},
		{"", "", `class = "./none.hcl"`, `"./none.hcl": the file cannot be read: no such file or directory.`},
		{"", "cores = -4", "", "from 0 to 1024"},
	} {
		spec := profilesSpec(t, c.more, c.cost)
		spec.Source += c.top + "\n"
		err := compileErr(spec)
		if _, ok := errors.AsType[*language.Error](err); !ok || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), c.want) || !strings.Contains(err.Error(), "mine.hcl line") {
			t.Errorf("%s %s %s: error %v, want one of the file that says %q", c.top, c.more, c.cost, err, c.want)
		}
	}
}

// TestCoresOfTheCluster: they count instead of the class's, whichever that is.
func TestCoresOfTheCluster(t *testing.T) {
	for _, class := range []string{"", "loopback"} {
		spec := profilesSpec(t, "cores = 16", "")
		spec.Cost = class
		c, err := Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got, machines := c.scenario.Cluster.Costs.Cores, c.Machines().Costs.Cores; got != 16 || machines != 16 {
			t.Errorf("class %q: %d cores, and the class has %d; want 16", class, got, machines)
		}
	}
}

// TestBrokersWithOnePolicyDiffer: by the release of their servers and by when these give up on
// a worker, and nothing else.
func TestBrokersWithOnePolicyDiffer(t *testing.T) {
	t.Parallel()
	spec := profilesSpec(t, `
  broker "new" {
    release      = "1.4.3"
    nack_timeout = "3m"
  }
  broker "old" {
    policy  = "shedding"
    release = "1.4.2"
  }`, "")
	results := map[string]*metrics.Result{}
	for _, name := range []string{"shedding", "new", "old"} {
		spec.Broker = name
		results[name] = elsewhere(t, spec)
	}
	refused := func(name string) uint64 {
		return results[name].Phase("lossy").RaftEntriesByType[metrics.EntryAllocClientUpdate]
	}
	if refused("new") != refused("shedding") || refused("new") >= refused("old") {
		t.Errorf("entries of updates: %d with 1.4.3, %d without a block, %d with 1.4.2; want the first two alike, and fewer than the last",
			refused("new"), refused("shedding"), refused("old"))
	}
	// Two evaluations die with their workers, and a third worker may lose one of them again.
	const once, again = 1, 20 // delays of redelivery
	for name, timeout := range map[string]float64{"shedding": 60, "new": 180} {
		took := results[name].Phase("crash").RecoveryS
		if math.Abs(took-timeout-once) > 5 && math.Abs(took-2*timeout-once-again) > 5 {
			t.Errorf("%s: recovered %.0f s after workers died with evaluations, with a nack timeout of %.0f s", name, took, timeout)
		}
	}
	params := results["old"].Run.Params
	if params["broker_policy"] != "shedding" || params["broker_release"] != "1.4.2" || params["broker_nack_timeout"] != "1m0s" {
		t.Errorf("the result says of its broker: %v", params)
	}
	if differ := metrics.Compare(results["old"], results["new"]).Params; len(differ) != 2 {
		t.Errorf("the runs differ by %v, want by release and nack timeout", differ)
	}
}
