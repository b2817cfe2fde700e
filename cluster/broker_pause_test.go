package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestPauseEvalBroker: a paused broker holds nothing and hands nothing out, whoever
// leads; state keeps every evaluation, and all of them are restored on resume.
func TestPauseEvalBroker(t *testing.T) {
	for _, failover := range []bool{false, true} {
		t.Run(fmt.Sprintf("failover=%v", failover), func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				c := startCluster(t, Config{Seed: 1, Policy: broker.Shedding(), Heartbeat: HeartbeatConfig{Grace: time.Hour}})
				r := &rig{T: t, c: c}
				r.ok(c.RegisterJob(t.Context(), systemJob("sys")))
				register(t, c, 0, 20)
				if b := c.Stats().Broker; b.Ready+b.Pending != 21 {
					t.Fatalf("broker %+v, want 21 evaluations", b)
				}
				r.entries()
				r.ok(nil, c.PauseEvalBroker(t.Context(), true))
				r.want("pause", r.entries(), "1 SchedulerConfigRequestType\n")
				c.SetNumSchedulers(2)
				register(t, c, 20, 25)
				if failover {
					r.ok(nil, c.StopServer(c.Leader()))
				}
				time.Sleep(10 * time.Second)
				st := c.Stats()
				if b := st.Broker; b.Ready+b.Pending+b.Unacked != 0 || st.StatePending != 26 || st.Counters.EvalsProcessed != 0 {
					t.Errorf("while paused: broker %+v, %d pending in state, %d processed", b, st.StatePending, st.Counters.EvalsProcessed)
				}
				r.ok(nil, c.PauseEvalBroker(t.Context(), false))
				time.Sleep(30 * time.Second)
				st = c.Stats()
				if st.StatePending != 0 || len(r.live("sys")) != 25 || st.Counters.EvalsProcessed+st.Counters.EvalsCanceled != 26 {
					t.Errorf("after resuming: %d pending, %d allocations, counters %+v", st.StatePending, len(r.live("sys")), st.Counters)
				}
			})
		})
	}
}

// TestPauseTakesWorkAway: what a worker holds when the broker is paused is not acked, and
// is handed out again afterwards.
func TestPauseTakesWorkAway(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 5, Config{Seed: 1, Costs: Costs{Cores: 1, Scheduler: map[string]SchedulerCosts{"service": {Base: time.Second}}}})
		r.fails = "ApplyPlanResultsRequestType"
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 5, 0)))
		// Workers that asked before there was a leader wait half a second or more.
		eventually(t, func() bool { return r.c.Stats().Broker.Unacked == 1 })
		r.ok(nil, r.c.PauseEvalBroker(t.Context(), true))
		time.Sleep(10 * time.Second)
		if n := r.c.Stats().Counters.EvalsProcessed; n != 0 || len(r.live("svc")) != 0 {
			t.Errorf("%d evaluations processed and %d allocations placed while paused", n, len(r.live("svc")))
		}
		r.ok(nil, r.c.PauseEvalBroker(t.Context(), false))
		time.Sleep(10 * time.Second)
		if n := len(r.live("svc")); n != 5 {
			t.Errorf("%d allocations after resuming, want 5", n)
		}
	})
}

// TestPauseAndTheFailedReaper: evaluations past their delivery limit are failed after a
// pause as before; with Nomad's defect they hold up their job until another server leads.
func TestPauseAndTheFailedReaper(t *testing.T) {
	for _, defect := range []bool{false, true} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 3, Config{Seed: 1, PauseEndsFailedReaper: defect, Heartbeat: HeartbeatConfig{FailoverTTL: 10 * time.Hour}})
			r.ok(nil, r.c.PauseEvalBroker(t.Context(), true))
			time.Sleep(10 * time.Second)
			r.ok(nil, r.c.PauseEvalBroker(t.Context(), false))
			for i := range 3 {
				r.ok(nil, r.c.CrashWorkers(i, 3))
			}
			id, err := r.c.RegisterJob(t.Context(), serviceJob("svc", 3, 0))
			r.ok(nil, err)
			time.Sleep(30 * time.Minute) // the crashes may last for three rounds of up to 7 min
			if failed := r.eval(id).Status == broker.StatusFailed; failed == defect {
				t.Errorf("defect %v: evaluation failed: %v", defect, failed)
			}
			if n := len(r.live("svc")); (n == 3) == defect {
				t.Errorf("defect %v: %d allocations", defect, n)
			}
			if !defect {
				return
			}
			r.fails = allTypes
			r.ok(nil, r.c.StopServer(r.c.Leader()))
			time.Sleep(30 * time.Minute)
			if n := len(r.live("svc")); n != 3 {
				t.Errorf("%d allocations under the next leader", n)
			}
		})
	}
}

// TestDeletedEvaluations: what an operator deletes by IDs is one entry, and what matches a filter
// one for each 728; the rest is restored when the broker goes on.
func TestDeletedEvaluations(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 1, Policy: broker.Shedding(), Heartbeat: HeartbeatConfig{Grace: time.Hour}})
		r := &rig{T: t, c: c}
		for i := range 80 {
			r.ok(c.RegisterJob(t.Context(), systemJob(fmt.Sprintf("sys-%02d", i))))
		}
		register(t, c, 0, 20)
		r.ok(nil, c.PauseEvalBroker(t.Context(), true))
		byNode := func(e *broker.Evaluation) bool { return e.TriggeredBy == broker.TriggeredByNodeUpdate }
		var ids []string
		for e := range r.snap().Evals() {
			if byNode(e) {
				ids = append(ids, e.ID)
			}
		}
		r.entries()
		if n, index, err := c.DeleteEvals(t.Context(), ids[:800], nil); n != 800 || index == 0 || err != nil {
			t.Errorf("by IDs: %d deleted at index %d, %v", n, index, err)
		}
		r.want("by IDs", r.entries(), "1 EvalDeleteRequestType\n")
		if n, _, err := c.DeleteEvals(t.Context(), nil, byNode); n != 800 || err != nil {
			t.Errorf("by filter: %d deleted, %v", n, err)
		}
		r.want("by filter", r.entries(), "2 EvalDeleteRequestType\n")
		r.ok(nil, c.PauseEvalBroker(t.Context(), false))
		if b := c.Stats().Broker; b.Ready+b.Pending != 80 {
			t.Errorf("broker %+v, want the evaluations of 80 jobs that were registered", b)
		}
	})
}
