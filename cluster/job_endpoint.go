package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// RegisterJob submits a job, new or changed, and returns the ID of the evaluation that
// will place it. A job that differs from the registered one in what its user asked for is
// its next version. One entry holds job and evaluation, as since Nomad 0.12
// (nomad/job_endpoint.go, Register). An empty namespace and a priority of zero stand for
// Nomad's defaults, "default" and 50. A periodic job has no evaluation, and the ID is
// empty: the leader launches jobs like it when their time comes.
func (c *Cluster) RegisterJob(ctx context.Context, job *rpc.Job) (evalID string, err error) {
	j := job.Copy()
	def(&j.Namespace, rpc.DefaultNamespace)
	def(&j.Priority, 50)
	switch j.Type {
	case rpc.JobTypeService, rpc.JobTypeBatch, rpc.JobTypeSystem, rpc.JobTypeSysBatch:
	default:
		return "", fmt.Errorf("job %q has type %q; allowed are service, batch, system and sysbatch", j.ID, j.Type)
	}
	if err := checkPeriodic(j); err != nil {
		return "", err
	}
	return userCall(ctx, c, "Job.Register", j.ID, func(l *server) (string, error) {
		l.happened(func(c *Causes) { c.JobsRegistered++ })
		return l.withEval(j, broker.TriggeredByJobRegister, func(e *broker.Evaluation) error {
			_, err := l.raftApply(jobRegisterRequestType, &jobRegisterRequest{Job: j, Eval: e, Time: time.Now().UnixNano()})
			return err
		})
	})
}

// StopJob stops a job, or forgets it as well when purge is set, and returns the ID of
// the evaluation that will stop its allocations (nomad/job_endpoint.go, Deregister). An
// empty namespace stands for "default".
func (c *Cluster) StopJob(ctx context.Context, namespace, id string, purge bool) (evalID string, err error) {
	def(&namespace, rpc.DefaultNamespace)
	return userCall(ctx, c, "Job.Deregister", id, func(l *server) (string, error) {
		job, err := l.findJob(namespace, id)
		if err != nil {
			return "", err
		}
		l.happened(func(c *Causes) { c.JobsStopped++ })
		return l.withEval(job, broker.TriggeredByJobDeregister, func(e *broker.Evaluation) error {
			_, err := l.raftApply(jobDeregisterRequestType, &jobDeregisterRequest{Namespace: namespace, JobID: id, Purge: purge, Eval: e})
			return err
		})
	})
}

// ScaleJob sets the count of a group of a service or batch job, which makes a new version
// of it, and returns the ID of the evaluation that places or stops the difference. It
// fails while a deployment of the job goes on. It costs three entries: the job, the
// evaluation and a scaling event (nomad/job_endpoint.go, Scale). An empty group stands for
// the first, an empty namespace for "default".
func (c *Cluster) ScaleJob(ctx context.Context, namespace, id, group string, count int) (evalID string, err error) {
	def(&namespace, rpc.DefaultNamespace)
	if count < 0 {
		return "", fmt.Errorf("scale job %q to %d: the count must not be negative", id, count)
	}
	return userCall(ctx, c, "Job.Scale", id, func(l *server) (string, error) {
		scaled, err := l.scaled(namespace, id, group, count)
		if err != nil {
			return "", err
		}
		l.happened(func(c *Causes) { c.JobsScaled++ })
		index, err := l.raftApply(jobRegisterRequestType, &jobRegisterRequest{Job: scaled.job, Time: time.Now().UnixNano()})
		if err != nil {
			return "", err
		}
		e := l.jobEval(scaled.job, broker.TriggeredByJobScaling)
		e.JobModifyIndex = index
		if _, err := l.raftApply(evalUpdateRequestType, &evalUpdateRequest{Evals: some(e)}); err != nil {
			return "", err
		}
		_, err = l.raftApply(scalingEventRegisterRequestType, &scalingEventRequest{
			Namespace: namespace, JobID: id, TaskGroup: scaled.group, Count: count, EvalID: e.ID, Time: time.Now().UnixNano(),
		})
		return e.ID, err
	})
}

type scaledJob struct {
	job   *rpc.Job
	group string
}

// scaled returns the job with the count of a group changed.
func (s *server) scaled(namespace, id, group string, count int) (scaledJob, error) {
	job, err := s.findJob(namespace, id)
	if err != nil {
		return scaledJob{}, err
	}
	if job.Periodic != nil {
		return scaledJob{}, fmt.Errorf("job %q is periodic and runs nothing itself: change the job in place of scaling it", id)
	}
	if job.Type != rpc.JobTypeService && job.Type != rpc.JobTypeBatch {
		return scaledJob{}, fmt.Errorf("job %q is a %s job, which has no count: only service and batch jobs can be scaled", id, job.Type)
	}
	at := 0
	if group != "" {
		at = slices.IndexFunc(job.TaskGroups, func(tg rpc.TaskGroup) bool { return tg.Name == group })
	}
	if at < 0 || at >= len(job.TaskGroups) {
		return scaledJob{}, fmt.Errorf("job %q has no task group %q to scale", id, group)
	}
	if d := s.store.Snapshot().DeploymentOf(broker.JobID{Namespace: namespace, ID: id}); d.Active() && d.JobCreateIndex == job.CreateIndex {
		return scaledJob{}, fmt.Errorf("job %q cannot be scaled: deployment %s is active, wait until it ends", id, d.ID)
	}
	j := job.Copy()
	j.TaskGroups = slices.Clone(job.TaskGroups)
	j.TaskGroups[at].Count = count
	return scaledJob{j, j.TaskGroups[at].Name}, nil
}

// withEval writes an entry about a job with an evaluation of it and returns the ID of
// that. A periodic job is not evaluated itself: then there is neither.
func (s *server) withEval(job *rpc.Job, trigger string, write func(*broker.Evaluation) error) (string, error) {
	if job.Periodic != nil {
		return "", write(nil)
	}
	e := s.jobEval(job, trigger)
	return e.ID, write(e)
}

func (s *server) findJob(namespace, id string) (*rpc.Job, error) {
	if job := s.store.Snapshot().JobByID(namespace, id); job != nil {
		return job, nil
	}
	return nil, fmt.Errorf("job %q in namespace %q: %w", id, namespace, rpc.ErrJobNotFound)
}

// userCall sends a user's call about a job or a node to the first server that runs, which
// forwards it.
func userCall[T any](ctx context.Context, c *Cluster, method, id string, fn func(leader *server) (T, error)) (T, error) {
	for i := range c.cfg.Servers {
		if c.server(i) != nil {
			return clientCall(ctx, nodeServer{c, i}, "user/"+id, method, func(s *server) (T, error) {
				return forward(ctx, s, method+"/"+id, fn)
			})
		}
	}
	var zero T
	return zero, rpc.ErrUnreachable
}

func (s *server) jobEval(job *rpc.Job, trigger string) *broker.Evaluation {
	now := time.Now().UnixNano()
	return &broker.Evaluation{
		ID:        s.uuid("job-eval", job.Namespace, job.ID),
		Namespace: job.Namespace, JobID: job.ID, Type: job.Type, Priority: job.Priority,
		TriggeredBy: trigger, Status: broker.StatusPending, CreateTime: now, ModifyTime: now,
	}
}

// recordScaling has nothing to keep: nobody reads scaling events here, but Nomad writes
// the entry.
func (f *fsm) recordScaling(index uint64, _ *scalingEventRequest) error {
	f.charge(0, 0)
	return f.srv.store.Update(index, func(*state.Tx) error { return nil })
}
