package scenarios

import (
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
)

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
