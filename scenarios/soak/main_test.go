// Raft draws election jitter from math/rand's global source, which must obey rand.Seed.
//
//go:debug randseednop=0

package soak

import (
	"runtime/debug"
	"testing"

	"github.com/simctl/simctl/scenarios"
)

// TestMain lets the test binary be the child that scenarios.RunAll starts.
func TestMain(m *testing.M) {
	scenarios.ServeIfChild()
	debug.SetGCPercent(400) // these tests end soon
	m.Run()
}
