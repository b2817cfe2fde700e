package scheduler

import (
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// TestReconnectingOnADrainingNode: an allocation reconnects while its node drains. It is
// neither resumed nor moved, and another is stopped in its place, since there is one too
// many. It moves when the drain is over. That leaves one name twice and another not at all
// (reconcile_util.go, filterByTainted; reconcile.go, computeStop and computeReconnecting).
func TestReconnectingOnADrainingNode(t *testing.T) {
	w := running(t, 4, job(rpc.JobTypeService, "svc", 2, group(func(tg *rpc.TaskGroup) { tg.MaxClientDisconnect = time.Hour })))
	away, other := w.live("svc")[0], w.live("svc")[1]
	if away.Name != "svc.g[0]" {
		away, other = other, away
	}
	w.status(away.NodeID, rpc.NodeStatusDisconnected)
	w.runJob("svc")
	w.report("svc", rpc.AllocClientRunning, func(a *rpc.Allocation) bool { return a.NodeID != away.NodeID })
	w.want("replaced while out of reach", w.names("svc"), "[svc.g[0] svc.g[0] svc.g[1]]")

	w.status(away.NodeID, rpc.NodeStatusReady)
	w.drain(away.NodeID, true)
	w.drain(other.NodeID, true)
	r := w.runJob("svc")
	w.want("stopped, placed while both drain", []any{len(stops(r)), len(r.plans[0].NodeAllocation)}, []any{1, 0})
	w.want("left", w.names("svc"), "[svc.g[0] svc.g[0]]")
	w.report("svc", rpc.AllocClientRunning, on(away.NodeID))
	w.want("plans when its client is back", len(w.runJob("svc").plans), 0)

	w.update(func(tx *state.Tx) error { return tx.UpdateNodeDrain(away.NodeID, nil, false, 0, "") })
	w.runJob("svc")
	w.want("left when the drain is over", w.names("svc"), "[svc.g[0] svc.g[0]]")
	for _, a := range w.live("svc") {
		if a.NodeID == away.NodeID {
			t.Errorf("%s is still on the node that has drained", a.Name)
		}
	}
}
