package cluster

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// readDeployments are costs with which deployments are read at once, and by watchers.
var readDeployments = []Costs{{}, {Deployment: DeploymentCosts{PerAlloc: time.Microsecond}}}

// deployedRig is a rig with a service of six that is replaced two at a time, deployed.
func deployedRig(t *testing.T, servers int, costs Costs) *rig {
	return deployed(t, Config{Seed: 1, Servers: servers, Costs: costs})
}

func deployed(t *testing.T, cfg Config) *rig {
	r := newRig(t, 4, cfg)
	r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 6, 2)))
	time.Sleep(time.Second)
	r.report("svc", true)
	time.Sleep(2 * time.Second)
	if d := r.deployment("svc"); d == nil || d.Status != rpc.DeploymentSuccessful {
		t.Fatalf("first deployment: %+v", d)
	}
	r.entries()
	return r
}

func (r *rig) update() {
	r.Helper()
	job := r.snap().JobByID(rpc.DefaultNamespace, "svc").Copy()
	job.TaskGroups = append([]rpc.TaskGroup(nil), job.TaskGroups...)
	job.TaskGroups[0].Resources.CPUMHz++
	r.ok(r.c.RegisterJob(r.Context(), job))
	time.Sleep(time.Second)
}

// TestRollingUpdateProceeds: two allocations are replaced at a time, each pair when the one
// before is healthy, and every step costs the entries it costs in Nomad.
func TestRollingUpdateProceeds(t *testing.T) {
	for _, costs := range readDeployments {
		virtualtest.Test(t, func(t *testing.T) {
			r := deployedRig(t, 3, costs)
			r.update()
			r.want("new version", r.entries(), "1 ApplyPlanResultsRequestType\n1 EvalUpdateRequestType\n1 JobRegisterRequestType\n")
			if _, err := r.c.ScaleJob(t.Context(), "", "svc", "", 7); err == nil {
				t.Error("scaled in the midst of a deployment")
			}
			r.entries()
			const step = "1 AllocClientUpdateRequestType\n1 AllocUpdateDesiredTransitionRequestType\n1 ApplyPlanResultsRequestType\n1 EvalUpdateRequestType\n"
			for n := 2; n <= 6; n += 2 {
				isNew := 0
				for _, a := range r.live("svc") {
					if a.JobVersion == 1 {
						isNew++
					}
				}
				if isNew != n {
					t.Errorf("%d of the new version, want %d", isNew, n)
				}
				time.Sleep(time.Minute)
				r.want("while the new ones are not healthy", r.entries(), "")
				r.report("svc", true)
				time.Sleep(2 * time.Second)
				r.want("two turned healthy", r.entries(), step)
			}
			if d := r.deployment("svc"); d.Status != rpc.DeploymentSuccessful || d.Groups[0].Healthy != 6 {
				t.Errorf("deployment %+v", d)
			}
		})
	}
}

// TestReportsWhileAnEvaluationIsOnItsWay: what clients report in the quarter of a second in which the watcher's evaluations are gathered makes it
// ask for another, though the report is of no one's health: to the watcher, nobody has looked yet.
func TestReportsWhileAnEvaluationIsOnItsWay(t *testing.T) {
	for _, health := range []string{rpc.AllocHealthy, rpc.AllocUnhealthy} {
		for _, costs := range readDeployments {
			for after, want := range map[time.Duration]uint64{500 * time.Millisecond: 1, 1100 * time.Millisecond: 2, 1500 * time.Millisecond: 1} {
				virtualtest.Test(t, func(t *testing.T) {
					r := deployedRig(t, 3, costs)
					r.update()
					var changed []*rpc.Allocation
					for _, a := range r.live("svc") {
						if a.JobVersion == 1 {
							changed = append(changed, a)
						}
					}
					report := func(a *rpc.Allocation, health string) {
						u := &rpc.Allocation{ID: a.ID, NodeID: a.NodeID, ClientStatus: rpc.AllocClientRunning, Health: health}
						_, err := r.c.NodeServer(0).UpdateAlloc(t.Context(), &rpc.AllocUpdateRequest{NodeID: a.NodeID, Alloc: []*rpc.Allocation{u}})
						r.ok(nil, err)
					}
					r.entries()
					report(changed[0], health)
					time.Sleep(after - 50*time.Millisecond) // a report is written so long after its call
					report(changed[1], "")
					time.Sleep(5 * time.Second)
					if n := r.c.EntriesBetween(r.mark, r.c.Stats().LastIndex)["AllocUpdateDesiredTransitionRequestType"]; n != want {
						t.Errorf("%s, another report after %v, costs %v: %d requests, want %d", health, after, costs.Deployment != DeploymentCosts{}, n, want)
					}
				})
			}
		}
	}
}

