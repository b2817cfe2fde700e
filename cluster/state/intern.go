package state

import (
	"strings"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// interner makes equal strings and small maps share memory, since an entry decoded from
// the log has its own copy of every status, job ID and node ID. It grows with the number of
// distinct jobs, nodes and reasons, but not with that of evaluations. The nil interner
// does nothing.
//
// It is not package unique because rows keep strings and no Handles: unique would forget
// each string at the next garbage collection. It also takes a third longer for an entry
// of many evaluations.
type interner struct {
	strings map[string]string
	// queued holds maps with one entry, which nearly all QueuedAllocations have.
	queued map[queuedGroup]map[string]int
	// evalIDs and allocIDs have the IDs of the latest rows.
	evalIDs, allocIDs idBlock
	placedBy          string // EvalID of the latest allocation
}

// idBlock keeps texts that are made one after the other in one piece of memory, which the garbage
// collector looks at once. It is freed when all of them are gone.
type idBlock struct{ last strings.Builder }

const idBlockSize = 1 << 10

func (b *idBlock) keep(id string) string {
	if b.last.Cap()-b.last.Len() < len(id) {
		b.last = strings.Builder{}
		b.last.Grow(max(idBlockSize, len(id)))
	}
	b.last.WriteString(id)
	all := b.last.String()
	return all[len(all)-len(id):]
}

type queuedGroup struct {
	name  string
	count int
}

func newInterner() *interner {
	return &interner{strings: map[string]string{}, queued: map[queuedGroup]map[string]int{}}
}

func (in *interner) intern(fields ...*string) {
	if in == nil {
		return
	}
	for _, f := range fields {
		if *f == "" {
			continue
		}
		if shared, ok := in.strings[*f]; ok {
			*f = shared
		} else {
			in.strings[*f] = *f
		}
	}
}

func (in *interner) internQueued(counts map[string]int) map[string]int {
	if in == nil || len(counts) != 1 {
		return counts
	}
	var key queuedGroup
	for key.name, key.count = range counts {
	}
	if shared, ok := in.queued[key]; ok {
		return shared
	}
	in.queued[key] = counts
	return counts
}

func (in *interner) node(n *rpc.Node) {
	in.intern(&n.ID, &n.Datacenter, &n.NodeClass, &n.Status, &n.SchedulingEligibility)
}

func (in *interner) job(j *rpc.Job) { in.intern(&j.Namespace, &j.ID, &j.Type) }

// eval shares what it can of an evaluation that takes the place of old, which may be nil.
func (in *interner) eval(old, e *broker.Evaluation) {
	switch {
	case in == nil:
		return
	case old != nil:
		e.ID = old.ID
	default:
		e.ID = in.evalIDs.keep(e.ID)
	}
	in.intern(&e.Namespace, &e.JobID, &e.Type, &e.TriggeredBy, &e.NodeID, &e.Status)
	e.QueuedAllocations = in.internQueued(e.QueuedAllocations)
}

// alloc is eval for allocations. Those that a plan places have one EvalID.
func (in *interner) alloc(old, a *rpc.Allocation) {
	switch {
	case in == nil:
		return
	case old != nil:
		a.ID = old.ID
	default:
		a.ID = in.allocIDs.keep(a.ID)
	}
	if a.EvalID != in.placedBy {
		in.placedBy = a.EvalID
	}
	a.EvalID = in.placedBy
	in.intern(&a.Namespace, &a.JobID, &a.JobType, &a.TaskGroup, &a.Name, &a.NodeID,
		&a.DesiredStatus, &a.DesiredDescription, &a.ClientStatus, &a.ClientDescription)
}
