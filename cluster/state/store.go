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
	// WakeAtIndex makes SnapshotMinIndex return at the instant at which the index is applied. It
	// must be set before the store is used.
	WakeAtIndex bool
	// ReturnEndsWaits makes a client's report of an allocation that was unknown cancel the evaluation
	// that waits for it, even if others wait for that, too. It must be set before the store is used.
	ReturnEndsWaits bool
	// KeepsReports makes a plan that stores a deployment again keep its counts and deadlines as they are in the state:
	// clients may have reported since the plan was made. It must be set before the store is used.
	KeepsReports bool
	// SkipsStopped makes a plan place nothing of a job that was stopped or purged since it was made. It must be set before the
	// store is used.
	SkipsStopped bool
	// Applied, when not nil, is called with the new state after each entry that Update or Adopt has applied. It is
	// called twice for an entry that is applied twice. Only the FSM's goroutine may set it.
	Applied func(*Snapshot)
	// record makes snapshots know what their entry wrote.
	record bool
	// changed is closed by the next change of the state; nil if nobody waits for that.
	changed atomic.Pointer[chan struct{}]

	// Ladder is how long SnapshotMinIndex waits before each look, counted from 0. It is set
	// before anybody calls that.
	Ladder func(try int) time.Duration

	mu      sync.Mutex
	watches map[string][]*Watch // by node ID; nil after EndWatches
	idle    idleWatches         // those of watches whose nodes have no allocations
	begun   []*Watch            // at the instant beganAt
	beganAt time.Time
	setBack int // how often Restore went back
}

// New returns an empty store at index zero.
func New() *Store {
	s := &Store{strings: newInterner(), watches: map[string][]*Watch{}}
	s.current.Store(emptySnapshot())
	return s
}

// RecordChanges makes later snapshots know what their entry wrote, all of it in Changes. It
// must be called before the first entry.
func (s *Store) RecordChanges() { s.record = true }

// Changed returns a channel that the next change of the state closes. Whoever looks at a
// Snapshot after the call, and waits for the channel, misses none.
func (s *Store) Changed() <-chan struct{} {
	for {
		if c := s.changed.Load(); c != nil {
			return *c
		}
		s.changed.CompareAndSwap(nil, new(make(chan struct{})))
	}
}

// Snapshot returns the state as of the latest applied index. It costs nothing and needs no
// closing; its rows stay in memory as long as it is referenced.
func (s *Store) Snapshot() *Snapshot { return s.current.Load() }

// Index returns the latest applied index.
func (s *Store) Index() uint64 { return s.Snapshot().Index() }

// Course returns the latest applied index and how often Restore has led to an earlier one. While
// that number stays the same the index does not go back.
func (s *Store) Course() (index uint64, setBack int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Index(), s.setBack
}

// Update applies one log entry: all that write does becomes visible at once, at index,
// which must not be below an earlier one. When write returns an error nothing changes,
// and Update returns that error as it is.
func (s *Store) Update(index uint64, write func(*Tx) error) error {
	now := s.Snapshot()
	if index < now.Index() {
		return fmt.Errorf("cannot apply index %d: the store is at %d already", index, now.Index())
	}
	next, err := now.next(s.tx(), index, write)
	if err != nil {
		return err
	}
	s.Adopt(next)
	return nil
}

func (s *Store) tx() *Tx {
	tx := &Tx{strings: s.strings, returnEndsWaits: s.ReturnEndsWaits, keepsReports: s.KeepsReports, skipsStopped: s.SkipsStopped}
	if s.record {
		tx.changes = &Changes{}
	}
	return tx
}

// Adopt makes next, which another store made by applying the same log, the current state.
// It ends the watches that Update would end, given the same entry, even if this store did not
// apply all entries before that one.
func (s *Store) Adopt(next *Snapshot) {
	s.replaced(s.current.Swap(next), next)
	if s.Applied != nil {
		s.Applied(next)
	}
}

