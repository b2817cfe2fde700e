// Package cpu charges work to a bounded number of cores on the run's own clock: the
// one place where computing takes time. It knows nothing of what the work is.
package cpu

import (
	"container/heap"
	"math"
	"sync"
	"time"
)

// Pool is a set of cores shared by tasks, all of which progress at the same rate:
// full speed while there are cores enough, an equal share of them otherwise. That is
// what an operating system's fair scheduler tends to, so waiting for the processor
// comes out of the load instead of being put in as a cost.
//
// A Pool is safe for use by many goroutines. A nil Pool is free: Use returns at once.
type Pool struct {
	cores float64

	mu    sync.Mutex
	tasks taskHeap
	seq   uint64
	// served is the CPU time that a task present since the start would have received.
	// It advances by the current rate, so a task's end is known when it arrives.
	served float64
	last   time.Time
	busy   float64 // core-nanoseconds used
	timer  *time.Timer
	armed  time.Time
}

// NewPool returns a pool of that many cores; nil, which is free, when cores is not positive.
func NewPool(cores float64) *Pool {
	if cores <= 0 {
		return nil
	}
	p := &Pool{cores: cores, last: time.Now()}
	p.timer = time.AfterFunc(math.MaxInt64, p.expire)
	return p
}

// Use blocks until the pool has spent d of CPU time on the caller. No lock may be held
// by the caller.
func (p *Pool) Use(d time.Duration) {
	if p == nil || d <= 0 {
		return
	}
	done := make(chan struct{})
	p.add(d, done)
	<-done
}

// Spend charges d to the pool without waiting for it: work that runs beside the
// caller, such as collecting the garbage it made.
func (p *Pool) Spend(d time.Duration) {
	if p == nil || d <= 0 {
		return
	}
	p.add(d, nil)
}

// Busy returns the CPU time spent since the pool was made, over all cores.
func (p *Pool) Busy() time.Duration {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(time.Now())
	return time.Duration(p.busy)
}

// Cores returns the number of cores; zero for the nil Pool.
func (p *Pool) Cores() float64 {
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
	p.timer.Stop()
}

func (p *Pool) add(d time.Duration, done chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(time.Now())
	p.seq++
	heap.Push(&p.tasks, task{end: p.served + float64(d), seq: p.seq, done: done})
	p.arm()
}

func (p *Pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = time.Time{}
	p.advance(time.Now())
	p.arm()
}

// rate is the speed of every task, in CPU nanoseconds per nanosecond.
func (p *Pool) rate() float64 {
	if n := float64(len(p.tasks)); n > p.cores {
		return p.cores / n
	}
	return 1
}

// advance brings the books to now and finishes the tasks that are due. Tasks that end
// between two events change the rate on the way, so it goes from end to end.
func (p *Pool) advance(now time.Time) {
	left := float64(now.Sub(p.last))
	p.last = now
	for len(p.tasks) > 0 {
		rate := p.rate()
		need := (p.tasks[0].end - p.served) / rate
		// Timers count whole nanoseconds; a task within one of its end is done.
		if need > left+1 {
			p.served += left * rate
			p.busy += left * rate * float64(len(p.tasks))
			return
		}
		step := math.Min(math.Max(need, 0), left)
		p.busy += step * rate * float64(len(p.tasks))
		p.served = p.tasks[0].end
		left -= step
		if t := heap.Pop(&p.tasks).(task); t.done != nil {
			close(t.done)
		}
	}
	// With nobody left the origin can move back, which keeps the floats exact.
	p.served = 0
}

// arm sets the timer for the earliest end.
func (p *Pool) arm() {
	if len(p.tasks) == 0 {
		return
	}
	wait := time.Duration(math.Ceil((p.tasks[0].end - p.served) / p.rate()))
	if wait < 1 {
		wait = 1
	}
	if due := p.last.Add(wait); due != p.armed {
		p.armed = due
		p.timer.Reset(wait)
	}
}

type task struct {
	end  float64
	seq  uint64
	done chan struct{}
}

type taskHeap []task

func (h taskHeap) Len() int { return len(h) }
func (h taskHeap) Less(i, j int) bool {
	if h[i].end != h[j].end {
		return h[i].end < h[j].end
	}
	return h[i].seq < h[j].seq
}
func (h taskHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *taskHeap) Push(x any)   { *h = append(*h, x.(task)) }
func (h *taskHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = task{}
	*h = old[:len(old)-1]
	return t
}
