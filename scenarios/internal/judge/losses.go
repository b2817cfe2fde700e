package judge

import (
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Losses follows, over one phase, the allocations of service jobs whose node went down, until
// every service job has its count again on nodes that are up. System jobs do not count: they
// run on every node and replace nothing.
type Losses struct {
	start time.Time
	began uint64 // index of the state when the phase began
	nodes uint64 // index up to which changes of nodes were seen
	any   bool   // some allocation was lost
	// stranded are the nodes that are down with allocations that are not yet written off.
	stranded []string
	// replaced says that all of them have been replaced, since when.
	replaced bool
	since    time.Time
}

// NewLosses returns the losses of a phase that starts with a state.
func NewLosses(start time.Time, snap *state.Snapshot) *Losses {
	return &Losses{start: start, began: snap.Index(), nodes: snap.NodesIndex()}
}

// See looks at the state at one instant. It takes time in proportion to what changed.
func (l *Losses) See(at time.Time, snap *state.Snapshot) {
	jobs := snap.JobsByType(rpc.JobTypeService)
	if len(jobs) == 0 && !l.any {
		return
	}
	if snap.NodesIndex() > l.nodes {
		for n := range snap.NodesChangedSince(l.nodes) {
			if n.Status == rpc.NodeStatusDown && l.lost(snap.NodeAllocs(n.ID)) {
				l.any = true
				l.stranded = append(l.stranded, n.ID)
			}
		}
		l.nodes = snap.NodesIndex()
	}
	if !l.any {
		return
	}
	replaced := l.cleared(snap) && complete(snap, jobs)
	if replaced && !l.replaced {
		l.since = at
	}
	l.replaced = replaced
}

// lost reports whether the node took an allocation of a service job with it: one that
// should run still, or one that was written off since the phase began.
func (l *Losses) lost(on *state.NodeAllocs) bool {
	return hasService(on) || slices.ContainsFunc(on.All, func(a *rpc.Allocation) bool {
		return a.JobType == rpc.JobTypeService && a.ClientStatus == rpc.AllocClientLost && a.ModifyIndex > l.began
	})
}

// cleared forgets the nodes that are up again or whose allocations were written off, and
// reports whether that leaves none.
func (l *Losses) cleared(snap *state.Snapshot) bool {
	for i, id := range l.stranded {
		n := snap.NodeByID(id)
		if n != nil && n.Status == rpc.NodeStatusDown && hasService(snap.NodeAllocs(id)) {
			l.stranded = l.stranded[i:]
			return false
		}
	}
	l.stranded = nil
	return true
}

func hasService(on *state.NodeAllocs) bool {
	return slices.ContainsFunc(on.Live, func(a *rpc.Allocation) bool { return a.JobType == rpc.JobTypeService })
}

// complete reports whether every job has as many allocations as it asks for.
func complete(snap *state.Snapshot, jobs []*rpc.Job) bool {
	for _, job := range jobs {
		if job.Stop {
			continue
		}
		want := 0
		for _, g := range job.TaskGroups {
			want += g.Count
		}
		if snap.JobAllocs(broker.JobID{Namespace: job.Namespace, ID: job.ID}).Live < want {
			return false
		}
	}
	return true
}

// Seconds returns the time from the phase's start to the replacement of the last lost
// allocation: zero if none was lost, -1 if one has no replacement yet.
func (l *Losses) Seconds() float64 {
	switch {
	case !l.any:
		return 0
	case !l.replaced:
		return -1
	}
	return l.since.Sub(l.start).Round(time.Microsecond).Seconds()
}
