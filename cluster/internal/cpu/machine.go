package cpu

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
	"time"
)

// Of Linux as of 6.18, with 250 ticks a second.
const (
	tick = 4 * time.Millisecond
	// halts is how long a virtual core is idle until its host gives its own core to others (KVM, halt_poll_ns).
	halts = 200 * time.Microsecond
)

// Machine is a set of cores that processes share as on Linux if each has a session of its own (sched_autogroup_enabled).
// Each core has a queue of processes, and each process a queue of its threads there. From either queue the core picks,
// among those that have had no more than their share, the one whose slice would end first. All processes have the same
// weight, however many threads they have. On each core a process has the part of its weight that the core has of its load.
//
// A thread that wakes up goes to the core with the least to do. If it has had less than its share, it interrupts a thread
// there that has had more. Otherwise a thread keeps its core until its slice is over, and a tick, or a thread that wakes up,
// finds that.
//
// A core that becomes idle stays idle until its next tick, even if threads wait for other cores. Linux looks for such
// threads at once only if the core's idle times have been longer than the look takes. The cores of busy servers are
// idle for moments only. So even a busy machine is idle in part.
//
// A Machine is safe for concurrent use. Goroutines that become ready at one instant do so in the order of their keys, and
// those that would be done at one instant are done a nanosecond apart.
type Machine struct {
	start  time.Time // instants are counted from then on
	slice  time.Duration
	size   int // the number of cores
	waking Waking

	mu        sync.Mutex
	cores     []core // that were used so far
	processes []*Process
	blocked   []*thread    // that wait in the kernel
	arrived   []*goroutine // at the instant arrival; ready a nanosecond later, when all have come
	arrival   time.Duration
	now       time.Duration // of the last event
	last      time.Duration // when a goroutine that somebody waits for was last done
	busy      time.Duration // up to the last event
	timer     *time.Timer
	due       time.Duration // when timer fires, never later than needed
}

// Waking is what it takes until a thread that slept has something done. The zero value says that it takes nothing.
type Waking struct {
	// Exit is how long a core that was idle long enough to halt takes to run a thread again. It is no CPU time.
	Exit time.Duration
	// Takes is the CPU time of a thread that had nothing to do, before it runs a goroutine that somebody waits for. It is woken, wakes
	// others, and looks for more to do before it sleeps again (runtime/proc.go, wakep, findRunnable, stopm).
	Takes time.Duration
}

// NewMachine returns a machine of that many cores, which must be positive.
func NewMachine(cores int, waking Waking) *Machine {
	slice := 700 * time.Microsecond * time.Duration(bits.Len(uint(min(cores, 8))))
	m := &Machine{start: time.Now(), size: cores, waking: waking, due: never, slice: slice}
	m.open()
	return m
}

// open adds a core.
func (m *Machine) open() {
	m.cores = append(m.cores, core{groups: queue[*group]{slice: m.slice}})
}

// Process returns a new process that runs so many goroutines at a time.
func (m *Machine) Process(processors int) *Process {
	p := &Process{on: m, groups: make([]group, m.size)}
	for range processors {
		p.processors = append(p.processors, &processor{rests: true})
	}
	p.unused = slices.Clone(p.processors)
	for i := range p.groups {
		p.groups[i] = group{entity: entity{weight: whole}, threads: queue[*thread]{slice: m.slice}}
	}
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
	at := never
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
		if t := c.thread; t != nil {
			at = min(at, t.ran+t.of.lasts(t))
			if c.waiting() != nil {
				at = min(at, nextTick(m.now))
			}
			if t.of.waitFor(t) {
				at = min(at, max(t.since+goQuantum, m.now))
			}
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
		if t := m.cores[i].thread; t != nil {
			m.reweigh(t.of, i)
			if m.cores[i].expired() {
				m.pick(i)
			}
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
		if t.runs == nil {
			t.of.idle = append(t.of.idle, t)
		}
		m.sleep(t)
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
	g := m.group(t)
	g.virtual += g.stretch(d)
	m.busy += d
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
