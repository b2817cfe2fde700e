package scenarios

import (
	"cmp"
	"maps"
	"slices"

	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/actions/operations"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
	"github.com/simctl/simctl/scenarios/language"
)

// fleet returns the clients.
func (b *builder) fleet(force bool) (nodesim.Config, error) {
	f := b.def.Fleet
	cfg := nodesim.Config{ReportAllocs: b.cost.ReportAllocs}
	if f.ReportAllocations != nil {
		cfg.ReportAllocs = *f.ReportAllocations
	}
	cfg.RegisterStagger, cfg.RegisterRetry, cfg.FirstHeartbeat = f.RegisterStagger, f.RegisterRetry, f.FirstHeartbeat
	cfg.AllocSync, cfg.WatchBlock = f.AllocSync, f.WatchBlock
	for _, d := range []struct {
		name string
		from language.Distribution
		to   *nodesim.Delay
	}{{"start_delay", f.StartDelay, &cfg.Behaviour.StartDelay}, {"stop_delay", f.StopDelay, &cfg.Behaviour.StopDelay}} {
		switch d.from.Kind {
		case "", "constant":
			d.to.Min, d.to.Max = d.from.A, d.from.A
		case "uniform":
			d.to.Min, d.to.Max = d.from.A, d.from.B
		default:
			return cfg, b.def.Errorf(f.At, "Wrong distribution", "%s must be a duration or uniform(least, most).", d.name)
		}
	}
	for _, g := range f.Groups {
		if g.Nodes == 0 {
			continue // a variable may leave a group without clients
		}
		cfg.Nodes += g.Nodes
		found := nodesim.DefaultAttributes() // by fingerprinting
		maps.Copy(found, g.Attributes)
		cfg.Groups = append(cfg.Groups, nodesim.Group{
			Name: g.Name, Nodes: g.Nodes, Datacenter: g.Datacenter, NodeClass: g.Class, Attributes: found, Racks: g.Racks,
			Resources: operations.Resources(g.Resources, nodesim.DefaultResources), Latency: g.Latency,
		})
	}
	switch {
	case cfg.Nodes < 1:
		return cfg, b.def.Errorf(f.At, "No clients", "The groups of the fleet have no clients: there must be at least one.")
	case cfg.Nodes > maxNodes && !force:
		return cfg, b.def.Errorf(f.At, "Large fleet", "%d clients: more than %d take hours and many gigabytes; add --force if they are meant.", cfg.Nodes, maxNodes)
	case cfg.Nodes > nodesim.MaxNodes:
		return cfg, b.def.Errorf(f.At, "Large fleet", "%d clients: there must be %d at most.", cfg.Nodes, nodesim.MaxNodes)
	}
	return cfg, nil
}

// datacenters returns the datacenters of the fleet, in the order of the file.
func (b *builder) datacenters() []string {
	var all []string
	for _, g := range b.def.Fleet.Groups {
		if dc := cmp.Or(g.Datacenter, "dc1"); !slices.Contains(all, dc) {
			all = append(all, dc)
		}
	}
	return all
}

// Fleet returns the scenario's clients for servers elsewhere. It has no Servers and no Dial.
// The clients report their allocations unless the file says that they do not: what costs
// classes leave out was never meant for such servers.
func (c *Compiled) Fleet() nodesim.Config {
	cfg := c.scenario.Fleet
	cfg.ReportAllocs = c.def.Fleet.ReportAllocations == nil || *c.def.Fleet.ReportAllocations
	return cfg
}

// Behaviours returns what the scenario's clients do by themselves, in the order of the file.
func (c *Compiled) Behaviours() []*behaviours.Behaviour { return c.behaviours }
