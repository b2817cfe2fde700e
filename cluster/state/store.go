package state

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-memdb"
)

// Store holds one server's state. All methods are safe for concurrent use, but writes
// must come from one goroutine, the FSM's, in the order of their Raft indexes.
type Store struct {
	db       *memdb.MemDB
	strings  *interner // the writer's
	watchers watchers

	mu     sync.Mutex
	counts *counts
}

// New returns an empty store at index zero.
func New() *Store {
	db, err := memdb.NewMemDB(schema())
	if err != nil {
		panic(fmt.Sprintf("state: the schema is invalid: %v", err)) // a constant: cannot fail at run time
	}
	// Unlike a database, a snapshot of one, which can be written to as well, does not close
	// a channel for each tree node that a write replaces: see watchers.
	return &Store{db: db.Snapshot(), strings: newInterner(), counts: newCounts()}
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

// EvalCount counts the evaluations of one status, as of the latest applied index.
func (s *Store) EvalCount(status string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts.EvalsByStatus.of(status)
}

// How SnapshotMinIndex polls: after backoffBase, then after backoffBase·4^n for the n-th
// try, never longer than backoffLimit (state_store.go, SnapshotMinIndex).
const (
	backoffBase  = 20 * time.Millisecond
	backoffLimit = time.Second
)

// SnapshotMinIndex returns a snapshot that includes index, waiting for it up to timeout.
// It polls, as Nomad's does: a worker that comes a moment too early sleeps for 20 ms,
// and 320 ms more if that was not enough, which shows in how many evaluations a storm
// lets it process. The error is ctx's, or context.DeadlineExceeded wrapped with both
// indexes once the timeout passed.
func (s *Store) SnapshotMinIndex(ctx context.Context, index uint64, timeout time.Duration) (*Snapshot, error) {
	if s.Index() >= index {
		return s.Snapshot(), nil
	}
	expired := time.NewTimer(timeout)
	defer expired.Stop()
	for try := 1; ; try++ {
		retry := time.NewTimer(backoff(try))
		select {
		case <-retry.C:
			if s.Index() >= index {
				return s.Snapshot(), nil
			}
		case <-ctx.Done():
			retry.Stop()
			return nil, ctx.Err()
		case <-expired.C:
			retry.Stop()
			return nil, fmt.Errorf("state is at index %d and did not reach %d within %v: %w",
				s.Index(), index, timeout, context.DeadlineExceeded)
		}
	}
}

func backoff(try int) time.Duration {
	if try == 1 {
		return backoffBase
	}
	if try > 4 {
		return backoffLimit
	}
	return min(backoffBase<<(2*try), backoffLimit)
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
	s.commit(txn, tx.counts, tx.nodeAllocs.changed)
	return nil
}

// commit publishes a transaction and wakes those who watch the nodes whose allocations
// it changed. Rows and counts change under one lock: no snapshot pairs those of different
// indexes.
func (s *Store) commit(txn *memdb.Txn, now counts, changed map[string]*NodeAllocs) {
	s.mu.Lock()
	txn.Commit()
	s.counts = &now
	s.mu.Unlock()
	s.watchers.wake(changed)
}
