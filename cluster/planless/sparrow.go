package planless

import "slices"

// sparrow has schedulers that keep no state of the nodes, but sample them. For a job of m allocations a scheduler
// sends probes to d*m nodes chosen by lot, and each probe reserves a turn in its node's queue. When a turn comes and
// the node has room, the node asks the scheduler for an allocation, and gets one or hears that none is left. These
// are batch sampling and late binding (Ousterhout et al., Sparrow, SOSP 2013). Sparrow's tasks last for moments, so
// every turn comes. Allocations here do not end, so after a timeout a scheduler probes again for those left.
type sparrow struct {
	w       *World
	ids     []int // of the nodes known to be there
	queues  map[int][]*reservation
	pending map[int]*sparrowJob
}

// probeRatio is d.
const probeRatio = 2

type sparrowJob struct {
	id      int
	size    Size
	left    waiting
	watched bool
}

// reservation is a turn in a node's queue.
type reservation struct {
	job    *sparrowJob
	asking bool // its room is held while the scheduler is asked
	void   bool // the scheduler tries again
}

func newSparrow(w *World) Design {
	return &sparrow{w: w, queues: map[int][]*reservation{}, pending: map[int]*sparrowJob{}}
}

func (s *sparrow) Want(allocs []*Alloc) {
	j := s.pending[allocs[0].Job]
	if j == nil {
		j = &sparrowJob{id: allocs[0].Job, size: allocs[0].Size}
		s.pending[j.id] = j
	}
	j.left.add(allocs...)
	s.probe(j, len(allocs))
	s.watch(j)
}

// watch probes again, from time to time, for what is left of a job.
func (s *sparrow) watch(j *sparrowJob) {
	if j.watched {
		return
	}
	j.watched = true
	s.w.After(s.w.Timeout, func() {
		j.watched = false
		j.left.add(j.left.takeAll()...)
		if len(j.left) > 0 {
			s.probe(j, len(j.left))
			s.watch(j)
		}
	})
}

func (s *sparrow) Joined(n *Node) {
	if !slices.Contains(s.ids, n.ID) {
		s.ids = append(s.ids, n.ID)
	}
	s.queues[n.ID] = nil
}

func (s *sparrow) Left(n *Node) {
	s.ids = slices.DeleteFunc(s.ids, func(id int) bool { return id == n.ID })
}

// probe samples nodes for so many allocations of a job. Turns that have not come when a scheduler
// tries again are void.
func (s *sparrow) probe(j *sparrowJob, allocs int) {
	w := s.w
	var sent []*reservation
	for i := range min(probeRatio*allocs, len(s.ids)) {
		k := i + w.Rand.IntN(len(s.ids)-i)
		s.ids[i], s.ids[k] = s.ids[k], s.ids[i]
		node, r := w.Nodes[s.ids[i]], &reservation{job: j}
		sent = append(sent, r)
		w.Ask(node, func() {
			s.queues[node.ID] = append(s.queues[node.ID], r)
			s.serve(node)
		})
	}
	w.After(w.Timeout, func() {
		for _, r := range sent {
			r.void = true
		}
	})
}

// serve asks the schedulers of all turns that the node has room for.
func (s *sparrow) serve(n *Node) {
	free := n.Free
	for _, r := range s.queues[n.ID] {
		if r.asking {
			free = free.sub(r.job.size)
		}
	}
	for _, r := range s.queues[n.ID] {
		if r.asking || r.void || !free.fits(r.job.size) {
			continue
		}
		free = free.sub(r.job.size)
		r.asking = true
		s.w.Tell(func() { s.bind(n, r) })
	}
	s.queues[n.ID] = slices.DeleteFunc(s.queues[n.ID], func(r *reservation) bool { return r.void && !r.asking })
}

// bind gives a node an allocation, at the scheduler: one that no other node was given.
func (s *sparrow) bind(n *Node, r *reservation) {
	var a *Alloc
	for len(r.job.left) > 0 && a == nil {
		if a = r.job.left[0]; a.Placed() {
			a = nil
		}
		r.job.left = r.job.left[1:]
	}
	since := n.since
	drop := func() {
		s.queues[n.ID] = slices.DeleteFunc(s.queues[n.ID], func(o *reservation) bool { return o == r })
	}
	s.w.Ask(n, func() {
		drop()
		if a != nil && n.since == since && !a.Placed() && !s.w.Accept(n, a) {
			s.w.fail("sparrow: node %d has no room for a turn that it held room for", n.ID)
		}
		s.serve(n)
	})
	if a == nil {
		s.w.Conflict() // a turn in vain
		s.w.After(s.w.Timeout, drop)
		return
	}
	s.w.After(s.w.Timeout, func() {
		drop() // an answer that never came
		if !a.Placed() {
			s.w.Conflict()
			r.job.left.add(a)
			s.probe(r.job, 1)
			s.watch(r.job)
		}
	})
}
