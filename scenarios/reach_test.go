package scenarios

import (
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/metrics"
)

// TestOutOfReachAgrees: what each job costs whose allocations are out of reach, under every seed, and on real servers. How many jobs
// that are is the seed's, and chance on real servers: it is how many evaluations wait until an allocation is lost.
func TestOutOfReachAgrees(t *testing.T) {
	t.Parallel()
	spec, err := FromFile("../testdata/releases/out-of-reach.hcl")
	must(t, err)
	for file, later := range map[string]bool{"1.4.3": false, "2.0.5": true, "2.0.5-2": true} {
		check := func(who string, r *metrics.Result) {
			p := r.Phases[1]
			waits := p.EvalsByStatus[broker.StatusPending]
			plans := p.RaftEntriesByType[metrics.EntryApplyPlanResults]
			back := r.Phases[2].RaftEntriesByType[metrics.EntryApplyPlanResults]
			statuses := p.RaftEntriesByType[metrics.EntryNodeUpdateStatus]
			switch {
			case waits == 0:
				t.Errorf("%s, %s: nothing waits", file, who)
			case later && plans != 2*waits:
				t.Errorf("%s, %s: %d plans of %d jobs that wait, want two of each: one when it is unknown, one when it is replaced", file, who, plans, waits)
			case !later && plans < waits:
				// A replacement on a client that is silent, too, costs more plans.
				t.Errorf("%s, %s: %d plans of %d jobs that wait, want one of each or more", file, who, plans, waits)
			case later && (4*back < 5*waits || back >= 2*waits):
				t.Errorf("%s, %s: %d plans of %d jobs when clients are back, want two of most: one stops what replaced an allocation, or that itself if it was placed worse, and one notes what is back",
					file, who, back, waits)
			case later && statuses <= 6:
				t.Errorf("%s, %s: %d entries of 6 clients that are silent for longer than two heartbeats", file, who, statuses)
			}
		}
		checkBoth(t, spec, "out-of-reach-"+file, check)
	}
}

// checkBoth checks a run on real servers of a release, and what the simulation makes of it with five seeds.
func checkBoth(t *testing.T, spec Spec, file string, check func(who string, r *metrics.Result)) {
	t.Helper()
	real, err := metrics.Load("../testdata/releases/" + file + ".json")
	must(t, err)
	check("real", real)
	spec.Broker = real.Run.Target
	for spec.Seed = 1; spec.Seed < 6; spec.Seed++ {
		results, err := RunAll(t.Context(), []Spec{spec}, nil)
		must(t, err)
		check("simulated", results[0])
	}
}

// TestBatchDrainAgrees: what a drain ends of batch jobs is replaced up to 1.10, and each replacement is reported. Since 1.11 clients
// have nothing to report but the ends.
func TestBatchDrainAgrees(t *testing.T) {
	t.Parallel()
	spec, err := FromFile("../testdata/releases/batch-drain.hcl")
	must(t, err)
	for release, replaces := range map[string]bool{"1.4.3": true, "2.0.5": false} {
		check := func(who string, r *metrics.Result) {
			entries := r.Phases[1].RaftEntriesByType
			for entry, want := range map[string]uint64{"AllocUpdateDesiredTransitionRequestType": 1, metrics.EntryApplyPlanResults: 3, metrics.EntryEvalUpdate: 3} {
				if got := entries[entry]; got != want {
					t.Errorf("%s, %s: %d entries %s, want %d", release, who, got, entry, want)
				}
			}
			if reports := entries[metrics.EntryAllocClientUpdate]; reports == 0 || reports > 6 != replaces {
				t.Errorf("%s, %s: %d entries of reports; four clients report ends, in a few, and eight others what replaces that: %v", release, who, reports, replaces)
			}
		}
		checkBoth(t, spec, "batch-drain-"+release, check)
	}
}
