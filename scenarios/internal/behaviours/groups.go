package behaviours

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// Place is where clients are: in a group, in a datacenter, in racks of these numbers, from 1, or
// in all of that at once. Each group has racks of its own.
type Place struct {
	Group, Datacenter string
	Racks             []int
}

// Anywhere reports whether the place is none in particular.
func (p Place) Anywhere() bool { return p.Group == "" && p.Datacenter == "" && len(p.Racks) == 0 }

func (p Place) String() string {
	var parts []string
	if len(p.Racks) > 0 {
		word := "racks "
		if len(p.Racks) == 1 {
			word = "rack "
		}
		parts = append(parts, word+strings.ReplaceAll(strings.Trim(fmt.Sprint(p.Racks), "[]"), " ", ", "))
	}
	if p.Group != "" {
		parts = append(parts, "group "+p.Group)
	}
	if p.Datacenter != "" {
		parts = append(parts, "datacenter "+p.Datacenter)
	}
	return strings.Join(parts, " of ")
}

// Clients returns the numbers of the clients at a place. The error says why there are none.
func (p Place) Clients(groups []Group) ([]int, error) {
	var clients, racks []int
	var datacenters []string
	for _, g := range groups {
		if !slices.Contains(datacenters, g.datacenter) {
			datacenters = append(datacenters, g.datacenter)
		}
		if p.Group != "" && g.name != p.Group || p.Datacenter != "" && g.datacenter != p.Datacenter {
			continue
		}
		racks = append(racks, g.racks)
		for i := range g.nodes {
			if len(p.Racks) == 0 || slices.Contains(p.Racks, i%g.racks+1) {
				clients = append(clients, g.first+i)
			}
		}
	}
	if racks == nil && p.Group != "" && slices.Contains(datacenters, p.Datacenter) {
		return nil, fmt.Errorf("group %s has no client in datacenter %s", p.Group, p.Datacenter)
	}
	if racks == nil {
		return nil, fmt.Errorf("no client is in datacenter %q: the groups are in %s", p.Datacenter, strings.Join(datacenters, ", "))
	}
	for _, r := range p.Racks {
		if most := slices.Max(racks); r < 1 || r > most {
			return nil, fmt.Errorf("there is no rack %d: the racks there have numbers from 1 to %d", r, most)
		}
	}
	return clients, nil
}
