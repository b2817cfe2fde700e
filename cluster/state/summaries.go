package state

import (
	"cmp"
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

	// purged is the job as it was when it was deleted, for the allocations of it that are left. It is nil if the job
	// was not deleted, or if a snapshot was restored since.
	purged *rpc.Job
	// placed is an index after which none of the job's allocations that are still there was placed, or updated in place.
	placed  uint64
	log     changeLog[rpc.Allocation]
	changed written[rpc.Allocation] // by the transaction that makes the row
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
		s.log.add(tx.index, s.changed.left(allocID), s.changed.gone, s.Allocs.Live+s.Allocs.Terminal)
		s.changed = written[rpc.Allocation]{}
		if s.empty() && tx.jobs.get(job) == nil {
			s = nil
		}
		tx.summaries.put(tx.owner, job, s)
	}
}

// PurgedJob returns a job that was deleted, while it has evaluations or allocations; nil if it is not known.
func (s *Snapshot) PurgedJob(job broker.JobID) *rpc.Job { return s.summary(job).purged }

// MayHavePlaced reports whether the evaluation may have placed, or updated in place, an allocation that is still there. It
// has not if no allocation of its job was placed or updated in place since the evaluation was created.
func (s *Snapshot) MayHavePlaced(e *broker.Evaluation) bool {
	return e.CreateIndex <= s.summary(e.Job()).placed
}

// AllocsByJob returns the job's allocations in the order of their IDs.
func (s *Snapshot) AllocsByJob(job broker.JobID) []*rpc.Allocation {
	return sorted(s.summary(job).log.since(0), allocID)
}

// LoggedAllocs iterates over the job's allocations and over earlier versions of some of them. Only AllocByID tells
// whether a version is the present one. It is much faster than Allocs, since it meets rows as they lie in memory.
func (s *Snapshot) LoggedAllocs(job broker.JobID) iter.Seq[*rpc.Allocation] {
	return s.summary(job).log.entriesSince(0)
}

// AllocsChangedSince iterates over the job's allocations whose ModifyIndex is above index,
// in the order of that. It does not see deleted ones: compare JobAllocs.DeletedIndex.
func (s *Snapshot) AllocsChangedSince(job broker.JobID, index uint64) iter.Seq[*rpc.Allocation] {
	return slices.Values(s.summary(job).log.since(index))
}

// ChangedNodes iterates over some nodes, each with its allocations, in the order of their IDs: nodes that have changed since
// an index, nodes with an allocation of the job that has changed since, and those whose IDs are in others. A node that is
// gone is nil. ChangedNodes does not notice that a node or an allocation was deleted.
func (s *Snapshot) ChangedNodes(job broker.JobID, index uint64, others []string) iter.Seq2[*rpc.Node, *NodeAllocs] {
	type changed struct {
		prefix uint64
		id     string
		node   *rpc.Node // nil if it is not known
	}
	var found []changed
	for _, n := range s.nodeLog.since(index) {
		found = append(found, changed{firstBytes(n.ID), n.ID, n})
	}
	for a := range s.summary(job).log.entriesSince(index) {
		found = append(found, changed{firstBytes(a.NodeID), a.NodeID, nil})
	}
	for _, id := range others {
		found = append(found, changed{firstBytes(id), id, nil})
	}
	slices.SortFunc(found, func(a, b changed) int {
		switch {
		case a.prefix != b.prefix:
			return cmp.Compare(a.prefix, b.prefix)
		case a.id != b.id:
			return strings.Compare(a.id, b.id)
		case a.node == b.node:
			return 0
		case a.node != nil: // it is the one to keep
			return -1
		}
		return 1
	})
	return func(yield func(*rpc.Node, *NodeAllocs) bool) {
		for _, c := range slices.CompactFunc(found, func(a, b changed) bool { return a.id == b.id }) {
			if c.node == nil {
				c.node = s.NodeByID(c.id)
			}
			if !yield(c.node, s.NodeAllocs(c.id)) {
				return
			}
		}
	}
}

// changeLog lists rows by the index of their last change. It stands in for a table in the order of
// ModifyIndex, which would be the most expensive one: each change would delete a row from it and
// insert another. Appending to a log does not write to the copies of it in snapshots.
//
// Rows that have changed again or were deleted stay in the log for a while. It knows which they are.
type changeLog[R any] struct {
	last    *changes[R]
	entries int
}