func (s *Store) replaced(before, next *Snapshot) {
	if c := s.changed.Swap(nil); c != nil {
		close(*c)
	}
	s.mu.Lock()
	changed := s.idle.with(next)
	if before.Index() != next.base {
		changed = slices.Sorted(maps.Keys(s.watches))
	}
	s.mu.Unlock()
	if again := s.beginAgain(); len(again) > 0 {
		changed = slices.Compact(slices.Sorted(slices.Values(slices.Concat(changed, again))))
	}
	s.wake(changed, func(w *Watch) bool { return w.over(next) })
}

// beginAgain makes watches that began at this instant forget their first look, and returns their nodes. The runtime
// chooses whether such a watch or a change at the same instant comes first. So the watch counts as begun after it.
func (s *Store) beginAgain() (nodeIDs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.begun) == 0 || !time.Now().Equal(s.beganAt) {
		return nil
	}
	for _, w := range s.begun {
		if slices.Contains(s.watches[w.NodeID], w) {
			w.looked, w.known, w.answer = false, 0, 0
			s.idle.remove(w)
			s.idle.add(w, s.Snapshot())
			nodeIDs = append(nodeIDs, w.NodeID)
		}
	}
	return nodeIDs
}

// Watch waits for allocations of a node to change after an index, whoever changes them. The
// node need not exist. Tens of thousands of clients can wait, each for its own node. While a node has no allocations,
// changes of others end its watch, too: see idleWatches.
type Watch struct {
	NodeID string
	Index  uint64
	// Wake is called once, when the watch ends. It must not block.
	Wake func()

	// FromTable makes the first look answer with the index of the table (Nomad since 2.0.5).
	FromTable bool

	expiry *time.Timer
	looked bool
	known  int    // allocations at the last look
	answer uint64 // the highest that a look came to
	near   *string
}

// Answer looks at a state and returns the index that the watch is answered with
// (node_endpoint.go, GetClientAllocs): that of the last change of an allocation of the node.
// If there are none, or one was collected during the watch, it is that of the last change of
// any allocation of the cluster. It is at least 1, since zero in a query would mean that its
// sender knows nothing. Once the watch has begun, it may be called after its end only.
func (w *Watch) Answer(s *Snapshot) uint64 {
	on := s.NodeAllocs(w.NodeID)
	index := on.modified
	if len(on.All) == 0 || len(on.All) < w.known || w.FromTable && !w.looked {
		index = s.counts.AllocsIndex
	}
	w.looked, w.known = true, len(on.All)
	w.answer = max(w.answer, index, 1)
	return w.answer
}

// over reports whether a state has what the watch waits for.
func (w *Watch) over(s *Snapshot) bool { return w.Answer(s) > w.Index }

// Watch begins a watch, which ends after longest at the latest. If there is nothing to wait for, it returns false, and
// Wake is never called. A watch that begins at the instant of a change counts as begun after the change.
func (s *Store) Watch(w *Watch, longest time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watches == nil || w.over(s.Snapshot()) {
		return false
	}
	s.watches[w.NodeID] = append(s.watches[w.NodeID], w)
	s.idle.add(w, s.Snapshot())
	if now := time.Now(); !now.Equal(s.beganAt) {
		clear(s.begun)
		s.begun, s.beganAt = s.begun[:0], now
	}
	s.begun = append(s.begun, w)
	w.expiry = time.AfterFunc(longest, func() {
		s.wake([]string{w.NodeID}, func(other *Watch) bool { return other == w })
	})
	return true
}

// EndWatches ends all watches, and those to come before they begin.
func (s *Store) EndWatches() {
	s.mu.Lock()
	all := s.watches
	s.watches = nil
	s.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(all)) {
		endAll(all[id])
	}
}

