// Raft draws election jitter from math/rand's global source, which must obey rand.Seed.
//
//go:debug randseednop=0

package soak

import (
	"context"
	"os"
	"testing"

	"github.com/simctl/simctl/scenarios"
)

// TestMain lets the test binary be the child that scenarios.RunAll starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == scenarios.ChildCommand {
		if err := scenarios.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
