package cluster

import (
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

var withWorkQueue = DesignConfig{WorkQueue: true}

// TestWorkQueueWritesNoEvaluation: users' calls, changes of nodes and failures cost what changes
// the state, and a job that is called for often is queued once.
func TestWorkQueueWritesNoEvaluation(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 5, Config{Seed: 1, Design: withWorkQueue})
		id, err := r.c.RegisterJob(t.Context(), serviceJob("svc", 5, 0))
		r.ok(id, err)
		time.Sleep(time.Second)
		r.want("register", r.entries(), "1 ApplyPlanResultsRequestType\n1 JobRegisterRequestType\n")
		if id != "" {
			t.Errorf("the caller is told of evaluation %q, which does not exist", id)
		}
		r.ok(r.c.ScaleJob(t.Context(), "", "svc", "", 8))
		time.Sleep(time.Second)
		r.want("scale", r.entries(), "1 ApplyPlanResultsRequestType\n1 JobRegisterRequestType\n1 ScalingEventRegisterRequestType\n")
		r.report("svc", false)
		r.entries()

		_, err = r.c.NodeServer(0).UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: r.live("svc")[0].NodeID, Status: rpc.NodeStatusDown})
		r.ok(nil, err)
		time.Sleep(time.Second)
		r.want("node down", r.entries(), "1 ApplyPlanResultsRequestType\n1 NodeUpdateStatusRequestType\n")
		if n := len(r.live("svc")); n != 8 {
			t.Errorf("%d allocations live, want 8", n)
		}
		if st := r.c.Stats(); r.snap().EvalTotal() != 0 || st.Counters.EvalsCreated != 0 || st.Counters.EvalsProcessed != 3 {
			t.Errorf("state holds %d evaluations, counters are %+v", r.snap().EvalTotal(), st.Counters)
		}

		r.c.SetNumSchedulers(0)
		r.ok(r.c.RegisterJob(t.Context(), systemJob("sys")))
		for i := range 4 {
			r.bringUp(testNode(10 + i))
		}
		if b := r.c.Stats().Broker; b.Ready != 1 || b.Pending != 0 {
			t.Errorf("broker %+v, want the system job once", b)
		}
	})
}

// TestWorkQueueAfterFailover: a new leader finds what has to be looked at in the state: jobs that
// lack something, jobs that are gone, and allocations that wait for their replacement.
func TestWorkQueueAfterFailover(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 6, Config{Seed: 1, Design: withWorkQueue})
		for _, id := range []string{"fails", "purged", "stopped"} {
			r.ok(r.c.RegisterJob(t.Context(), serviceJob(id, 4, 0)))
		}
		time.Sleep(time.Second)
		r.report("fails", false)
		r.fail("fails", 2)
		r.ok(r.c.StopJob(t.Context(), "", "stopped", false))
		time.Sleep(time.Second)
		if st := r.c.Stats(); st.Broker.Waiting != 1 || st.StatePending != 1 {
			t.Errorf("broker %+v, %d pending; want one wait for the failed allocations", st.Broker, st.StatePending)
		}
		r.c.SetNumSchedulers(0)
		r.ok(r.c.StopJob(t.Context(), "", "purged", true))
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("new", 4, 0)))
		first := r.c.Leader()
		r.ok(nil, r.c.StopServer(first))
		time.Sleep(20 * time.Second)
		if b := r.c.Stats().Broker; b.Ready != 3 || b.Waiting != 1 {
			t.Errorf("broker of the next leader %+v, want fails, purged and new ready, and one wait", b)
		}
		r.c.SetNumSchedulers(2)
		time.Sleep(40 * time.Second)
		for id, want := range map[string]int{"fails": 4, "purged": 0, "stopped": 0, "new": 4} {
			if n := len(r.live(id)); n != want {
				t.Errorf("%d allocations of %s live, want %d", n, id, want)
			}
		}
		if st := r.c.Stats(); st.Broker.Waiting != 0 || st.StatePending != 0 {
			t.Errorf("broker %+v, %d pending", st.Broker, st.StatePending)
		}
	})
}

// TestWorkQueueGarbage: allocations go though no evaluation does, and a job that waits for room
// is not over.
func TestWorkQueueGarbage(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, Config{Seed: 1, Design: withWorkQueue})
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("stop", 2, 0)))
		time.Sleep(time.Second)
		r.ok(r.c.StopJob(t.Context(), "", "stop", false))
		large := serviceJob("large", 1, 0)
		large.Type = rpc.JobTypeBatch
		large.TaskGroups[0].Resources.MemoryMB = 1 << 40
		r.ok(r.c.RegisterJob(t.Context(), large))
		time.Sleep(time.Second)
		r.report("stop", false)
		time.Sleep(time.Second) // whoever waits for room looks again
		if st := r.c.Stats(); st.BlockedJobs != 1 || len(r.c.Waiting().Unwritten) == 0 {
			t.Fatalf("%d jobs wait for room, %v", st.BlockedJobs, r.c.Waiting().Unwritten)
		}
		r.entries()
		r.ok(nil, r.c.ForceGC(t.Context()))
		time.Sleep(time.Second)
		r.want("collected", r.entries(), "2 EvalDeleteRequestType\n1 JobBatchDeregisterRequestType\n1 OneTimeTokenExpireRequestType\n")
		if snap := r.snap(); snap.JobByID(rpc.DefaultNamespace, "stop") != nil || snap.JobByID(rpc.DefaultNamespace, "large") == nil {
			t.Error("want the stopped job gone, and the one that waits for room there")
		}
		for a := range r.snap().Allocs() {
			t.Errorf("allocation %s of %s is left", a.ID, a.JobID)
		}
	})
}
