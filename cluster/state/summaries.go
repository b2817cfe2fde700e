package state

import (
	"cmp"
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// jobSummary counts what belongs to one job. The row lives as long as the job, any of its
// evaluations or any of its allocations. Snapshots persist the exported fields.
type jobSummary struct {
	Job    broker.JobID
	Evals  JobEvals
	Allocs JobAllocs
	// Launched is when a periodic job was last launched, or else when it was registered, in
	// Unix nanoseconds; zero for other jobs.
	Launched int64
	// Blocked lists the IDs of the job's blocked evaluations, which a completed evaluation
	// cancels. There are few at any time.
	Blocked []string

	log changeLog // of the allocations
}

// JobEvals is what a snapshot knows of a job's evaluations without looking at them.
type JobEvals struct {
	Count int
	// MaxModifyIndex is the highest ModifyIndex that any evaluation of the job ever had. A
	// worker's state must include it before the job is scheduled (eval_endpoint.go,
	// getWaitIndex). Nomad scans the evaluations that still exist, which makes no
	// difference: the index of one that was deleted has been applied.
	MaxModifyIndex uint64
}

// JobAllocs is what a snapshot knows of a job's allocations without looking at them.
type JobAllocs struct {
	Live, Terminal int // split by rpc.Allocation.Terminal
	// DeletedIndex is the last index that deleted one; zero if none did.
	DeletedIndex uint64
}

func (s *jobSummary) empty() bool { return s.Evals.Count+s.Allocs.Live+s.Allocs.Terminal == 0 }

// evalChanged updates Evals.Count and Blocked for the change of an evaluation from old to
// now. One of them may be nil. It does not write to Blocked, which snapshots share, but
// makes a new list.
func (s *jobSummary) evalChanged(old, now *broker.Evaluation) {
	if old == nil {
		s.Evals.Count++
	}
	if now == nil {
		s.Evals.Count--
	}
	was := old != nil && old.Status == broker.StatusBlocked
	is := now != nil && now.Status == broker.StatusBlocked
	switch {
	case is && !was:
		s.Blocked = append(slices.Clip(s.Blocked), now.ID)
	case was && !is:
		s.Blocked = slices.DeleteFunc(slices.Clone(s.Blocked), func(id string) bool { return id == old.ID })
	}
}

// summary returns the job's row for writing, and makes it if there is none.
func (tx *Tx) summary(job broker.JobID) *jobSummary {
	if s := tx.summaries[job]; s != nil {
		return s
	}
	s := &jobSummary{Job: job}
	if old := tx.counts.summaries.of(job); old != nil {
		*s = *old
	}
	if tx.summaries == nil {
		tx.summaries = make(map[broker.JobID]*jobSummary, 1)
	}
	tx.summaries[job] = s
	return s
}

// summaries holds the rows of all jobs, in buckets by hash. It never changes: with returns
// a new value that shares the unchanged buckets. It is neither a table nor a radix tree
// because nearly every entry changes a row: in memdb that would cost as much as the rest of
// the entry, and in go-immutable-radix 22 allocations and a kilobyte more.
type summaries struct {
	buckets [8][]*jobSummary // in no order
}

// bucketSeed differs from process to process. Only the place of a row depends on it.
var bucketSeed = maphash.MakeSeed()

func bucketOf(job broker.JobID) uint64 {
	return maphash.Comparable(bucketSeed, job) % uint64(len(summaries{}.buckets))
}

// of returns the job's row, or nil.
func (s *summaries) of(job broker.JobID) *jobSummary {
	for _, row := range s.buckets[bucketOf(job)] {
		if row.Job == job {
			return row
		}
	}
	return nil
}

// with returns the summaries with the changed rows in place; nil deletes a row.
func (s *summaries) with(changed map[broker.JobID]*jobSummary) *summaries {
	if len(changed) == 0 {
		return s
	}
	next := *s
	for job, row := range changed {
		bucket := &next.buckets[bucketOf(job)]
		*bucket = slices.DeleteFunc(slices.Clone(*bucket), func(r *jobSummary) bool { return r.Job == job })
		if row != nil {
			*bucket = append(*bucket, row)
		}
	}
	return &next
}

// all returns the rows in the order of namespace and ID.
func (s *summaries) all() []*jobSummary {
	return slices.SortedFunc(slices.Values(slices.Concat(s.buckets[:]...)), func(a, b *jobSummary) int {
		return cmp.Or(strings.Compare(a.Job.Namespace, b.Job.Namespace), strings.Compare(a.Job.ID, b.Job.ID))
	})
}

// changeLog lists a job's allocations by the index of their last change. It replaces an
// index by job and ModifyIndex, which would be the dearest of all: each change would delete
// a row of it and insert another. Appending to a log does not write to the copies of it in
// snapshots.
type changeLog struct {
	last    *changes
	entries int
}

// changes are those of one index. Those before may list earlier versions of the same
// allocations.
type changes struct {
	before *changes
	index  uint64
	allocs []*rpc.Allocation // in the order of their IDs
	gone   []string          // IDs of deleted allocations
}

// slack is how many entries more than the job has allocations, and a quarter of these, a
// log may have before add drops outdated ones.
const slack = 64

// add appends the changes of one index to the log of a job with total allocations.
func (l *changeLog) add(index uint64, allocs []*rpc.Allocation, gone []string, total int) {
	l.last = &changes{before: l.last, index: index, allocs: allocs, gone: gone}
	l.entries += len(allocs) + len(gone)
	if l.entries > total+total/4+slack {
		l.rebuild(l.since(0))
	}
}

// rebuild makes the log list allocations, which must be in the order of byChange.
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

// since returns the allocations that changed after index and still exist, in the order of
// byChange.
func (l changeLog) since(index uint64) []*rpc.Allocation {
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

// logAllocs appends the transaction's changes of allocations to the logs of their jobs.
func (tx *Tx) logAllocs() {
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
}

// AllocsByJob returns the job's allocations in the order of their IDs.
func (s *Snapshot) AllocsByJob(job broker.JobID) []*rpc.Allocation {
	found := s.summary(job).log.since(0)
	slices.SortFunc(found, rpc.ByID)
	return found
}

// AllocsChangedSince iterates over the job's allocations whose ModifyIndex is above index,
// in the order of that. It does not see deleted ones: compare JobAllocs.DeletedIndex.
func (s *Snapshot) AllocsChangedSince(job broker.JobID, index uint64) iter.Seq[*rpc.Allocation] {
	return slices.Values(s.summary(job).log.since(index))
}

// byChange compares allocations by ModifyIndex, then by ID.
func byChange(a, b *rpc.Allocation) int {
	return cmp.Or(cmp.Compare(a.ModifyIndex, b.ModifyIndex), rpc.ByID(a, b))
}
