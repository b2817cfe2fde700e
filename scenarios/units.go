package scenarios

import (
	"cmp"
	"slices"

	"github.com/simctl/simctl/nodesim"
)

// clientGroup is a group of the fleet as behaviours see it.
type clientGroup struct {
	name, datacenter string
	first, nodes     int // its clients' numbers
	racks            int
}

// groupsOf lists the groups of a fleet, whose clients are numbered group by group.
func groupsOf(cfg nodesim.Config) []clientGroup {
	var out []clientGroup
	first := 0
	for _, g := range cfg.Groups {
		out = append(out, clientGroup{g.Name, cmp.Or(g.Datacenter, "dc1"), first, g.Nodes, max(g.Racks, 1)})
		first += g.Nodes
	}
	return out
}

func (g clientGroup) clients() []int {
	all := make([]int, g.nodes)
	for i := range all {
		all[i] = g.first + i
	}
	return all
}

// units divides the group's clients into those that act together.
func (g clientGroup) units(together string) [][]int {
	switch together {
	case "group":
		return [][]int{g.clients()}
	case "rack":
		racks := make([][]int, min(g.racks, g.nodes))
		for i, n := range g.clients() {
			racks[i%len(racks)] = append(racks[i%len(racks)], n)
		}
		return racks
	}
	var units [][]int
	for _, n := range g.clients() {
		units = append(units, []int{n})
	}
	return units
}

// mergeDatacenters returns the clients of each datacenter, of one group or of all.
func mergeDatacenters(groups []clientGroup, only string) [][]int {
	var names []string
	var units [][]int
	for _, g := range groups {
		if only != "" && g.name != only {
			continue
		}
		i := slices.Index(names, g.datacenter)
		if i < 0 {
			i = len(names)
			names, units = append(names, g.datacenter), append(units, nil)
		}
		units[i] = append(units[i], g.clients()...)
	}
	return units
}
