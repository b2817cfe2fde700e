package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// RegisterJob submits a job, new or changed, and returns the ID of the evaluation that
// will place it. One entry holds both, as since Nomad 0.12 (nomad/job_endpoint.go).
func (c *Cluster) RegisterJob(ctx context.Context, job *rpc.Job) (evalID string, err error) {
	j := job.Copy()
	def(&j.Namespace, rpc.DefaultNamespace)
	def(&j.Priority, 50)
	switch j.Type {
	case rpc.JobTypeService, rpc.JobTypeBatch, rpc.JobTypeSystem, rpc.JobTypeSysBatch:
	default:
		return "", fmt.Errorf("job %q has type %q; allowed are service, batch, system and sysbatch", j.ID, j.Type)
	}
	return c.submitJob(ctx, j.ID, func(l *server) (string, error) {
		e := l.jobEval(j, broker.TriggeredByJobRegister)
		_, err := l.raftApply(jobRegisterRequestType, &jobRegisterRequest{Job: j, Eval: e})
		return e.ID, err
	})
}

// StopJob stops a job, or forgets it as well when purge is set, and returns the ID of
// the evaluation that will stop its allocations.
func (c *Cluster) StopJob(ctx context.Context, namespace, id string, purge bool) (evalID string, err error) {
	return c.submitJob(ctx, id, func(l *server) (string, error) {
		job := l.store.Snapshot().JobByID(namespace, id)
		if job == nil {
			return "", fmt.Errorf("job %q not found in namespace %q", id, namespace)
		}
		e := l.jobEval(job, broker.TriggeredByJobDeregister)
		_, err := l.raftApply(jobDeregisterRequestType, &jobDeregisterRequest{Namespace: namespace, JobID: id, Purge: purge, Eval: e})
		return e.ID, err
	})
}

// submitJob sends a user's call to the first server that runs, which forwards it.
func (c *Cluster) submitJob(ctx context.Context, id string, fn func(l *server) (string, error)) (string, error) {
	for i := range c.cfg.Servers {
		if s := c.server(i); s != nil {
			return clientCall(ctx, nodeServer{c, i}, "user/"+id, "Job.Register", func(s *server) (string, error) {
				return forward(ctx, s, "Job.Register/"+id, fn)
			})
		}
	}
	return "", rpc.ErrUnreachable
}

func (s *server) jobEval(job *rpc.Job, trigger string) *broker.Evaluation {
	now := time.Now().UnixNano()
	return &broker.Evaluation{
		ID:        s.uuid("job-eval", job.Namespace, job.ID),
		Namespace: job.Namespace, JobID: job.ID, Type: job.Type, Priority: job.Priority,
		TriggeredBy: trigger, Status: broker.StatusPending, CreateTime: now, ModifyTime: now,
	}
}
