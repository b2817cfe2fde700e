package state

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/simctl/simctl/broker"
)

// summaries holds the row of every job. Nearly every entry changes one of them, and in
// memdb that would cost as much as the change itself. A value never changes: with makes
// another one that shares all buckets but those it writes to. The nil value is empty.
type summaries struct {
	buckets [32]*[]*jobSummary // by hash; each in any order
}

// bucketSeed differs from process to process; nothing but the place of a row depends on it.
var bucketSeed = maphash.MakeSeed()

func bucketOf(job broker.JobID) uint64 {
	return maphash.Comparable(bucketSeed, job) % uint64(len(summaries{}.buckets))
}

// of returns the job's row, or nil.
func (s *summaries) of(job broker.JobID) *jobSummary {
	if s == nil {
		return nil
	}
	rows := s.buckets[bucketOf(job)]
	if rows == nil {
		return nil
	}
	if at := indexOf(*rows, job); at >= 0 {
		return (*rows)[at]
	}
	return nil
}

func indexOf(rows []*jobSummary, job broker.JobID) int {
	return slices.IndexFunc(rows, func(r *jobSummary) bool { return r.Job == job })
}

// with returns the summaries with the changed rows; nil deletes one.
func (s *summaries) with(changed map[broker.JobID]*jobSummary) *summaries {
	if len(changed) == 0 {
		return s
	}
	next := &summaries{}
	if s != nil {
		next.buckets = s.buckets
	}
	for job, row := range changed {
		n := bucketOf(job)
		var rows []*jobSummary
		if old := next.buckets[n]; old != nil {
			rows = slices.Clone(*old)
		}
		switch at := indexOf(rows, job); {
		case at >= 0 && row != nil:
			rows[at] = row
		case at >= 0:
			rows = slices.Delete(rows, at, at+1)
		case row != nil:
			rows = append(rows, row)
		}
		next.buckets[n] = &rows
	}
	return next
}

// all returns the rows in the order of namespace and ID.
func (s *summaries) all() []*jobSummary {
	if s == nil {
		return nil
	}
	var all []*jobSummary
	for _, rows := range s.buckets {
		if rows != nil {
			all = append(all, *rows...)
		}
	}
	slices.SortFunc(all, func(a, b *jobSummary) int {
		return cmp.Or(strings.Compare(a.Job.Namespace, b.Job.Namespace), strings.Compare(a.Job.ID, b.Job.ID))
	})
	return all
}
