package httpapi_test

import (
	"testing"

	"github.com/hashicorp/nomad/api"
)

// changed reports whether the nomad command finds that a plan changes something, which is its exit
// code.
func changed(u *api.DesiredUpdates) bool {
	return u.Stop+u.Place+u.Migrate+u.DestructiveUpdate+u.Canary > 0
}

func TestPlan(t *testing.T) {
	s := serve(t, 3, nil)
	jobs := s.api.Jobs()
	plan := func(job *api.Job) (*api.JobPlanResponse, *api.DesiredUpdates, *api.TaskGroupDiff) {
		t.Helper()
		before, _, err := s.api.Evaluations().List(nil)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := jobs.Plan(job, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		if after, _, err := s.api.Evaluations().List(nil); err != nil || len(after) != len(before) {
			t.Errorf("a plan changed the number of evaluations from %d to %d: %v", len(before), len(after), err)
		}
		return p, p.Annotations.DesiredTGUpdates["front"], p.Diff.TaskGroups[0]
	}
	p, u, g := plan(serviceJob("web", 2))
	if *u != (api.DesiredUpdates{Place: 2}) || p.Diff.Type != "Added" || g.Updates["create"] != 2 || p.JobModifyIndex != 0 || g.Tasks[0].Annotations[0] != "forces create" {
		t.Errorf("a new job: %+v, %+v, %+v", p, u, g)
	}
	if _, _, err := jobs.Info("web", nil); err == nil {
		t.Error("the plan registered the job")
	}
	reg, _, err := jobs.Register(serviceJob("web", 2), nil)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the job is deployed", func() bool {
		d, _, err := jobs.LatestDeployment("web", nil)
		return err == nil && d != nil && d.Status == "successful"
	})
	p, u, g = plan(serviceJob("web", 2))
	if *u != (api.DesiredUpdates{Ignore: 2}) || changed(u) || p.Diff.Type != "None" || g.Updates["ignore"] != 2 || p.JobModifyIndex != reg.JobModifyIndex {
		t.Errorf("the same job: %+v, %+v, %+v", p, u, g)
	}
	_, u, g = plan(serviceJob("web", 3))
	if *u != (api.DesiredUpdates{InPlaceUpdate: 2, Place: 1}) || g.Type != "Edited" || g.Fields[0].Name != "Count" || g.Fields[0].Annotations[0] != "forces create" {
		t.Errorf("one more: %+v, %+v", u, g)
	}
	_, u, g = plan(serviceJob("web", 1))
	if *u != (api.DesiredUpdates{InPlaceUpdate: 1, Stop: 1}) || g.Fields[0].Annotations[0] != "forces destroy" {
		t.Errorf("one less: %+v, %+v", u, g)
	}
	larger := serviceJob("web", 2)
	larger.TaskGroups[0].Tasks[0].Resources.CPU = new(200)
	_, u, g = plan(larger)
	if *u != (api.DesiredUpdates{Ignore: 1, DestructiveUpdate: 1}) || g.Tasks[0].Annotations[0] != "forces create/destroy update" {
		t.Errorf("other resources, one at a time: %+v, %+v", u, g)
	}
	named := serviceJob("web", 2)
	named.TaskGroups[0].Tasks[0].SetConfig("run_for", "2h")
	if _, u, g = plan(named); *u != (api.DesiredUpdates{InPlaceUpdate: 2}) || changed(u) || g.Tasks[0].Annotations[0] != "forces in-place update" {
		t.Errorf("another configuration: %+v, %+v", u, g)
	}
	huge := serviceJob("huge", 2)
	huge.TaskGroups[0].Tasks[0].Resources.MemoryMB = new(1 << 20)
	p, u, _ = plan(huge)
	if m := p.FailedTGAllocs["front"]; *u != (api.DesiredUpdates{Place: 2}) || m == nil || m.CoalescedFailures != 1 || m.NodesExhausted != 3 || len(p.CreatedEvals) != 1 {
		t.Errorf("no room: %+v, %+v, %+v", p, u, m)
	}
	daily := serviceJob("daily", 1)
	daily.Type = new("batch")
	daily.TaskGroups[0].Update = nil
	daily.AddPeriodicConfig(&api.PeriodicConfig{SpecType: new("cron"), Spec: new("*/15 * * * *")})
	if p, _, _ = plan(daily); p.NextPeriodicLaunch.IsZero() || p.NextPeriodicLaunch.Minute()%15 != 0 {
		t.Errorf("a periodic job launches at %v", p.NextPeriodicLaunch)
	}
	if _, _, err := jobs.Plan(&api.Job{ID: new("none"), Name: new("none")}, true, nil); err == nil {
		t.Error("a job without groups has a plan")
	}
}

// TestStopUnknown: a real server stops a job all the same that is not there.
func TestStopUnknown(t *testing.T) {
	s := serve(t, 0, nil)
	evalID, meta, err := s.api.Jobs().Deregister("none", false, nil)
	if err != nil || evalID == "" || meta.LastIndex == 0 {
		t.Fatalf("evaluation %q at %+v: %v", evalID, meta, err)
	}
	until(t, "the evaluation is complete", func() bool {
		e, _, err := s.api.Evaluations().Info(evalID, nil)
		return err == nil && e.Status == "complete" && e.Priority == 50
	})
}
