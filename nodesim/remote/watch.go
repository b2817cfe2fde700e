package remote

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/nomadrpc"
)

// GetClientAllocs always makes its caller wait: a call of Node.GetClientAllocs has a goroutine,
// which ends when the server answers. What has changed is fetched in the rest of the call
// (client/client.go, watchAllocations).
func (s server) GetClientAllocs(ctx context.Context, req *rpc.NodeSpecificRequest, resume func(rpc.ClientAllocsCall)) (*rpc.NodeClientAllocsResponse, error) {
	n := s.node(req.NodeID)
	out := nomadrpc.NodeSpecificRequest{NodeID: req.NodeID, SecretID: n.secret, QueryOptions: nomadrpc.QueryOptions{
		Region: s.cfg.Region, MinQueryIndex: req.MinQueryIndex, MaxQueryTime: req.MaxQueryTime, AllowStale: req.MinQueryIndex > 0,
	}}
	if s.habits.tokens {
		out.AuthToken = n.token()
	}
	waiting, end := n.newWatch(ctx)
	s.wg.Go(func() {
		defer end()
		var resp nomadrpc.NodeClientAllocsResponse
		err := s.call(waiting, n, "Node.GetClientAllocs", &out, &resp)
		if waiting.Err() != nil {
			return // the client has stopped
		}
		resume(func() (*rpc.NodeClientAllocsResponse, error) {
			if err != nil {
				return nil, err
			}
			return s.fetch(ctx, n, req.MinQueryIndex, &resp)
		})
	})
	return nil, nil
}

// fetch gets the allocations that have changed, and returns all of the node's.
func (s server) fetch(ctx context.Context, n *node, since uint64, listed *nomadrpc.NodeClientAllocsResponse) (*rpc.NodeClientAllocsResponse, error) {
	if listed.Index <= since {
		return n.list(since), nil // a timeout, or a server that is behind
	}
	if since == 0 {
		n.forget() // since is zero when the client has just started, and has forgotten, too
	}
	changed, newest := n.changed(listed.Allocs)
	if len(changed) == 0 {
		return n.list(listed.Index), nil
	}
	req := nomadrpc.AllocsGetRequest{AllocIDs: changed, QueryOptions: nomadrpc.QueryOptions{
		Region: s.cfg.Region, MinQueryIndex: newest - 1, AllowStale: true, AuthToken: n.token(),
	}}
	var resp nomadrpc.AllocsGetResponse
	if err := s.call(ctx, n, "Alloc.GetAllocs", &req, &resp); err != nil {
		return nil, err
	}
	if resp.Index <= req.MinQueryIndex {
		return nil, fmt.Errorf("Alloc.GetAllocs: the server is behind: it answered with index %d, want more than %d", resp.Index, req.MinQueryIndex)
	}
	fetched := 0
	for _, a := range resp.Allocs {
		if a != nil {
			fetched++
			s.remember(n, a)
		}
	}
	if fetched < len(changed) {
		pause(ctx, s.incomplete+rand.N(s.incomplete))
		return n.list(since), nil
	}
	return n.list(listed.Index), nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// changed returns the allocations to fetch, in the order of their IDs, and the greatest of
// their indexes. It forgets allocations that are no longer listed.
func (n *node) changed(listed map[string]uint64) (ids []string, newest uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := range n.allocs {
		if _, ok := listed[id]; !ok {
			delete(n.allocs, id)
		}
	}
	for id, index := range listed {
		if had, ok := n.allocs[id]; !ok || index > had.alloc.AllocModifyIndex {
			ids, newest = append(ids, id), max(newest, index)
		}
	}
	slices.Sort(ids)
	return ids, newest
}

// remember keeps of an allocation what later calls need.
func (s *Servers) remember(n *node, a *nomadrpc.Allocation) {
	tasks := s.intern(tasksOf(a))
	n.mu.Lock()
	defer n.mu.Unlock()
	n.allocs[a.ID] = known{fleetAlloc(a), tasks, n.allocs[a.ID].started}
}

// tasksOf returns the names of an allocation's tasks in alphabetical order.
func tasksOf(a *nomadrpc.Allocation) []string {
	var names []string
	if a.AllocatedResources != nil {
		for name := range a.AllocatedResources.Tasks {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// intern returns the one slice with those names.
func (s *Servers) intern(names []string) []string {
	key := strings.Join(names, "\x00")
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.names[key]; ok {
		return one
	}
	s.names[key] = names
	return names
}

func (n *node) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.allocs)
}

// list answers with what is known of the node's allocations. The fleet tells by the pointers which have not changed.
func (n *node) list(index uint64) *rpc.NodeClientAllocsResponse {
	n.mu.Lock()
	defer n.mu.Unlock()
	resp := &rpc.NodeClientAllocsResponse{Index: index}
	for _, k := range n.allocs {
		resp.Allocs = append(resp.Allocs, k.alloc)
	}
	slices.SortFunc(resp.Allocs, rpc.ByID)
	return resp
}
