package state

import (
	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// interner makes equal strings and small maps share memory: entries decoded from a log
// hold their own copy of every status, job ID and node ID. It grows with the number of
// distinct jobs, nodes and reasons, never with that of evaluations. The nil interner
// shares nothing.
type interner struct {
	strings map[string]string
	// queued holds the maps of one group: those of nearly all evaluations.
	queued map[queued]map[string]int
}

type queued struct {
	group string
	count int
}

func newInterner() *interner {
	return &interner{strings: map[string]string{}, queued: map[queued]map[string]int{}}
}

func (in *interner) share(fields ...*string) {
	if in == nil {
		return
	}
	for _, f := range fields {
		if *f == "" {
			continue
		}
		if shared, ok := in.strings[*f]; ok {
			*f = shared
			continue
		}
		in.strings[*f] = *f
	}
}

func (in *interner) shareQueued(counts map[string]int) map[string]int {
	if in == nil || len(counts) != 1 {
		return counts
	}
	for group, n := range counts {
		key := queued{group, n}
		if shared, ok := in.queued[key]; ok {
			return shared
		}
		in.queued[key] = counts
	}
	return counts
}

func (in *interner) node(n *rpc.Node) {
	in.share(&n.ID, &n.Datacenter, &n.NodeClass, &n.Status, &n.SchedulingEligibility)
}

func (in *interner) eval(e *broker.Evaluation) {
	in.share(&e.Namespace, &e.JobID, &e.Type, &e.TriggeredBy, &e.NodeID, &e.Status)
	e.QueuedAllocations = in.shareQueued(e.QueuedAllocations)
}

func (in *interner) alloc(a *rpc.Allocation) {
	in.share(&a.Namespace, &a.JobID, &a.JobType, &a.TaskGroup, &a.Name, &a.NodeID,
		&a.DesiredStatus, &a.DesiredDescription, &a.ClientStatus, &a.ClientDescription)
}
