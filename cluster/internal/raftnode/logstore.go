package raftnode

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/cluster/internal/fsm"
)

// LogStore is Raft's log, in memory or on disk, which also remembers the type and the term
// of every entry ever stored: snapshots compact the log, but the count of entries by type
// must be exact, and what servers agreed on must be known to the end.
type LogStore struct {
	raft.LogStore

	// full, if it is set, reports whether the disk has no room for another entry.
	full func() bool

	closed atomic.Bool // the log itself, which is on disk, cannot be read any more
	broken atomic.Pointer[error]

	// CountFree makes Free count. It must be set before the log is used.
	CountFree bool

	mu   sync.Mutex
	free int // bytes
	// By index; overwritten when a new leader overwrites the entry. Zero: never stored.
	types []fsm.Type
	terms []uint32
}

// ErrDiskFull is why a server cannot store entries and snapshots while its simulated disk is full. It ceases to lead
// at once, and goes on when there is room again. Terms and votes find room: Raft panics if it cannot
// store those, as the process of a real server does.
var ErrDiskFull = errors.New("no space left on the simulated disk")

func newLogStore(log raft.LogStore) *LogStore { return &LogStore{LogStore: log} }

// remember takes over what another LogStore remembers of the same log.
func (s *LogStore) remember(before *LogStore) {
	before.mu.Lock()
	types, terms, free := slices.Clone(before.types), slices.Clone(before.terms), before.free
	before.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.types, s.terms, s.free = types, terms, free
}

// review fills in what is remembered of the entries that the log holds.
func (s *LogStore) review() error {
	first, last, err := bounds(s)
	if err != nil {
		return err
	}
	var l raft.Log
	for i := first; i <= last; i++ {
		if err := s.GetLog(i, &l); errors.Is(err, raft.ErrLogNotFound) {
			continue // a snapshot that came from the leader leaves a gap
		} else if err != nil {
			return fmt.Errorf("read entry %d: %w", i, err)
		}
		s.note(&l)
	}
	return nil
}

// note remembers an entry; s.mu must be held unless nobody else has the log yet.
func (s *LogStore) note(l *raft.Log) {
	for uint64(len(s.types)) <= l.Index {
		s.types, s.terms = append(s.types, 0), append(s.terms, 0)
	}
	s.types[l.Index], s.terms[l.Index] = fsm.TypeOf(l), uint32(l.Term)
}

func (s *LogStore) isFull() bool { return s.full != nil && s.full() }

func (s *LogStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

func (s *LogStore) StoreLogs(logs []*raft.Log) error {
	if s.isFull() {
		return ErrDiskFull
	}
	s.mu.Lock()
	for _, l := range logs {
		s.note(l)
		s.free = max(s.free-len(l.Data), 0)
	}
	s.mu.Unlock()
	err := s.LogStore.StoreLogs(logs)
	if err != nil && !s.closed.Load() {
		s.broken.CompareAndSwap(nil, &err)
	}
	return err
}

// DeleteRange deletes entries, for which a disk that is full has no room, either: a transaction of
// BoltDB copies what it changes. If Raft could delete the end of its log and not store what is to
// follow, it would take the old end for the end (raft.go, appendEntries), and panic sooner or later.
func (s *LogStore) DeleteRange(lowest, highest uint64) error {
	if s.isFull() {
		return ErrDiskFull
	}
	freed := s.size(lowest, highest)
	err := s.LogStore.DeleteRange(lowest, highest)
	if err == nil {
		s.mu.Lock()
		s.free += freed
		s.mu.Unlock()
	}
	return err
}

// size adds up the entries from lowest to highest, if that matters.
func (s *LogStore) size(lowest, highest uint64) (bytes int) {
	var l raft.Log
	for i := lowest; s.CountFree && i <= highest; i++ {
		if s.GetLog(i, &l) == nil { // else the leader's snapshot left a gap
			bytes += len(l.Data)
		}
	}
	return bytes
}

// Free returns the size in bytes of the entries that were deleted less that of those that were stored
// since, whose room they left; never less than zero.
func (s *LogStore) Free() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.free
}

// Broken returns the error of the first entries that could not be stored; nil: all could. Raft
// tries again forever, with one leader after the other.
func (s *LogStore) Broken() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// supersede forgets what was stored with after < index ≤ upTo: a snapshot of the leader's
// took its place. It may never have been agreed on, and Raft leaves the end of it in the
// log, in front of the snapshot (raft.go, installSnapshot and compactLogs).
func (s *LogStore) supersede(after, upTo uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := after + 1; i <= upTo && i < uint64(len(s.types)); i++ {
		s.types[i], s.terms[i] = 0, 0
	}
}

// TypesBetween returns the types of the entries with after < index ≤ upTo; zero for those
// that were never in this log, because a snapshot from the leader held their effect.
func (s *LogStore) TypesBetween(after, upTo uint64) []fsm.Type {
	s.mu.Lock()
	defer s.mu.Unlock()
	types := make([]fsm.Type, upTo-after)
	if after+1 < uint64(len(s.types)) {
		copy(types, s.types[after+1:])
	}
	return types
}

// Term returns the term of an entry; zero when it was never in this log.
func (s *LogStore) Term(index uint64) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if index >= uint64(len(s.terms)) {
		return 0
	}
	return s.terms[index]
}

// termsUpTo returns the terms of the entries up to an index, by index.
func (s *LogStore) termsUpTo(index uint64) []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.terms[:min(index+1, uint64(len(s.terms)))])
}

// lastCommand returns the index of the last entry up to an index that the state machine
// gets to see, which it does not of Raft's own; zero when there is none.
func (s *LogStore) lastCommand(upTo uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := uint64(len(s.types)); upTo >= n {
		upTo = n - min(n, 1)
	}
	for upTo > 0 && !s.types[upTo].Applied() {
		upTo--
	}
	return upTo
}
