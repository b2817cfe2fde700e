package nodesim

import "time"

// ref names one loop of one client.
type ref struct {
	client int32
	loop   loop
}

// queue is the fleet's delaying queue, a binary heap of all waiting loops by their instants.
// A loop knows its index (task.pos), so that moving or ending a wait takes O(log n) and
// leaves no stale entry.
type queue struct {
	entries []entry
	clients []client // the fleet's
}

type entry struct {
	at  time.Duration
	ref ref
}

func (q *queue) task(r ref) *task { return &q.clients[r.client].tasks[r.loop] }

// next returns the earliest instant; false if no loop waits.
func (q *queue) next() (time.Duration, bool) {
	if len(q.entries) == 0 {
		return 0, false
	}
	return q.entries[0].at, true
}

// pop takes the earliest loop out of the queue.
func (q *queue) pop() ref {
	r := q.entries[0].ref
	q.remove(r)
	return r
}

// set puts a loop into the queue at an instant, or moves it there.
func (q *queue) set(r ref, at time.Duration) {
	t := q.task(r)
	if t.pos < 0 {
		t.pos = int32(len(q.entries))
		q.entries = append(q.entries, entry{at, r})
	} else if q.entries[t.pos].at == at {
		return
	}
	q.entries[t.pos].at = at
	q.restore(int(t.pos))
}

// remove takes a loop out of the queue if it is there.
func (q *queue) remove(r ref) {
	t := q.task(r)
	if t.pos < 0 {
		return
	}
	i, last := int(t.pos), len(q.entries)-1
	q.swap(i, last)
	q.entries = q.entries[:last]
	t.pos = -1
	if i < last {
		q.restore(i)
	}
}

// restore moves the entry at i to its place in the heap.
func (q *queue) restore(i int) {
	for i > 0 && q.entries[i].at < q.entries[(i-1)/2].at {
		q.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q.entries); child++ {
			if q.entries[child].at < q.entries[least].at {
				least = child
			}
		}
		if least == i {
			return
		}
		q.swap(i, least)
		i = least
	}
}

func (q *queue) swap(i, j int) {
	q.entries[i], q.entries[j] = q.entries[j], q.entries[i]
	q.task(q.entries[i].ref).pos = int32(i)
	q.task(q.entries[j].ref).pos = int32(j)
}
