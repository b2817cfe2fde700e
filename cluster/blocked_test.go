package cluster

import (
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestBlockedEvaluations: a job that finds no room waits in one blocked evaluation, the
// older of two is canceled, a node with room that registers makes the job run, and a leader
// that takes over goes on where the one before it was.
func TestBlockedEvaluations(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, Config{Seed: 4})
		status := func(s string) (n int) {
			for _, e := range r.snap().EvalsByStatus(s) {
				if e.JobID == "svc" {
					n++
				}
			}
			return n
		}
		big := serviceJob("svc", 2, 0)
		big.TaskGroups[0].Resources.CPUMHz = 3000 // one on a node
		r.ok(r.c.RegisterJob(t.Context(), big))
		time.Sleep(time.Second)
		if len(r.live("svc")) != 1 || status(broker.StatusBlocked) != 1 {
			t.Fatalf("%d allocations, %d blocked, want 1 of each", len(r.live("svc")), status(broker.StatusBlocked))
		}

		big.TaskGroups[0].Count = 3
		r.ok(r.c.RegisterJob(t.Context(), big))
		time.Sleep(time.Second)
		if status(broker.StatusBlocked) != 1 || status(broker.StatusCanceled) != 1 {
			t.Errorf("after the job grew: %d blocked and %d canceled, want 1 of each", status(broker.StatusBlocked), status(broker.StatusCanceled))
		}

		r.bringUp(testNode(1))
		time.Sleep(time.Second)
		if len(r.live("svc")) != 2 || status(broker.StatusBlocked) != 1 {
			t.Errorf("with a second node: %d allocations, %d blocked, want 2 and 1", len(r.live("svc")), status(broker.StatusBlocked))
		}

		first := r.c.Leader()
		r.ok(nil, r.c.StopServer(first))
		time.Sleep(20 * time.Second)
		r.ok(nil, r.c.StartServer(first))
		time.Sleep(5 * time.Second)
		r.bringUp(testNode(2))
		time.Sleep(time.Second)
		if r.c.Leader() == first || len(r.live("svc")) != 3 || status(broker.StatusBlocked) != 0 {
			t.Errorf("with a third node, under another leader: %d allocations, %d blocked, want 3 and 0", len(r.live("svc")), status(broker.StatusBlocked))
		}
	})
}
