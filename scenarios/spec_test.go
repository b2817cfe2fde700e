package scenarios

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions/operations"
)

func TestBadInputNamesFlagValueAndWhatIsAllowed(t *testing.T) {
	cases := []struct {
		change func(*Spec)
		flag   string
		want   []string
	}{
		{func(s *Spec) { s.Scenario = "heartbeat-strom" }, "scenario", []string{"heartbeat-strom", "heartbeat-storm"}},
		{func(s *Spec) { s.Broker = "fast" }, "broker", []string{"fast", "legacy", "shedding"}},
		{func(s *Spec) { s.Clock = "sundial" }, "clock", []string{"sundial", "virtual", "wall"}},
		{func(s *Spec) { s.Cost = "cheap" }, "cost", []string{"cheap", "loopback", "published", ".hcl"}},
		{func(s *Spec) { s.Cost = "./nowhere.hcl" }, "cost", []string{"./nowhere.hcl", "no such file"}},
		{func(s *Spec) { s.Set("nodes", 0) }, "nodes", []string{`"0"`, "at least 1"}},
		{func(s *Spec) { s.Set("nodes", -5) }, "nodes", []string{`"-5"`, "at least 1"}},
		{func(s *Spec) { s.Set("system_jobs", -1) }, "system-jobs", []string{"-1", "from 0 to"}},
		{func(s *Spec) { s.Set("system_jobs", 0) }, "system-jobs", []string{"0", "at least one job"}},
		{func(s *Spec) { s.Set("service_jobs", -1) }, "service-jobs", []string{"-1"}},
		{func(s *Spec) { s.Set("service_jobs", 5) }, "allocs-per-node", []string{"0", "every service job needs an allocation"}},
		{func(s *Spec) { s.Set("allocs_per_node", 3) }, "allocs-per-node", []string{"3", "--service-jobs"}},
		{func(s *Spec) { s.Set("allocs_per_node", math.NaN()) }, "allocs-per-node", []string{"NaN"}},
		{func(s *Spec) { s.Set("servers", 0) }, "servers", []string{"0", "from 1 to"}},
		{func(s *Spec) { s.Set("schedulers", 0) }, "schedulers", []string{"0", "from 1 to"}},
		{func(s *Spec) { s.Set("fraction", 2) }, "fraction", []string{`"2"`, "from 0 to 1"}},
		{func(s *Spec) { s.Set("fraction", math.NaN()) }, "fraction", []string{"NaN", "from 0 to 1"}},
		{func(s *Spec) { s.TimeScale = 0.1 }, "time-scale", []string{"0.1", "--clock wall"}},
		{func(s *Spec) { s.Clock = ClockWall; s.TimeScale = -1 }, "time-scale", []string{"-1", "above 0"}},
		{func(s *Spec) { s.Clock = ClockWall; s.RaftStore = "disk" }, "raft-store", []string{"disk", "memory", "boltdb"}},
		{func(s *Spec) { s.RaftStore = RaftStoreBoltDB }, "raft-store", []string{"boltdb", "virtual", "--clock wall"}},
	}
	for _, c := range cases {
		spec := small("legacy")
		c.change(&spec)
		err := compileErr(spec)
		input, is := errors.AsType[*InputError](err)
		if !is || Flag(input.Input) != c.flag {
			t.Errorf("--%s: error %v, want an InputError of that flag", c.flag, err)
			continue
		}
		for _, part := range append(c.want, "--"+c.flag) {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("error %q does not say %q", err, part)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q has more than one line", err)
		}
	}
}

func TestGoodInput(t *testing.T) {
	for _, spec := range []Spec{small("legacy"), mixed("shedding"), quickWall("legacy")} {
		if err := compileErr(spec); err != nil {
			t.Errorf("%+v is refused: %v", spec, err)
		}
	}
}

func TestTheStormHasRoomForWhatItAsks(t *testing.T) {
	// 100 system jobs, 5,000 nodes with 20 service allocations each, a tenth of them lost.
	spec := small("legacy")
	spec.Vars = map[string]any{"nodes": 5000, "system_jobs": 100, "service_jobs": 1000, "allocs_per_node": 20, "fraction": 0.1}
	sc, err := scenarioOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	service, system := 0, 0
	for _, j := range sc.Phases[0].Events[0].Action.(operations.RegisterJobs).Jobs {
		if j.Type == rpc.JobTypeService {
			service += j.TaskGroups[0].Count
		} else {
			system++
		}
	}
	if service != 100_000 || system != 100 {
		t.Errorf("%d service allocations and %d system jobs, want 100000 and 100", service, system)
	}
	// Room for everything when a tenth of the nodes is gone.
	room := sc.Fleet.Groups[0].Resources.MemoryMB/operations.AllocResources.MemoryMB - system
	if room*4500 < service {
		t.Errorf("4500 nodes have room for %d service allocations each: too little for %d", room, service)
	}
}

