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

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
