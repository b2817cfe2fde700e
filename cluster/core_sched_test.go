package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// quickGC is Nomad's garbage collection on a clock sixty times as fast: evaluations go
// and deployments go after a minute, jobs after four, nodes after 24.
var quickGC = GCConfig{
	Interval: 5 * time.Second, TokenInterval: 10 * time.Second, TimeGranularity: 5 * time.Second,
	EvalThreshold: time.Minute, JobThreshold: 4 * time.Minute, NodeThreshold: 24 * time.Minute,
	DeploymentThreshold: time.Minute,
}

// wait lets time pass and returns the entries of that time but for those of one-time
// tokens, which are one in ten seconds.
func (r *rig) wait(d time.Duration) string {
	r.Helper()
	r.entries()
	began := r.mark
	time.Sleep(d)
	last := r.c.Stats().LastIndex
	tokens := r.c.EntriesBetween(began, last)["OneTimeTokenExpireRequestType"]
	if want := uint64(d / (10 * time.Second)); tokens < want || tokens > want+1 {
		r.Errorf("%d entries of one-time tokens in %v", tokens, d)
	}
	return strings.ReplaceAll(r.entries(), fmt.Sprintf("%d OneTimeTokenExpireRequestType\n", tokens), "")
}

// TestGarbageIsCollected: evaluations after an hour, stopped jobs after four, nodes after
// a day, each in one entry; and nothing that is still of use.
func TestGarbageIsCollected(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 4, Config{Seed: 1, GC: quickGC})
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("keep", 4, 0)))
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("stop", 4, 0)))
		r.ok(r.c.RegisterJob(t.Context(), systemJob("sys")))
		time.Sleep(time.Second)
		for _, job := range []string{"keep", "stop", "sys"} {
			r.report(job, false)
		}
		r.ok(r.c.StopJob(t.Context(), "", "stop", false))
		time.Sleep(time.Second)
		r.report("stop", false)
		count := func() (evals, live, terminal int) {
			for a := range r.snap().Allocs() {
				if a.Terminal() {
					terminal++
				} else {
					live++
				}
			}
			return r.snap().EvalTotal(), live, terminal
		}
		r.want("within the hour", r.wait(55*time.Second), "")
		r.want("after an hour", r.wait(30*time.Second), "1 EvalDeleteRequestType\n")
		// The evaluation that placed "keep" stays with its allocations; so does that of "sys".
		if evals, live, terminal := count(); evals != 2 || live != 8 || terminal != 0 {
			t.Errorf("left: %d evaluations, %d live and %d terminal allocations; want 2, 8 and 0", evals, live, terminal)
		}
		if n := r.c.Stats().Counters.EvalsCollected; n != 2 {
			t.Errorf("%d evaluations collected, want those of the stopped job", n)
		}
		r.want("within four hours", r.wait(140*time.Second), "")
		// The job goes, and an evaluation sees to what it might still run.
		r.want("after four hours", r.wait(40*time.Second), "1 EvalUpdateRequestType\n1 JobBatchDeregisterRequestType\n")
		if r.snap().JobByID(rpc.DefaultNamespace, "stop") != nil {
			t.Error("the stopped job is still there")
		}

		const node = "node-00003"
		_, err := r.c.NodeServer(0).UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: node, Status: rpc.NodeStatusDown})
		r.ok(nil, err)
		time.Sleep(time.Second)
		// The evaluations of the purged job and of the node's jobs are collected meanwhile.
		r.want("within a day", r.wait(23*time.Minute), "2 EvalDeleteRequestType\n")
		// One entry deletes the node, one creates an evaluation of the system job, one ends it.
		r.want("after a day", r.wait(100*time.Second), "2 EvalUpdateRequestType\n1 NodeBatchDeregisterRequestType\n")
		if r.snap().NodeByID(node) != nil || r.snap().NodeCount() != 3 {
			t.Errorf("%d nodes, want the one that is down to be gone", r.snap().NodeCount())
		}
	})
}

// TestForceGC: a user need not wait, but in 1.9.2 and 1.9.3. One-time tokens expire, too. What was collected with its job is collected again
// with the evaluations, as in Nomad: both look at one snapshot.
func TestForceGC(t *testing.T) {
	const tokens = "1 OneTimeTokenExpireRequestType\n"
	const purged = "2 EvalDeleteRequestType\n1 JobBatchDeregisterRequestType\n" + tokens
	for release, want := range map[Version]string{
		{1, 4, 3}: "2 EvalDeleteRequestType\n1 EvalUpdateRequestType\n1 JobBatchDeregisterRequestType\n" + tokens,
		{1, 8, 0}: purged, {1, 9, 1}: purged, {1, 9, 2}: tokens, {1, 9, 3}: tokens, {1, 9, 4}: purged, {2, 0, 5}: purged,
	} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 2, Config{Seed: 1, Habits: HabitsOf(release)})
			r.ok(r.c.RegisterJob(t.Context(), serviceJob("stop", 2, 0)))
			time.Sleep(time.Second)
			r.ok(r.c.StopJob(t.Context(), "", "stop", false))
			time.Sleep(time.Second)
			r.report("stop", false)
			r.entries()
			r.ok(nil, r.c.ForceGC(t.Context()))
			time.Sleep(time.Second)
			r.want(fmt.Sprint("collected by ", release), r.entries(), want)
		})
	}
}