// changes are those of one index.
type changes[R any] struct {
	before *changes[R]
	index  uint64
	rows   []*R // in the order of their IDs
	gone   []*R // rows of before that changed again, or that were deleted
}

// written has the rows that a transaction wrote, in all versions that it wrote, and the rows that these replaced.
type written[R any] struct{ now, gone []*R }

// put notes that now is in the place of old. One of them may be nil.
func (w *written[R]) put(old, now *R) {
	if old != nil {
		w.gone = append(w.gone, old)
	}
	if now != nil {
		w.now = append(w.now, now)
	}
}

// left returns the rows that the transaction wrote and did not replace or delete itself, in the order of their IDs. It
// overwrites now.
func (w *written[R]) left(id func(*R) string) []*R {
	var gone outdated[R]
	gone.add(w.gone)
	return sorted(slices.DeleteFunc(w.now, gone.has), id)
}

// outdated is a set of rows that have changed again or were deleted. Looking up each row in its table instead would
// miss the processor's caches ten times as often.
type outdated[R any] map[*R]struct{}

func (o *outdated[R]) add(gone []*R) {
	if *o == nil && len(gone) > 0 {
		*o = make(outdated[R], len(gone))
	}
	for _, r := range gone {
		(*o)[r] = struct{}{}
	}
}

func (o outdated[R]) has(r *R) bool { _, is := o[r]; return is }

// slack is how many entries more than there are rows, and a quarter of these, a log may
// have before add drops outdated ones.
const slack = 64

// add appends the rows that changed at index, in the order of their IDs, to the log of a
// table that has total rows now, and notes those that are outdated by then.
func (l *changeLog[R]) add(index uint64, rows, gone []*R, total int) {
	l.push(changes[R]{index: index, rows: rows, gone: gone})
	if l.entries <= total+total/4+slack {
		return
	}
	drop := make(outdated[R], l.entries-total)
	for c := l.last; c != nil; c = c.before {
		drop.add(c.gone)
	}
	var kept []changes[R]
	for c := l.last; c != nil; c = c.before {
		rows := slices.DeleteFunc(slices.Clone(c.rows), drop.has)
		kept = append(kept, changes[R]{index: c.index, rows: slices.Clip(rows)})
	}
	*l = changeLog[R]{}
	for _, c := range slices.Backward(kept) {
		l.push(c)
	}
}

func (l *changeLog[R]) push(c changes[R]) {
	if len(c.rows)+len(c.gone) > 0 {
		c.before = l.last
		l.last = &c
		l.entries += len(c.rows)
	}
}

// since returns the rows that changed after index, in the order of their last change and
// then of their IDs.
func (l changeLog[R]) since(index uint64) (found []*R) {
	var gone outdated[R]
	for c := l.last; c != nil && c.index > index; c = c.before {
		gone.add(c.gone)
		for _, r := range slices.Backward(c.rows) {
			if !gone.has(r) {
				found = append(found, r)
			}
		}
	}
	slices.Reverse(found)
	return found
}

// through returns the rows that changed at index or before and not since, in any order.
func (l changeLog[R]) through(index uint64) (found []*R) {
	var gone outdated[R]
	for c := l.last; c != nil; c = c.before {
		gone.add(c.gone)
		if c.index > index {
			continue
		}
		for _, r := range c.rows {
			if !gone.has(r) {
				found = append(found, r)
			}
		}
	}
	return found
}

// entriesSince iterates over the entries after index, the latest first. Of a row that has
// changed several times there may be several.
func (l changeLog[R]) entriesSince(index uint64) iter.Seq[*R] {
	return func(yield func(*R) bool) {
		for c := l.last; c != nil && c.index > index; c = c.before {
			for _, r := range slices.Backward(c.rows) {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// restoredLog returns a log of rows, given in the order of their IDs, by their indexes.
func restoredLog[R any](rows []*R, index func(*R) uint64) (l changeLog[R]) {
	slices.SortStableFunc(rows, func(a, b *R) int { return cmp.Compare(index(a), index(b)) })
	for len(rows) > 0 {
		at, n := index(rows[0]), 1
		for n < len(rows) && index(rows[n]) == at {
			n++
		}
		l.push(changes[R]{index: at, rows: slices.Clip(rows[:n])})
		rows = rows[n:]
	}
	return l
}
