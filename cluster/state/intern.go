package state

import (
	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// interner makes equal strings share memory: entries decoded from a log hold their own
// copy of every status, job ID and node ID. It grows with the number of distinct jobs,
// nodes and reasons, never with that of evaluations.
type interner map[string]string

func (in interner) share(fields ...*string) {
	if in == nil {
		return
	}
	for _, f := range fields {
		if *f == "" {
			continue
		}
		if shared, ok := in[*f]; ok {
			*f = shared
			continue
		}
		in[*f] = *f
	}
}

func (in interner) node(n *rpc.Node) {
	in.share(&n.ID, &n.Datacenter, &n.NodeClass, &n.Status, &n.SchedulingEligibility)
}

func (in interner) eval(e *broker.Evaluation) {
	in.share(&e.Namespace, &e.JobID, &e.Type, &e.TriggeredBy, &e.NodeID, &e.Status)
}

func (in interner) alloc(a *rpc.Allocation) {
	in.share(&a.Namespace, &a.JobID, &a.JobType, &a.TaskGroup, &a.Name, &a.NodeID,
		&a.DesiredStatus, &a.DesiredDescription, &a.ClientStatus, &a.ClientDescription)
}
