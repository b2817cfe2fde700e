package server

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/state"
)

// RegisterJob answers Job.Register on the leader (nomad/job_endpoint.go, Register): one
// entry holds job and evaluation, as since Nomad 0.12.
func (s *Server) RegisterJob(job *rpc.Job) (evalID string, err error) {
	s.Because(fsm.JobRegistered)
	return s.withEval(job, broker.TriggeredByJobRegister, func(e *broker.Evaluation) fsm.Command {
		return fsm.JobRegister.With(&fsm.JobRegisterRequest{Job: job, Eval: e, Time: s.Wall().UnixNano()})
	})
}

// EvaluateJob answers Job.Evaluate on the leader (nomad/job_endpoint.go).
func (s *Server) EvaluateJob(namespace, id string) (evalID string, err error) {
	job, err := s.FindJob(namespace, id)
	if err != nil {
		return "", err
	}
	if job.Periodic != nil {
		return "", fmt.Errorf("can't evaluate periodic job")
	}
	s.Because(fsm.JobEvaluated)
	return s.withEval(job, broker.TriggeredByJobRegister, func(e *broker.Evaluation) fsm.Command {
		e.JobModifyIndex = job.ModifyIndex
		return fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: []*broker.Evaluation{e}})
	})
}

// StopJob answers Job.Deregister on the leader (nomad/job_endpoint.go, Deregister). Old
// releases do not mind whether the job is there.
func (s *Server) StopJob(namespace, id string, purge bool) (evalID string, err error) {
	job := s.Snapshot().JobByID(namespace, id)
	switch {
	case job == nil && s.cfg.Habits.UnknownJobsLeftAlone:
		return "", nil
	case job == nil:
		job = &rpc.Job{Namespace: namespace, ID: id, Type: rpc.JobTypeService, Priority: leader.PurgedPriority}
	}
	s.Because(fsm.JobStopped)
	return s.withEval(job, broker.TriggeredByJobDeregister, func(e *broker.Evaluation) fsm.Command {
		return fsm.JobDeregister.With(&fsm.JobDeregisterRequest{Namespace: namespace, JobID: id, Purge: purge, Eval: e})
	})
}

// ScaleJob answers Job.Scale on the leader (nomad/job_endpoint.go, Scale): it costs three
// entries, the job, the evaluation and a scaling event.
func (s *Server) ScaleJob(namespace, id, group string, count int) (evalID string, err error) {
	job, group, err := s.scaled(namespace, id, group, count)
	if err != nil {
		return "", err
	}
	s.Because(fsm.JobScaled, fsm.ScaleEvaluated, fsm.ScalingRecorded)
	index, err := s.Write(fsm.JobRegister.With(&fsm.JobRegisterRequest{Job: job, Time: s.Wall().UnixNano()}))
	if err != nil {
		return "", err
	}
	e := leader.JobEval(s, job, broker.TriggeredByJobScaling)
	e.JobModifyIndex = index
	if _, err := s.Write(fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: []*broker.Evaluation{e}})); err != nil {
		return "", err
	}
	_, err = s.Write(fsm.ScalingEventRegister.With(&fsm.ScalingEventRequest{
		Namespace: namespace, JobID: id, TaskGroup: group, Count: count, EvalID: s.evalID(e), Time: s.Wall().UnixNano(),
	}))
	return s.evalID(e), err
}

// ForcePeriodic answers Periodic.Force on the leader (nomad/periodic_endpoint.go, Force).
func (s *Server) ForcePeriodic(namespace, id string) (evalID string, err error) {
	job, err := s.FindJob(namespace, id)
	if err != nil {
		return "", err
	}
	if job.Periodic == nil || job.Stop {
		return "", fmt.Errorf("job %q cannot be forced: it is not an active periodic job", id)
	}
	return s.periodic.Launch(job, s.Wall())
}

// SetSchedulerConfig answers Operator.SchedulerSetConfiguration on the leader
// (nomad/operator_endpoint.go).
func (s *Server) SetSchedulerConfig(cfg rpc.SchedulerConfig) error {
	s.Because(fsm.SchedulerConfigured)
	if _, err := s.Write(fsm.SchedulerConfig.With(&fsm.SchedulerConfigRequest{Config: cfg})); err != nil {
		return err
	}
	if s.evals.SetEnabled(true) {
		s.evals.Restore()
	}
	return nil
}

