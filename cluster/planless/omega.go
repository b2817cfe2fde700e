package planless

import "time"

// omega has schedulers that share the state of the cell: each plans on a copy of its own, and
// commits what it has decided as a transaction, in which each placement holds if its node still
// has the room (Schwarzkopf et al., Omega, EuroSys 2013). A scheduler takes a new copy after each transaction.
type omega struct {
	w          *World
	schedulers []*omegaScheduler
}

type omegaScheduler struct {
	omega *omega
	id    int
	view  *view
	backlog
	working bool
}

func newOmega(w *World) Design {
	o := &omega{w: w}
	for i := range w.Schedulers {
		o.schedulers = append(o.schedulers, &omegaScheduler{omega: o, id: i, view: newView(w.Params.Nodes)})
	}
	return o
}

// Want goes to the job's scheduler.
func (o *omega) Want(allocs []*Alloc) {
	s := o.schedulers[allocs[0].Job%len(o.schedulers)]
	s.queue.add(allocs...)
	s.work()
}

// Joined and Left write a change of the shared state. A node that joins wakes the schedulers with allocations that wait.
func (o *omega) Joined(n *Node) {
	o.w.Write(func() {
		if n.Down {
			return
		}
		for _, s := range o.schedulers {
			s.view.join(n)
			s.joined()
			s.work()
		}
	})
}

func (o *omega) Left(n *Node) {
	o.w.Write(func() {})
	for _, s := range o.schedulers {
		s.view.leave(n)
	}
}

// work plans for all that waits on the scheduler's copy.
func (s *omegaScheduler) work() {
	if s.working || len(s.queue) == 0 {
		return
	}
	batch := s.queue.takeAll()
	if len(batch) == 0 {
		return
	}
	s.working = true
	w, looked := s.omega.w, 0
	var blocked []*Alloc
	var decided []placement
	for _, a := range batch {
		id, l := s.view.choose(w, a)
		looked += l
		if id < 0 {
			blocked = append(blocked, a)
			continue
		}
		s.view.take(id, a)
		decided = append(decided, placement{a, w.Nodes[id]})
	}
	joins := s.joins
	w.Think(s.id, w.Look*timesOf(looked), func() {
		w.Tell(func() { s.commit(decided, joins, blocked) })
	})
}

// placement is where an allocation is to go.
type placement struct {
	alloc *Alloc
	node  *Node
}

// commit is the transaction, at the shared state. What conflicts comes back.
func (s *omegaScheduler) commit(decided []placement, joins int, blocked []*Alloc) {
	w := s.omega.w
	placed := 0
	var again []*Alloc
	for _, p := range decided {
		if w.Assign(p.node, p.alloc) {
			placed++
			continue
		}
		w.Conflict()
		again = append(again, p.alloc)
	}
	answer := func() {
		w.Tell(func() {
			s.refresh()
			s.queue.add(again...)
			s.block(joins, blocked)
			s.working = false
			s.work()
		})
	}
	if placed == 0 {
		answer()
		return
	}
	w.Write(answer)
}

// refresh takes a new copy of the shared state.
func (s *omegaScheduler) refresh() {
	for _, n := range s.omega.w.Nodes {
		if !n.Down {
			s.view.join(n)
		}
	}
}

func timesOf(n int) time.Duration { return time.Duration(n) }
