package cpu

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"
)

// quantum is how long a task may keep a core while others wait: about what Linux gives a
// thread that competes with a few others (its base slice is 3 ms). Go's own scheduler
// would let a goroutine run for 10 ms.
const quantum = 3 * time.Millisecond

// Pool is a set of cores that tasks take in the order in which they arrive. A task keeps
// its core until it is done or, while others wait, for a quantum, and then queues again.
// As among goroutines, it is short tasks such as handling a call that suffer when a
// server computes a lot: they wait behind long ones.
//
// Tasks that arrive at one instant queue in the order of their keys, which hides the order
// in which the runtime runs their goroutines. Each task takes up to a microsecond longer
// than asked for, by its key and the instant, lest equal tasks that start together meet at
// one instant again and again. Those that would be done at one instant are done a nanosecond apart.
//
// A task sleeps until the instant at which it would be done if no other came in its way. If others did, it then
// sleeps for the rest. The pool has neither timers nor goroutines: whenever it is called, it first catches up with
// what has happened since the last call, event by event.
//
// A Pool is safe for concurrent use. A nil Pool is free: Use and
// Spend return at once.
type Pool struct {
	cores int

	start time.Time // instants are counted from then on

	mu      sync.Mutex
	later   []*task // that are to arrive, each at its instant since, in that order
	arrived []*task // at the instant arrival; they join the queue a nanosecond later, when all of that instant have come
	arrival time.Duration
	queue   []*task
	running []*task         // at most cores
	busy    time.Duration   // core time used by tasks that have left their cores
	free    []time.Duration // of due, when each core is
}

type task struct {
	key   uint64
	left  time.Duration // core time it still needed at the instant since
	since time.Duration // when it took its core or, at last, when it was done
	over  bool
}

const never = time.Duration(math.MaxInt64)

// NewPool returns a pool of that many cores; the nil Pool if cores is not positive.
func NewPool(cores int) *Pool {
	if cores <= 0 {
		return nil
	}
	return &Pool{cores: cores, start: time.Now()}
}

// Use blocks until the pool has spent d of CPU time on the caller. Callers at one instant
// must have different keys. The caller must not hold a lock.
func (p *Pool) Use(key uint64, d time.Duration) { p.Do(Work{Key: key, Takes: d}) }

// Do implements Cores. A Pool knows neither turns nor connections. A task gives its core away while it waits in the kernel.
// Garbage is collected at once, beside the caller, whatever is said of the heap.
func (p *Pool) Do(w Work) {
	p.Spend(w.Left.Key, w.Left.Cost)
	for range w.Waits {
		p.do(w.Key, w.Before, w.Takes, w.Wait)
		w.Before, w.Takes = 0, w.Resume
	}
	p.do(w.Key, w.Before, w.Takes, w.After)
}

// do is a sleep, a Use and another sleep. It costs a single sleep unless other tasks get in the way.
func (p *Pool) do(key uint64, before, d, after time.Duration) {
	if p == nil || d <= 0 {
		time.Sleep(before + after)
		return
	}
	t := &task{key: key, left: d}
	for due := p.add(t, before); ; due = p.look(t) {
		wait := due + after - time.Since(p.start)
		if wait <= 0 {
			return
		}
		time.Sleep(wait)
	}
}

// Spend is Use without waiting, for work beside the caller.
func (p *Pool) Spend(key uint64, d time.Duration) {
	if p != nil && d > 0 {
		p.add(&task{key: key, left: d}, 0)
	}
}

// Busy returns the CPU time spent since the pool was made, over all cores.
func (p *Pool) Busy() time.Duration {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.catchUp()
	busy := p.busy
	for _, t := range p.running {
		busy += now - t.since
	}
	return busy
}

// Cores returns the number of cores; zero for the nil Pool.
func (p *Pool) Cores() int {
	if p == nil {
		return 0
	}
	return p.cores
}

// Stop implements Meter. A Pool has nothing to release.
func (p *Pool) Stop() {}

// add lets a task arrive after a while, and returns when it is done unless others delay it.
func (p *Pool) add(t *task, wait time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.since = p.catchUp() + wait
	t.left += jitter(t.key, p.start.Add(t.since))
	if wait == 0 {
		p.arrive(t)
	} else {
		i, _ := slices.BinarySearchFunc(p.later, t.since, func(l *task, at time.Duration) int {
			return cmp.Or(cmp.Compare(l.since, at), -1) // behind those of the same instant
		})
		p.later = slices.Insert(p.later, i, t)
	}
	return p.due(t)
}

