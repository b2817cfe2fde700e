package closedform

import (
	"github.com/simctl/simctl/scenarios"
)

// Like returns the variables of a storm in the cluster of another scenario: its nodes, servers and
// schedulers, and its jobs. Those without a single allocation are no load, and left out.
func Like(spec scenarios.Spec) (map[string]any, error) {
	c, err := scenarios.Compile(spec)
	if err != nil {
		return nil, err
	}
	s := c.Size()
	s.ServiceJobs = min(s.ServiceJobs, s.ServiceAllocs)
	if s.SystemJobs+s.ServiceJobs == 0 {
		return nil, &scenarios.InputError{Value: spec.File, Allowed: "it has no jobs with allocations: a storm costs nothing there"}
	}
	return map[string]any{
		"nodes": s.Nodes, "servers": s.Servers, "schedulers": max(s.Schedulers, 1), "system_jobs": s.SystemJobs,
		"service_jobs": s.ServiceJobs, "allocs_per_node": float64(s.ServiceAllocs) / float64(s.Nodes),
	}, nil
}

// Shrink gives a storm so many nodes. It has at most as many service jobs as the nodes have
// allocations of them: each needs one.
func Shrink(spec *scenarios.Spec, nodes int) {
	spec.Set("nodes", nodes)
	vars, err := spec.Variables()
	if err != nil {
		return // which the storm's own check says
	}
	of := map[string]float64{}
	for _, v := range vars {
		switch x := v.Value.(type) {
		case int64:
			of[v.Name] = float64(x)
		case float64:
			of[v.Name] = x
		}
	}
	room := int(of["allocs_per_node"] * float64(nodes))
	switch {
	case of["service_jobs"] == 0 || of["service_jobs"] <= float64(room):
	case room == 0 && of["system_jobs"] > 0:
		spec.Set("service_jobs", 0)
		spec.Set("allocs_per_node", 0)
	case room > 0:
		spec.Set("service_jobs", room)
	}
}
