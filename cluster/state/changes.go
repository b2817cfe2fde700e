package state

import (
	"cmp"
	"iter"
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// changeLog lists a job's allocations by when they changed. It takes the place of an
// index of allocations by job and ModifyIndex, which would be the dearest of all: each
// change would delete one row of it and insert another. A log can be shared: appending
// to it leaves the copies in snapshots as they are.
type changeLog struct {
	last    *changes
	entries int
}

// changes are those of one index. Older ones may list earlier versions of the same
// allocations.
type changes struct {
	before *changes
	index  uint64
	allocs []*rpc.Allocation // in the order of their IDs
	gone   []string          // IDs of deleted allocations
}

// slack is how far a log outgrows the job before the entries that no longer hold are
// dropped.
const slack = 64

// add appends the changes of one index to the log of a job with so many allocations.
func (l *changeLog) add(index uint64, allocs []*rpc.Allocation, gone []string, total int) {
	l.last = &changes{before: l.last, index: index, allocs: allocs, gone: gone}
	l.entries += len(allocs) + len(gone)
	if l.entries > total+total/4+slack {
		l.rebuild(l.since(0))
	}
}

// rebuild makes the log of allocations that are in the order of their last change.
func (l *changeLog) rebuild(allocs []*rpc.Allocation) {
	*l = changeLog{entries: len(allocs)}
	for len(allocs) > 0 {
		index, n := allocs[0].ModifyIndex, 1
		for n < len(allocs) && allocs[n].ModifyIndex == index {
			n++
		}
		l.last = &changes{before: l.last, index: index, allocs: slices.Clip(allocs[:n])}
		allocs = allocs[n:]
	}
}

// since returns the allocations that changed above index and are still there, in the
// order of their last change and, within one index, of their IDs.
func (l *changeLog) since(index uint64) []*rpc.Allocation {
	var found []*rpc.Allocation
	seen := map[string]bool{}
	for c := l.last; c != nil && c.index > index; c = c.before {
		for _, id := range c.gone {
			seen[id] = true
		}
		for _, a := range slices.Backward(c.allocs) {
			if !seen[a.ID] {
				seen[a.ID] = true
				found = append(found, a)
			}
		}
	}
	slices.Reverse(found)
	return found
}

// logAllocs enters the transaction's allocations in the logs of their jobs.
func (tx *Tx) logAllocs() error {
	for job, ids := range tx.touched {
		slices.Sort(ids)
		var allocs []*rpc.Allocation
		var gone []string
		for _, id := range slices.Compact(ids) {
			if a := tx.allocs.changed[id]; a != nil {
				allocs = append(allocs, a)
			} else {
				gone = append(gone, id)
			}
		}
		s := tx.summary(job)
		s.log.add(tx.index, allocs, gone, s.Allocs.Live+s.Allocs.Terminal)
	}
	return nil
}

// AllocsByJob returns the job's allocations in the order of their IDs.
func (s *Snapshot) AllocsByJob(job broker.JobID) []*rpc.Allocation {
	log := s.summary(job).log
	found := log.since(0)
	slices.SortFunc(found, byID)
	return found
}

// AllocsChangedSince goes through the job's allocations whose ModifyIndex is above
// index, in that order. Deleted ones cannot be seen: compare JobAllocs.DeletedIndex.
func (s *Snapshot) AllocsChangedSince(job broker.JobID, index uint64) iter.Seq[*rpc.Allocation] {
	log := s.summary(job).log
	return slices.Values(log.since(index))
}

// byChange orders allocations as a log does.
func byChange(a, b *rpc.Allocation) int {
	return cmp.Or(cmp.Compare(a.ModifyIndex, b.ModifyIndex), byID(a, b))
}
