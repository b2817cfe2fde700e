package state

import (
	"cmp"
	"slices"
)

// changeLog lists rows by the index of their last change. It replaces an index by
// ModifyIndex, which would be the dearest of all: each change would delete a row of it and
// insert another. Appending to a log does not write to the copies of it in snapshots.
//
// A log keeps rows that have changed again or are gone, which is why most methods are given
// a function that tells whether a row is the current one.
type changeLog[R any] struct {
	last    *changes[R]
	entries int
}

// changes are those of one index.
type changes[R any] struct {
	before *changes[R]
	index  uint64
	rows   []*R // in the order of their IDs
}

// slack is how many entries more than there are rows, and a quarter of these, a log may
// have before add drops outdated ones.
const slack = 64

// add appends the rows that changed at index, in the order of their IDs, to the log of a
// table that has total rows now.
func (l *changeLog[R]) add(index uint64, rows []*R, total int, current func(*R) bool) {
	l.push(index, rows)
	if l.entries <= total+total/4+slack {
		return
	}
	var kept []changes[R]
	for c := l.last; c != nil; c = c.before {
		rows := slices.DeleteFunc(slices.Clone(c.rows), func(r *R) bool { return !current(r) })
		kept = append(kept, changes[R]{index: c.index, rows: slices.Clip(rows)})
	}
	*l = changeLog[R]{}
	for _, c := range slices.Backward(kept) {
		l.push(c.index, c.rows)
	}
}

func (l *changeLog[R]) push(index uint64, rows []*R) {
	if len(rows) > 0 {
		l.last = &changes[R]{before: l.last, index: index, rows: rows}
		l.entries += len(rows)
	}
}

// since returns the rows that changed after index, in the order of their last change and
// then of their IDs.
func (l changeLog[R]) since(index uint64, current func(*R) bool) []*R {
	var found []*R
	for c := l.last; c != nil && c.index > index; c = c.before {
		for _, r := range slices.Backward(c.rows) {
			if current(r) {
				found = append(found, r)
			}
		}
	}
	slices.Reverse(found)
	return found
}

// restoredLog returns a log of rows, given in the order of their IDs, by their indexes.
func restoredLog[R any](rows []*R, index func(*R) uint64) (l changeLog[R]) {
	slices.SortStableFunc(rows, func(a, b *R) int { return cmp.Compare(index(a), index(b)) })
	for len(rows) > 0 {
		at, n := index(rows[0]), 1
		for n < len(rows) && index(rows[n]) == at {
			n++
		}
		l.push(at, slices.Clip(rows[:n]))
		rows = rows[n:]
	}
	return l
}
