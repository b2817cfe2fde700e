package main

import (
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// TestGateNamesVersions: a failed gate says that another version wrote the baseline, and how to accept what differs from it. What else
// fails is not mended so.
func TestGateNamesVersions(t *testing.T) {
	run := func(version string, ok bool) []*metrics.Result {
		return []*metrics.Result{{Run: metrics.Run{Broker: "legacy", Version: version}, Invariants: []metrics.Invariant{{Name: "holds", OK: ok}}}}
	}
	beyond := func(runs []*metrics.Result) []*metrics.Result {
		runs[0].Thresholds = []metrics.Verdict{{Run: "legacy", Metric: "totals.raft_entries", Value: 6, Baseline: new(5.0)}}
		return runs
	}
	old := &metrics.Baseline{Runs: run("v0.1.0", true)}
	for _, c := range []struct {
		results []*metrics.Result
		base    *metrics.Baseline
		want    string
	}{
		{run("v0.2.0", true), old, ""},
		{run("v0.1.0", false), old, "1 of 1 check failed: invariants or thresholds of the scenario"},
		{run("v0.1.0", false), nil, "1 of 1 check failed: invariants or thresholds of the scenario"},
		{beyond(run("v0.1.0", true)), old, "1 of 2 checks failed; if the change is intended"},
		{beyond(run("v0.2.0", true)), old, "1 of 2 checks failed (simctl v0.1.0 wrote the baseline, this is v0.2.0, which may simulate differently); if"},
	} {
		err := gateVerdict(c.results, c.base, "b.json")
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.base, err, c.want)
		}
	}
}
