package run

import (
	"context"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/internal/judge"
)

// TestBeside: a run in servers of another design is checked by what all designs must come to, and tells nothing of a machine on which real
// servers run.
func TestBeside(t *testing.T) {
	sc := &Scenario{
		Run:    metrics.Run{Scenario: "idle", Broker: "other", Clock: ClockVirtual},
		Fleet:  nodesim.Config{Nodes: 1},
		Phases: []Phase{{Name: "only", Until: conditions.Elapsed{For: 20 * time.Second}}},
	}
	sc.Cluster.Servers = 3
	res, err := Beside(t.Context(), sc, func(ctx context.Context, cfg cluster.Config) (Other, error) {
		c, err := cluster.Start(ctx, cfg)
		return &Simulated{Cluster: c}, err
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Run.Target != "simulated" || len(res.Phases) != 1 || res.Host.WallS <= 0 {
		t.Errorf("the run is %+v of %d phases, on %+v", res.Run, len(res.Phases), res.Host)
	}
	ok := map[string]bool{}
	for _, v := range res.Invariants {
		ok[v.Name] = v.OK
	}
	if len(ok) != 3 || !ok[judge.InvariantNonePending] || !ok[judge.InvariantOracle] || !ok[judge.InvariantServersSame] {
		t.Errorf("it was checked by %+v", res.Invariants)
	}
	for _, series := range []string{metrics.SeriesStolen, metrics.SeriesMemoryRead} {
		if s := res.SeriesByName(series); s != nil {
			t.Errorf("it has %+v", s)
		}
	}
}