// scaled returns the job with the count of a group changed, and the name of that group: an
// empty one stands for the first.
func (s *Server) scaled(namespace, id, group string, count int) (*rpc.Job, string, error) {
	job, err := s.FindJob(namespace, id)
	if err != nil {
		return nil, "", err
	}
	if job.Periodic != nil {
		return nil, "", fmt.Errorf("job %q is periodic and runs nothing itself: change the job in place of scaling it", id)
	}
	if job.Type != rpc.JobTypeService && job.Type != rpc.JobTypeBatch {
		return nil, "", fmt.Errorf("job %q is a %s job, which has no count: only service and batch jobs can be scaled", id, job.Type)
	}
	at := 0
	if group != "" {
		at = slices.IndexFunc(job.TaskGroups, func(tg rpc.TaskGroup) bool { return tg.Name == group })
	}
	if at < 0 || at >= len(job.TaskGroups) {
		return nil, "", fmt.Errorf("job %q has no task group %q to scale", id, group)
	}
	if d := s.Snapshot().DeploymentOf(broker.JobID{Namespace: namespace, ID: id}); d.Active() && d.JobCreateIndex == job.CreateIndex {
		return nil, "", fmt.Errorf("job %q cannot be scaled: deployment %s is active, wait until it ends", id, d.ID)
	}
	j := job.Copy()
	j.TaskGroups = slices.Clone(job.TaskGroups)
	j.TaskGroups[at].Count = count
	return j, j.TaskGroups[at].Name, nil
}

// withEval writes an entry about a job with an evaluation of it and returns the ID of
// that. A periodic job is not evaluated itself: then there is neither.
func (s *Server) withEval(job *rpc.Job, trigger string, with func(*broker.Evaluation) fsm.Command) (string, error) {
	if job.Periodic != nil {
		_, err := s.Write(with(nil))
		return "", err
	}
	e := leader.JobEval(s, job, trigger)
	_, err := s.Write(with(e))
	return s.evalID(e), err
}

// evalID returns what callers are told of an evaluation that was written. They are told of none
// that only the leader's queue knows.
func (s *Server) evalID(e *broker.Evaluation) string {
	if s.cfg.Design.WorkQueue {
		return ""
	}
	return e.ID
}

// Trial is what a scheduler makes of a job that is not registered.
type Trial struct {
	Before *state.Snapshot      // that the job was tried on
	Job    *rpc.Job             // as it would be registered
	Plan   *scheduler.Plan      // nil if nothing is left to do
	Evals  []*broker.Evaluation // that the scheduler would create
	Eval   *broker.Evaluation   // the job's, as it would end
}

// TryJob answers Job.Plan on the leader (nomad/job_endpoint.go, Plan). It writes nothing.
func (s *Server) TryJob(job *rpc.Job) (*Trial, error) {
	before := s.Snapshot()
	on := state.New()
	on.Adopt(before)
	if err := on.Update(before.Index()+1, func(tx *state.Tx) error { return tx.UpsertJob(job.Copy()) }); err != nil {
		return nil, err
	}
	tried := &Trial{Before: before, Job: on.Snapshot().JobByID(job.Namespace, job.ID)}
	sched, err := scheduler.New(leader.JobEval(s, job, broker.TriggeredByJobRegister), nil, rand.New(rand.NewPCG(s.seed, 0)))
	if err != nil {
		return nil, err
	}
	sched.Habits = s.cfg.Habits.Scheduler
	attempt := sched.Plan(on.Snapshot(), s.Wall())
	if tried.Plan = attempt.Plan; tried.Plan != nil {
		sched.Committed(&scheduler.PlanResult{
			NodeUpdate: tried.Plan.NodeUpdate, NodeAllocation: tried.Plan.NodeAllocation,
			Deployment: tried.Plan.Deployment, DeploymentUpdates: tried.Plan.DeploymentUpdates,
		})
	}
	out := sched.Outcome(s.Wall()).Evals
	tried.Evals, tried.Eval = slices.Concat(attempt.Evals, out[:len(out)-1]), out[len(out)-1]
	return tried, nil
}

// FindJob returns a job of the state. The error wraps rpc.ErrJobNotFound.
func (s *Server) FindJob(namespace, id string) (*rpc.Job, error) {
	if job := s.Snapshot().JobByID(namespace, id); job != nil {
		return job, nil
	}
	return nil, fmt.Errorf("job %q in namespace %q: %w", id, namespace, rpc.ErrJobNotFound)
}

// purgeJobs answers Job.BatchDeregister on the leader (nomad/job_endpoint.go). Newer releases make no evaluations.
func (s *Server) purgeJobs(jobs []broker.JobID) error {
	snap := s.Snapshot()
	req := &fsm.JobBatchDeregisterRequest{Jobs: jobs}
	for _, id := range jobs {
		if job := snap.JobByID(id.Namespace, id.ID); job != nil && job.Periodic == nil && !s.cfg.Habits.PurgesMakeNoEvals {
			req.Evals = append(req.Evals, leader.JobEval(s, job, broker.TriggeredByJobDeregister))
		}
	}
	s.Because(fsm.JobsCollected)
	_, err := s.Write(fsm.JobBatchDeregister.With(req))
	return err
}

// deleteDeployments answers Deployment.Reap on the leader (nomad/deployment_endpoint.go).
func (s *Server) deleteDeployments(ids []string) error {
	s.Because(fsm.DeploymentsCollected)
	_, err := s.Write(fsm.DeploymentDelete.With(&fsm.DeploymentDeleteRequest{Deployments: ids}))
	return err
}
