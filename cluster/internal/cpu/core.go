package cpu

import (
	"slices"
	"time"
)

type core struct {
	thread *thread // nil if idle
	groups queue[*group]
	idle   time.Duration // when it became idle
}

// group is what a process has on a core.
type group struct {
	entity
	threads queue[*thread]
}

// thread runs the goroutines of a process, one after the other.
type thread struct {
	entity
	load  load
	of    *Process
	on    *processor // nil if it has none
	runs  *goroutine // nil if the thread sleeps or marks, and while ended is not
	ended *goroutine // that may go on: its work was done a moment ago; nil for others
	since time.Duration
	core  int           // on which it runs, waits or last ran
	ran   time.Duration // its last instant on a core; in the future while the core is about to go on
	until time.Duration // when its wait in the kernel ends
	keeps time.Duration // until when it keeps its processor during that wait; zero once it has none
}

func (t *thread) awake() bool { return !t.asleep }

// group returns what a thread's process has on its core.
func (m *Machine) group(t *thread) *group { return &t.of.groups[t.core] }

// load is what all that a core has to run weighs.
func (c *core) load() int64 {
	var weight int64
	for _, g := range c.groups.members {
		if slices.ContainsFunc(g.threads.members, (*thread).awake) {
			weight += g.weight
		}
	}
	return weight
}

// waiting returns a thread that waits for a core, or nil.
func (c *core) waiting() *thread {
	for _, g := range c.groups.members {
		for _, t := range g.threads.members {
			if t != c.thread && t.awake() {
				return t
			}
		}
	}
	return nil
}

// expired reports whether the thread of a core may have to give way.
func (c *core) expired() bool {
	group := c.groups.expired()
	return c.groups.runs.threads.expired() || group
}

// reweigh sets a process's weight on a core: the share of its whole weight that the core has of its load (update_cfs_group).
func (m *Machine) reweigh(p *Process, i int) {
	var here, lately, all int64
	for _, t := range p.threads {
		l := t.load.at(m.now)
		if t.core != i {
			all += l
			continue
		}
		lately += l
		here += t.load.is
	}
	here = max(here, lately)
	if all += here; all > 0 {
		m.cores[i].groups.reweigh(&p.groups[i], max(whole*here/all, least))
	}
}

// put has a thread wait for a core.
func (m *Machine) put(i int, t *thread) {
	t.core = i
	t.load.set(m.now, fully)
	g, c := m.group(t), &m.cores[i]
	g.threads.put(t)
	m.reweigh(t.of, i)
	switch {
	case g.asleep:
		c.groups.wake(g)
	case len(g.threads.members) == 1:
		c.groups.put(g)
	}
}

// sleep has the thread of a core go to sleep.
func (m *Machine) sleep(t *thread) {
	i := t.core
	g, c := m.group(t), &m.cores[i]
	t.load.set(m.now, 0)
	g.threads.sleep(t)
	if len(g.threads.members) == 0 {
		c.groups.sleep(g)
	}
	m.reweigh(t.of, i)
	c.thread, c.idle = nil, m.now
	m.pick(i)
}

// pick gives a core to the thread that is owed most, if there is one.
func (m *Machine) pick(i int) {
	c := &m.cores[i]
	for len(c.groups.members) > 0 {
		g := c.groups.best()
		if g.asleep {
			c.groups.remove(g)
			continue
		}
		t := g.threads.best()
		if t.asleep {
			g.threads.remove(t)
			if len(g.threads.members) == 0 {
				c.groups.sleep(g)
			}
			continue
		}
		if old := c.groups.runs; old != nil && old != g {
			old.threads.runs = nil
		}
		c.groups.run(g)
		g.threads.run(t)
		if c.thread != t {
			c.thread, t.ran = t, m.now
		}
		return
	}
}

// pull gives an idle core a thread that waits for another.
func (m *Machine) pull(i int) {
	for j := range m.cores {
		t := m.cores[j].waiting()
		if t == nil {
			continue
		}
		g := m.group(t)
		g.threads.remove(t)
		if len(g.threads.members) == 0 {
			m.cores[j].groups.remove(g)
		}
		m.put(i, t)
		m.reweigh(t.of, j)
		m.pick(i)
		return
	}
}

// wakeUp has a thread that has slept run, or wait.
func (m *Machine) wakeUp(t *thread) {
	if t.asleep {
		m.charge(m.cores[t.core].thread)
		t.load.set(m.now, fully)
		m.group(t).threads.wake(t)
		m.preempt(t)
		return
	}
	i := t.core
	for j := range m.cores {
		if m.cores[j].load() < m.cores[i].load() {
			i = j
		}
	}
	if m.cores[i].load() > 0 && len(m.cores) < m.size {
		i = len(m.cores)
		m.open()
	}
	if c := &m.cores[i]; c.thread == nil {
		m.put(i, t)
		m.pick(i)
		if m.now-c.idle > halts {
			t.ran = m.now + m.waking.Exit
		}
		return
	}
	m.charge(m.cores[i].thread)
	m.put(i, t)
	m.preempt(t)
}

// preempt gives a core to a thread that waits for it, if that is owed it now.
func (m *Machine) preempt(t *thread) {
	if c := &m.cores[t.core]; c.expired() || c.wants(t) {
		m.pick(t.core)
	}
}

// wants reports whether a thread comes before the one that has the core, or its process before the other's.
func (c *core) wants(t *thread) bool {
	g := &t.of.groups[t.core]
	if c.thread.of == t.of {
		return g.threads.best() == t
	}
	return c.groups.best() == g
}