// look returns when a task was done or, if it is not, when it is unless others delay it.
func (p *Pool) look(t *task) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.catchUp()
	return p.due(t)
}

// due returns when a task is done if no others come in its way. For a task that needs several turns this may be too
// early, since others have turns in between: the caller then looks again. A task that needs only one turn is not delayed by those behind it.
func (p *Pool) due(t *task) time.Duration {
	if t.over {
		return t.since
	}
	if slices.Contains(p.running, t) {
		return t.since + t.left
	}
	i := slices.Index(p.queue, t)
	if i < 0 { // it is to come
		return t.since + admission + t.left
	}
	p.free = p.free[:0]
	for _, r := range p.running {
		p.free = append(p.free, p.until(r))
	}
	for _, ahead := range p.queue[:i] {
		core := p.firstFree()
		p.free[core] += min(ahead.left, quantum)
	}
	return p.free[p.firstFree()] + t.left
}

func (p *Pool) firstFree() int {
	first := 0
	for i, at := range p.free {
		if at < p.free[first] {
			first = i
		}
	}
	return first
}

func (p *Pool) arrive(t *task) {
	p.arrival = t.since
	p.arrived = append(p.arrived, t)
}

func jitter(key uint64, now time.Time) time.Duration {
	x := (key ^ uint64(now.UnixNano())) * 0x9e3779b97f4a7c15
	return time.Duration(x >> 54) // less than 1024 ns
}

// admission is how long tasks wait for others of the instant at which they arrive.
const admission = time.Nanosecond

// catchUp does what has happened until now, and returns now.
func (p *Pool) catchUp() time.Duration {
	now := time.Since(p.start)
	for at := p.next(); at <= now; at = p.next() {
		p.advance(at)
	}
	return now
}

// next returns when something happens next: a task arrives or is admitted, ends or, while others
// wait, gives way.
func (p *Pool) next() time.Duration {
	at := never
	if len(p.later) > 0 {
		at = p.later[0].since
	}
	if len(p.arrived) > 0 {
		at = min(at, p.arrival+admission)
	}
	for _, t := range p.running {
		at = min(at, p.until(t))
	}
	return at
}

// until returns when a running task leaves its core.
func (p *Pool) until(t *task) time.Duration {
	at := t.since + t.left
	if len(p.queue) > 0 {
		at = min(at, t.since+quantum)
	}
	return at
}

// advance does what happens at an instant.
func (p *Pool) advance(now time.Duration) {
	kept := p.running[:0]
	for _, t := range p.running {
		if t.since+t.left > now {
			kept = append(kept, t)
		} else {
			p.end(t, now)
		}
	}
	clear(p.running[len(kept):])
	p.running = kept
	if len(p.arrived) > 0 && p.arrival < now {
		slices.SortStableFunc(p.arrived, func(a, b *task) int {
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.left, b.left))
		})
		p.queue = append(p.queue, p.arrived...)
		clear(p.arrived)
		p.arrived = p.arrived[:0]
	}
	p.dispatch(now)
	for len(p.later) > 0 && p.later[0].since <= now {
		p.arrive(p.later[0])
		p.later = slices.Delete(p.later, 0, 1)
	}
}

// end ends a task that has left its core.
func (p *Pool) end(t *task, now time.Duration) {
	p.busy += t.left
	t.since, t.over = now, true
}

// dispatch gives cores to waiting tasks: free cores first, then those of tasks whose quantum
// is over.
func (p *Pool) dispatch(now time.Duration) {
	for len(p.queue) > 0 && len(p.running) < p.cores {
		p.running = append(p.running, p.pop(now))
	}
	for i, t := range p.running {
		if ran := now - t.since; len(p.queue) > 0 && ran >= quantum {
			p.running[i] = p.pop(now)
			p.busy += ran
			t.left -= ran
			p.queue = append(p.queue, t)
		}
	}
}

// pop takes the first task out of the queue, to run from now on.
func (p *Pool) pop(now time.Duration) *task {
	t := p.queue[0]
	p.queue = slices.Delete(p.queue, 0, 1) // keeps the memory of the queue, which is short
	t.since = now
	for slices.ContainsFunc(p.running, func(r *task) bool { return r.since+r.left == now+t.left }) {
		t.left++ // no two go on at one instant, in an order that the runtime would choose
	}
	return t
}
