package cpu

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
	"time"
)

// Linux's scheduler, as of 6.18 with 250 ticks a second (kernel/sched/fair.c).
const (
	tick = 4 * time.Millisecond
	// protected is how long a thread keeps its core from one that wakes up (RUN_TO_PARITY).
	protected = 700 * time.Microsecond
	// halts is how long a virtual core is idle until its host gives its own core to others (KVM, halt_poll_ns).
	halts = 200 * time.Microsecond
)

// Machine is a set of cores that the threads of its processes share as Linux has them do. Each core has a queue of
// its own, of which it takes the thread that is owed most: among those that had less than their share the one whose
// slice would end first. A thread that wakes up goes to the core with the fewest threads, and interrupts there who has had more
// than its share, if it has had less itself. Others keep their core until a tick finds that their slice is over.
//
// A core that becomes idle stays idle until its next tick, though others have threads that wait: Linux looks for those at
// once only if that takes less time than the core was idle in the past, and cores of servers that
// have much to do are idle for moments. So some of a busy machine is idle.
//
// A Machine is safe for concurrent use. Goroutines that become ready at one instant do so in the order of their keys.
type Machine struct {
	start time.Time // instants are counted from then on
	slice time.Duration
	size  int // the number of cores
	// exit is how long a halted core takes to run a thread again.
	exit time.Duration

	mu        sync.Mutex
	cores     []core // that were used so far
	processes []*Process
	blocked   []*thread    // that wait in the kernel
	arrived   []*goroutine // at the instant arrival; ready a nanosecond later, when all have come
	arrival   time.Duration
	now       time.Duration // of the last event
	busy      time.Duration // up to the last event
	timer     *time.Timer
	due       time.Duration // when timer fires, never later than needed
}

type core struct {
	thread *thread // nil if idle
	queue  []*thread
	mean   time.Duration // see average
	idle   time.Duration // when it became idle
}

// thread runs the goroutines of a process, one after the other.
type thread struct {
	of      *Process
	runs    *goroutine // nil if the thread sleeps or marks, and while ended is not
	ended   *goroutine // that may go on: its work was done a moment ago; nil for others
	since   time.Duration
	core    int           // on which it runs, waits or last ran
	got     time.Duration // when it got its core
	ran     time.Duration // its last instant on a core; in the future while the core is about to go on
	virtual time.Duration // the time it has had, as its core counts
	end     time.Duration // of its slice, in the same time
	until   time.Duration // when it has waited in the kernel
	keeps   time.Duration // until when it keeps its processor meanwhile; zero once it has none
	owed    time.Duration // when it went to sleep: by how much it had less than the average
}

// NewMachine returns a machine of that many cores, which must be positive. A core that was idle long enough to halt takes
// exit to run a thread again.
func NewMachine(cores int, exit time.Duration) *Machine {
	return &Machine{start: time.Now(), size: cores, exit: exit, due: never, cores: make([]core, 1), slice: 700 * time.Microsecond * time.Duration(bits.Len(uint(min(cores, 8))))}
}

// Process returns a new process that runs so many goroutines at a time.
func (m *Machine) Process(processors int) *Process {
	p := &Process{on: m, processors: processors, unused: processors}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.processes = append(m.processes, p)
	return p
}

// Busy returns the CPU time spent since the machine was made, over all cores.
func (m *Machine) Busy() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.catchUp()
	busy := m.busy
	for _, c := range m.cores {
		if c.thread != nil {
			busy += max(now-c.thread.ran, 0)
		}
	}
	return busy
}

// Cores returns the number of cores.
func (m *Machine) Cores() int { return m.size }

// Stop releases the machine's timer. Goroutines that have not finished never do.
func (m *Machine) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer != nil {
		m.timer.Stop()
	}
}

// add lets a goroutine become ready.
func (m *Machine) add(g *goroutine) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.catchUp()
	g.left += jitter(g.Key, m.start.Add(now))
	g.came, m.arrival = now, now
	m.arrived = append(m.arrived, g)
	m.arm()
}

// catchUp does what has happened until now, and returns now.
func (m *Machine) catchUp() time.Duration {
	now := time.Since(m.start)
	for at := m.next(); at <= now; at = m.next() {
		m.advance(at)
	}
	return now
}

// next returns when something happens next.
func (m *Machine) next() time.Duration {
	at, waiting := never, false
	if len(m.arrived) > 0 {
		at = m.arrival + admission
	}
	for _, t := range m.blocked {
		at = min(at, t.until)
		if t.keeps > 0 {
			at = min(at, t.keeps)
		}
	}
	for i := range m.cores {
		c := &m.cores[i]
		waiting = waiting || len(c.queue) > 0
		if t := c.thread; t != nil {
			at = min(at, t.ran+t.of.lasts(t))
			if len(c.queue) > 0 {
				at = min(at, nextTick(max(t.got+m.slice-1, m.now)))
			}
			if t.of.waits() {
				at = min(at, max(t.since+goQuantum, m.now))
			}
		}
	}
	for i := range m.cores {
		if waiting && m.cores[i].thread == nil {
			at = min(at, nextTick(m.now))
		}
	}
	for _, p := range m.processes {
		if len(p.network) > 0 {
			at = min(at, p.monitored())
		}
	}
	return at
}

// nextTick returns the first tick after an instant.
func nextTick(after time.Duration) time.Duration { return (after/tick + 1) * tick }

