package scenarios

import (
	"maps"
	"slices"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// TestOutOfReachAgrees: simulated clients that are out of reach cost a release what real ones do, to the entry. What they report does
// not count: when clients of a real server report together is by chance. When they are back, all that real servers of 2.0.5 do
// that simulated ones do not is in docs/releases.md.
func TestOutOfReachAgrees(t *testing.T) {
	t.Parallel()
	spec, err := FromFile("../testdata/releases/out-of-reach.hcl")
	must(t, err)
	spec.Seed = 1
	for file, phases := range map[string][]string{
		"1.4.3": {"start", "disconnect", "reconnect"}, "2.0.5": {"start", "disconnect"}, "2.0.5-2": {"start", "disconnect"},
	} {
		real, err := metrics.Load("../testdata/releases/out-of-reach-" + file + ".json")
		must(t, err)
		spec.Broker = real.Run.Target
		results, err := RunAll(t.Context(), []Spec{spec}, nil)
		must(t, err)
		entries := func(r *metrics.Result, phase string) map[string]uint64 {
			p := r.Phases[slices.IndexFunc(r.Phases, func(p metrics.Phase) bool { return p.Name == phase })]
			all := maps.Clone(p.RaftEntriesByType)
			delete(all, "AllocClientUpdateRequestType")
			return all
		}
		for _, phase := range phases {
			if got, want := entries(results[0], phase), entries(real, phase); !maps.Equal(got, want) {
				t.Errorf("%s, %s: entries %v, and real servers wrote %v", file, phase, got, want)
			}
		}
	}
}
