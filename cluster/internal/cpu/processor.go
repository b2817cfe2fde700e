package cpu

import (
	"slices"
	"time"
)

// processor is what a thread needs to run goroutines (runtime2.go, p).
type processor struct {
	ready   []*goroutine // in this order
	turns   int          // so far
	blocked bool         // its thread waits in the kernel
	rests   bool         // it has had no goroutine to run from the instant since on
	since   time.Duration
	owes    time.Duration // what it is to mark before it runs goroutines
}

// rest notes that a processor has no goroutine to run.
func (on *processor) rest(now time.Duration) {
	if !on.rests {
		on.rests, on.since = true, now
	}
}

// resume notes that a processor has one again. It owes a quarter of what it rested since marking began, whatever it marked meanwhile for
// want of anything else (mgcpacer.go, findRunnableGCWorker).
func (p *Process) resume(on *processor) {
	if on.rests && p.heap.marking {
		on.owes += max(p.on.now-max(on.since, p.heap.began), 0) / 4
	}
	on.rests = false
}

// home returns the processor in whose queue a goroutine waits that becomes ready: that of the goroutine which woke it, and has just done
// some work. One that a timer wakes waits where it set the timer, which may have been anywhere.
func (p *Process) home(g *goroutine) *processor {
	for i := range p.on.cores {
		if t := p.on.cores[i].thread; t != nil && t.of == p && t.ended != nil {
			return t.on
		}
	}
	n := len(p.processors)
	first := int(g.Key % uint64(n))
	for i := range n {
		if on := p.processors[(first+i)%n]; !on.blocked {
			return on
		}
	}
	return p.processors[first]
}

// waits reports whether a goroutine waits for its turn.
func (p *Process) waits() bool {
	return len(p.global) > 0 || slices.ContainsFunc(p.processors, func(on *processor) bool { return len(on.ready) > 0 })
}

// waitFor reports whether a goroutine waits for the processor of a thread.
func (p *Process) waitFor(t *thread) bool { return len(p.global)+len(t.on.ready) > 0 }

// steal moves half of what waits for another processor to one that has nothing to do (runqsteal).
func (p *Process) steal(to *processor) {
	for _, from := range p.processors {
		if n := len(from.ready); n > 0 {
			n -= n / 2
			to.ready = append(to.ready, from.ready[:n]...)
			from.ready = slices.Delete(from.ready, 0, n)
			return
		}
	}
}
