package httpapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/apitypes"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
)

// plan answers what registering a job would do: a scheduler tries it and nothing is written
// (nomad/job_endpoint.go, Plan).
func (a *API) plan(w http.ResponseWriter, r *http.Request, q *query) (any, uint64, error) {
	var req api.JobPlanRequest
	if err := a.decode(w, r, &req); err != nil {
		return nil, 0, err
	}
	job, warnings, err := a.userJob(r, q, req.Job)
	if err != nil {
		return nil, 0, err
	}
	tried, err := a.Cluster.TryJob(r.Context(), job)
	if err != nil {
		return nil, 0, err
	}
	old := tried.Before.JobByID(job.Namespace, job.ID)
	updates := desiredUpdates(tried, old)
	resp := &api.JobPlanResponse{
		Annotations: &api.PlanAnnotations{DesiredTGUpdates: updates}, FailedTGAllocs: apitypes.Eval(tried.Eval).FailedTGAllocs,
		Warnings: strings.Join(warnings, "\n"),
	}
	ready := tried.Before.NodesIn(job.Datacenters).Ready
	for _, m := range resp.FailedTGAllocs {
		m.NodesEvaluated, m.NodesExhausted = ready, ready // nodes are refused for want of room, and for nothing else
	}
	for _, e := range tried.Evals {
		resp.CreatedEvals = append(resp.CreatedEvals, apitypes.Eval(e))
	}
	if old != nil {
		resp.JobModifyIndex = old.JobModifyIndex
	}
	if req.Diff {
		var before *api.Job
		if old != nil {
			before = apitypes.Job(old, "")
		}
		resp.Diff = apitypes.Diff(before, apitypes.Job(tried.Job, ""))
		annotate(resp.Diff, updates)
	}
	if p := req.Job.Periodic; job.Periodic != nil {
		zone, err := p.GetLocation()
		if err == nil {
			resp.NextPeriodicLaunch, err = p.Next(time.Now().In(zone))
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return resp, max(resp.JobModifyIndex, 1), nil
}

// desiredUpdates counts what a plan does to the allocations of each group (structs.go,
// DesiredUpdates). Old is the registered job, nil if there is none.
func desiredUpdates(tried *cluster.Trial, old *rpc.Job) map[string]*api.DesiredUpdates {
	groups := map[string]*api.DesiredUpdates{}
	for _, job := range []*rpc.Job{old, tried.Job} {
		for i := 0; job != nil && i < len(job.TaskGroups); i++ {
			groups[job.TaskGroups[i].Name] = new(api.DesiredUpdates)
		}
	}
	placed, replaced := map[string]bool{}, map[string]bool{} // by the ID of the allocation that there was
	stopped := map[string]*rpc.Allocation{}
	if tried.Plan != nil {
		for _, allocs := range tried.Plan.NodeAllocation {
			for _, x := range allocs {
				placed[x.ID], replaced[x.PreviousAllocation] = true, true
				if tried.Before.AllocByID(x.ID) == nil {
					groups[x.TaskGroup].Place++
				}
			}
		}
		for _, allocs := range tried.Plan.NodeUpdate {
			for _, x := range allocs {
				stopped[x.ID] = x
			}
		}
	}
	outdated := map[string]uint64{} // groups' allocations that stay as they are for want of room
	for _, x := range tried.Before.AllocsByJob(broker.JobID{Namespace: tried.Job.Namespace, ID: tried.Job.ID}) {
		of := groups[x.TaskGroup]
		finished := x.JobType == rpc.JobTypeBatch && x.ClientStatus == rpc.AllocClientComplete && !x.ServerTerminal()
		switch stop := stopped[x.ID]; {
		case of == nil || x.Terminal() && !finished:
		case stop == nil && placed[x.ID]:
			of.InPlaceUpdate++
		case stop == nil:
			of.Ignore++
			if !finished && x.JobVersion != tried.Job.Version {
				outdated[x.TaskGroup]++
			}
		case replaced[x.ID] && stop.DesiredDescription == scheduler.AllocMigrating:
			of.Migrate++
			of.Place--
		case replaced[x.ID] && stop.DesiredDescription == scheduler.AllocUpdating:
			of.DestructiveUpdate++
			of.Place--
		default:
			of.Stop++
		}
	}
	for group, n := range tried.Eval.FailedTGAllocs {
		kept := min(uint64(n), outdated[group]) // what is to be replaced goes on until there is room
		of := groups[group]
		of.DestructiveUpdate, of.Ignore, of.Place = of.DestructiveUpdate+kept, of.Ignore-kept, of.Place+uint64(n)-kept
	}
	return groups
}

// annotate adds to a diff what the change makes schedulers do (scheduler/annotate.go). Nomad decides by the changed
// fields whether a task is replaced. The schedulers here replace tasks for fewer reasons, so annotate takes
// from the plan what a changed task forces.
func annotate(d *api.JobDiff, updates map[string]*api.DesiredUpdates) {
	for _, g := range d.TaskGroups {
		u := updates[g.Name]
		g.Updates = map[string]uint64{}
		for word, n := range map[string]uint64{
			"ignore": u.Ignore, "create": u.Place, "destroy": u.Stop, "migrate": u.Migrate,
			"in-place update": u.InPlaceUpdate, "create/destroy update": u.DestructiveUpdate,
		} {
			if n > 0 {
				g.Updates[word] = n
			}
		}
		for _, f := range g.Fields {
			if f.Name == "Count" {
				f.Annotations = forced(u.Place > 0, "create", u.Stop > 0, "destroy")
			}
		}
		for _, t := range g.Tasks {
			switch {
			case t.Type == "None":
			case t.Type == "Edited":
				t.Annotations = forced(u.DestructiveUpdate > 0, "create/destroy update", u.InPlaceUpdate > 0, "in-place update")
			default:
				t.Annotations = forced(u.Place+u.DestructiveUpdate > 0, "create", u.Stop > 0, "destroy")
			}
		}
	}
}

// forced returns the annotation of a change: that it forces one if first is true, or else other if second is.
func forced(first bool, one string, second bool, other string) []string {
	switch {
	case first:
		return []string{"forces " + one}
	case second:
		return []string{"forces " + other}
	}
	return nil
}
