package scenarios

import (
	"testing"
	"time"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/actions/clients"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/internal/judge"
	"github.com/simctl/simctl/scenarios/internal/run"
)

// massRestart is a fleet that restarts as one, served by servers of that many cores: what
// the clients ask for in the ten seconds of their stagger is half a minute's work of one. A seventh
// more of it, and some seeds need hours to recover.
func massRestart(t *testing.T, broker string, cores int) *metrics.Result {
	t.Helper()
	spec := small(broker)
	spec.Set("nodes", 200)
	sc, err := scenarioOf(spec)
	must(t, err)
	c := &sc.Cluster.Costs
	c.Cores, c.Pooled = cores, false
	c.RPC.Serve, c.RPC.Heartbeat, c.RPC.NodeEval = 22*time.Millisecond, 22*time.Millisecond, 40*time.Millisecond
	c.Raft.Dispatch = 10 * time.Millisecond
	sc.Phases[2] = run.Phase{Name: "restart", Events: []run.Event{
		at(1, clients.StopClients{Fraction: 1, For: time.Minute}),
	}, Until: conditions.Settled{For: conditions.Quiet}}
	res, err := run.Run(t.Context(), sc, nil)
	must(t, err)
	wantSound(t, res, judge.InvariantOracle)
	return res
}

// TestOverloadMakesHeartbeatsLate: with too few cores the heartbeats of clients that are
// well wait behind the work that others cause, their nodes go down for nothing, and that
// makes more work: the loop that users report. It ends in the end, and how long that takes
// is measured.
func TestOverloadMakesHeartbeatsLate(t *testing.T) {
	const nodes = 200
	for _, broker := range []string{"legacy", "shedding"} {
		few, many := massRestart(t, broker, 1).Phase("restart"), massRestart(t, broker, 16).Phase("restart")
		t.Logf("%s: one core: %d down, %d missed, recovered at %g s; sixteen: %d, %d, %g s", broker,
			few.NodesDown, few.MissedHeartbeats, few.RecoveryS, many.NodesDown, many.MissedHeartbeats, many.RecoveryS)
		if many.NodesDown != nodes {
			t.Errorf("%s broker, 16 cores: %d nodes went down, want the %d that stopped", broker, many.NodesDown, nodes)
		}
		if few.NodesDown < nodes+5 {
			t.Errorf("%s broker, 1 core: %d nodes went down, want more than the %d that stopped", broker, few.NodesDown, nodes)
		}
		if few.RecoveryS < many.RecoveryS+10 {
			t.Errorf("%s broker: recovered at %g s with one core, at %g s with sixteen; want it to take longer by far", broker, few.RecoveryS, many.RecoveryS)
		}
	}
}
