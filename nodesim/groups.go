package nodesim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
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

// groups returns the groups of the fleet, defaults filled in. A Config without any is one
// group of all its nodes.
func (c *Config) groups() []Group {
	groups := slices.Clone(c.Groups)
	if groups == nil {
		groups = []Group{{Nodes: c.Nodes}}
	}
	for i := range groups {
		g := &groups[i]
		g.Datacenter = cmp.Or(g.Datacenter, "dc1")
		g.Resources = cmp.Or(g.Resources, DefaultResources)
		if g.Attributes == nil {
			g.Attributes = DefaultAttributes()
		}
	}
	return groups
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
