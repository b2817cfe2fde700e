package run

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/actions/faults"
	"github.com/simctl/simctl/scenarios/internal/bubble"
	"github.com/simctl/simctl/scenarios/internal/conditions"
)

func TestShare(t *testing.T) {
	for _, c := range []struct {
		p    Progress
		want float64
	}{
		{Progress{}, 0},
		{Progress{Phases: 4, PhaseIndex: 1, Done: 0.5}, 0.375},
		{Progress{Phases: 4, PhaseIndex: 3, Done: -1}, 0.75},
		{Progress{Phases: 4, PhaseIndex: 3, Done: 1}, 1},
	} {
		if got := c.p.Share(); got != c.want {
			t.Errorf("the share of %+v is %v, want %v", c.p, got, c.want)
		}
	}
}

// TestProgressTellsWhatHappens: every mark once, a fault while it lasts, and no queues while there is no leader.
func TestProgressTellsWhatHappens(t *testing.T) {
	sc := &Scenario{
		Run:     metrics.Run{Scenario: "idle", Broker: "shedding", Clock: ClockVirtual},
		Cluster: cluster.Config{Servers: 1}, Fleet: nodesim.Config{Nodes: 1},
		Phases: []Phase{{
			Name: "only", Until: conditions.Elapsed{For: time.Minute},
			Events: []Event{{At: 10 * time.Second, Action: faults.KillServer{Server: faults.Leader, For: 20 * time.Second}}},
		}},
	}
	var marks []string
	var res *metrics.Result
	seen := map[[2]bool]int{} // by whether there is a leader, and a fault
	tell := func(p Progress) {
		if (p.Leader == "") != (p.Queues == nil) {
			t.Errorf("at %g s the leader is %q and its queues are %v", p.VirtualS, p.Leader, p.Queues)
		}
		if slices.Contains(p.Faults, "the leader is killed") != (len(p.Faults) > 0) {
			t.Errorf("faults %q", p.Faults)
		}
		marks = append(marks, p.Marks...)
		seen[[2]bool{p.Leader != "", len(p.Faults) > 0}]++
	}
	err := bubble.Run(t.Context(), 0, func(ctx context.Context, w *bubble.World) (err error) {
		r := &run{sc: sc.Scaled(), ctx: ctx, world: even{w, time.Now()}, teller: teller{tell: tell}}
		res, err = r.simulated()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range res.Marks {
		want = append(want, m.Name)
	}
	if len(want) != 2 || !slices.Equal(marks, want) {
		t.Errorf("the marks %q were told, and the result has %q, want two", marks, want)
	}
	if seen[[2]bool{true, false}] == 0 || seen[[2]bool{false, true}] == 0 || seen[[2]bool{true, true}] > 0 {
		t.Errorf("leader and fault: %v, want both kinds of times", seen)
	}
}