// TestDeploymentWithoutProgressFails: one entry ends it, and makes one evaluation, which
// finds nothing to do.
func TestDeploymentWithoutProgressFails(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := deployedRig(t, 3, Costs{})
		r.update()
		r.entries()
		time.Sleep(rpc.DefaultProgressDeadline)
		r.want("at the deadline", r.entries(), "1 DeploymentStatusUpdateRequestType\n1 EvalUpdateRequestType\n")
		if d := r.deployment("svc"); d.Status != rpc.DeploymentFailed {
			t.Errorf("deployment %+v", d)
		}
		r.report("svc", true)
		time.Sleep(time.Minute)
		r.want("health comes too late", r.entries(), "1 AllocClientUpdateRequestType\n")
	})
}

// TestUnhealthyAllocationIsReplaced: a failure in a deployment is the watcher's business:
// it asks for a replacement, and the update goes on with that.
func TestUnhealthyAllocationIsReplaced(t *testing.T) {
	for _, costs := range readDeployments {
		virtualtest.Test(t, func(t *testing.T) {
			r := deployedRig(t, 3, costs)
			r.update()
			for _, a := range r.live("svc") {
				if a.JobVersion == 1 && a.Name == "svc.tg[0]" {
					_, err := r.c.NodeServer(0).UpdateAlloc(t.Context(), &rpc.AllocUpdateRequest{NodeID: a.NodeID, Alloc: []*rpc.Allocation{{ID: a.ID, NodeID: a.NodeID, ClientStatus: rpc.AllocClientFailed, Health: rpc.AllocUnhealthy}}})
					r.ok(nil, err)
				}
			}
			time.Sleep(2 * time.Minute)
			if d := r.deployment("svc"); d.Groups[0].Unhealthy != 1 || d.Groups[0].Placed != 3 {
				t.Errorf("deployment %+v, want 1 unhealthy and its replacement placed", d)
			}
		})
	}
}

// TestDeploymentSurvivesFailover: a new leader watches on, and makes up for what nobody
// saw.
func TestDeploymentSurvivesFailover(t *testing.T) {
	for _, costs := range readDeployments {
		virtualtest.Test(t, func(t *testing.T) {
			r := deployedRig(t, 3, costs)
			r.update()
			r.report("svc", true)
			// The old leader has no time to make its evaluation.
			r.fails = allTypes
			r.ok(nil, r.c.StopServer(r.c.Leader()))
			time.Sleep(20 * time.Second)
			if d := r.deployment("svc"); d.Groups[0].Placed != 4 {
				t.Errorf("deployment %+v, want 4 placed", d)
			}
		})
	}
}

// TestFailedAfterHealthy: an allocation that was found healthy and then fails is not
// replaced as long as its deployment goes on, and nothing looks at it when that ends: not
// before something else makes an evaluation of the job. So it is in Nomad.
func TestFailedAfterHealthy(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := deployedRig(t, 1, Costs{}) // an hour of several takes ten times as long
		r.update()
		r.report("svc", true)
		time.Sleep(2 * time.Second)
		for _, a := range r.live("svc") {
			if a.JobVersion == 1 && a.Health == rpc.AllocHealthy && a.Name == "svc.tg[0]" {
				_, err := r.c.NodeServer(0).UpdateAlloc(t.Context(), &rpc.AllocUpdateRequest{NodeID: a.NodeID, Alloc: []*rpc.Allocation{{ID: a.ID, NodeID: a.NodeID, ClientStatus: rpc.AllocClientFailed}}})
				r.ok(nil, err)
			}
		}
		for range 3 {
			time.Sleep(2 * time.Second)
			r.report("svc", true)
		}
		time.Sleep(time.Hour)
		if d := r.deployment("svc"); d.Status != rpc.DeploymentSuccessful || len(r.live("svc")) != 5 {
			t.Errorf("deployment %+v, %d allocations; want it successful and one of six missing", d, len(r.live("svc")))
		}
		r.ok(r.c.RegisterJob(t.Context(), r.snap().JobByID(rpc.DefaultNamespace, "svc")))
		time.Sleep(time.Minute)
		if n := len(r.live("svc")); n != 6 {
			t.Errorf("%d allocations after another evaluation, want 6", n)
		}
	})
}

