// Raft draws election jitter from math/rand's global source, which must obey rand.Seed.
//
//go:debug randseednop=0

package scenarios

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// dieWith makes a child process of these tests end before it says anything.
const dieWith = "SIMCTL_TEST_DIE_WITH"

// TestMain lets the test binary be the child that RunAll starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == ChildCommand {
		if words := os.Getenv(dieWith); words != "" {
			fmt.Fprintln(os.Stderr, words)
			os.Exit(7)
		}
		if err := Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// small is a run of a second: few nodes, but all of the machinery.
func small(broker string) Spec {
	p := DefaultParams()
	p.Nodes, p.SystemJobs = 40, 3
	return Spec{Scenario: "heartbeat-storm", Broker: broker, Seed: 1, Params: p}
}

// mixed has service jobs besides, and most clients survive.
func mixed(broker string) Spec {
	s := small(broker)
	s.Params.ServiceJobs, s.Params.AllocsPerNode, s.Params.Fraction = 2, 3, 0.25
	return s
}

// overloaded is run by servers that fall behind by hundreds of entries, as those of 5,000
// nodes do.
func overloaded(broker string) Spec {
	s := small(broker)
	s.Cost, s.Params.Nodes = "testdata/overloaded.hcl", 300
	return s
}

// quickWall is small on the wall clock, a hundred times as fast as Nomad.
func quickWall(broker string) Spec {
	s := small(broker)
	s.Clock, s.Params.TimeScale = ClockWall, 0.01
	s.Params.Nodes = 50
	return s
}

// patience bounds what may go wrong in a test that waits for a process.
const patience = 2 * time.Minute
