package cpu

import (
	"slices"
	"time"
)

// goQuantum is how long a goroutine may keep its processor while others are ready, and how old Go's last look at
// the network may be (runtime/proc.go, sysmon).
const goQuantum = 10 * time.Millisecond

// Process is a Go program on a Machine: a bounded number of its goroutines run at a time, each on a thread. Others that
// are ready wait for their turn. What the network brings is ready when a processor has nothing else to
// do, or ten milliseconds after the last look. A Process is safe for concurrent use.
type Process struct {
	on      *Machine
	ready   []*goroutine // in this order
	network []*goroutine // that wait until somebody looks
	looked  time.Duration
	idle    []*thread
	unused  int // processors that never had anything to do
}

// goroutine has some work to do.
type goroutine struct {
	of      *Process
	key     uint64
	left    time.Duration // CPU time it still needs
	came    time.Duration
	network bool
	done    chan struct{} // nil if nobody waits for it
}

// Do implements Cores.
func (p *Process) Do(key uint64, before, d, after time.Duration) {
	p.work(&goroutine{of: p, key: key, left: d}, before, after)
}

// Receive implements Cores.
func (p *Process) Receive(key uint64, before, d, after time.Duration) {
	p.work(&goroutine{of: p, key: key, left: d, network: true}, before, after)
}

// Spend implements Cores.
func (p *Process) Spend(key uint64, d time.Duration) {
	if d > 0 {
		p.on.add(&goroutine{of: p, key: key, left: d})
	}
}

func (p *Process) work(g *goroutine, before, after time.Duration) {
	if g.left <= 0 {
		time.Sleep(before + after)
		return
	}
	time.Sleep(before)
	g.done = make(chan struct{})
	p.on.add(g)
	<-g.done
	time.Sleep(after)
}

// admit makes a goroutine ready; one that the network wakes only if a processor waits for that.
func (p *Process) admit(g *goroutine) {
	if g.network && len(p.idle)+p.unused == 0 {
		p.network = append(p.network, g)
		return
	}
	p.ready = append(p.ready, g)
	p.wake()
}

// wake has idle threads run what is ready.
func (p *Process) wake() {
	for len(p.idle)+p.unused > 0 && len(p.ready) > 0 {
		if len(p.idle) == 0 {
			p.idle, p.unused = append(p.idle, &thread{of: p}), p.unused-1
		}
		t := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		p.take(t)
		p.on.wakeUp(t)
	}
}

// monitored returns when somebody looks at the network though all processors have enough to do.
func (p *Process) monitored() time.Duration { return max(p.looked+goQuantum, p.network[0].came) }

// poll makes ready what the network has brought.
func (p *Process) poll() {
	p.looked = p.on.now
	p.ready = append(p.ready, p.network...)
	p.network = p.network[:0]
}

// goOn ends a thread's goroutine if it is done, and takes the next if it is, or has had its time. It reports whether
// the thread has one.
func (p *Process) goOn(t *thread) bool {
	switch now := p.on.now; {
	case t.runs.left <= 0:
		if t.runs.done != nil {
			close(t.runs.done)
		}
		return p.take(t)
	case len(p.ready) > 0 && now-t.since >= goQuantum:
		p.ready = append(p.ready, t.runs)
		p.take(t)
	}
	return true
}

// take gives a thread the next goroutine, if there is one.
func (p *Process) take(t *thread) bool {
	t.runs = nil
	if len(p.ready) == 0 {
		p.poll()
	}
	if len(p.ready) == 0 {
		return false
	}
	t.runs, t.since = p.ready[0], p.on.now
	p.ready = slices.Delete(p.ready, 0, 1)
	return true
}