// TestSystemJobsDeploySince: changes of system jobs are deployments in releases since 1.11.0, on every server.
func TestSystemJobsDeploySince(t *testing.T) {
	for release, want := range map[Version]bool{{1, 10, 4}: false, {1, 11, 0}: true, {2, 0, 5}: true} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 2, Config{Seed: 1, Habits: HabitsOf(release)})
			for _, id := range []string{"a", "b", "c", "d", "e", "f"} { // some for workers of every server
				r.ok(r.c.RegisterJob(t.Context(), systemJob(id)))
			}
			time.Sleep(time.Minute)
			for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
				if d := r.deployment(id); (d != nil) != want {
					t.Errorf("%v: job %s has deployment %+v, want one: %v", release, id, d, want)
				}
			}
		})
	}
}

// TestFollowersSeeRows: whoever follows a server is told which rows an entry wrote.
func TestFollowersSeeRows(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		jobs := map[int]int{} // by server
		var mu sync.Mutex
		r := newRig(t, 1, Config{Seed: 1, Follow: func(a Applied) {
			mu.Lock()
			defer mu.Unlock()
			if c := a.State.Changes(); c != nil && len(c.Jobs) == 1 && c.Jobs[0].ID == "svc" {
				jobs[a.Server]++
			}
		}})
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 1, 0)))
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if len(jobs) != 3 {
			t.Errorf("%v servers told of the job", jobs)
		}
	})
}

// TestDeploymentWatchersRead: the watchers of all active deployments read when one of these has changed, and that of a job when an
// allocation has: twice, to learn of it and to wait. What changes while one reads it reads in one go.
func TestDeploymentWatchersRead(t *testing.T) {
	const ms = time.Millisecond
	for _, each := range []time.Duration{ms, 100 * ms} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 4, Config{Seed: 1, Costs: Costs{Cores: 4, Deployment: DeploymentCosts{PerAlloc: each}}})
			before := 0
			reads := func(what string, want int) {
				t.Helper()
				spent, _ := r.c.cpuTime()
				now := int(spent.Round(each) / each)
				if now-before != want {
					t.Errorf("%s, %v each: %d allocations were read, want %d", what, each, now-before, want)
				}
				before = now
			}
			for i, job := range []string{"a", "b"} {
				r.ok(r.c.RegisterJob(t.Context(), serviceJob(job, 6, 2)))
				time.Sleep(5 * time.Second)
				reads("placed", 3*6+i*6)
			}
			for range 3 {
				r.report("a", false)
				time.Sleep(100 * ms)
			}
			time.Sleep(5 * time.Second)
			if want := 3 * 2 * 6; each == ms {
				reads("three reports", want)
			} else {
				reads("three reports in the time of one look", want/2)
			}
			if each != ms {
				return // the end of the deployment would come between
			}
			r.report("a", true)
			time.Sleep(time.Second)
			reads("healthy", 2*6+2*6)
			time.Sleep(2 * time.Second)
			reads("over", 6)
		})
	}
}

// TestDeploymentsAreCollected: an hour after it ended, or a minute of quickGC, unless an allocation that runs is of it, in one entry; by force at once.
func TestDeploymentsAreCollected(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := deployed(t, Config{Seed: 1, GC: quickGC})
		first := r.deployment("svc")
		r.update()
		for range 3 {
			r.report("svc", true)
			time.Sleep(2 * time.Second)
		}
		second := r.deployment("svc")
		left := func() (ids []string) {
			for d := range r.snap().PastDeployments() {
				ids = append(ids, d.ID)
			}
			return ids
		}
		if second.ID == first.ID || second.Status != rpc.DeploymentSuccessful || !slices.Equal(left(), []string{first.ID}) {
			t.Fatalf("second deployment: %+v; left of others: %v", second, left())
		}
		collected := func() uint64 { return r.c.EntriesBetween(0, r.c.Stats().LastIndex)["DeploymentDeleteRequestType"] }
		time.Sleep(50 * time.Second)
		if collected() != 0 {
			t.Errorf("%d entries delete deployments within the hour", collected())
		}
		time.Sleep(2 * time.Minute)
		if collected() != 1 || len(left()) > 0 || r.deployment("svc") == nil {
			t.Errorf("%d entries delete deployments, %v and %+v are left; want that of what runs", collected(), left(), r.deployment("svc"))
		}
		r.ok(r.c.StopJob(t.Context(), "", "svc", true))
		time.Sleep(time.Second)
		if !slices.Equal(left(), []string{second.ID}) {
			t.Errorf("%v are left of a purged job", left())
		}
		r.ok(nil, r.c.ForceGC(t.Context()))
		time.Sleep(time.Second)
		if collected() != 2 || len(left()) > 0 {
			t.Errorf("%d entries delete deployments, %v are left of a purged job", collected(), left())
		}
	})
}
