// Package cpu charges work to a bounded number of cores on the run's own clock: the
// one place where computing takes time. It knows nothing of what the work is.
package cpu

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"
)

// Quantum is how long a task may keep a core while others wait for one: about what
// Linux gives a thread while a few compete (its base slice is 3 ms). Within a process
// Go's own scheduler would let a goroutine run for 10 ms.
const Quantum = 3 * time.Millisecond

// Pool is a set of cores that tasks take in the order they come. A task keeps its core
// until it is done or, while others wait, for a Quantum, and then queues again. So a
// short task waits behind the long ones in front of it, as goroutines do: it is the
// short ones, such as handling a call, that suffer when a server computes a lot.
//
// Tasks that come at one instant queue in the order of their keys, and a task takes up
// to a microsecond longer by its key and the instant. So neither the order in which the
// runtime happens to run goroutines of one instant shows, nor do equal tasks that
// started together go on in lockstep and meet at one instant again and again.
//
// A Pool is safe for use by many goroutines. A nil Pool is free: Use returns at once.
type Pool struct {
	cores int

	mu      sync.Mutex
	running []*task // at most cores
	queue   []*task
	arrived []*task // at the present instant
	last    time.Time
	busy    time.Duration // core time used
	timer   *time.Timer   // nil: nothing is under way
	spare   *time.Timer   // one that has fired
	due     time.Time     // when the timer fires; it may be early, never late
}

type task struct {
	key   uint64
	at    time.Time // when it came
	left  time.Duration
	slice time.Duration // how long it has run without a break
	done  chan struct{} // nil: nobody waits
}

// NewPool returns a pool of that many cores; nil, which is free, when cores is not positive.
func NewPool(cores int) *Pool {
	if cores <= 0 {
		return nil
	}
	return &Pool{cores: cores, last: time.Now()}
}

// Use blocks until the pool has spent d of CPU time on the caller, whom key tells from
// others that might come at the same instant. No lock may be held by the caller.
func (p *Pool) Use(key uint64, d time.Duration) {
	if p == nil || d <= 0 {
		return
	}
	done := make(chan struct{})
	p.add(&task{key: key, left: d, done: done})
	<-done
}

// Spend charges d to the pool without waiting for it: work that runs beside the
// caller, such as collecting the garbage it made.
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
	p.arm()
	return p.busy
}

// Cores returns the number of cores; zero for the nil Pool.
func (p *Pool) Cores() int {
	if p == nil {
		return 0
	}
	return p.cores
}

// Stop releases the pool's timer. Tasks still under way never finish.
func (p *Pool) Stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disarm()
}

func (p *Pool) add(t *task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.advance(now)
	t.at = now
	t.left += jitter(t.key, now)
	p.arrived = append(p.arrived, t)
	p.arm()
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
	p.admit(p.last)
	p.dispatch()
	p.arm()
}

// admit queues those who came before now. Who comes at this very instant waits for the
// next, when everybody of this one has come.
func (p *Pool) admit(now time.Time) {
	slices.SortStableFunc(p.arrived, func(a, b *task) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.key, b.key), cmp.Compare(a.left, b.left))
	})
	n := 0
	for n < len(p.arrived) && p.arrived[n].at.Before(now) {
		n++
	}
	p.queue = append(p.queue, p.arrived[:n]...)
	p.arrived = slices.Delete(p.arrived, 0, n)
}

// advance brings the running tasks to now and takes those off their cores that are
// done. The timer fires at each change, so none is overdue by more than its lateness.
func (p *Pool) advance(now time.Time) {
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

// dispatch gives cores to those who wait: free ones first, then those of tasks whose
// quantum is used up.
func (p *Pool) dispatch() {
	for len(p.queue) > 0 && len(p.running) < p.cores {
		p.run(p.pop())
	}
	for i, t := range p.running {
		if len(p.queue) > 0 && t.slice >= Quantum {
			p.running[i] = p.pop()
			p.running[i].slice = 0
			p.queue = append(p.queue, t)
		}
	}
}

func (p *Pool) run(t *task) {
	t.slice = 0
	p.running = append(p.running, t)
}

func (p *Pool) pop() *task {
	t := p.queue[0]
	p.queue = slices.Delete(p.queue, 0, 1) // queues are short, and keep their memory like this
	return t
}

// arm sets the timer for the next change: the nanosecond after arrivals, a task that
// ends or, while others wait, one whose quantum does.
func (p *Pool) arm() {
	next := time.Duration(math.MaxInt64)
	if len(p.arrived) > 0 {
		next = 1
	}
	for _, t := range p.running {
		next = min(next, p.until(t))
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

// disarm drops the timer. Only one that has fired is ever reset: to find the new place of
// one that has not, the runtime would look through all timers of the run, one for each
// client and more.
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
