// Raft draws election jitter from math/rand's global source, which must obey rand.Seed.
//
//go:debug randseednop=0

package scenarios

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/walltest"
	"github.com/simctl/simctl/scenarios/internal/actions/operations"
	"github.com/simctl/simctl/scenarios/internal/run"
)

// dieWith makes a child process of these tests end before it says anything.
const dieWith = "SIMCTL_TEST_DIE_WITH"

// shaken makes a child process of these tests stop the world all the time, which takes the
// processor from whoever has it and puts him behind everybody else: a machine that is
// busier than any.
const shaken = "SIMCTL_TEST_SHAKEN"

func shake() {
	var stats runtime.MemStats
	for range time.Tick(50 * time.Microsecond) {
		runtime.ReadMemStats(&stats)
	}
}

// TestMain lets the test binary be the child that RunAll starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == ChildCommand {
		if words := os.Getenv(dieWith); words != "" {
			fmt.Fprintln(os.Stderr, words)
			os.Exit(7)
		}
		if os.Getenv(shaken) != "" {
			go shake()
		}
	}
	ServeIfChild()
	debug.SetGCPercent(400) // these tests end soon
	walltest.Main(m)
}

// small is a run of a second: few nodes, but all of the machinery.
func small(broker string) Spec {
	return Spec{Scenario: "heartbeat-storm", Broker: broker, Seed: 1, Vars: map[string]any{"nodes": 40, "system_jobs": 3}}
}

// mixed has service jobs besides, and most clients survive.
func mixed(broker string) Spec {
	s := small(broker)
	s.Set("service_jobs", 2)
	s.Set("allocs_per_node", 3)
	s.Set("fraction", 0.25)
	return s
}

// overloaded is run by servers that fall behind by hundreds of entries, as those of 5,000
// nodes do.
func overloaded(broker string) Spec {
	s := small(broker)
	s.Cost = "testdata/overloaded.hcl"
	s.Set("nodes", 300)
	return s
}

// quickWall is small on the wall clock, thirty times as fast as Nomad. A sleep takes the system some 60 µs or more, so at a hundred
// times the servers of a busy machine can fall behind their clients' heartbeats for good.
func quickWall(broker string) Spec {
	s := small(broker)
	s.Clock, s.TimeScale = ClockWall, 0.03
	s.Set("nodes", 50)
	return s
}

// patience bounds what may go wrong in a test that waits for a process.
const patience = 2 * time.Minute

// scenarioOf compiles a Spec to what runs, for a test to change.
func scenarioOf(s Spec) (*run.Scenario, error) {
	c, err := compileRun(s)
	if err != nil {
		return nil, err
	}
	sc := c.scenario
	return &sc, nil
}

// placed returns the place of a Spec among others, with it at the end if none is like it. Equal
// Specs share a run.
func placed(specs []Spec, s Spec) ([]Spec, int) {
	if at := slices.IndexFunc(specs, func(other Spec) bool { return reflect.DeepEqual(other, s) }); at >= 0 {
		return specs, at
	}
	return append(specs, s), len(specs)
}

// compileErr is what is wrong with a Spec.
func compileErr(s Spec) error {
	_, err := compileRun(s)
	return err
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// job is a job as the catalogue's files make them.
func job(kind string, i, count int) *rpc.Job {
	return &rpc.Job{
		Namespace: rpc.DefaultNamespace, ID: fmt.Sprintf("%s-%03d", kind, i), Type: kind, Priority: 50, Datacenters: []string{"dc1"},
		TaskGroups: []rpc.TaskGroup{{Name: "group", Count: count, Resources: operations.AllocResources}},
	}
}
