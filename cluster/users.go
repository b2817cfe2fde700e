package cluster

import (
	"cmp"
	"context"
	"fmt"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/internal/server"
	"github.com/simctl/simctl/cluster/rpc"
)

// What users and operators ask of a cluster. The calls go to the first server that runs,
// which forwards them to the leader.

// RegisterJob submits a job, new or changed, and returns the ID of the evaluation that
// will place it. A job that differs from the registered one in what its user asked for is
// its next version. An empty namespace and a priority of zero stand for Nomad's defaults,
// "default" and 50. A periodic job has no evaluation, and the ID is empty: the leader
// launches jobs like it when their time comes.
func (c *Cluster) RegisterJob(ctx context.Context, job *rpc.Job) (evalID string, err error) {
	j := job.Copy()
	j.Namespace, j.Priority = cmp.Or(j.Namespace, rpc.DefaultNamespace), cmp.Or(j.Priority, 50)
	switch j.Type {
	case rpc.JobTypeService, rpc.JobTypeBatch, rpc.JobTypeSystem, rpc.JobTypeSysBatch:
	default:
		return "", fmt.Errorf("job %q has type %q; allowed are service, batch, system and sysbatch", j.ID, j.Type)
	}
	if err := leader.CheckPeriodic(j); err != nil {
		return "", err
	}
	return userCall(ctx, c, "Job.Register", j.ID, func(l *server.Server) (string, error) { return l.RegisterJob(j) })
}

// EvaluateJob makes schedulers look at a job again and returns the ID of the evaluation. An
// empty namespace stands for "default".
func (c *Cluster) EvaluateJob(ctx context.Context, namespace, id string) (evalID string, err error) {
	namespace = cmp.Or(namespace, rpc.DefaultNamespace)
	return userCall(ctx, c, "Job.Evaluate", id, func(l *server.Server) (string, error) { return l.EvaluateJob(namespace, id) })
}

// Trial is what a scheduler makes of a job that is not registered.
type Trial = server.Trial

// TryJob says what would come of registering a job, and changes nothing.
func (c *Cluster) TryJob(ctx context.Context, job *rpc.Job) (*Trial, error) {
	return userCall(ctx, c, "Job.Plan", job.ID, func(l *server.Server) (*Trial, error) { return l.TryJob(job) })
}

// StopJob stops a job, or forgets it as well when purge is set, and returns the ID of
// the evaluation that will stop its allocations. Under old releases there is one even if there is
// no such job. An empty namespace stands for "default".
func (c *Cluster) StopJob(ctx context.Context, namespace, id string, purge bool) (evalID string, err error) {
	namespace = cmp.Or(namespace, rpc.DefaultNamespace)
	return userCall(ctx, c, "Job.Deregister", id, func(l *server.Server) (string, error) { return l.StopJob(namespace, id, purge) })
}

// ScaleJob sets the count of a group of a service or batch job, which makes a new version
// of it, and returns the ID of the evaluation that places or stops the difference. It
// fails while a deployment of the job goes on. An empty group stands for the first, an
// empty namespace for "default".
func (c *Cluster) ScaleJob(ctx context.Context, namespace, id, group string, count int) (evalID string, err error) {
	namespace = cmp.Or(namespace, rpc.DefaultNamespace)
	if count < 0 || count > rpc.MaxCount {
		return "", fmt.Errorf("scale job %q to %d: the count must be between 0 and %d", id, count, rpc.MaxCount)
	}
	return userCall(ctx, c, "Job.Scale", id, func(l *server.Server) (string, error) { return l.ScaleJob(namespace, id, group, count) })
}

// ForcePeriodic launches a periodic job now, whatever its time and whether it overlaps, and
// returns the ID of the launched job's evaluation. An empty namespace stands for "default".
func (c *Cluster) ForcePeriodic(ctx context.Context, namespace, id string) (evalID string, err error) {
	namespace = cmp.Or(namespace, rpc.DefaultNamespace)
	return userCall(ctx, c, "Periodic.Force", id, func(l *server.Server) (string, error) { return l.ForcePeriodic(namespace, id) })
}

// SetEligibility says whether schedulers may place on a node. Nothing is written when
// that is so already; a node that becomes eligible gets evaluations like one that became
// ready. The error wraps rpc.ErrNodeNotFound if there is no such node; a draining node
// cannot be made eligible.
func (c *Cluster) SetEligibility(ctx context.Context, nodeID string, eligible bool) error {
	return tell(ctx, c, "Node.UpdateEligibility", nodeID, func(l *server.Server) error { return l.SetEligibility(nodeID, eligible) })
}

