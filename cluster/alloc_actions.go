package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// FailAllocs makes the clients of up to n allocations of a job report, all at one instant,
// that they failed, and returns the IDs of those that are. Allocations whose nodes are not
// ready cannot fail: their clients are not heard. What clients report within 50 ms is one
// entry, and makes one evaluation per job, however many failed
// (nodesim's clients learn of it with the next change of the allocation). It is no error if
// the job has none to fail. An empty namespace stands for "default".
func (c *Cluster) FailAllocs(ctx context.Context, namespace, job string, n int) ([]string, error) {
	def(&namespace, rpc.DefaultNamespace)
	l := c.leader()
	if l == nil {
		return nil, fmt.Errorf("fail allocations of job %q: %w", job, rpc.ErrNoLeader)
	}
	if _, err := l.findJob(namespace, job); err != nil {
		return nil, fmt.Errorf("fail allocations: %w", err)
	}
	victims := allocsToFail(l.store.Snapshot(), broker.JobID{Namespace: namespace, ID: job}, n)
	byNode := map[string][]*rpc.Allocation{}
	var failed []string
	for _, a := range victims {
		byNode[a.NodeID] = append(byNode[a.NodeID], failureOf(a))
		failed = append(failed, a.ID)
	}
	server := 0
	for server < c.cfg.Servers-1 && c.server(server) == nil {
		server++
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	errs := map[string]error{}
	for node, updates := range byNode {
		wg.Go(func() {
			_, err := c.NodeServer(server).UpdateAlloc(ctx, &rpc.AllocUpdateRequest{NodeID: node, Alloc: updates})
			mu.Lock()
			defer mu.Unlock()
			errs[node] = err
		})
	}
	wg.Wait()
	var all []error
	for _, a := range victims {
		all = append(all, errs[a.NodeID])
		errs[a.NodeID] = nil
	}
	return failed, errors.Join(all...)
}

// failureOf is what a client reports of an allocation that fails. One that fails before it
// was found healthy is unhealthy (client/allochealth/tracker.go).
func failureOf(a *rpc.Allocation) *rpc.Allocation {
	u := &rpc.Allocation{ID: a.ID, NodeID: a.NodeID, ClientStatus: rpc.AllocClientFailed, ClientDescription: "Failed tasks"}
	if a.DeploymentID != "" && a.Health == "" {
		u.Health = rpc.AllocUnhealthy
	}
	return u
}

func allocsToFail(snap *state.Snapshot, job broker.JobID, n int) []*rpc.Allocation {
	allocs := slices.DeleteFunc(snap.AllocsByJob(job), func(a *rpc.Allocation) bool {
		node := snap.NodeByID(a.NodeID)
		return a.Terminal() || node == nil || node.Status != rpc.NodeStatusReady
	})
	slices.SortFunc(allocs, func(a, b *rpc.Allocation) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return allocs[:min(max(n, 0), len(allocs))]
}
