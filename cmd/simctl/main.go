// A run must repeat from its seed: this setting makes rand.Seed work for the top-level
// functions of math/rand, from which Raft draws its election jitter.
//
//go:debug randseednop=0

// Command simctl is a wind tunnel for Nomad's evaluation broker: it runs a whole control
// plane and thousands of simulated clients in one process, on virtual time.
//
// The package maps flags to scenarios and results to reports, and has no logic of its own.
// Each subcommand has a file. The package must not import the cluster, its parts or the
// fleet.
package main

import (
	"os"
	"runtime/debug"

	"github.com/simctl/simctl/scenarios"
)

func main() {
	if os.Getenv("GOGC") == "" {
		// Most commands end before they leave 16 MB of garbage. The first collection would be at 4 MB,
		// while the commands are being made, and take a quarter of the time of a small one.
		debug.SetGCPercent(400)
	}
	if len(os.Args) > 2 { // what is shorter, such as simctl version, ends before it would pay
		scenarios.ReserveHeap()
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