// advance does what happens at an instant.
func (m *Machine) advance(now time.Duration) {
	m.now = now
	for _, c := range m.cores { // all of them before one of them begins or ends to mark
		if c.thread != nil {
			m.charge(c.thread)
		}
	}
	if len(m.arrived) > 0 && m.arrival < now {
		slices.SortStableFunc(m.arrived, func(a, b *goroutine) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.left, b.left))
		})
		for _, g := range m.arrived {
			g.of.admit(g)
		}
		clear(m.arrived)
		m.arrived = m.arrived[:0]
	}
	m.unblock()
	for i := range m.cores { // after those have been admitted that go on
		m.progress(i)
	}
	for _, p := range m.processes {
		if len(p.network) > 0 && p.monitored() <= now {
			p.poll(&p.global)
			p.wake()
		}
	}
	for _, p := range m.processes {
		p.help()
	}
	if now%tick == 0 {
		m.balance()
	}
}

// balance does what happens at a tick: idle cores take threads from others, and threads give way whose slice is over.
func (m *Machine) balance() {
	for i := range m.cores {
		if m.cores[i].thread == nil {
			m.pull(i)
		}
	}
	for i := range m.cores {
		c := &m.cores[i]
		if t := c.thread; t != nil && len(c.queue) > 0 && m.now >= t.got+m.slice {
			t.end = t.virtual + m.slice
			m.giveWay(i)
		}
	}
}

// progress has a core do what it does up to now.
func (m *Machine) progress(i int) {
	c := &m.cores[i]
	t := c.thread
	if t == nil {
		return
	}
	if !t.of.goOn(t) {
		t.owed = min(max(c.average()-t.virtual, -2*m.slice), 2*m.slice)
		c.thread, c.idle = nil, m.now
		if t.runs == nil {
			t.of.idle = append(t.of.idle, t)
		}
		m.pick(i)
	}
}

// charge notes what a thread has run up to now.
func (m *Machine) charge(t *thread) {
	d := m.now - t.ran
	if d <= 0 {
		return
	}
	t.ran = m.now
	t.of.spend(t, d)
	t.virtual += d
	m.busy += d
}

// interrupt notes what a thread has done up to now, for it to do something else.
func (m *Machine) interrupt(t *thread) {
	if m.cores[t.core].thread == t {
		m.charge(t)
	}
}

// average is the virtual time that the threads of a core have had; that of the last ones if there are none.
func (c *core) average() time.Duration {
	sum, n := time.Duration(0), len(c.queue)
	for _, t := range c.queue {
		sum += t.virtual
	}
	if c.thread != nil {
		sum, n = sum+c.thread.virtual, n+1
	}
	if n > 0 {
		c.mean = sum / time.Duration(n)
	}
	return c.mean
}

// load is the number of threads that a core has to run.
func (c *core) load() int {
	if c.thread != nil {
		return len(c.queue) + 1
	}
	return len(c.queue)
}

// giveWay puts a core's thread behind, and gives the core to the one that is owed most.
func (m *Machine) giveWay(i int) {
	c := &m.cores[i]
	c.queue = append(c.queue, c.thread)
	c.thread = nil
	m.pick(i)
}

// pick gives a free core its next thread, if one waits for it.
func (m *Machine) pick(i int) {
	c := &m.cores[i]
	if len(c.queue) == 0 {
		return
	}
	average, best := c.average(), -1
	for j, t := range c.queue {
		if t.virtual <= average && (best < 0 || t.end < c.queue[best].end) {
			best = j
		}
	}
	t := c.queue[best] // one of them is not above their average
	c.queue = slices.Delete(c.queue, best, best+1)
	m.run(i, t)
}

// pull gives an idle core a thread that waits for another.
func (m *Machine) pull(i int) {
	for j := range m.cores {
		from := &m.cores[j]
		if len(from.queue) > 0 {
			t := from.queue[0]
			owed := from.average() - t.virtual
			from.queue = slices.Delete(from.queue, 0, 1)
			m.place(i, t, owed)
			m.run(i, t)
			return
		}
	}
}

// place has a core count the time of a thread that is owed some. The thread becomes part of the average, which must not change what
// it is owed (place_entity).
func (m *Machine) place(i int, t *thread, owed time.Duration) {
	t.core = i
	if others := time.Duration(m.cores[i].load()); others > 0 {
		owed = owed * (others + 1) / others
	}
	t.virtual = m.cores[i].average() - owed
	t.end = t.virtual + m.slice
}

// run gives a free core to a thread.
func (m *Machine) run(i int, t *thread) {
	t.ran, t.got = m.now, m.now
	m.cores[i].thread = t
}

// wakeUp has a thread that has slept run, or wait.
func (m *Machine) wakeUp(t *thread) {
	i := t.core
	for j := range m.cores {
		if m.cores[j].load() < m.cores[i].load() {
			i = j
		}
	}
	if m.cores[i].load() > 0 && len(m.cores) < m.size {
		i = len(m.cores)
		m.cores = append(m.cores, core{})
	}
	m.place(i, t, t.owed)
	c := &m.cores[i]
	if c.thread == nil {
		m.run(i, t)
		if m.now-c.idle > halts {
			t.ran, t.got = m.now+m.exit, m.now+m.exit
		}
		return
	}
	c.queue = append(c.queue, t)
	m.charge(c.thread)
	average := c.average()
	if m.now-c.thread.got >= protected && t.virtual <= average && (c.thread.virtual > average || t.end < c.thread.end) {
		m.giveWay(i)
	}
}

func (m *Machine) expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.due = never
	m.catchUp()
	m.arm()
}

// arm sets the timer for when something happens next.
func (m *Machine) arm() {
	next := m.next()
	if m.due <= next {
		return
	}
	m.due = next
	if wait := next - time.Since(m.start); m.timer != nil {
		m.timer.Reset(wait)
	} else {
		m.timer = time.AfterFunc(wait, m.expire)
	}
}
