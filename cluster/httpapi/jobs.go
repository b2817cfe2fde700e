package httpapi

import (
	"cmp"
	"fmt"
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

const jobNotFound = "job not found"

func (a *API) jobRoutes() {
	a.handle("/v1/jobs", methods{"GET": a.read(listJobs), "PUT": a.write(a.register)})
	a.handle("/v1/jobs/parse", methods{"PUT": http.HandlerFunc(refuseParse)})
	a.handle("/v1/validate/job", methods{"PUT": a.write(a.validate)})
	a.handle("/v1/job/{id}", methods{"GET": a.read(ofJob(jobInfo)), "PUT": a.write(a.register), "DELETE": a.write(a.deregister)})
	for part, look := range map[string]func(*state.Snapshot, *http.Request, *rpc.Job) answer{
		"summary": jobSummary, "versions": jobVersions, "deployment": jobDeployment, "deployments": jobDeployments,
	} {
		a.handle("/v1/job/{id}/"+part, methods{"GET": a.read(ofJob(look))})
	}
	a.handle("/v1/job/{id}/allocations", methods{"GET": a.read(jobAllocations)})
	a.handle("/v1/job/{id}/evaluations", methods{"GET": a.read(jobEvaluations)})
	a.handle("/v1/job/{id}/scale", methods{"GET": a.read(ofJob(jobScale)), "PUT": a.write(a.scale)})
	a.handle("/v1/job/{id}/evaluate", methods{"PUT": a.write(a.evaluateJob)})
	a.handle("/v1/job/{id}/plan", methods{"PUT": a.write(a.plan)})
	a.handle("/v1/job/{id}/periodic/force", methods{"PUT": a.write(a.forcePeriodic)})
}

// refuseParse answers that there is no parser: that of job files is no part of the module
// nomad/api.
func refuseParse(w http.ResponseWriter, _ *http.Request) {
	fail(w, errorf(http.StatusNotImplemented, "the simulated cluster does not support parsing job files: parse them with the nomad command (nomad job run -output FILE), and send JSON"))
}

func jobKey(namespace, id string) string { return namespace + "." + id }

func listJobs(s *state.Snapshot, _ *http.Request, q *query) (answer, error) {
	// The status in the list follows from evaluations and allocations, too.
	index := max(s.JobsIndex(), s.EvalsIndex(), s.AllocsIndex())
	return answer{index: index, body: func() (any, string, error) {
		facts := apitypes.NewJobFacts(s)
		return page(q, s.Jobs(), listing[*rpc.Job, *api.JobListStub]{
			token: func(j *rpc.Job) string { return jobKey(j.Namespace, j.ID) },
			keep:  func(j *rpc.Job) bool { return q.in(j.Namespace) && strings.HasPrefix(j.ID, q.prefix) },
			shape: func(j *rpc.Job) *api.JobListStub {
				return apitypes.JobStub(j, facts.Status(s, j), facts.Summary(s, j))
			},
			whole: func(j *rpc.Job) any { return apitypes.Job(j, facts.Status(s, j)) },
		})
	}}, nil
}

// ofJob turns a look at a job into one at the job of the path.
func ofJob(look func(*state.Snapshot, *http.Request, *rpc.Job) answer) func(*state.Snapshot, *http.Request, *query) (answer, error) {
	return func(s *state.Snapshot, r *http.Request, q *query) (answer, error) {
		job := s.JobByID(q.namespace, r.PathValue("id"))
		if job == nil {
			return answer{index: s.JobsIndex(), missing: jobNotFound}, nil
		}
		return look(s, r, job), nil
	}
}

func jobID(j *rpc.Job) broker.JobID { return broker.JobID{Namespace: j.Namespace, ID: j.ID} }

func jobInfo(s *state.Snapshot, _ *http.Request, job *rpc.Job) answer {
	return all(job.ModifyIndex, func() any { return apitypes.Job(job, apitypes.NewJobFacts(s).Status(s, job)) })
}

func jobSummary(s *state.Snapshot, _ *http.Request, job *rpc.Job) answer {
	return all(max(job.ModifyIndex, s.EvalsIndex(), s.AllocsIndex()), func() any { return apitypes.NewJobFacts(s).Summary(s, job) })
}

// jobVersions answers with the present version: the state keeps no others.
func jobVersions(s *state.Snapshot, _ *http.Request, job *rpc.Job) answer {
	return all(job.ModifyIndex, func() any {
		return indexed{&api.JobVersionsResponse{Versions: []*api.Job{apitypes.Job(job, apitypes.NewJobFacts(s).Status(s, job))}}, job.ModifyIndex}
	})
}

func jobDeployment(s *state.Snapshot, _ *http.Request, job *rpc.Job) answer {
	return all(s.DeploymentsIndex(), func() any {
		if d := s.DeploymentOf(jobID(job)); d != nil {
			return apitypes.Deployment(d)
		}
		return nil
	})
}

func jobDeployments(s *state.Snapshot, _ *http.Request, job *rpc.Job) answer {
	return all(s.DeploymentsIndex(), func() any {
		found := []*api.Deployment{}
		for d := range deployments(s) {
			if d.Namespace == job.Namespace && d.JobID == job.ID && d.JobCreateIndex == job.CreateIndex {
				found = append(found, apitypes.Deployment(d))
			}
		}
		return found
	})
}

func jobScale(s *state.Snapshot, _ *http.Request, job *rpc.Job) answer {
	return all(max(job.ModifyIndex, s.AllocsIndex()), func() any {
		of := &api.JobScaleStatusResponse{
			JobID: job.ID, Namespace: job.Namespace, JobCreateIndex: job.CreateIndex, JobModifyIndex: job.ModifyIndex, JobStopped: job.Stop,
			TaskGroups: map[string]api.TaskGroupScaleStatus{},
		}
		for _, g := range job.TaskGroups {
			of.TaskGroups[g.Name] = api.TaskGroupScaleStatus{Desired: g.Count}
		}
		for _, alloc := range s.AllocsByJob(jobID(job)) {
			g, known := of.TaskGroups[alloc.TaskGroup]
			if !known || alloc.Terminal() {
				continue
			}
			g.Placed++
			if alloc.ClientStatus == rpc.AllocClientRunning {
				g.Running++
			}
			switch alloc.Health {
			case rpc.AllocHealthy:
				g.Healthy++
			case rpc.AllocUnhealthy:
				g.Unhealthy++
			}
			of.TaskGroups[alloc.TaskGroup] = g
		}
		return of
	})
}

func jobAllocations(s *state.Snapshot, r *http.Request, q *query) (answer, error) {
	return answer{index: s.AllocsIndex(), body: func() (any, string, error) {
		return allocPage(s, q, slices.Values(s.AllocsByJob(broker.JobID{Namespace: q.namespace, ID: r.PathValue("id")})))
	}}, nil
}

func jobEvaluations(s *state.Snapshot, r *http.Request, q *query) (answer, error) {
	return answer{index: s.EvalsIndex(), body: func() (any, string, error) {
		return evalPage(q, slices.Values(s.EvalsByJob(broker.JobID{Namespace: q.namespace, ID: r.PathValue("id")})), everyEval)
	}}, nil
}

// allocPage returns a page of allocations.
func allocPage(s *state.Snapshot, q *query, rows iter.Seq[*rpc.Allocation]) (any, string, error) {
	jobs := newJobCache(s)
	return page(q, rows, listing[*rpc.Allocation, *api.AllocationListStub]{
		token: func(x *rpc.Allocation) string { return x.ID },
		keep:  func(x *rpc.Allocation) bool { return q.in(x.Namespace) && strings.HasPrefix(x.ID, q.prefix) },
		shape: func(x *rpc.Allocation) *api.AllocationListStub { return apitypes.AllocStub(s, x) },
		whole: func(x *rpc.Allocation) any { return apitypes.Alloc(s, x, jobs.of(x)) },
	})
}

// register registers a job, under the ID of the path if there is one.
func (a *API) register(w http.ResponseWriter, r *http.Request, q *query) (any, uint64, error) {
	var req api.JobRegisterRequest
	if err := a.decode(w, r, &req); err != nil {
		return nil, 0, err
	}
	job, warnings, err := a.userJob(r, q, req.Job)
	if err != nil {
		return nil, 0, err
	}
	if req.EnforceIndex {
		before, err := a.fresh(r.Context())
		if err != nil {
			return nil, 0, err
		}
		if err := enforce(before.JobByID(job.Namespace, job.ID), req.JobModifyIndex); err != nil {
			return nil, 0, err
		}
	}
	evalID, err := a.Cluster.RegisterJob(r.Context(), job)
	if err != nil {
		return nil, 0, err
	}
	return a.registered(r, job.Namespace, job.ID, evalID, strings.Join(warnings, "\n"))
}

// userJob returns the job that a user sends.
func (a *API) userJob(r *http.Request, q *query, def *api.Job) (*rpc.Job, []string, error) {
	switch id := r.PathValue("id"); {
	case def == nil:
		return nil, nil, errorf(http.StatusBadRequest, "Job must be specified")
	case def.ID == nil:
		return nil, nil, errorf(http.StatusBadRequest, "Job must have a valid ID")
	case id != "" && *def.ID != id:
		return nil, nil, errorf(http.StatusBadRequest, "Job ID does not match name")
	}
	if def.Namespace == nil || *def.Namespace == "" {
		def.Namespace = new(q.namespace)
	}
	job, warnings, err := apitypes.ToJob(def)
	if err != nil {
		return nil, nil, errorf(http.StatusInternalServerError, "1 error occurred:\n\t* %s\n\n", strings.ReplaceAll(err.Error(), "\n", "\n\t* "))
	}
	if *def.Region != apitypes.Region {
		return nil, nil, errorf(http.StatusInternalServerError, "No path to region")
	}
	if job.Namespace != rpc.DefaultNamespace {
		return nil, nil, errorf(http.StatusInternalServerError, "job %q is in nonexistent namespace %q", job.ID, job.Namespace)
	}
	return job, warnings, nil
}

// enforce compares the index that a user expects of a job with what it has
// (nomad/job_endpoint.go, RegisterEnforceIndexErrPrefix).
func enforce(job *rpc.Job, want uint64) error {
	const text = "Enforcing job modify index %d: %s"
	switch {
	case want == 0 && job != nil:
		return errorf(http.StatusInternalServerError, text, want, "job already exists")
	case want != 0 && job == nil:
		return errorf(http.StatusInternalServerError, text, want, "job does not exist")
	case want != 0 && want != job.JobModifyIndex:
		return errorf(http.StatusInternalServerError, text, want, fmt.Sprintf("job exists with conflicting job modify index: %d", job.JobModifyIndex))
	}
	return nil
}

// registered answers a call that made an evaluation of a job, or none of a periodic one.
func (a *API) registered(r *http.Request, namespace, id, evalID, warnings string) (any, uint64, error) {
	s, err := a.fresh(r.Context())
	if err != nil {
		return nil, 0, err
	}
	resp := &api.JobRegisterResponse{EvalID: evalID, Warnings: warnings}
	if job := s.JobByID(namespace, id); job != nil {
		resp.JobModifyIndex = job.JobModifyIndex
	}
	if e := s.EvalByID(evalID); e != nil {
		resp.EvalCreateIndex = e.CreateIndex
	}
	index := max(resp.JobModifyIndex, resp.EvalCreateIndex)
	resp.LastIndex = index
	return resp, index, nil
}

func (a *API) validate(w http.ResponseWriter, r *http.Request, q *query) (any, uint64, error) {
	var req api.JobValidateRequest
	if err := a.decode(w, r, &req); err != nil {
		return nil, 0, err
	}
	resp := &api.JobValidateResponse{DriverConfigValidated: true}
	_, warnings, err := apitypes.ToJob(req.Job)
	resp.Warnings = strings.Join(warnings, "\n")
	if err != nil {
		resp.ValidationErrors, resp.Error = strings.Split(err.Error(), "\n"), err.Error()
	}
	return resp, 0, nil
}

// deregisterResponse is api.JobDeregisterResponse with the fields that servers still fill for the
// volumes of releases before 1.2.
type deregisterResponse struct {
	*api.JobDeregisterResponse
	VolumeEvalID    string
	VolumeEvalIndex uint64
}

func (a *API) deregister(_ http.ResponseWriter, r *http.Request, q *query) (any, uint64, error) {
	evalID, err := a.Cluster.StopJob(r.Context(), q.namespace, r.PathValue("id"), r.URL.Query().Get("purge") == "true")
	if err != nil {
		return nil, 0, err
	}
	reg, index, err := a.registered(r, q.namespace, r.PathValue("id"), evalID, "")
	if err != nil {
		return nil, 0, err
	}
	of := reg.(*api.JobRegisterResponse)
	return &deregisterResponse{JobDeregisterResponse: &api.JobDeregisterResponse{
		EvalID: of.EvalID, EvalCreateIndex: of.EvalCreateIndex, JobModifyIndex: cmp.Or(of.JobModifyIndex, index),
	}}, index, nil
}

func (a *API) scale(w http.ResponseWriter, r *http.Request, q *query) (any, uint64, error) {
	var req api.ScalingRequest
	if err := a.decode(w, r, &req); err != nil {
		return nil, 0, err
	}
	if req.Count == nil {
		return nil, 0, errorf(http.StatusBadRequest, "missing count: the simulated cluster keeps no scaling events without one")
	}
	id := r.PathValue("id")
	evalID, err := a.Cluster.ScaleJob(r.Context(), q.namespace, id, req.Target["Group"], int(*req.Count))
	if err != nil {
		return nil, 0, err
	}
	return a.registered(r, q.namespace, id, evalID, "")
}

func (a *API) evaluateJob(_ http.ResponseWriter, r *http.Request, q *query) (any, uint64, error) {
	id := r.PathValue("id")
	evalID, err := a.Cluster.EvaluateJob(r.Context(), q.namespace, id)
	if err != nil {
		return nil, 0, err
	}
	return a.registered(r, q.namespace, id, evalID, "")
}

func (a *API) forcePeriodic(_ http.ResponseWriter, r *http.Request, q *query) (any, uint64, error) {
	id := r.PathValue("id")
	evalID, err := a.Cluster.ForcePeriodic(r.Context(), q.namespace, id)
	if err != nil {
		return nil, 0, err
	}
	return a.registered(r, q.namespace, id, evalID, "")
}
