package httpapi

import (
	"iter"
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/apitypes"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

func (a *API) evalRoutes() {
	a.handle("/v1/evaluations", methods{"GET": a.read(listEvals)})
	a.handle("/v1/evaluations/count", methods{"GET": a.read(countEvals)})
	a.handle("/v1/evaluation/{id}", methods{"GET": a.read(evalInfo)})
	a.handle("/v1/evaluation/{id}/allocations", methods{"GET": a.read(evalAllocations)})
	a.handle("/v1/deployments", methods{"GET": a.read(listDeployments)})
	a.handle("/v1/deployment/{id}", methods{"GET": a.read(deploymentInfo)})
	a.handle("/v1/deployment/allocations/{id}", methods{"GET": a.read(deploymentAllocations)})
}

func everyEval(*broker.Evaluation) bool { return true }

// evalPage returns a page of evaluations.
func evalPage(q *query, rows iter.Seq[*broker.Evaluation], keep func(*broker.Evaluation) bool) (any, string) {
	return page(q, rows,
		func(e *broker.Evaluation) string { return e.ID },
		func(e *broker.Evaluation) bool {
			return q.in(e.Namespace) && strings.HasPrefix(e.ID, q.prefix) && keep(e)
		},
		apitypes.Eval)
}

func listEvals(s *state.Snapshot, r *http.Request, q *query) (answer, error) {
	job, status := r.URL.Query().Get("job"), r.URL.Query().Get("status")
	return answer{index: s.EvalsIndex(), body: func() (any, string) {
		return evalPage(q, s.Evals(), func(e *broker.Evaluation) bool {
			return (job == "" || e.JobID == job) && (status == "" || e.Status == status)
		})
	}}, nil
}

func countEvals(s *state.Snapshot, _ *http.Request, q *query) (answer, error) {
	return all(s.EvalsIndex(), func() any {
		n := 0
		for e := range s.Evals() {
			if q.in(e.Namespace) && strings.HasPrefix(e.ID, q.prefix) {
				n++
			}
		}
		return &api.EvalCountResponse{Count: n}
	}), nil
}

func evalInfo(s *state.Snapshot, r *http.Request, _ *query) (answer, error) {
	e := s.EvalByID(r.PathValue("id"))
	if e == nil {
		return answer{index: s.EvalsIndex(), missing: "eval not found"}, nil
	}
	return all(e.ModifyIndex, func() any {
		of := apitypes.Eval(e)
		if r.URL.Query().Get("related") == "true" {
			of.RelatedEvals = apitypes.Related(s, e)
		}
		return of
	}), nil
}

func evalAllocations(s *state.Snapshot, r *http.Request, _ *query) (answer, error) {
	return allocsWhere(s, func(alloc *rpc.Allocation) bool { return alloc.EvalID == r.PathValue("id") }), nil
}

// allocsWhere is the answer with all allocations that are wanted.
func allocsWhere(s *state.Snapshot, want func(*rpc.Allocation) bool) answer {
	return all(s.AllocsIndex(), func() any {
		found := []*api.AllocationListStub{}
		for alloc := range s.Allocs() {
			if want(alloc) {
				found = append(found, apitypes.AllocStub(s, alloc))
			}
		}
		return found
	})
}

// deploymentsIndex returns the index of the last change of a deployment: its own, or that of
// the jobs, with which deployments go.
func deploymentsIndex(s *state.Snapshot) uint64 {
	index := s.JobsIndex()
	for d := range s.Deployments() {
		index = max(index, d.ModifyIndex)
	}
	return index
}

func listDeployments(s *state.Snapshot, _ *http.Request, q *query) (answer, error) {
	return answer{index: deploymentsIndex(s), body: func() (any, string) {
		return page(q, s.Deployments(),
			func(d *rpc.Deployment) string { return jobKey(d.Namespace, d.JobID) },
			func(d *rpc.Deployment) bool { return q.in(d.Namespace) && strings.HasPrefix(d.ID, q.prefix) },
			apitypes.Deployment)
	}}, nil
}

func deploymentInfo(s *state.Snapshot, r *http.Request, _ *query) (answer, error) {
	for d := range s.Deployments() {
		if d.ID == r.PathValue("id") {
			return all(d.ModifyIndex, func() any { return apitypes.Deployment(d) }), nil
		}
	}
	return answer{index: deploymentsIndex(s), missing: "deployment not found"}, nil
}

func deploymentAllocations(s *state.Snapshot, r *http.Request, _ *query) (answer, error) {
	return allocsWhere(s, func(alloc *rpc.Allocation) bool { return alloc.DeploymentID == r.PathValue("id") }), nil
}
