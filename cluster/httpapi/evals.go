package httpapi

import (
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/apitypes"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

func (a *API) evalRoutes() {
	a.handle("/v1/evaluations", methods{"GET": a.read(listEvals), "DELETE": a.write(a.deleteEvals)})
	a.handle("/v1/evaluations/count", methods{"GET": a.read(countEvals)})
	a.handle("/v1/evaluation/{id}", methods{"GET": a.read(evalInfo)})
	a.handle("/v1/evaluation/{id}/allocations", methods{"GET": a.read(evalAllocations)})
	a.handle("/v1/deployments", methods{"GET": a.read(listDeployments)})
	a.handle("/v1/deployment/{id}", methods{"GET": a.read(deploymentInfo)})
	a.handle("/v1/deployment/allocations/{id}", methods{"GET": a.read(deploymentAllocations)})
}

func everyEval(*broker.Evaluation) bool { return true }

// evalPage returns a page of evaluations.
func evalPage(q *query, rows iter.Seq[*broker.Evaluation], keep func(*broker.Evaluation) bool) (any, string, error) {
	return page(q, rows, listing[*broker.Evaluation, *api.Evaluation]{
		token: func(e *broker.Evaluation) string { return e.ID },
		keep: func(e *broker.Evaluation) bool {
			return q.in(e.Namespace) && strings.HasPrefix(e.ID, q.prefix) && keep(e)
		},
		shape: apitypes.Eval,
		whole: wholeEval,
	})
}

// wholeEval is an evaluation as filters see it.
func wholeEval(e *broker.Evaluation) any { return apitypes.Eval(e) }

func listEvals(s *state.Snapshot, r *http.Request, q *query) (answer, error) {
	job, status := r.URL.Query().Get("job"), r.URL.Query().Get("status")
	return answer{index: s.EvalsIndex(), body: func() (any, string, error) {
		return evalPage(q, s.Evals(), func(e *broker.Evaluation) bool {
			return (job == "" || e.JobID == job) && (status == "" || e.Status == status)
		})
	}}, nil
}

func countEvals(s *state.Snapshot, _ *http.Request, q *query) (answer, error) {
	return answer{index: s.EvalsIndex(), body: func() (any, string, error) {
		q.perPage, q.nextToken = 0, ""
		found, _, err := evalPage(q, s.Evals(), everyEval)
		if err != nil {
			return nil, "", err
		}
		return indexed{&api.EvalCountResponse{Count: len(found.([]*api.Evaluation))}, s.EvalsIndex()}, "", nil
	}}, nil
}

// maxEvalIDs is how many IDs a request can name (structs.go, MaxUUIDsPerWriteRequest).
const maxEvalIDs = 7281

func (a *API) deleteEvals(w http.ResponseWriter, r *http.Request, _ *query) (any, uint64, error) {
	var req api.EvalDeleteRequest
	if err := a.decode(w, r, &req); err != nil {
		return nil, 0, err
	}
	var matches func(*broker.Evaluation) bool
	switch {
	case req.Filter != "" && len(req.EvalIDs) > 0:
		return nil, 0, errorf(http.StatusBadRequest, "evals cannot be deleted by both ID and filter")
	case req.Filter == "" && len(req.EvalIDs) == 0:
		return nil, 0, errorf(http.StatusBadRequest, "evals must be deleted by either ID or filter")
	case len(req.EvalIDs) > maxEvalIDs:
		return nil, 0, errorf(http.StatusBadRequest, "request includes %d evaluation IDs, must be %d or fewer", len(req.EvalIDs), maxEvalIDs)
	case req.Filter != "":
		filter, err := newFilter(req.Filter)
		if err != nil {
			return nil, 0, err
		}
		matches = func(e *broker.Evaluation) bool { // an evaluation that the filter fails on stays
			ok, err := filter.Evaluate(wholeEval(e))
			return ok && err == nil
		}
	}
	n, index, err := a.Cluster.DeleteEvals(r.Context(), req.EvalIDs, matches)
	return &api.EvalDeleteResponse{Count: n}, index, err
}

func evalInfo(s *state.Snapshot, r *http.Request, _ *query) (answer, error) {
	e := s.EvalByID(r.PathValue("id"))
	if e == nil {
		return answer{index: s.EvalsIndex(), missing: "eval not found"}, nil
	}
	return all(e.ModifyIndex, func() any {
		of := apitypes.Eval(e)
		of.DeploymentID = deploymentOf(s, e)
		if r.URL.Query().Get("related") == "true" {
			of.RelatedEvals = apitypes.Related(s, e)
		}
		return of
	}), nil
}

// deploymentOf returns the ID of the deployment that an evaluation is about. Nomad's schedulers write it into evaluations
// that are over, and its command then follows the deployment.
func deploymentOf(s *state.Snapshot, e *broker.Evaluation) string {
	if d := s.DeploymentOf(e.Job()); d != nil && e.DeploymentID == "" && e.Terminal() && d.CreateIndex <= e.ModifyIndex {
		return d.ID
	}
	return e.DeploymentID
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

// deployments iterates over all deployments, in the order of their IDs.
func deployments(s *state.Snapshot) iter.Seq[*rpc.Deployment] {
	all := slices.AppendSeq(slices.Collect(s.Deployments()), s.PastDeployments())
	slices.SortFunc(all, func(a, b *rpc.Deployment) int { return strings.Compare(a.ID, b.ID) })
	return slices.Values(all)
}

func listDeployments(s *state.Snapshot, _ *http.Request, q *query) (answer, error) {
	return answer{index: s.DeploymentsIndex(), body: func() (any, string, error) {
		return page(q, deployments(s), listing[*rpc.Deployment, *api.Deployment]{
			token: func(d *rpc.Deployment) string { return d.ID },
			keep:  func(d *rpc.Deployment) bool { return q.in(d.Namespace) && strings.HasPrefix(d.ID, q.prefix) },
			shape: apitypes.Deployment,
			whole: func(d *rpc.Deployment) any { return apitypes.Deployment(d) },
		})
	}}, nil
}

func deploymentInfo(s *state.Snapshot, r *http.Request, _ *query) (answer, error) {
	for d := range deployments(s) {
		if d.ID == r.PathValue("id") {
			return all(d.ModifyIndex, func() any { return apitypes.Deployment(d) }), nil
		}
	}
	return answer{index: s.DeploymentsIndex(), missing: "deployment not found"}, nil
}

func deploymentAllocations(s *state.Snapshot, r *http.Request, _ *query) (answer, error) {
	return allocsWhere(s, func(alloc *rpc.Allocation) bool { return alloc.DeploymentID == r.PathValue("id") }), nil
}
