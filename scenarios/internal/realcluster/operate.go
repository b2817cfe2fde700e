package realcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster/rpc"
)

// workerTypes are the schedulers of a server, of which servers demand the core scheduler.
var workerTypes = []string{rpc.JobTypeService, rpc.JobTypeBatch, rpc.JobTypeSystem, rpc.JobTypeSysBatch, rpc.JobTypeCore}

// SetSchedulers sets num_schedulers on every server that runs.
func (c *Cluster) SetSchedulers(perServer int) error {
	for i, s := range c.servers {
		if !c.Running(i) {
			continue
		}
		if err := s.setWorkers(workers{NumSchedulers: perServer, EnabledSchedulers: workerTypes}); err != nil {
			return fmt.Errorf("set num_schedulers of server %d to %d: %w", i+1, perServer, err)
		}
	}
	return nil
}

// workers is what a server's schedulers are.
type workers = api.SchedulerWorkerPoolArgs

func (s *server) setWorkers(w workers) error {
	_, err := s.client.Agent().SetSchedulerWorkerConfig(w, nil)
	return asError(err)
}

// namespace returns the namespace for a job of a scenario, which knows none but the default one: the
// user's, if there is one.
func (c *Cluster) namespace(of string) string {
	if of == "" || of == rpc.DefaultNamespace {
		return cmp.Or(c.cfg.API[0].Namespace, rpc.DefaultNamespace)
	}
	return of
}

func write(ctx context.Context, namespace string) *api.WriteOptions {
	return (&api.WriteOptions{Namespace: namespace}).WithContext(ctx)
}

// RegisterJob submits a job, new or changed.
func (c *Cluster) RegisterJob(ctx context.Context, job *rpc.Job) (evalID string, err error) {
	err = c.call(func(client *api.Client) error {
		resp, _, err := client.Jobs().Register(c.asJob(job), write(ctx, c.namespace(job.Namespace)))
		if err == nil {
			evalID = resp.EvalID
		}
		return err
	})
	return evalID, err
}

// StopJob stops a job, or forgets it as well when purge is set.
func (c *Cluster) StopJob(ctx context.Context, namespace, id string, purge bool) (evalID string, err error) {
	err = c.call(func(client *api.Client) (err error) {
		evalID, _, err = client.Jobs().Deregister(id, purge, write(ctx, c.namespace(namespace)))
		return err
	})
	return evalID, err
}

// ScaleJob sets the count of a group. An empty group is the first.
func (c *Cluster) ScaleJob(ctx context.Context, namespace, id, group string, count int) (evalID string, err error) {
	err = c.call(func(client *api.Client) error {
		if group == "" {
			job, _, err := client.Jobs().Info(id, (&api.QueryOptions{Namespace: c.namespace(namespace)}).WithContext(ctx))
			if err != nil {
				return err
			}
			group = *job.TaskGroups[0].Name
		}
		resp, _, err := client.Jobs().Scale(id, group, &count, "", false, nil, write(ctx, c.namespace(namespace)))
		if err == nil {
			evalID = resp.EvalID
		}
		return err
	})
	return evalID, err
}

// PauseEvalBroker sets pause_eval_broker and leaves the rest of the scheduler configuration as it
// is.
func (c *Cluster) PauseEvalBroker(ctx context.Context, paused bool) error {
	return c.call(func(client *api.Client) error {
		now, _, err := client.Operator().SchedulerGetConfiguration((&api.QueryOptions{}).WithContext(ctx))
		if err != nil {
			return err
		}
		if now.SchedulerConfig == nil {
			return errors.New("the cluster has no scheduler configuration yet")
		}
		now.SchedulerConfig.PauseEvalBroker = paused
		_, _, err = client.Operator().SchedulerSetConfiguration(now.SchedulerConfig, write(ctx, ""))
		return err
	})
}

// NodeIDs returns the nodes as they were last seen.
func (c *Cluster) NodeIDs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.nodes))
}

// DrainNode starts or changes a node's drain; given nil it ends it.
func (c *Cluster) DrainNode(ctx context.Context, nodeID string, drain *rpc.DrainStrategy, markEligible bool) error {
	var spec *api.DrainSpec
	if drain != nil {
		spec = &api.DrainSpec{Deadline: drain.Deadline, IgnoreSystemJobs: drain.IgnoreSystemJobs}
	}
	return c.call(func(client *api.Client) error {
		_, err := client.Nodes().UpdateDrain(nodeID, spec, markEligible, write(ctx, ""))
		return err
	})
}

// SetEligibility says whether schedulers may place on a node.
func (c *Cluster) SetEligibility(ctx context.Context, nodeID string, eligible bool) error {
	return c.call(func(client *api.Client) error {
		_, err := client.Nodes().ToggleEligibility(nodeID, eligible, write(ctx, ""))
		return err
	})
}
