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
)

// FailAllocs makes the clients of up to n allocations of a job report, all at one instant,
// that they failed, and returns the IDs of those that are. Allocations whose nodes are not
// ready cannot fail: their clients are not heard. What clients report within 50 ms is one
// entry, and makes one evaluation per job, however many failed
// (nodesim's clients learn of it with the next change of the allocation). An empty
// namespace stands for "default".
func (c *Cluster) FailAllocs(ctx context.Context, namespace, job string, n int) ([]string, error) {
	def(&namespace, rpc.DefaultNamespace)
	victims := c.allocsToFail(namespace, job, n)
	if len(victims) == 0 {
		return nil, fmt.Errorf("fail %d allocations of job %q: it has none that runs on a ready node", n, job)
	}
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

func (c *Cluster) allocsToFail(namespace, job string, n int) []*rpc.Allocation {
	l := c.leader()
	if l == nil {
		return nil
	}
	snap := l.store.Snapshot()
	allocs := slices.DeleteFunc(snap.AllocsByJob(broker.JobID{Namespace: namespace, ID: job}), func(a *rpc.Allocation) bool {
		node := snap.NodeByID(a.NodeID)
		return a.Terminal() || node == nil || node.Status != rpc.NodeStatusReady
	})
	slices.SortFunc(allocs, func(a, b *rpc.Allocation) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return allocs[:min(max(n, 0), len(allocs))]
}
