package state

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-memdb"
)

// Store holds one server's state. All methods are safe for concurrent use, but writes
// must come from one goroutine, the FSM's, in the order of their Raft indexes.
type Store struct {
	db      *memdb.MemDB
	strings interner // the writer's

	mu      sync.Mutex
	counts  *counts
	waiters []waiter // by index, lowest first
}

type waiter struct {
	index   uint64
	reached chan struct{}
}

// New returns an empty store at index zero.
func New() *Store {
	db, err := memdb.NewMemDB(schema())
	if err != nil {
		panic(fmt.Sprintf("state: the schema is invalid: %v", err)) // a constant: cannot fail at run time
	}
	return &Store{db: db, strings: interner{}, counts: newCounts()}
}

// Snapshot returns the state as of the latest applied index. It costs no copying and
// needs no closing, but keeps what it sees in memory while it is in use.
func (s *Store) Snapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	db := s.db.Snapshot()
	return &Snapshot{db: db, txn: db.Txn(false), counts: s.counts}
}

// Index returns the latest applied index.
func (s *Store) Index() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts.Index
}

// SnapshotMinIndex returns a snapshot that includes index, waiting for it up to timeout
// (state_store.go, SnapshotMinIndex). The error is ctx's, or context.DeadlineExceeded
// wrapped with both indexes once the timeout passed.
func (s *Store) SnapshotMinIndex(ctx context.Context, index uint64, timeout time.Duration) (*Snapshot, error) {
	reached := s.wait(index)
	if reached == nil {
		return s.Snapshot(), nil
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-reached:
		return s.Snapshot(), nil
	case <-ctx.Done():
		s.forget(reached)
		return nil, ctx.Err()
	case <-timer.C:
		s.forget(reached)
		return nil, fmt.Errorf("state is at index %d and did not reach %d within %v: %w",
			s.Index(), index, timeout, context.DeadlineExceeded)
	}
}

// wait returns a channel that closes once index is applied; nil means that it is.
func (s *Store) wait(index uint64) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts.Index >= index {
		return nil
	}
	w := waiter{index: index, reached: make(chan struct{})}
	at, _ := slices.BinarySearchFunc(s.waiters, index, func(w waiter, index uint64) int {
		if w.index <= index {
			return -1
		}
		return 1
	})
	s.waiters = slices.Insert(s.waiters, at, w)
	return w.reached
}

func (s *Store) forget(reached chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiters = slices.DeleteFunc(s.waiters, func(w waiter) bool { return w.reached == reached })
}

// WatchNodeAllocs returns a channel that closes at the next change of the node's
// allocations. Ask for it before the snapshot that is to be compared. As long as the
// node is registered, changes on other nodes do not close it: tens of thousands of
// clients can wait, each for its own.
func (s *Store) WatchNodeAllocs(nodeID string) <-chan struct{} {
	changed, _, err := s.Snapshot().txn.FirstWatch(tableNodeAllocs, indexID, nodeID)
	must(err)
	return changed
}

// Update applies one log entry: all that write does becomes visible at once, at index.
// Nothing is changed when write returns an error, which Update passes on as it is.
// Index must not be below an earlier one.
func (s *Store) Update(index uint64, write func(*Tx) error) error {
	if at := s.Index(); index < at {
		return fmt.Errorf("cannot apply index %d: the store is at %d already", index, at)
	}
	tx := begin(s.db.Txn(false), s.counts, index)
	tx.strings = s.strings
	if err := write(tx); err != nil {
		return err
	}
	txn := s.db.Txn(true)
	defer txn.Abort() // does nothing after a commit
	if err := tx.flush(txn); err != nil {
		return err
	}
	s.commit(txn, tx.counts)
	return nil
}

// commit publishes a transaction and wakes who waited for its index. Rows and counts
// change under one lock: no snapshot pairs those of different indexes.
func (s *Store) commit(txn *memdb.Txn, now counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	txn.Commit()
	s.counts = &now
	n := 0
	for n < len(s.waiters) && s.waiters[n].index <= s.counts.Index {
		close(s.waiters[n].reached)
		n++
	}
	s.waiters = slices.Delete(s.waiters, 0, n)
}
