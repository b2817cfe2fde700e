package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster/apitypes"
	"github.com/simctl/simctl/cluster/rpc"
)

// defaultSchedulers is how many workers servers have that do not say.
const defaultSchedulers = 2

// look reads the cluster as it is now. It returns the index from which on events are news.
func (r *recorder) look(ctx context.Context) (index uint64, err error) {
	peers, err := r.client.Status().Peers()
	if err != nil {
		return 0, err
	}
	r.seen.servers, r.seen.schedulers = len(peers), defaultSchedulers
	q := (&api.QueryOptions{}).WithContext(ctx)
	if pool, err := r.client.Agent().GetSchedulerWorkerConfig(q); err == nil && pool.NumSchedulers > 0 {
		r.seen.schedulers = pool.NumSchedulers
	} else {
		r.seen.omit("the number of scheduler workers, which this agent does not tell: the variable schedulers is a guess")
	}
	// Events are followed from the index of the list that is read first. Events that the second list shows already change
	// nothing.
	if index, err = r.lookAtNodes(ctx, 0); err != nil {
		return 0, err
	}
	return index, r.lookAtJobs(ctx, 0)
}

// lookAtNodes takes note of all nodes.
func (r *recorder) lookAtNodes(ctx context.Context, at time.Duration) (index uint64, err error) {
	q := &api.QueryOptions{Params: map[string]string{"resources": "true", "os": "true"}}
	stubs, meta, err := r.client.Nodes().List(q.WithContext(ctx))
	if err != nil {
		return 0, err
	}
	for _, n := range stubs {
		if r.seen.nodes[n.ID] == nil && n.SchedulingEligibility == api.NodeSchedulingIneligible {
			r.seen.omit("a node is not eligible, or drains")
		}
		r.seen.sawNode(n.ID, kindOf(n.Datacenter, n.NodeClass, n.Attributes, n.NodeResources, n.ReservedResources), n.Status, at)
	}
	return meta.LastIndex, nil
}

// kindOf returns what a scenario knows of a node. Its resources are those that are left for jobs.
func kindOf(datacenter, class string, attributes map[string]string, has *api.NodeResources, reserved *api.NodeReservedResources) kind {
	k := kind{Datacenter: datacenter, Class: class, OS: attributes["os.name"]}
	if has != nil {
		k.Resources = rpc.Resources{CPUMHz: int(has.Cpu.CpuShares), MemoryMB: int(has.Memory.MemoryMB), DiskMB: int(has.Disk.DiskMB)}
	}
	if reserved != nil {
		k.Resources.CPUMHz -= int(reserved.Cpu.CpuShares)
		k.Resources.MemoryMB -= int(reserved.Memory.MemoryMB)
		k.Resources.DiskMB -= int(reserved.Disk.DiskMB)
	}
	return k
}

// lookAtJobs takes note of all jobs that run, and of those that no longer do.
func (r *recorder) lookAtJobs(ctx context.Context, at time.Duration) error {
	q := (&api.QueryOptions{Namespace: api.AllNamespacesNamespace}).WithContext(ctx)
	stubs, _, err := r.client.Jobs().List(q)
	if err != nil {
		return err
	}
	listed := map[jobKey]bool{}
	for _, s := range stubs {
		key := jobKey{s.Namespace, s.ID}
		listed[key] = true
		switch known := r.seen.jobs[key]; {
		case s.ParentID != "":
			continue // its parent launches it
		case s.Stop && known != nil:
			r.seen.sawEnd(key, false, at)
			continue
		case s.Stop, s.Status == "dead" && !s.Periodic:
			if at == 0 {
				r.seen.omit("a job has ended")
			}
			continue
		}
		def, _, err := r.client.Jobs().Info(s.ID, (&api.QueryOptions{Namespace: s.Namespace}).WithContext(ctx))
		if e, ok := errors.AsType[api.UnexpectedResponseError](err); ok && e.StatusCode() == http.StatusNotFound {
			listed[key] = false // it has been purged since
			continue
		}
		if err != nil {
			return fmt.Errorf("job %s: %w", s.ID, err)
		}
		text, err := json.Marshal(def)
		if err != nil {
			return fmt.Errorf("job %s: %w", s.ID, err)
		}
		r.job(text, at)
	}
	for key := range r.seen.jobs {
		if !listed[key] {
			r.seen.sawEnd(key, true, at)
		}
	}
	return nil
}

// job takes note of a job, by its definition in JSON. What no scenario can say is noted without
// the names of groups and tasks, which may be secret.
func (r *recorder) job(text []byte, at time.Duration) {
	def, err := apitypes.ReadJob(text)
	if err != nil {
		r.seen.omit("a job that cannot be read: " + err.Error())
		return
	}
	if def.ID == nil || def.ParentID != nil && *def.ParentID != "" {
		return
	}
	id := *def.ID
	def.ID = new(r.names.shown("job", id))
	job, warnings, err := apitypes.ToJob(def)
	if err != nil {
		r.seen.omit(strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	key := jobKey{job.Namespace, id}
	if r.seen.jobs[key] == nil {
		for _, w := range warnings {
			_, what, _ := strings.Cut(w, ": ")
			r.seen.omit(what)
		}
	}
	r.seen.sawJob(key, job, *def.JobModifyIndex, at)
}
