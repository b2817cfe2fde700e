package wording

import (
	"slices"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// TestLabels: runs are named by as little as tells them apart.
func TestLabels(t *testing.T) {
	run := func(broker, cost string, seed int64, reporting bool) *metrics.Result {
		return &metrics.Result{Run: metrics.Run{Scenario: "s", Broker: broker, Seed: seed,
			Params: map[string]any{"cost": cost, "report_allocations": reporting}}}
	}
	each := func(nodes, all int) *metrics.Result { // so many nodes in each datacenter
		return &metrics.Result{Run: metrics.Run{Scenario: "s", Broker: "legacy", Nodes: all, Params: map[string]any{"nodes": nodes}}}
	}
	other := run("legacy", "b", 2, true)
	other.Run.Scenario = "t"
	with := func(name string, value any) *metrics.Result {
		return &metrics.Result{Run: metrics.Run{Scenario: "s", Broker: "legacy", Params: map[string]any{name: value}}}
	}
	baseline := run("legacy", "a", 1, true)
	baseline.OfBaseline = true
	for _, tt := range []struct {
		runs []*metrics.Result
		want []string
	}{
		{[]*metrics.Result{each(50, 50), each(20, 20)}, []string{"legacy nodes=50", "legacy nodes=20"}},
		{[]*metrics.Result{each(50, 100), each(20, 40)}, []string{"legacy var.nodes=50", "legacy var.nodes=20"}},
		{[]*metrics.Result{run("legacy", "a", 1, true), run("shedding", "b", 2, false)}, []string{"legacy", "shedding"}},
		{[]*metrics.Result{run("legacy", "a", 1, true), run("legacy", "b", 1, false)}, []string{"legacy a", "legacy b"}},
		{[]*metrics.Result{run("legacy", "a", 1, true), other}, []string{"legacy s", "legacy t"}},
		{[]*metrics.Result{run("legacy", "a", 1, true), run("legacy", "b", 1, false), run("legacy", "b", 2, false)},
			[]string{"legacy a seed=1", "legacy b seed=1", "legacy b seed=2"}},
		{[]*metrics.Result{run("legacy", "a", 1, true), run("legacy", "a", 1, false)},
			[]string{"legacy report_allocations=true", "legacy report_allocations=false"}},
		{[]*metrics.Result{with("hold", "5s"), with("hold", "2m")}, []string{"legacy hold=5s", "legacy hold=2m"}},
		{[]*metrics.Result{run("legacy", "a", 1, true), run("legacy", "a", 1, true)}, []string{"legacy #1", "legacy #2"}},
		{[]*metrics.Result{baseline, run("legacy", "a", 1, true)}, []string{"legacy baseline", "legacy"}},
		{[]*metrics.Result{baseline, baseline, run("legacy", "a", 1, true)}, []string{"legacy baseline #1", "legacy baseline #2", "legacy #3"}},
		{[]*metrics.Result{baseline, run("shedding", "b", 1, true)}, []string{"legacy baseline", "shedding"}},
		{[]*metrics.Result{baseline}, []string{"legacy"}},
	} {
		if got := Labels(tt.runs); !slices.Equal(got, tt.want) {
			t.Errorf("labels %q, want %q", got, tt.want)
		}
	}
}
