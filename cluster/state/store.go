package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Store holds the current Snapshot of one server and wakes those who wait for a change
// of it. All methods are safe for concurrent use, but only one goroutine, the FSM's, may
// call Update, Adopt and Restore, in the order of the Raft indexes.
type Store struct {
	current atomic.Pointer[Snapshot]
	strings *interner // of Update and Restore

	mu      sync.Mutex
	watches map[string]chan struct{} // by node ID
}

// New returns an empty store at index zero.
func New() *Store {
	s := &Store{strings: newInterner(), watches: map[string]chan struct{}{}}
	s.current.Store(emptySnapshot())
	return s
}

// Snapshot returns the state as of the latest applied index. It costs nothing and needs no
// closing; its rows stay in memory as long as it is referenced.
func (s *Store) Snapshot() *Snapshot { return s.current.Load() }

// Index returns the latest applied index.
func (s *Store) Index() uint64 { return s.Snapshot().Index() }

// Update applies one log entry: all that write does becomes visible at once, at index,
// which must not be below an earlier one. When write returns an error nothing changes,
// and Update returns that error as it is.
func (s *Store) Update(index uint64, write func(*Tx) error) error {
	now := s.Snapshot()
	if index < now.Index() {
		return fmt.Errorf("cannot apply index %d: the store is at %d already", index, now.Index())
	}
	next, err := now.next(&Tx{strings: s.strings}, index, write)
	if err != nil {
		return err
	}
	s.Adopt(next)
	return nil
}

// Adopt makes next, which another store made by applying the same log, the current state.
// It wakes the watchers that Update would wake, given the same entry. If this store did
// not apply all entries before that one, Adopt wakes every watcher.
func (s *Store) Adopt(next *Snapshot) {
	before := s.current.Swap(next)
	if before.Index() == next.base {
		s.wake(next.changedNodes)
	} else {
		s.wakeAll()
	}
}

// WatchNodeAllocs returns a channel that closes at the next change of the node's
// allocations, and at none of another node's: tens of thousands of clients can wait, each
// for its own. The node need not exist. A caller that compares states takes the channel
// first and then the snapshot, lest it miss the change between the two.
func (s *Store) WatchNodeAllocs(nodeID string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed, ok := s.watches[nodeID]
	if !ok {
		changed = make(chan struct{})
		s.watches[nodeID] = changed
	}
	return changed
}

// wake closes the channels of the nodes in the order given, which must not depend on a
// map: it is the order in which waiting clients run.
func (s *Store) wake(nodeIDs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range nodeIDs {
		if changed, ok := s.watches[id]; ok {
			close(changed)
			delete(s.watches, id)
		}
	}
}

func (s *Store) wakeAll() {
	s.mu.Lock()
	ids := slices.Sorted(maps.Keys(s.watches))
	s.mu.Unlock()
	s.wake(ids)
}

// SnapshotMinIndex waits backoffBase before its first look, backoffBase·4^n before the
// n-th, and never more than backoffLimit (state_store.go, SnapshotMinIndex).
const (
	backoffBase  = 20 * time.Millisecond
	backoffLimit = time.Second
)

// SnapshotMinIndex returns a snapshot that includes index, and waits for one up to
// timeout. It polls as Nomad's does, because that limits how many evaluations a worker
// processes in a storm: one that comes a moment too early sleeps for 20 ms, and for
// another 320 ms if that was not enough. The error is ctx's or, after timeout, one that
// names both indexes and wraps context.DeadlineExceeded.
func (s *Store) SnapshotMinIndex(ctx context.Context, index uint64, timeout time.Duration) (*Snapshot, error) {
	if now := s.Snapshot(); now.Index() >= index {
		return now, nil
	}
	expired := time.NewTimer(timeout)
	defer expired.Stop()
	for try := 1; ; try++ {
		retry := time.NewTimer(backoff(try))
		select {
		case <-retry.C:
			if now := s.Snapshot(); now.Index() >= index {
				return now, nil
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
