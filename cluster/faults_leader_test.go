package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestCrashedWorker: an evaluation that was lost with its worker comes back when its nack
// timer fires.
func TestCrashedWorker(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, Config{Seed: 1, Servers: 1})
		r.ok(nil, r.c.CrashWorkers(0, 1))
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 3, 0)))
		time.Sleep(59 * time.Second)
		if b := r.c.Stats().Broker; b.Unacked != 1 {
			t.Errorf("broker %+v, want the evaluation with nobody", b)
		}
		r.entries()
		time.Sleep(3 * time.Second)
		r.want("a second after the nack timeout", r.entries(), "1 ApplyPlanResultsRequestType\n1 EvalUpdateRequestType\n")
		if err := r.c.CrashWorkers(0, 0); err == nil {
			t.Error("no worker crashed, and no error")
		}
	})
}

// TestLostThriceFails: with every delivery lost the evaluation reaches the delivery limit:
// one entry marks it as failed and makes the one that follows.
func TestLostThriceFails(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		nacked := &nackCount{}
		r := newRig(t, 3, Config{Seed: 1, Servers: 1, Observer: nacked})
		r.ok(nil, r.c.CrashWorkers(0, 3))
		id, err := r.c.RegisterJob(t.Context(), serviceJob("svc", 3, 0))
		r.ok(nil, err)
		r.entries()
		// 60 s; 1 s and 60 s; 20 s and 60 s.
		time.Sleep(202 * time.Second)
		r.want("at the limit", r.entries(), "1 EvalUpdateRequestType\n")
		e := r.eval(id)
		if e.Status != broker.StatusFailed || e.NextEval == "" {
			t.Errorf("evaluation %+v", e)
		}
		// The nack timers that fired before go unseen: a redelivery says as much.
		if nacked.n != 1 {
			t.Errorf("the observer was told %d times that the evaluation was given up, want once", nacked.n)
		}
		time.Sleep(7 * time.Minute)
		r.want("the one that follows", r.entries(), "1 ApplyPlanResultsRequestType\n1 EvalUpdateRequestType\n")
	})
}

// nackCount counts what an Observer is told of evaluations that were given back.
type nackCount struct{ n int }

func (*nackCount) Dequeued(time.Time, *broker.Evaluation, time.Duration)   {}
func (*nackCount) Acked(time.Time, *broker.Evaluation, time.Duration, int) {}
func (o *nackCount) Nacked(time.Time, *broker.Evaluation)                  { o.n++ }
func (*nackCount) Flushed(time.Time)                                       {}

// TestStuckApplier: plans wait, no timer runs out, and all goes on afterwards.
func TestStuckApplier(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, Config{Seed: 1})
		leader := r.c.Leader()
		r.ok(nil, r.c.StickApplier(leader, true))
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("one", 3, 0)))
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("two", 3, 0)))
		r.entries()
		time.Sleep(5 * time.Minute)
		r.want("while it is stuck", r.entries(), "")
		if b := r.c.Stats().Broker; b.Unacked != 2 {
			t.Errorf("broker %+v, want two evaluations with workers whose plans wait", b)
		}
		r.ok(nil, r.c.StickApplier(leader, false))
		time.Sleep(5 * time.Second)
		r.want("when it goes on", r.entries(), "2 ApplyPlanResultsRequestType\n2 EvalUpdateRequestType\n")
	})
}

// TestStuckApplierLosesLeadership: its plans fail over with it.
func TestStuckApplierLosesLeadership(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, Config{Seed: 1})
		r.fails = allTypes
		leader := r.c.Leader()
		r.ok(nil, r.c.StickApplier(leader, true))
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("one", 3, 0)))
		time.Sleep(time.Second)
		end := r.c.DisturbLinks(LinkFault{From: []string{r.c.Addr(leader)}, Link: Link{Loss: 1}})
		time.Sleep(time.Minute)
		if n := len(r.live("one")); n != 3 {
			t.Errorf("%d allocations under the next leader, want 3", n)
		}
		end() // a worker of the old leader's asks for the new one until then
		time.Sleep(time.Minute)
		r.c.Stats()
		time.Sleep(time.Second)
		if busy := r.c.Stats().WorkerUtilisation; busy != 0 {
			t.Errorf("workers are busy %g of their time, want none to wait for the plan that was stuck", busy)
		}
	})
}

// TestDatacenterFilter: a node of another datacenter costs an evaluation of each system
// job only with the filter off.
func TestDatacenterFilter(t *testing.T) {
	for off, want := range map[bool]string{
		false: "1 NodeRegisterRequestType\n1 NodeUpdateStatusRequestType\n",
		true:  "3 EvalUpdateRequestType\n1 NodeRegisterRequestType\n1 NodeUpdateStatusRequestType\n",
	} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 2, Config{Seed: 1, DatacenterFilterOff: off})
			r.ok(r.c.RegisterJob(t.Context(), systemJob("sys-0")))
			r.ok(r.c.RegisterJob(t.Context(), systemJob("sys-1")))
			time.Sleep(time.Second)
			r.entries()
			n := testNode(7)
			n.Datacenter = "dc2"
			r.bringUp(n)
			time.Sleep(time.Second)
			r.want("a node of dc2", r.entries(), want)
		})
	}
}

// eval returns an evaluation that the state holds.
func (r *rig) eval(id string) *broker.Evaluation {
	r.Helper()
	for e := range r.snap().Evals() {
		if e.ID == id {
			return e
		}
	}
	r.Fatalf("no evaluation %s", id)
	return nil
}

// TestFullDisk: a leader without room ceases to lead, another takes over, and what was acknowledged
// by either is in all logs when there is room again.
func TestFullDisk(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, Config{Seed: 1})
		r.fails = allTypes
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("before", 3, 0)))
		leader := r.c.Leader()
		r.c.FillDisk(leader, true)
		for {
			if _, err := r.c.RegisterJob(t.Context(), serviceJob("meanwhile", 3, 0)); err == nil {
				break
			} else if !errors.Is(err, rpc.ErrNoLeader) {
				t.Fatalf("a call while the leader's disk is full: %v, want that nobody leads", err)
			}
			time.Sleep(time.Second)
		}
		if now := r.c.Leader(); now == leader {
			t.Errorf("server %d leads without room for the log", now+1)
		}
		if err := r.c.StorageError(); err != nil {
			t.Errorf("a simulated disk that is full ends the run: %v", err)
		}
		r.c.FillDisk(leader, false)
		time.Sleep(time.Minute)
		if a := r.c.CheckLogs(); a.Logs != nil || a.Lost != nil {
			t.Errorf("%+v", a)
		}
		if r.c.State(leader).Snapshot().JobByID("default", "meanwhile") == nil {
			t.Error("the server whose disk was full has not caught up")
		}
	})
}

// TestViewsSayTheirIndex: what a read is judged by is the state when the server was asked.
func TestViewsSayTheirIndex(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, Config{Seed: 1})
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 3, 0)))
		acked := r.c.Acknowledged()
		for i := range r.c.Servers() {
			if v, err := r.c.View(t.Context(), i, false); err != nil || v.Index < acked || acked == 0 {
				t.Errorf("through server %d: index %d, %v; want at least %d, which was acknowledged", i+1, v.Index, err, acked)
			}
		}
	})
}
