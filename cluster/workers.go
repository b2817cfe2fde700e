package cluster

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/simctl/simctl/cluster/internal/server"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
)

// What workers outside of the cluster ask of it. The calls go to server i, which forwards them to
// the leader. Worker tells the calls of one from those of others.

// Work is an evaluation that a worker has. Its Eval is nil if none came up in time.
type Work = server.Dequeued

// Plans, and what came of them.
type (
	Plan       = scheduler.Plan
	PlanResult = scheduler.PlanResult
)

// dequeueTimeout is how long a worker waits that does not say how long (nomad/eval_endpoint.go,
// DefaultDequeueTimeout).
const dequeueTimeout = time.Second

// Dequeue waits for an evaluation for one of the scheduler types.
func (c *Cluster) Dequeue(ctx context.Context, i int, worker string, schedulers []string, timeout time.Duration) (Work, error) {
	if len(schedulers) == 0 {
		return Work{}, fmt.Errorf("worker %s asks for evaluations of no type: it must name one", worker)
	}
	for _, kind := range schedulers {
		switch kind {
		case rpc.JobTypeService, rpc.JobTypeBatch, rpc.JobTypeSystem, rpc.JobTypeSysBatch:
		default:
			return Work{}, fmt.Errorf("worker %s asks for evaluations of type %q; there are service, batch, system and sysbatch", worker, kind)
		}
	}
	return server.ToLeader(ctx, c.server(i), worker, "Eval.Dequeue", worker, func(l *server.Server) (Work, error) {
		return l.DequeueEval(ctx, schedulers, cmp.Or(max(timeout, 0), dequeueTimeout), 0)
	})
}

// EndEval acknowledges an evaluation, or gives it back. The error wraps rpc.ErrEvalNotFound if the
// state has no such evaluation.
func (c *Cluster) EndEval(ctx context.Context, i int, worker, evalID, token string, ack bool) error {
	_, err := server.ToLeader(ctx, c.server(i), worker, "Eval.Ack", evalID, func(l *server.Server) (struct{}, error) {
		e := l.Snapshot().EvalByID(evalID)
		if e == nil {
			return struct{}{}, fmt.Errorf("end evaluation %s: %w", evalID, rpc.ErrEvalNotFound)
		}
		return struct{}{}, l.EndEval(Work{Eval: e, Token: token}, ack)
	})
	return err
}

// SubmitPlan has the leader verify and commit a plan.
func (c *Cluster) SubmitPlan(ctx context.Context, i int, worker string, p *Plan) (*PlanResult, error) {
	return server.ToLeader(ctx, c.server(i), worker, "Plan.Submit", p.EvalID, func(l *server.Server) (*PlanResult, error) {
		return l.SubmitPlan(ctx, p)
	})
}