// TestStoppedJobsAreCollected: since 1.9.2 a job is as old as its last change, and before as its first. One that has run for long, and is stopped,
// goes as soon as its evaluations have, or four hours after the stop.
func TestStoppedJobsAreCollected(t *testing.T) {
	for release, after := range map[Version]time.Duration{{1, 9, 1}: time.Minute, {1, 9, 2}: 4 * time.Minute, {2, 0, 5}: 4 * time.Minute} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 2, Config{Seed: 1, GC: quickGC, Habits: HabitsOf(release)})
			r.ok(r.c.RegisterJob(t.Context(), serviceJob("stop", 2, 0)))
			time.Sleep(5 * time.Minute)
			r.report("stop", false)
			r.ok(r.c.StopJob(t.Context(), "", "stop", false))
			time.Sleep(time.Second)
			r.report("stop", false)
			there := func() bool { return r.snap().JobByID(rpc.DefaultNamespace, "stop") != nil }
			if time.Sleep(after - 10*time.Second); !there() {
				t.Errorf("%v: the job is gone %v after it was stopped", release, after-10*time.Second)
			}
			if time.Sleep(30 * time.Second); there() {
				t.Errorf("%v: the job is there %v after it was stopped", release, after+20*time.Second)
			}
		})
	}
}

// TestBatchEvaluationsAreCollected: since 1.4.5 those of batch jobs have an age of their own, and go though their job goes on.
func TestBatchEvaluationsAreCollected(t *testing.T) {
	const one = "1 EvalDeleteRequestType\n"
	for release, want := range map[Version]struct {
		early, late string
		left        int
	}{{1, 4, 4}: {one, "", 2}, {1, 4, 5}: {"", one, 1}, {2, 0, 5}: {"", one, 1}} {
		virtualtest.Test(t, func(t *testing.T) {
			gc := quickGC
			gc.BatchEvalThreshold = 2 * time.Minute
			r := newRig(t, 2, Config{Seed: 1, GC: gc, Habits: HabitsOf(release)})
			for _, id := range []string{"goes on", "stopped"} {
				job := serviceJob(id, 1, 0)
				job.Type = rpc.JobTypeBatch
				r.ok(r.c.RegisterJob(t.Context(), job))
				time.Sleep(time.Second)
				r.report(id, false)
			}
			r.ok(r.c.EvaluateJob(t.Context(), "", "goes on"))
			r.ok(r.c.StopJob(t.Context(), "", "stopped", false))
			time.Sleep(time.Second)
			r.report("stopped", false)
			r.want(fmt.Sprint("after a minute, ", release), r.wait(80*time.Second), want.early)
			r.want(fmt.Sprint("after two, ", release), r.wait(time.Minute), want.late)
			if n := r.snap().EvalTotal(); n != want.left {
				t.Errorf("%v: %d evaluations left, want %d of the job that goes on", release, n, want.left)
			}
		})
	}
}

// TestCoreEvaluationsAreNotInState: they are lost with the broker that holds them, and
// their processing is no processing of jobs.
func TestCoreEvaluationsAreNotInState(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 1, Policy: broker.Legacy()})
		time.Sleep(11 * time.Minute)
		if b := c.Stats().Broker; b.Ready != 5 || b.Pending != 4 {
			t.Errorf("broker %+v with schedulers off, want a job of each kind, and four again", b)
		}
		if st := c.Stats(); st.StatePending != 0 || st.Counters.EvalsCreated != 0 {
			t.Errorf("state holds %d, counters %+v", st.StatePending, st.Counters)
		}
		c.SetNumSchedulers(1)
		time.Sleep(time.Second)
		st := c.Stats()
		if st.Broker.Ready+st.Broker.Pending+st.Broker.Unacked != 0 || st.Counters.EvalsProcessed != 0 {
			t.Errorf("after they were processed: broker %+v, counters %+v", st.Broker, st.Counters)
		}
		if err := c.StopServer(c.Leader()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Minute)
		if b := c.Stats().Broker; b.Ready != 0 {
			t.Errorf("broker of the next leader %+v", b)
		}
	})
}
