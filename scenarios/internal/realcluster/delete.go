package realcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// EvalIDs lists evaluations in the order of their IDs.
func (c *Cluster) EvalIDs(ctx context.Context, status, triggeredBy string, count int) (ids []string, err error) {
	err = c.callSlowly(func(client *api.Client) error {
		q := &api.QueryOptions{Namespace: api.AllNamespacesNamespace, Filter: evalFilter(status, triggeredBy)}
		evals, _, err := client.Evaluations().List(q.WithContext(ctx))
		ids = nil
		for _, e := range evals {
			ids = append(ids, e.ID)
		}
		return err
	})
	slices.Sort(ids)
	if count > 0 && len(ids) > count {
		ids = ids[:count]
	}
	return ids, err
}

// evalFilter describes evaluations in the language of the API.
func evalFilter(status, triggeredBy string) string {
	filter := fmt.Sprintf("Status == %q", status)
	if triggeredBy != "" {
		filter += fmt.Sprintf(" and TriggeredBy == %q", triggeredBy)
	}
	return filter
}

// DeleteEvals deletes evaluations: those with these IDs or, if ids is nil, all that match, for servers know no count.
func (c *Cluster) DeleteEvals(ctx context.Context, status, triggeredBy string, _ int, ids []string) error {
	c.recount()
	calls, before := 0, uint64(0)
	return c.callSlowly(func(client *api.Client) (err error) {
		calls++
		if ids != nil {
			_, err := client.Evaluations().Delete(ids, write(ctx, api.AllNamespacesNamespace))
			if err != nil && calls > 1 && strings.Contains(err.Error(), rpc.ErrEvalNotFound.Error()) {
				err = nil // the server that did not answer has deleted them
			}
			if err == nil {
				c.dropped(status, len(ids))
			}
			return err
		}
		// Servers answer with the number that they meant to delete, of which they leave some if it is more than
		// 728 (docs/findings/filter-deletes.md).
		filter := evalFilter(status, triggeredBy)
		if calls == 1 {
			before, err = matching(client, filter, false)
		}
		if err == nil {
			_, _, err = client.Evaluations().DeleteOpts(&api.EvalDeleteRequest{Filter: filter}, write(ctx, api.AllNamespacesNamespace))
		}
		if err != nil {
			return err
		}
		after, err := matching(client, filter, false)
		if err == nil {
			c.dropped(status, int(before)-int(after))
		}
		return err
	})
}

// dropped takes note of evaluations that were deleted before they were over. Others are missed when they are
// counted next, as those are that servers collect.
func (c *Cluster) dropped(status string, n int) {
	if n > 0 && (status == broker.StatusPending || status == broker.StatusBlocked) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.deleted += uint64(n)
	}
}

// CollectGarbage makes the servers delete everything that is over.
func (c *Cluster) CollectGarbage(context.Context) error {
	c.recount()
	return c.call(func(client *api.Client) error { return client.System().GarbageCollect() })
}

// recount counts the evaluations, since some are about to go.
func (c *Cluster) recount() {
	c.mu.Lock()
	c.going = true
	c.mu.Unlock()
	c.Stats()
}