// DrainNode starts or changes a node's drain, or given nil ends it: then markEligible
// makes the node eligible again, which a node that finished draining is not by itself. The
// leader's drainer moves the allocations away. The error wraps rpc.ErrNodeNotFound if
// there is no such node.
func (c *Cluster) DrainNode(ctx context.Context, nodeID string, drain *rpc.DrainStrategy, markEligible bool) error {
	return c.DrainNodeNoting(ctx, nodeID, drain, markEligible, nil)
}

// DrainNodeNoting is DrainNode with what the operator notes of the drain, in whatever form.
func (c *Cluster) DrainNodeNoting(ctx context.Context, nodeID string, drain *rpc.DrainStrategy, markEligible bool, meta []byte) error {
	return tell(ctx, c, "Node.UpdateDrain", nodeID, func(l *server.Server) error { return l.UpdateDrain(nodeID, drain, markEligible, meta) })
}

// EvaluateNode makes schedulers look again at all jobs that a node concerns. The error wraps
// rpc.ErrNodeNotFound if there is no such node.
func (c *Cluster) EvaluateNode(ctx context.Context, nodeID string) error {
	return tell(ctx, c, "Node.Evaluate", nodeID, func(l *server.Server) error { return l.EvaluateNode(nodeID) })
}

// PurgeNode makes the servers forget a node, whose allocations schedulers then declare lost.
// The error wraps rpc.ErrNodeNotFound if there is no such node.
func (c *Cluster) PurgeNode(ctx context.Context, nodeID string) error {
	return tell(ctx, c, "Node.Deregister", nodeID, func(l *server.Server) error { return l.DeregisterNodes([]string{nodeID}) })
}

// SetSchedulerConfig replaces the scheduler configuration. Pausing the broker makes the
// leader forget every evaluation that is queued, delivered or blocked; they stay in state,
// as do those that are created meanwhile, and all of them are restored when it goes on.
func (c *Cluster) SetSchedulerConfig(ctx context.Context, cfg rpc.SchedulerConfig) error {
	return tell(ctx, c, "Operator.SchedulerSetConfiguration", "scheduler", func(l *server.Server) error { return l.SetSchedulerConfig(cfg) })
}

// PauseEvalBroker sets pause_eval_broker in the scheduler configuration and leaves the
// rest of that as it is.
func (c *Cluster) PauseEvalBroker(ctx context.Context, paused bool) error {
	var cfg rpc.SchedulerConfig
	if l := c.leader(); l != nil {
		cfg = l.Snapshot().SchedulerConfig()
	}
	cfg.PauseEvalBroker = paused
	return c.SetSchedulerConfig(ctx, cfg)
}

// DeleteEvals deletes evaluations while the broker is paused: those with these IDs or, if matches is
// not nil, those that match and may go. It returns their number and the index of the last
// entry that it took; zero if it took none. The error wraps rpc.ErrBrokerEnabled or rpc.ErrEvalNotFound.
func (c *Cluster) DeleteEvals(ctx context.Context, ids []string, matches func(*broker.Evaluation) bool) (n int, index uint64, err error) {
	err = tell(ctx, c, "Eval.Delete", "evals", func(l *server.Server) (err error) {
		n, index, err = l.DeleteEvals(ids, matches)
		return err
	})
	return n, index, err
}

// ForceGC makes the cluster collect everything that is over, however new it is
// (nomad/system_endpoint.go, GarbageCollect). It returns before that is done.
func (c *Cluster) ForceGC(ctx context.Context) error {
	return tell(ctx, c, "System.GarbageCollect", "gc", func(l *server.Server) error {
		l.ForceGC()
		return nil
	})
}

// SetNumSchedulers changes the number of workers of every server, as a reload of the
// configuration does. It returns when workers that must go have gone.
func (c *Cluster) SetNumSchedulers(n int) {
	for i := range c.cfg.Servers {
		if s := c.server(i); s != nil {
			s.SetSchedulers(n)
		}
	}
}

// NumSchedulers returns the number of workers that server i is to have.
func (c *Cluster) NumSchedulers(i int) int {
	c.mu.Lock()
	s := c.servers[i]
	c.mu.Unlock()
	return s.NumSchedulers()
}

// userCall sends a user's call about a job or a node to the first server that runs, which
// forwards it.
func userCall[T any](ctx context.Context, c *Cluster, method, id string, fn func(leader *server.Server) (T, error)) (T, error) {
	for i := range c.cfg.Servers {
		if s := c.server(i); s != nil {
			return server.ToLeader(ctx, s, "user/"+id, method, id, fn)
		}
	}
	var zero T
	return zero, rpc.ErrUnreachable
}

// tell is userCall for calls without an answer.
func tell(ctx context.Context, c *Cluster, method, id string, fn func(leader *server.Server) error) error {
	_, err := userCall(ctx, c, method, id, func(l *server.Server) (struct{}, error) { return struct{}{}, fn(l) })
	return err
}
