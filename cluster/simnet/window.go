package simnet

import (
	"context"
	"sync"
	"time"
)

// window bounds how many requests of a pipeline are under way. It counts as Raft's network transport does, where entries that a
// leader wrote together are one request: those of instants that follow each other count as one (see gather).
type window struct {
	limit int           // zero: none
	room  chan struct{} // yields after an answer

	mu     sync.Mutex
	last   time.Time // when a request was sent
	groups []int     // how many requests of each group are under way, the oldest first
}

// follow reports whether a request that is sent at an instant is of the group of one sent before.
func follow(at, before time.Time) bool { return at.Sub(before) <= 4*Turns }

// full reports whether a request that is sent now would be one too many.
func (w *window) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.limit > 0 && len(w.groups) >= w.limit && !follow(time.Now(), w.last)
}

// follows reports whether a request that is sent now is of the group of the last one.
func (w *window) follows() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return follow(time.Now(), w.last)
}

// enter notes that a request is sent.
func (w *window) enter(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.groups); n > 0 && follow(now, w.last) {
		w.groups[n-1]++
	} else {
		w.groups = append(w.groups, 1)
	}
	w.last = now
}

// leave notes that the answer to the oldest request is read.
func (w *window) leave() {
	w.mu.Lock()
	if w.groups[0]--; w.groups[0] == 0 {
		w.groups = w.groups[1:]
	}
	w.mu.Unlock()
	select {
	case w.room <- struct{}{}:
	default:
	}
}

// underWay returns how many requests are.
func (w *window) underWay() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, of := range w.groups {
		n += of
	}
	return n
}

// await waits until the window is not full, and reports whether it did. It does not if the pipeline breaks, or ctx ends.
func (w *window) await(ctx context.Context, broken <-chan struct{}) bool {
	for w.full() {
		select {
		case <-w.room:
		case <-broken:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}
