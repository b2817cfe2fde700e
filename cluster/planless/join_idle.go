package planless

import "slices"

// joinIdle has nodes that look for work: an idle node enters the queue of a scheduler chosen by lot. A
// scheduler gives an allocation to the first node in its own queue or, if that is empty, to a node chosen by lot
// (Lu et al., Join-Idle-Queue, Performance Evaluation 2011). In the paper an idle server has nothing to do. Here an idle
// node has room for the largest allocation, so after it has taken an allocation it may enter a queue again.
type joinIdle struct {
	w      *World
	idle   [][]*Node // by scheduler
	listed map[int]bool
	ids    []int // of the nodes known to be there
	large  Size
}

func newJoinIdle(w *World) Design {
	d := &joinIdle{w: w, idle: make([][]*Node, w.Schedulers), listed: map[int]bool{}}
	for _, s := range w.Sizes {
		d.large = Size{max(d.large.CPU, s.CPU), max(d.large.Memory, s.Memory)}
	}
	return d
}

func (d *joinIdle) Want(allocs []*Alloc) {
	for _, a := range allocs {
		d.give(a.Job%d.w.Schedulers, a)
	}
}

func (d *joinIdle) Joined(n *Node) {
	if !slices.Contains(d.ids, n.ID) {
		d.ids = append(d.ids, n.ID)
	}
	d.enter(n)
}

func (d *joinIdle) Left(n *Node) {
	d.ids = slices.DeleteFunc(d.ids, func(id int) bool { return id == n.ID })
	for i := range d.idle {
		d.idle[i] = slices.DeleteFunc(d.idle[i], func(o *Node) bool { return o == n })
	}
	d.listed[n.ID] = false
}

// enter has a node enter a queue, if it has room and is in none.
func (d *joinIdle) enter(n *Node) {
	if d.listed[n.ID] || !n.Free.fits(d.large) {
		return
	}
	d.listed[n.ID] = true
	at := d.w.Rand.IntN(len(d.idle))
	d.w.Tell(func() {
		if d.listed[n.ID] && !n.Down {
			d.idle[at] = append(d.idle[at], n)
		}
	})
}

// give sends an allocation to a node, and to another if that does not take it.
func (d *joinIdle) give(scheduler int, a *Alloc) {
	w := d.w
	if a.Placed() {
		return
	}
	n := d.next(scheduler)
	if n == nil {
		w.After(w.Timeout, func() { d.give(scheduler, a) })
		return
	}
	since, called, answered := n.since, a.called, false
	w.Ask(n, func() {
		ok := n.since == since && w.Accept(n, a)
		d.enter(n)
		w.Tell(func() {
			if answered = true; !ok && !a.Placed() {
				w.Conflict()
				// Ask the next node at once if one is in the queue. Before asking a node chosen by lot, wait.
				if len(d.idle[scheduler]) > 0 {
					d.give(scheduler, a)
				} else {
					w.After(w.Timeout/10, func() { d.give(scheduler, a) })
				}
			}
		})
	})
	w.After(w.Timeout, func() {
		if !answered && !a.Placed() && a.called == called {
			w.Conflict()
			d.give(scheduler, a)
		}
	})
}

// next returns the first node of a scheduler's queue, or one by lot.
func (d *joinIdle) next(scheduler int) *Node {
	if q := d.idle[scheduler]; len(q) > 0 {
		d.idle[scheduler] = q[1:]
		d.listed[q[0].ID] = false
		return q[0]
	}
	if len(d.ids) == 0 {
		return nil
	}
	return d.w.Nodes[d.ids[d.w.Rand.IntN(len(d.ids))]]
}
