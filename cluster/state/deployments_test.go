package state

import (
	"bytes"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// TestDeploymentsCountAllocations follows a deployment through what its allocations do: a line
// of the table is an entry of the log, and what the deployment says after it.
func TestDeploymentsCountAllocations(t *testing.T) {
	const second = int64(time.Second)
	s := New()
	alloc := func(id, deployment, group string, at int64) *rpc.Allocation {
		return &rpc.Allocation{ID: id, Namespace: "default", JobID: "j", NodeID: "n", TaskGroup: group, DeploymentID: deployment, ModifyTime: at * second}
	}
	plan := func(allocs ...*rpc.Allocation) func(tx *Tx) error {
		return func(tx *Tx) error { return tx.UpsertPlanResults(&PlanResults{AllocsUpdated: allocs}) }
	}
	report := func(id, health string, at int64) func(tx *Tx) error {
		return func(tx *Tx) error {
			tx.UpdateAllocsFromClient(&rpc.Allocation{ID: id, ClientStatus: rpc.AllocClientRunning, Health: health, ModifyTime: at * second})
			return nil
		}
	}
	group := rpc.DeploymentGroup{Name: "g", DesiredTotal: 3, ProgressDeadline: 10 * time.Second}
	deployment := &rpc.Deployment{ID: "d", Namespace: "default", JobID: "j", Status: rpc.DeploymentRunning, Groups: []rpc.DeploymentGroup{group}}
	type counts struct {
		placed, healthy, unhealthy int
		by                         int64 // seconds
		modified                   uint64
	}
	for i, step := range []struct {
		name string
		do   func(tx *Tx) error
		want counts
	}{
		{"it begins", func(tx *Tx) error { return tx.UpsertDeployment(deployment) }, counts{modified: 1}},
		{"one is placed", plan(alloc("a", "d", "g", 5)), counts{placed: 1, by: 15, modified: 2}},
		{"another, which does not put the deadline off", plan(alloc("b", "d", "g", 7)), counts{placed: 2, by: 15, modified: 3}},
		{"one without a deployment", plan(alloc("none", "", "g", 8)), counts{placed: 2, by: 15, modified: 3}},
		{"one of another deployment", plan(alloc("other", "d0", "g", 8)), counts{placed: 2, by: 15, modified: 3}},
		{"one of a group that it does not have", plan(alloc("stranger", "d", "h", 8)), counts{placed: 2, by: 15, modified: 3}},
		{"it takes over one that runs", plan(alloc("other", "d", "g", 9)), counts{placed: 3, by: 15, modified: 7}},
		{"one runs, and nobody knows how well", report("a", "", 9), counts{placed: 3, by: 15, modified: 7}},
		{"it is healthy, and the deadline moves", report("a", rpc.AllocHealthy, 12), counts{placed: 3, healthy: 1, by: 22, modified: 9}},
		{"it still is", report("a", rpc.AllocHealthy, 13), counts{placed: 3, healthy: 1, by: 22, modified: 9}},
		{"an older report does not move it back", report("b", rpc.AllocHealthy, 3), counts{placed: 3, healthy: 2, by: 22, modified: 11}},
		{"one is healthy no more", report("a", rpc.AllocUnhealthy, 14), counts{placed: 3, healthy: 1, unhealthy: 1, by: 22, modified: 12}},
		{"one never was", report("other", rpc.AllocUnhealthy, 15), counts{placed: 3, healthy: 1, unhealthy: 2, by: 22, modified: 13}},
		{"what the deployment does not know", report("none", rpc.AllocHealthy, 16), counts{placed: 3, healthy: 1, unhealthy: 2, by: 22, modified: 13}},
	} {
		index := uint64(i + 1)
		ok(t, s.Update(index, step.do))
		d := s.Snapshot().DeploymentOf(broker.JobID{Namespace: "default", ID: "j"})
		g := d.Groups[0]
		want(t, step.name, counts{g.Placed, g.Healthy, g.Unhealthy, g.RequireProgressBy / second, d.ModifyIndex}, step.want)
	}
	a := s.Snapshot().AllocByID("a")
	want(t, "what is known of its health", []any{a.Health, a.HealthIndex}, []any{rpc.AllocUnhealthy, 12})
}

// TestDeploymentUpdates: who may change a deployment, and what stays of the one before.
func TestDeploymentUpdates(t *testing.T) {
	s := New()
	job := broker.JobID{Namespace: "default", ID: "j"}
	one := func(id string) *rpc.Deployment {
		return &rpc.Deployment{ID: id, Namespace: job.Namespace, JobID: job.ID, Status: rpc.DeploymentRunning}
	}
	update := func(job, id, status string) *rpc.DeploymentUpdate {
		return &rpc.DeploymentUpdate{Namespace: "default", JobID: job, DeploymentID: id, Status: status, StatusDescription: "why"}
	}
	plan := func(begin *rpc.Deployment, updates ...*rpc.DeploymentUpdate) func(tx *Tx) error {
		return func(tx *Tx) error {
			return tx.UpsertPlanResults(&PlanResults{Deployment: begin, DeploymentUpdates: updates})
		}
	}
	for i, step := range []struct {
		name             string
		do               func(tx *Tx) error
		id, status       string
		created, changed uint64
	}{
		{"a plan begins it", plan(one("d1")), "d1", rpc.DeploymentRunning, 1, 1},
		{"it is stored again", func(tx *Tx) error { return tx.UpsertDeployment(one("d1")) }, "d1", rpc.DeploymentRunning, 1, 2},
		{"an update of another", plan(nil, update("j", "d0", rpc.DeploymentFailed)), "d1", rpc.DeploymentRunning, 1, 2},
		{"an update of another job's", plan(nil, update("i", "d1", rpc.DeploymentFailed)), "d1", rpc.DeploymentRunning, 1, 2},
		{"it goes on, with another description", plan(nil, update("j", "d1", rpc.DeploymentRunning)), "d1", rpc.DeploymentRunning, 1, 5},
		{"it fails", plan(nil, update("j", "d1", rpc.DeploymentFailed)), "d1", rpc.DeploymentFailed, 1, 6},
		{"what has ended has ended", plan(nil, update("j", "d1", rpc.DeploymentSuccessful)), "d1", rpc.DeploymentFailed, 1, 6},
		{"the next one", plan(one("d2")), "d2", rpc.DeploymentRunning, 8, 8},
		{"a plan that begins one and ends it", plan(one("d3"), update("j", "d3", rpc.DeploymentSuccessful)), "d3", rpc.DeploymentSuccessful, 9, 9},
	} {
		ok(t, s.Update(uint64(i+1), step.do))
		d := s.Snapshot().DeploymentOf(job)
		want(t, step.name, []any{d.ID, d.Status, d.CreateIndex, d.ModifyIndex}, []any{step.id, step.status, step.created, step.changed})
	}
	want(t, "why", s.Snapshot().DeploymentOf(job).StatusDescription, "why")
	ok(t, s.Update(9, func(tx *Tx) error {
		return tx.UpsertPlanResults(&PlanResults{Deployment: one("d3"), AllocsUpdated: []*rpc.Allocation{{ID: "a", NodeID: "n", JobID: "j"}}})
	}))
	if s.Snapshot().AllocByID("a") == nil {
		t.Error("a plan that begins a deployment places nothing")
	}
	for name, do := range map[string]func(tx *Tx) error{
		"stored":          func(tx *Tx) error { return tx.UpsertDeployment(one("")) },
		"begun by a plan": plan(one("")),
	} {
		if err := s.Update(10, do); err == nil {
			t.Errorf("a deployment without an ID was %s", name)
		}
	}
	ok(t, s.Update(10, func(tx *Tx) error { return tx.UpsertJob(&rpc.Job{ID: "j"}) }))
	ok(t, s.Update(11, func(tx *Tx) error { return tx.DeleteJob("default", "j") }))
	if d := s.Snapshot().DeploymentOf(job); d != nil {
		t.Errorf("the deployment outlived its job: %+v", d)
	}
}

// TestReportsDuringPlans: a plan that was made before a client reported an allocation healthy forgets the report, unless the release keeps it.
func TestReportsDuringPlans(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		s := New()
		s.KeepsReports = keeps
		deployment := func(total int) *rpc.Deployment {
			return &rpc.Deployment{
				ID: "d", Namespace: "default", JobID: "j", Status: rpc.DeploymentRunning,
				Groups: []rpc.DeploymentGroup{{Name: "g", DesiredTotal: total, ProgressDeadline: time.Second}},
			}
		}
		alloc := &rpc.Allocation{ID: "a", Namespace: "default", JobID: "j", NodeID: "n", TaskGroup: "g", DeploymentID: "d", ModifyTime: 1}
		ok(t, s.Update(1, func(tx *Tx) error {
			return tx.UpsertPlanResults(&PlanResults{Deployment: deployment(1), AllocsUpdated: []*rpc.Allocation{alloc}})
		}))
		made := s.Snapshot().DeploymentOf(broker.JobID{Namespace: "default", ID: "j"}).Copy()
		made.Groups[0].DesiredTotal = 2
		ok(t, s.Update(2, func(tx *Tx) error {
			tx.UpdateAllocsFromClient(&rpc.Allocation{ID: "a", ClientStatus: rpc.AllocClientRunning, Health: rpc.AllocHealthy, ModifyTime: 5})
			return nil
		}))
		ok(t, s.Update(3, func(tx *Tx) error { return tx.UpsertPlanResults(&PlanResults{Deployment: made}) }))
		g := s.Snapshot().DeploymentOf(broker.JobID{Namespace: "default", ID: "j"}).Groups[0]
		healthy, by := 0, int64(time.Second)+1
		if keeps {
			healthy, by = 1, int64(time.Second)+5
		}
		want(t, "what is left of the report", []any{g.DesiredTotal, g.Placed, g.Healthy, g.RequireProgressBy}, []any{2, 1, healthy, by})
		ok(t, s.Update(4, func(tx *Tx) error {
			next := deployment(1)
			next.ID = "next"
			return tx.UpsertPlanResults(&PlanResults{Deployment: next})
		}))
		want(t, "the next one", s.Snapshot().DeploymentOf(broker.JobID{Namespace: "default", ID: "j"}).Groups[0].Placed, 0)
	}
}

