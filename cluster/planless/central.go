package planless

// central is one planner that decides for all, one batch after the other, and knows everything
// that anybody knows. It is what the others are held against, Nomad with its leader's one
// applier.
type central struct {
	w    *World
	view *view
	backlog
	working bool
}

func newCentral(w *World) Design { return &central{w: w, view: newView(w.Params.Nodes)} }

func (c *central) Want(allocs []*Alloc) {
	c.queue.add(allocs...)
	c.work()
}

// Joined and Left are entries of the log.
func (c *central) Joined(n *Node) {
	c.w.Write(func() {
		if !n.Down {
			c.view.join(n)
			c.joined()
			c.work()
		}
	})
}

func (c *central) Left(n *Node) {
	c.view.leave(n)
	c.w.Write(func() {})
}

// work plans for what waits, as one plan for each job, until nothing more has room.
func (c *central) work() {
	if c.working || len(c.queue) == 0 {
		return
	}
	all := c.queue.takeAll()
	if len(all) == 0 {
		return
	}
	n := 1
	for n < len(all) && all[n].Job == all[0].Job {
		n++
	}
	batch := all[:n]
	c.queue.add(all[n:]...)
	c.working = true
	looked := 0
	nodes := map[*Alloc]int{}
	var blocked []*Alloc
	for _, a := range batch {
		id, l := c.view.choose(c.w, a)
		looked += l
		if id < 0 {
			blocked = append(blocked, a)
			continue
		}
		c.view.take(id, a)
		nodes[a] = id
	}
	joins := c.joins
	c.w.Think(0, c.w.Look*timesOf(looked), func() { c.commit(batch, nodes, joins, blocked) })
}

// commit writes a plan. What did not fit any more, because its node has left, is planned again.
func (c *central) commit(batch []*Alloc, nodes map[*Alloc]int, joins int, blocked []*Alloc) {
	done := func() {
		for _, a := range batch {
			id, ok := nodes[a]
			if ok && !c.w.Assign(c.w.Nodes[id], a) {
				c.w.Conflict()
				c.queue.add(a)
			}
		}
		c.working = false
		c.block(joins, blocked)
		c.work()
	}
	if len(nodes) == 0 {
		done()
		return
	}
	c.w.Write(done)
}
