package nodesim

import (
	"time"

	minheap "github.com/simctl/simctl/internal/heap"
)

// ref names one loop of one client.
type ref struct {
	client int32
	loop   loop
}

// queue is the fleet's delaying queue: a heap of the instants of all waiting loops. Each
// loop knows its place in it (task.pos), so that a wait can be moved or ended in O(log n)
// and leaves no stale entry behind.
type queue struct {
	entries minheap.Heap[entry]
	clients []client // of the fleet, for the places
}

type entry struct {
	at  time.Duration
	ref ref
}

func newQueue(clients []client) queue {
	q := queue{clients: clients}
	q.entries.Before = func(a, b entry) bool { return a.at < b.at }
	q.entries.Moved = func(e entry, index int) { clients[e.ref.client].tasks[e.ref.loop].pos = int32(index) }
	return q
}

func (q *queue) task(r ref) *task { return &q.clients[r.client].tasks[r.loop] }

// next returns the earliest instant; false if no loop waits.
func (q *queue) next() (time.Duration, bool) {
	if q.entries.Len() == 0 {
		return 0, false
	}
	return q.entries.Items[0].at, true
}

// pop takes the earliest loop out of the queue.
func (q *queue) pop() ref { return q.entries.Pop().ref }

// set puts a loop into the queue at an instant, or moves it there.
func (q *queue) set(r ref, at time.Duration) {
	pos := q.task(r).pos
	if pos < 0 {
		q.entries.Push(entry{at, r})
	} else if e := &q.entries.Items[pos]; e.at != at {
		e.at = at
		q.entries.Fix(int(pos))
	}
}

// remove takes a loop out of the queue if it is there.
func (q *queue) remove(r ref) {
	if pos := q.task(r).pos; pos >= 0 {
		q.entries.Remove(int(pos))
	}
}
