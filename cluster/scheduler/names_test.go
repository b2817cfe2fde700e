package scheduler

import (
	"fmt"
	"slices"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// TestNamesStartOver: when all names of a group are taken, new allocations share them.
func TestNamesStartOver(t *testing.T) {
	if got := fmt.Sprint(newNameIndex("j", "g", 3).next(1)); got != "[j.g[0]]" {
		t.Errorf("the first name is %s", got)
	}
	for name, want := range map[string]int{"j.g[10]": 10, "j[2].g[7]": 7, "j": 0, "j.g[3": 0, "j.g3]": 0, "j.g[x]": 0, "j.g[99999999]": 0} {
		if got := nameNumber(name); got != want {
			t.Errorf("the number in %s is %d, want %d", name, got, want)
		}
	}
	taken := []*rpc.Allocation{{Name: "j.g[0]"}, {Name: "j.g[1]"}, {Name: "j.g[4]"}}
	for _, tt := range []struct {
		count, n int
		want     string
	}{{2, 2, "[j.g[0] j.g[1]]"}, {3, 2, "[j.g[2] j.g[0]]"}, {5, 2, "[j.g[2] j.g[3]]"}, {5, 0, "[]"}} {
		if got := fmt.Sprint(newNameIndex("j", "g", tt.count, taken).next(tt.n)); got != tt.want {
			t.Errorf("%d of a group of %d with 0, 1 and 4 taken: %s, want %s", tt.n, tt.count, got, tt.want)
		}
	}
}

// TestNamesOnce: of two that have a name one keeps it.
func TestNamesOnce(t *testing.T) {
	x := newNameIndex("j", "g", 4, []*rpc.Allocation{{Name: "j.g[0]"}, {Name: "j.g[0]"}, {Name: "j.g[1]"}})
	var none *nameIndex
	if got := fmt.Sprint([]string{x.once("j.g[0]"), x.once("j.g[0]"), x.once("j.g[1]"), none.once("j.g[1]")}); got != "[j.g[2] j.g[0] j.g[1] j.g[1]]" {
		t.Errorf("names %s", got)
	}
}

// TestNamesOfWhatMovesTwice: a plan's replacement is taken, and the stop of what it replaces refused. That is replaced
// again, under its own name in releases before 1.6.3, and then under a free one, whether all allocations are looked at or
// those that changed.
func TestNamesOfWhatMovesTwice(t *testing.T) {
	for _, once := range []bool{false, true} {
		for _, cache := range []*Cache{nil, NewCache()} {
			w := newWorld(t)
			w.cache, w.habits.NamesOnce = cache, once
			w.nodes(6)
			w.register(job(rpc.JobTypeService, "svc", 6))
			w.runJob("svc")
			w.report("svc", rpc.AllocClientRunning, nil)
			w.runJob("svc") // finds nothing to do, which the cache remembers
			w.report("svc", rpc.AllocClientComplete, func(a *rpc.Allocation) bool { return a.Name == "svc.g[5]" })
			moves := w.live("svc")[slices.IndexFunc(w.live("svc"), func(a *rpc.Allocation) bool { return a.Name == "svc.g[0]" })]
			w.drain(moves.NodeID, true)
			plans := 0
			w.run(w.eval("svc", rpc.JobTypeService, broker.TriggeredByNodeUpdate), func(p *Plan) {
				if plans++; plans > 1 {
					return
				}
				for node, allocs := range p.NodeAllocation {
					p.NodeAllocation[node] = slices.DeleteFunc(allocs, func(a *rpc.Allocation) bool { return a.Name == "svc.g[5]" })
				}
				refused := moves.Copy()
				refused.ID = "refused"
				p.NodeAllocation[moves.NodeID] = append(p.NodeAllocation[moves.NodeID], refused)
			})
			w.want("plans", plans, 2)
			w.want(fmt.Sprintf("names, once %v, with a cache %v", once, cache != nil), w.names("svc"),
				"[svc.g[0] "+map[bool]string{false: "svc.g[0] svc.g[1] svc.g[2] svc.g[3] svc.g[4]", true: "svc.g[1] svc.g[2] svc.g[3] svc.g[4] svc.g[5]"}[once]+"]")
		}
	}
}
