package cpu

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"
)

// Quantum is how long a task may keep a core while others wait: about what Linux gives a
// thread that competes with a few others (its base slice is 3 ms). Go's own scheduler
// would let a goroutine run for 10 ms.
const Quantum = 3 * time.Millisecond

// Pool is a set of cores that tasks take in the order in which they arrive. A task keeps
// its core until it is done or, while others wait, for a Quantum, and then queues again.
// As among goroutines, it is short tasks such as handling a call that suffer when a
// server computes a lot: they wait behind long ones.
//
// Tasks that arrive at one instant queue in the order of their keys, which hides the order
// in which the runtime runs their goroutines. Each task takes up to a microsecond longer
// than asked for, by its key and the instant, lest equal tasks that start together meet at
// one instant again and again.
//
// A task that finds a core idle sleeps until it is done, and the pool learns of what happened
// when it is next looked at. Only tasks that must wait for others take a timer of the pool's
// and a channel, which cost several times as much.
//
// A Pool is safe for concurrent use. A nil Pool is free: Use and
// Spend return at once.
type Pool struct {
	cores int

	mu      sync.Mutex
	running []*task // at most cores
	queue   []*task
	arrived []*task // at the instant last; in the queue a nanosecond later, when all have come
	last    time.Time
	busy    time.Duration // core time used
	timer   *time.Timer   // nil if nothing waits for it: see arm
	spare   *time.Timer   // a timer that has fired
	due     time.Time     // when timer fires, never later than needed
}

type task struct {
	key   uint64
	left  time.Duration
	slice time.Duration // how long it has run since it took its core
	done  chan struct{} // nil if nobody waits for the pool to say so
}

// NewPool returns a pool of that many cores; the nil Pool if cores is not positive.
func NewPool(cores int) *Pool {
	if cores <= 0 {
		return nil
	}
	return &Pool{cores: cores, last: time.Now()}
}

// Use blocks until the pool has spent d of CPU time on the caller. Callers at one instant
// must have different keys. The caller must not hold a lock.
func (p *Pool) Use(key uint64, d time.Duration) {
	if p == nil || d <= 0 {
		return
	}
	t := &task{key: key, left: d}
	time.Sleep(p.add(t))
	if done := p.done(t); done != nil {
		<-done
	}
}

// Spend is Use without waiting, for work beside the caller such as garbage collection.
func (p *Pool) Spend(key uint64, d time.Duration) {
	if p == nil || d <= 0 {
		return
	}
	p.add(&task{key: key, left: d})
}

// Busy returns the CPU time spent since the pool was made, over all cores.
func (p *Pool) Busy() time.Duration {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(time.Now())
	return p.busy
}

// Cores returns the number of cores; zero for the nil Pool.
func (p *Pool) Cores() int {
	if p == nil {
		return 0
	}
	return p.cores
}

// Stop releases the pool's timer. Tasks that wait for others never finish.
func (p *Pool) Stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disarm()
}

// add lets a task arrive. It returns how long the task takes unless more tasks arrive at this
// instant than there are cores; zero if there are as many already.
func (p *Pool) add(t *task) (alone time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.advance(now)
	t.left += jitter(t.key, now)
	p.arrived = append(p.arrived, t)
	p.arm()
	if p.crowded() {
		return 0
	}
	return admission + t.left
}

// done returns nil if a task is over, or a channel that closes when it is.
func (p *Pool) done(t *task) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(time.Now())
	if t.left == 0 {
		return nil
	}
	t.done = make(chan struct{})
	p.arm()
	return t.done
}

func jitter(key uint64, now time.Time) time.Duration {
	x := (key ^ uint64(now.UnixNano())) * 0x9e3779b97f4a7c15
	return time.Duration(x >> 54) // less than 1024 ns
}

func (p *Pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil && !p.timer.Stop() {
		p.spare = p.timer
	}
	p.timer = nil
	p.advance(time.Now())
	p.dispatch()
	p.arm()
}

// admission is how long tasks wait for others of the instant at which they arrive.
const admission = time.Nanosecond

// crowded reports whether tasks wait for a core, or will when those that arrived are admitted.
func (p *Pool) crowded() bool {
	return len(p.queue) > 0 || len(p.running)+len(p.arrived) > p.cores
}

// advance lets the pool catch up with now. Nothing has happened since it last did but the
// admission of the tasks that had arrived then, and the ends of tasks that left cores idle: the
// timer fires at everything else.
func (p *Pool) advance(now time.Time) {
	if len(p.arrived) > 0 && p.last.Before(now) {
		p.run(p.last.Add(admission))
		slices.SortStableFunc(p.arrived, func(a, b *task) int {
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.left, b.left))
		})
		p.queue = append(p.queue, p.arrived...)
		clear(p.arrived)
		p.arrived = p.arrived[:0]
		p.dispatch()
	}
	p.run(now)
}

// run runs the running tasks until now and frees the cores of those that are done.
func (p *Pool) run(now time.Time) {
	ran := now.Sub(p.last)
	p.last = now
	kept := p.running[:0]
	for _, t := range p.running {
		used := min(ran, t.left)
		t.left -= used
		t.slice += used
		p.busy += used
		if t.left > 0 {
			kept = append(kept, t)
		} else if t.done != nil {
			close(t.done)
		}
	}
	clear(p.running[len(kept):])
	p.running = kept
}

// dispatch gives cores to waiting tasks: free cores first, then those of tasks whose quantum
// is over.
func (p *Pool) dispatch() {
	for len(p.queue) > 0 && len(p.running) < p.cores {
		t := p.pop()
		t.slice = 0
		p.running = append(p.running, t)
	}
	for i, t := range p.running {
		if len(p.queue) > 0 && t.slice >= Quantum {
			p.running[i] = p.pop()
			p.running[i].slice = 0
			p.queue = append(p.queue, t)
		}
	}
}

func (p *Pool) pop() *task {
	t := p.queue[0]
	p.queue = slices.Delete(p.queue, 0, 1) // keeps the memory of the queue, which is short
	return t
}

// arm sets the timer for the next change that somebody waits for: if tasks wait for cores,
// that is the admission of arrivals, the end of a task or that of a quantum, and else the end
// of a task that is waited for.
func (p *Pool) arm() {
	next := time.Duration(math.MaxInt64)
	if len(p.arrived) > 0 && p.crowded() {
		next = admission
	}
	for _, t := range p.running {
		if t.done != nil || len(p.queue) > 0 {
			next = min(next, p.until(t))
		}
	}
	if next == math.MaxInt64 {
		return
	}
	if due := p.last.Add(next); p.timer == nil || due.Before(p.due) {
		p.disarm()
		p.due = due
		if p.timer, p.spare = p.spare, nil; p.timer == nil {
			p.timer = time.AfterFunc(next, p.expire)
		} else {
			p.timer.Reset(next)
		}
	}
}

// disarm drops the timer. A timer that has not fired is never reset, which would make the
// runtime walk over all timers of the run.
func (p *Pool) disarm() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

func (p *Pool) until(t *task) time.Duration {
	if len(p.queue) > 0 {
		return min(t.left, max(Quantum-t.slice, 0))
	}
	return t.left
}
