package realcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster/rpc"
)

// purge purges the jobs and nodes of a run, or of every run if it is empty.
func (c *Cluster) purge(ctx context.Context, run string) (jobs, nodes int, err error) {
	theirs := func(mark string) bool { return mark != "" && (run == "" || mark == run) }
	err = c.eachJob(ctx, func(client *api.Client, j *api.JobListStub, meta map[string]string) (bool, error) {
		if !theirs(meta[jobMark]) {
			return true, nil
		}
		_, _, err := client.Jobs().Deregister(j.ID, true, write(ctx, j.Namespace))
		if err == nil {
			jobs++
		}
		return true, err
	})
	if err != nil {
		return jobs, 0, err
	}
	err = c.eachNode(ctx, func(client *api.Client, n *api.NodeListStub, mark string) (bool, error) {
		if !theirs(mark) {
			return true, nil
		}
		_, _, err := client.Nodes().Purge(n.ID, (&api.QueryOptions{}).WithContext(ctx))
		if err == nil {
			nodes++
		}
		return true, err
	})
	return jobs, nodes, err
}

// mostNamed is how many jobs and nodes of others an error names.
const mostNamed = 3

// refuseOthers returns an error that wraps ErrUnsuited if there are jobs or nodes of others than
// the run of that name, unless they may be there.
func (c *Cluster) refuseOthers(ctx context.Context, but string) error {
	var names []string
	remains, taken := "", ""
	see := func(kind, name, mark string) (on bool) {
		switch {
		case mark != "" && mark != but:
			remains = mark
		case mark == "" && kind == "job" && slices.Contains(c.cfg.Jobs, name):
			taken = name
		case mark == "" && len(names) < mostNamed:
			names = append(names, kind+" "+name)
		}
		return remains == "" && taken == "" && (c.cfg.Foreign || len(names) < mostNamed)
	}
	err := c.eachJob(ctx, func(_ *api.Client, j *api.JobListStub, meta map[string]string) (bool, error) {
		return see("job", j.ID, meta[jobMark]), nil
	})
	if err == nil && (c.cfg.Foreign || len(names) < mostNamed) {
		err = c.eachNode(ctx, func(_ *api.Client, n *api.NodeListStub, mark string) (bool, error) {
			return see("node", n.Name, mark), nil
		})
	}
	switch {
	case err != nil:
		return err
	case remains != "":
		return fmt.Errorf("%w: jobs or nodes of run %s of a simctl elsewhere are in it: if that was killed, simctl nomad cleanup removes them", ErrUnsuited, remains)
	case taken != "" && c.cfg.Foreign:
		return fmt.Errorf("%w: somebody else's job %s is in it, and the scenario has one of that name", ErrUnsuited, taken)
	case taken != "":
		names = append(names[:min(len(names), mostNamed-1)], "job "+taken)
	case len(names) == mostNamed:
		names[mostNamed-1] += ", …"
	}
	if len(names) > 0 && !c.cfg.Foreign {
		return fmt.Errorf("%w: others use it (%s): a scenario stops schedulers and places jobs on any node; use a cluster for tests, or allow it by --allow-foreign-cluster",
			ErrUnsuited, strings.Join(names, ", "))
	}
	return nil
}

// eachJob calls see with every job and its metadata, until that returns false.
func (c *Cluster) eachJob(ctx context.Context, see func(*api.Client, *api.JobListStub, map[string]string) (more bool, err error)) error {
	return c.call(func(client *api.Client) error {
		all, _, err := client.Jobs().ListOptions(&api.JobListOptions{Fields: &api.JobListFields{Meta: true}}, (&api.QueryOptions{Namespace: api.AllNamespacesNamespace}).WithContext(ctx))
		more := true
		for i := 0; i < len(all) && err == nil && more; i++ {
			j := all[i]
			meta := j.Meta
			if meta == nil { // it has none, or the server is too old to list it
				var info *api.Job
				info, _, err = client.Jobs().Info(j.ID, (&api.QueryOptions{Namespace: j.Namespace}).WithContext(ctx))
				if errors.Is(asError(err), rpc.ErrJobNotFound) {
					err = nil
					continue
				}
				if err != nil {
					break
				}
				meta = info.Meta
			}
			if more, err = see(client, j, meta); errors.Is(asError(err), rpc.ErrJobNotFound) {
				err = nil
			}
		}
		return err
	})
}

// eachNode calls see with every node and its mark, until that returns false.
func (c *Cluster) eachNode(ctx context.Context, see func(*api.Client, *api.NodeListStub, string) (more bool, err error)) error {
	query := (&api.QueryOptions{}).WithContext(ctx)
	return c.call(func(client *api.Client) error {
		all, _, err := client.Nodes().List(query)
		more := true
		for i := 0; i < len(all) && err == nil && more; i++ {
			var info *api.Node
			if info, _, err = client.Nodes().Info(all[i].ID, query); err == nil {
				more, err = see(client, all[i], info.Attributes[nodeMark])
			}
			if errors.Is(asError(err), rpc.ErrNodeNotFound) {
				err = nil
			}
		}
		return err
	})
}