// TestPastDeployments: what another took the place of, or whose job was purged, stays until it is deleted, and in snapshots.
func TestPastDeployments(t *testing.T) {
	s := New()
	upsert := func(id, job string) func(tx *Tx) error {
		return func(tx *Tx) error {
			return tx.UpsertDeployment(&rpc.Deployment{ID: id, Namespace: "default", JobID: job})
		}
	}
	purge := func(tx *Tx) error { return tx.DeleteJob("default", "k") }
	remove := func(ids ...string) func(tx *Tx) error {
		return func(tx *Tx) error { tx.DeleteDeployments(ids...); return nil }
	}
	for i, step := range []struct {
		name         string
		do           func(tx *Tx) error
		latest, past string
	}{
		{"a job", func(tx *Tx) error {
			return tx.UpsertJob(&rpc.Job{Namespace: "default", ID: "k", Type: rpc.JobTypeService})
		}, "", ""},
		{"first", upsert("a", "j"), "a", ""},
		{"the same again", upsert("a", "j"), "a", ""},
		{"second", upsert("b", "j"), "b", "a"},
		{"another job's", upsert("c", "k"), "bc", "a"},
		{"that is purged", purge, "b", "ac"},
		{"and again", purge, "b", "ac"},
		{"past ones go, and what nobody knows", remove("a", "who"), "b", "c"},
		{"a latest one goes", remove("b", "c"), "", ""},
	} {
		ok(t, s.Update(uint64(i+1), step.do))
		ids := func(all iter.Seq[*rpc.Deployment]) (text string) {
			for d := range all {
				text += d.ID
			}
			return text
		}
		now := s.Snapshot()
		if changes := step.name != "a job" && !strings.Contains(step.name, "purged") && step.name != "and again"; changes != (now.DeploymentsIndex() == now.Index()) {
			t.Errorf("%s at index %d: deployments changed at %d", step.name, now.Index(), now.DeploymentsIndex())
		}
		want(t, step.name, []string{ids(now.Deployments()), ids(now.PastDeployments())}, []string{step.latest, step.past})
		var file bytes.Buffer
		ok(t, now.Persist(&file))
		again := New()
		ok(t, again.Restore(&file))
		want(t, step.name+", restored", Diff(now, again.Snapshot()), "")
	}
}
