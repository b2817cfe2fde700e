package nodesim

import (
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/uuid"
)

// Group is clients that are alike.
type Group struct {
	Name       string
	Nodes      int               // at least 1
	Datacenter string            // empty = dc1
	NodeClass  string            // empty = none
	Attributes map[string]string // shared by its nodes, never written to; nil = DefaultAttributes
	Resources  rpc.Resources     // of each node; zero = DefaultResources
	// Racks is how many racks the clients stand in, one after the other around; they mean
	// nothing to the fleet itself.
	Racks int
	// Latency is what each message between a client and a server takes longer.
	Latency time.Duration
}

// groups returns the groups of the fleet, defaults filled in: those of the Config or, if
// it has none, one for each of its datacenters in turn. of says which group a client is in.
func (c *Config) groups() (groups []Group, of func(client int) int) {
	groups = c.Groups
	of = c.groupOf
	if groups == nil {
		for _, dc := range c.Datacenters {
			groups = append(groups, Group{Datacenter: dc, NodeClass: c.NodeClass, Attributes: c.Attributes, Resources: c.Resources})
		}
		if groups == nil {
			groups = []Group{{NodeClass: c.NodeClass, Attributes: c.Attributes, Resources: c.Resources}}
		}
		of = func(client int) int { return client % len(groups) }
	}
	out := make([]Group, len(groups))
	for i, g := range groups {
		if g.Datacenter == "" {
			g.Datacenter = "dc1"
		}
		if g.Attributes == nil {
			g.Attributes = DefaultAttributes()
		}
		if g.Resources == (rpc.Resources{}) {
			g.Resources = DefaultResources
		}
		out[i] = g
	}
	return out, of
}

// groupOf finds the group that holds a client: the clients are numbered group by group.
func (c *Config) groupOf(client int) int {
	for i, g := range c.Groups {
		if client -= g.Nodes; client < 0 {
			return i
		}
	}
	return len(c.Groups) - 1
}

// validateGroups holds the groups to the Config they are in.
func (c Config) validateGroups() error {
	sum := 0
	for _, g := range c.Groups {
		if g.Nodes < 1 || g.Latency < 0 {
			return fmt.Errorf("nodesim: group %q has %d nodes and a latency of %v: it must have at least 1 node and no negative latency", g.Name, g.Nodes, g.Latency)
		}
		sum += g.Nodes
	}
	switch {
	case c.Groups != nil && sum != c.Nodes:
		return fmt.Errorf("nodesim: Nodes is %d and the groups have %d: the two must be equal", c.Nodes, sum)
	case len(c.Groups) > math.MaxUint16:
		return fmt.Errorf("nodesim: %d groups: there must be %d at most", len(c.Groups), math.MaxUint16)
	}
	return nil
}

// InGroup returns the numbers of the clients of a group, ascending; of all clients for "",
// and nil if there is no such group.
func (f *Fleet) InGroup(name string) []int {
	var numbers []int
	for i := range f.clients {
		if name == "" || f.groups[f.clients[i].group].Name == name {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// IDsInGroup returns the node IDs of the clients that InGroup returns.
func (f *Fleet) IDsInGroup(name string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.idsOf(f.InGroup(name))
}

// StopClients silences clients by their numbers. Those that are stopped are passed over.
func (f *Fleet) StopClients(numbers []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range numbers {
		if f.clients[i].running {
			f.halt(i)
		}
	}
	f.arm()
}

// StartClients brings stopped clients back to life by their numbers, as Resume does. Those
// that run are passed over.
func (f *Fleet) StartClients(numbers []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range numbers {
		if c := &f.clients[i]; !c.running {
			f.decide(c, func(c *client, now time.Duration) { c.start(&f.cfg, now) })
		}
	}
	f.arm()
}

// ReplaceClients puts new machines in the place of clients, given by their numbers: what
// ran there falls silent for good, and a client with a new node ID registers at a stagger
// of RegisterStagger.
func (f *Fleet) ReplaceClients(numbers []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range numbers {
		c := &f.clients[i]
		if c.running {
			f.halt(i)
		}
		c.generation++
		identity := source(f.cfg.Seed^int64(mix(uint64(c.generation))), c.num, seedIdentity)
		c.id, c.allocs, c.override = uuid.Random(&identity), nil, nil
		f.decide(c, func(c *client, now time.Duration) { c.start(&f.cfg, now) })
	}
	f.arm()
}

// Refingerprint changes an attribute of clients, given by their numbers, as a fingerprinter
// does that finds something new: a client that runs registers again at once, and one that
// is stopped when it is back.
func (f *Fleet) Refingerprint(numbers []int, attribute, value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range numbers {
		c := &f.clients[i]
		if c.override == nil {
			c.override = maps.Clone(f.groups[c.group].Attributes)
		} else {
			c.override = maps.Clone(c.override) // the servers keep what they were given
		}
		c.override[attribute] = value
		f.decide(c, func(c *client, now time.Duration) { c.reintroduce(now) })
	}
	f.arm()
}

// reintroduce makes the client register again as soon as its node loop is free.
func (c *client) reintroduce(now time.Duration) {
	c.version++
	if t := &c.tasks[nodeLoop]; t.state == waiting && c.registered {
		t.at = now
	}
}

// unlessChanged returns until, or now if there is something to tell the servers.
func (c *client) unlessChanged(now, until time.Duration) time.Duration {
	if c.told != c.version {
		return now
	}
	return until
}

// linger waits for d, or until ctx is done.
func linger(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