func TestScaledScenario(t *testing.T) {
	spec := quickWall("legacy")
	spec.Cost, spec.TimeScale = "loopback", 0.01
	fast, err := scenarioOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	spec.TimeScale = 1
	nomad, err := scenarioOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	fast, nomad = fast.Scaled(), nomad.Scaled()
	for _, c := range []struct {
		name       string
		fast, real time.Duration
	}{
		{"min_ttl", fast.Cluster.Heartbeat.MinTTL, nomad.Cluster.Heartbeat.MinTTL},
		{"grace", fast.Cluster.Heartbeat.Grace, nomad.Cluster.Heartbeat.Grace},
		{"reaper", fast.Cluster.Reaper.Interval, nomad.Cluster.Reaper.Interval},
		{"window of refusals", fast.Cluster.PlanRejection.Window, nomad.Cluster.PlanRejection.Window},
		{"nack", fast.Cluster.Eval.NackTimeout, nomad.Cluster.Eval.NackTimeout},
		{"fsync", fast.Cluster.Costs.Fsync, nomad.Cluster.Costs.Fsync},
		{"placement", fast.Cluster.Costs.Scheduler["system"].PerPlacement, nomad.Cluster.Costs.Scheduler["system"].PerPlacement},
		{"quiet", fast.Phases[2].Until.Hold(), nomad.Phases[2].Until.Hold()},
	} {
		if c.real <= 0 || c.fast != time.Duration(float64(c.real)*0.01) {
			t.Errorf("%s is %v scaled and %v unscaled, want a hundredth", c.name, c.fast, c.real)
		}
	}
	if fast.Cluster.Heartbeat.MaxPerSecond != 5000 || fast.Fleet.RegisterStagger != 100*time.Millisecond {
		t.Errorf("scaled: %g heartbeats a second, registrations over %v, want 5000 and 100ms", fast.Cluster.Heartbeat.MaxPerSecond, fast.Fleet.RegisterStagger)
	}
	spec.TimeScale = 0.1
	tenth, err := scenarioOf(spec)
	must(t, err)
	spec.TimeScale = 3
	slow, err := scenarioOf(spec)
	must(t, err)
	for _, c := range []struct {
		scale                              string
		got                                cluster.RaftConfig
		heartbeat, election, lease, commit time.Duration
	}{
		{"0.01", fast.Cluster.Raft, 200 * time.Millisecond, 200 * time.Millisecond, 150 * time.Millisecond, 5 * time.Millisecond},
		{"0.1", tenth.Scaled().Cluster.Raft, 200 * time.Millisecond, 200 * time.Millisecond, 150 * time.Millisecond, 5 * time.Millisecond},
		{"3", slow.Scaled().Cluster.Raft, 3 * time.Second, 3 * time.Second, 1500 * time.Millisecond, 150 * time.Millisecond},
	} {
		if got := c.got; got.HeartbeatTimeout != c.heartbeat || got.ElectionTimeout != c.election || got.LeaderLeaseTimeout != c.lease || got.CommitTimeout != c.commit {
			t.Errorf("Raft's timing at scale %s is %+v, want %v, %v, %v and %v", c.scale, got, c.heartbeat, c.election, c.lease, c.commit)
		}
	}
}

func TestCommandLine(t *testing.T) {
	cases := []struct {
		spec Spec
		want string
	}{
		{Spec{Scenario: "heartbeat-storm", Broker: "legacy", Seed: 7},
			"simctl scenario heartbeat-storm --nodes 5000 --broker legacy --seed 7"},
		{Spec{Scenario: "heartbeat-storm", Broker: "shedding", Cost: "my costs.hcl", Clock: ClockWall,
			TimeScale: 0.1, RaftStore: RaftStoreBoltDB, Vars: map[string]any{"nodes": 9, "system_jobs": 1, "service_jobs": 2, "allocs_per_node": 1.5, "servers": 5, "schedulers": 4, "fraction": 0.5, "report_allocations": true}},
			"simctl scenario heartbeat-storm --nodes 9 --system-jobs 1 --service-jobs 2 --allocs-per-node 1.5 --servers 5 --schedulers 4" +
				" --fraction 0.5 --report-allocations=true --clock wall --time-scale 0.1 --raft-store boltdb --cost 'my costs.hcl' --broker shedding --seed 0"},
		{Spec{Scenario: "stdin", File: Stdin, Source: `title = "t"`, Broker: "legacy", Seed: 7}, "simctl scenario run - --broker legacy --seed 7"},
	}
	for _, c := range cases {
		if got := c.spec.CommandLine(); got != c.want {
			t.Errorf("command line\n%s, want\n%s", got, c.want)
		}
	}
}
