package state

import (
	"maps"
	"slices"
	"sync"
)

// watchers wake those who wait for a change of one node's allocations. memdb has watches
// of its own, which every write pays for: it closes a channel for each node of its trees
// that is replaced, whether anybody waits or not. The zero value is ready to use.
type watchers struct {
	mu     sync.Mutex
	byNode map[string]chan struct{}
}

// WatchNodeAllocs returns a channel that closes at the next change of the node's
// allocations. Ask for it before the snapshot that is to be compared. Changes on other
// nodes do not close it: tens of thousands of clients can wait, each for its own.
func (s *Store) WatchNodeAllocs(nodeID string) <-chan struct{} {
	w := &s.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	changed, ok := w.byNode[nodeID]
	if !ok {
		if w.byNode == nil {
			w.byNode = map[string]chan struct{}{}
		}
		changed = make(chan struct{})
		w.byNode[nodeID] = changed
	}
	return changed
}

// wake closes the channels of the changed nodes, in the order of their IDs.
func (w *watchers) wake(changed map[string]*NodeAllocs) {
	if len(changed) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var awake []string
	for id := range changed {
		if w.byNode[id] != nil {
			awake = append(awake, id)
		}
	}
	w.close(awake)
}

func (w *watchers) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.close(slices.Collect(maps.Keys(w.byNode)))
}

func (w *watchers) close(ids []string) {
	slices.Sort(ids)
	for _, id := range ids {
		close(w.byNode[id])
		delete(w.byNode, id)
	}
}
