package behaviours

import (
	"cmp"

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

// units divides the clients of one group, or of all for an empty name, into those that act
// together, in the order of their numbers.
func units(groups []Group, only, together string) [][]int {
	type key struct {
		of     string
		number int
	}
	var all [][]int
	places := map[key]int{}
	for _, g := range groups {
		if only != "" && g.name != only {
			continue
		}
		for i := range g.nodes {
			k := key{g.name, i}
			switch together {
			case "rack":
				k.number %= g.racks
			case "group":
				k.number = 0
			case "datacenter":
				k = key{of: g.datacenter}
			}
			place, ok := places[k]
			if !ok {
				place = len(all)
				places[k], all = place, append(all, nil)
			}
			all[place] = append(all[place], g.first+i)
		}
	}
	return all
}
