package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// TestLostFollowup: the scenario of the finding shows what real servers do, under every release: of two allocations that failed one is
// replaced, and the oracle says that one is missing.
func TestLostFollowup(t *testing.T) {
	t.Parallel()
	spec, err := FromFile("../docs/findings/lost-followup.hcl")
	must(t, err)
	for _, release := range Releases() {
		spec.Broker = release
		results, err := RunAll(t.Context(), []Spec{spec}, nil)
		if err != nil {
			t.Fatal(err)
		}
		missing := func(inv metrics.Invariant) bool {
			return !inv.OK && strings.Contains(inv.Detail, "web runs 1 allocation of group, 2 wanted")
		}
		if !slices.ContainsFunc(results[0].Invariants, missing) {
			t.Errorf("%s: nothing is missing: %+v", release, results[0].Invariants)
		}
	}
}

// TestAwayWithoutRoom: nobody replaces an allocation that is out of reach, and found no room, when there is room, under any release.
func TestAwayWithoutRoom(t *testing.T) {
	t.Parallel()
	spec, err := FromFile("../docs/findings/away-without-room.hcl")
	must(t, err)
	for _, release := range Releases() {
		spec.Broker = release
		results, err := RunAll(t.Context(), []Spec{spec}, nil)
		must(t, err)
		room, lost := results[0].Phases[2], results[0].Phases[3]
		if room.PlansSubmitted != 0 || lost.PlansSubmitted != 1 {
			t.Errorf("%s: %d plans when there is room, and %d when it is lost; want 0 and 1", release, room.PlansSubmitted, lost.PlansSubmitted)
		}
	}
}
