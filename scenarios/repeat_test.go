package scenarios

import (
	"testing"

	"github.com/simctl/simctl/internal/nightly"
)

// TestARunWithFaultsRepeats: many runs of schedules in which leaders change, links are
// slow and lossy and clients flap give one result. Each of the three once differed in its
// own way, every other time or so when it was interrupted (ADR 0600); the two that still are
// show it soonest.
func TestARunWithFaultsRepeats(t *testing.T) {
	// What the parent is told of processors and collections must not concern its children.
	t.Setenv("GOMAXPROCS", "8")
	t.Setenv("GOGC", "20")
	for _, c := range []struct {
		file   string
		seed   int64
		broker string
		runs   int
		shaken bool
		cost   string
	}{
		{"heartbeats-drawn", 300, "legacy", 20, false, ""}, // two followers' heartbeats drew at one instant
		{"stale-leader", 304, "legacy", 6, true, ""},       // a leadership that was over sent once more, or did not
		{"missed-change", 320, "shedding", 6, true, ""},    // a worker that was turned away missed a change, or did not
		{"killed-mid-write", 1, "legacy", 8, true, ""},     // what a killed server still did depended on its goroutines' order
		{"single-requests", 2, "legacy", 6, false, ""},     // under make shaken, the request after an answer told what that had committed, or not
		// threads in place of tasks, and answers that wait for a processor
		{"killed-mid-write", 1, "legacy", 6, true, "../testdata/validation/second/machine.hcl"},
		{"missed-change", 320, "shedding", 6, true, "../testdata/validation/second/machine.hcl"},
		// entries and requests for snapshots that wait for a state machine
		{"busy-snapshots", 1, "shedding", 10, true, "../testdata/validation/second/machine.hcl"},
	} {
		t.Setenv(shaken, "")
		if c.shaken {
			t.Setenv(shaken, "1")
		}
		spec, err := FromFile("testdata/repeat/" + c.file + ".hcl")
		must(t, err)
		spec.Seed, spec.Broker, spec.Cost = c.seed, c.broker, c.cost
		if !nightly.On {
			c.runs = max(2, c.runs/7)
		}
		specs := make([]Spec, c.runs)
		for i := range specs {
			specs[i] = spec
			specs[i].IndependentReplicas = i%2 == 1 // servers that share what they come to come to the same
		}
		results, err := RunAll(t.Context(), specs, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, res := range results {
			if want := results[0].Digest(); res.Digest() != want {
				t.Errorf("%s, %s broker: run %d has digest %.12s, the first %.12s", c.file, c.broker, i+1, res.Digest(), want)
			}
		}
	}
}
