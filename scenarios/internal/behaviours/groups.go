package behaviours

import (
	"cmp"
	"slices"

	"github.com/simctl/simctl/nodesim"
)

// Group is a group of the fleet's clients.
type Group struct {
	name, datacenter string
	first, nodes     int // its clients' numbers
	racks            int
}

// Groups returns the groups of a fleet, whose clients are numbered group by group.
func Groups(cfg nodesim.Config) []Group {
	var out []Group
	first := 0
	for _, g := range cfg.Groups {
		out = append(out, Group{g.Name, cmp.Or(g.Datacenter, "dc1"), first, g.Nodes, max(g.Racks, 1)})
		first += g.Nodes
	}
	return out
}

// Nodes returns how many clients there are in the group of that name, or in all for an empty
// one.
func Nodes(groups []Group, name string) int {
	n := 0
	for _, g := range groups {
		if name == "" || g.name == name {
			n += g.nodes
		}
	}
	return n
}

func (g Group) clients() []int {
	all := make([]int, g.nodes)
	for i := range all {
		all[i] = g.first + i
	}
	return all
}

// units divides the group's clients into those that act together.
func (g Group) units(together string) [][]int {
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
func mergeDatacenters(groups []Group, only string) [][]int {
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