// wake ends those watches of the nodes that are over, in the order of the nodes, which must
// not depend on a map: it is the order in which waiting clients run.
func (s *Store) wake(nodeIDs []string, over func(*Watch) bool) {
	for _, id := range nodeIDs {
		var ended []*Watch
		s.mu.Lock()
		if left := slices.DeleteFunc(s.watches[id], func(w *Watch) bool {
			if !over(w) {
				return false
			}
			ended = append(ended, w)
			s.idle.remove(w)
			return true
		}); len(left) > 0 {
			s.watches[id] = left
		} else {
			delete(s.watches, id)
		}
		s.mu.Unlock()
		endAll(ended)
	}
}

// idleWatches are those of nodes without allocations, by what their IDs begin with. Nomad keeps allocations in a radix
// tree by the IDs of their nodes, and who watches an ID that is not there is woken by a change of what is nearest to it
// (go-immutable-radix, SeekPrefixWatch): of any node whose ID begins with as much of it as that of any node that has
// allocations. Such a watch is answered with the index of all allocations, so that it ends. The zero value is ready to use.
type idleWatches map[string]map[*Watch]struct{}

func (idle *idleWatches) add(w *Watch, s *Snapshot) {
	if len(s.NodeAllocs(w.NodeID).All) > 0 {
		return
	}
	w.near = new(s.nearest(w.NodeID))
	if *idle == nil {
		*idle = idleWatches{}
	}
	if (*idle)[*w.near] == nil {
		(*idle)[*w.near] = map[*Watch]struct{}{}
	}
	(*idle)[*w.near][w] = struct{}{}
}

func (idle idleWatches) remove(w *Watch) {
	if w.near == nil {
		return
	}
	delete(idle[*w.near], w)
	if len(idle[*w.near]) == 0 {
		delete(idle, *w.near)
	}
	w.near = nil
}

// with returns, in order, the nodes that a state's entry has changed and those whose idle watches it wakes.
func (idle idleWatches) with(next *Snapshot) []string {
	woken := next.changedNodes
	if next.counts.AllocsIndex != next.Index() {
		return woken
	}
	var seen map[string]bool
	for _, id := range next.changedNodes {
		if row := next.nodeAllocs.get(id); row != nil && row.Index != next.Index() {
			continue // the node itself has changed
		}
		for end := 0; end <= len(id) && len(seen) < len(idle); end++ {
			near := id[:end]
			if idle[near] == nil || seen[near] {
				continue
			}
			if seen == nil {
				seen, woken = map[string]bool{}, slices.Clone(woken)
			}
			seen[near] = true
			for w := range idle[near] {
				woken = append(woken, w.NodeID)
			}
		}
	}
	if seen != nil {
		slices.Sort(woken)
		woken = slices.Compact(woken)
	}
	return woken
}

func endAll(watches []*Watch) {
	for _, w := range watches {
		w.expiry.Stop()
		w.Wake()
	}
}

// SnapshotMinIndex returns a snapshot that includes index, and waits for one up to
// timeout. It polls as Nomad's does (state_store.go, SnapshotMinIndex), because that limits how
// many evaluations a worker processes in a storm: one that comes a moment too early sleeps for
// 20 ms, and for another 320 ms in old releases if that was not enough. The error is ctx's or,
// after timeout, one that names both indexes and wraps context.DeadlineExceeded.
func (s *Store) SnapshotMinIndex(ctx context.Context, index uint64, timeout time.Duration) (*Snapshot, error) {
	if now := s.Snapshot(); now.Index() >= index {
		return now, nil
	}
	expired := time.After(timeout)
	for try := 0; ; try++ {
		var applied <-chan struct{} // nil, which never closes, unless those who wait are woken
		if s.WakeAtIndex {
			applied = s.Changed()
		}
		retry := time.After(s.Ladder(try))
		if now := s.Snapshot(); now.Index() >= index {
			return now, nil
		}
		select {
		case <-retry:
		case <-applied:
			try--
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-expired:
			return nil, fmt.Errorf("state is at index %d and did not reach %d within %v: %w",
				s.Index(), index, timeout, context.DeadlineExceeded)
		}
	}
}
