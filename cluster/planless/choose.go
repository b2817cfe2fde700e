package planless

import (
	"math"
	"math/bits"
	"slices"
)

// view is what a scheduler believes of the nodes: those that are there, and their room. It may
// be out of date.
type view struct {
	free  []Size // by node
	there []bool
	jobs  []map[int]int // by node: allocations of each job
	ids   []int         // of those that are there, in no order that matters
	place []int         // by node: its index in ids
}

func newView(nodes int) *view {
	return &view{free: make([]Size, nodes), there: make([]bool, nodes), jobs: make([]map[int]int, nodes), place: make([]int, nodes)}
}

// join notes a node with its room, and what it runs.
func (v *view) join(n *Node) {
	v.free[n.ID] = n.Free
	v.jobs[n.ID] = map[int]int{}
	for _, a := range n.allocs {
		v.jobs[n.ID][a.Job]++
	}
	if !v.there[n.ID] {
		v.there[n.ID], v.place[n.ID] = true, len(v.ids)
		v.ids = append(v.ids, n.ID)
	}
}

func (v *view) leave(n *Node) {
	if !v.there[n.ID] {
		return
	}
	v.there[n.ID] = false
	at, last := v.place[n.ID], len(v.ids)-1
	v.ids[at] = v.ids[last]
	v.place[v.ids[at]] = at
	v.ids = v.ids[:last]
}

// take notes that an allocation goes to a node.
func (v *view) take(id int, a *Alloc) {
	v.free[id] = v.free[id].sub(a.Size)
	v.jobs[id][a.Job]++
}

// choose returns the best node of the first few with room, in an order by lot, as Nomad's service
// scheduler does: the fuller the better, less a penalty for others of the job. It reports how
// many nodes it looked at; the node is -1 if none has room.
func (v *view) choose(w *World, a *Alloc) (best, looked int) {
	best = -1
	score := math.Inf(-1)
	limit := max(2, bits.Len(uint(len(v.ids))))
	for i, taken := 0, 0; i < len(v.ids) && taken < limit; i++ {
		j := i + w.Rand.IntN(len(v.ids)-i)
		v.ids[i], v.ids[j] = v.ids[j], v.ids[i]
		v.place[v.ids[i]], v.place[v.ids[j]] = i, j
		looked++
		id := v.ids[i]
		if !v.free[id].fits(a.Size) {
			continue
		}
		taken++
		s := w.Room.load(w.Room.sub(v.free[id]).add(a.Size))
		if others := v.jobs[id][a.Job]; others > 0 {
			s = (s - float64(others+1)/float64(w.Count)) / 2
		}
		if s > score {
			best, score = id, s
		}
	}
	return best, looked
}

// backlog is what a scheduler has to place: what waits for its turn, and what found no room and
// waits for a node that joins.
type backlog struct {
	queue, blocked waiting
	joins          int // how often a node has joined
}

// joined notes that a node has joined, and puts all blocked allocations back into the queue.
func (b *backlog) joined() {
	b.joins++
	b.queue.add(b.blocked.takeAll()...)
}

// block sets aside allocations that found no room. Joins is how many nodes had joined when they were looked at: if
// another has joined since, they go back into the queue.
func (b *backlog) block(joins int, allocs []*Alloc) {
	if joins == b.joins {
		b.blocked.add(allocs...)
	} else {
		b.queue.add(allocs...)
	}
}

// waiting are allocations without a place, in the order in which they came.
type waiting []*Alloc

// add puts allocations at the end, and takeAll takes those that have no place yet.
func (q *waiting) add(allocs ...*Alloc) { *q = append(*q, allocs...) }

func (q *waiting) takeAll() []*Alloc {
	all := slices.DeleteFunc(*q, (*Alloc).Placed)
	*q = nil
	return all
}
