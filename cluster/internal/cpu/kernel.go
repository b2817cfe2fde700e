package cpu

import "slices"

// block has a thread wait in the kernel.
func (m *Machine) block(t *thread) {
	g := t.runs
	g.Waits--
	g.left = max(g.Resume, 1)
	t.until, t.keeps, t.on.blocked = m.now+g.Wait, m.now+goQuantum, true
	t.on.rest(m.now)
	m.blocked = append(m.blocked, t)
}

// unblock lets threads go on whose wait in the kernel is over. A thread that waits for long loses its processor (sysmon). When
// its wait is over, its goroutine joins the global queue.
func (m *Machine) unblock() {
	m.blocked = slices.DeleteFunc(m.blocked, func(t *thread) bool {
		switch p := t.of; {
		case t.until <= m.now && t.keeps > 0:
			t.on.blocked = false
			p.resume(t.on)
			m.wakeUp(t)
			return true
		case t.until <= m.now:
			p.global = append(p.global, t.runs)
			t.runs = nil
			p.spare = append(p.spare, t)
			p.wake()
			return true
		case t.keeps > 0 && t.keeps <= m.now:
			t.keeps, t.on.blocked = 0, false
			p.unused, t.on = append(p.unused, t.on), nil
			p.wake()
		}
		return false
	})
}
