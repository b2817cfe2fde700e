package state

import (
	"iter"
	"slices"

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

	log     changeLog[rpc.Allocation]
	changed []*rpc.Allocation // by the transaction that makes the row, some more than once
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
	if s := tx.changedJobs[job]; s != nil {
		return s
	}
	s := &jobSummary{Job: job}
	if old := tx.summaries.get(job); old != nil {
		*s = *old
	}
	if tx.changedJobs == nil {
		tx.changedJobs = make(map[broker.JobID]*jobSummary, 1)
	}
	tx.changedJobs[job] = s
	return s
}

// putSummaries stores the rows of the jobs that the transaction changed, with their logs.
func (tx *Tx) putSummaries() {
	for job, s := range tx.changedJobs {
		s.log.add(tx.index, latest(s.changed, tx.isAlloc, rpc.ByID), s.Allocs.Live+s.Allocs.Terminal, tx.isAlloc)
		s.changed = nil
		if s.empty() && tx.jobs.get(job) == nil {
			s = nil
		}
		tx.summaries.put(tx.owner, job, s)
	}
}

// AllocsByJob returns the job's allocations in the order of their IDs.
func (s *Snapshot) AllocsByJob(job broker.JobID) []*rpc.Allocation {
	found := s.allocsSince(job, 0)
	slices.SortFunc(found, rpc.ByID)
	return found
}

// AllocsChangedSince iterates over the job's allocations whose ModifyIndex is above index,
// in the order of that. It does not see deleted ones: compare JobAllocs.DeletedIndex.
func (s *Snapshot) AllocsChangedSince(job broker.JobID, index uint64) iter.Seq[*rpc.Allocation] {
	return slices.Values(s.allocsSince(job, index))
}

func (s *Snapshot) allocsSince(job broker.JobID, index uint64) []*rpc.Allocation {
	return s.summary(job).log.since(index, s.isAlloc)
}
