package cpu

import (
	"slices"
	"time"
)

// goQuantum is how long a goroutine may keep its processor while others are ready, and how old Go's last look at
// the network may be (runtime/proc.go, sysmon).
const goQuantum = 10 * time.Millisecond

// globalEvery is at how many of its turns a processor looks at the global queue before its own, and globalMost how many it takes
// from there when its own is empty (runtime/proc.go, findRunnable, globrunqgetbatch).
const (
	globalEvery = 61
	globalMost  = 128
)

// Process is a Go program on a Machine: it has some processors, and each runs a goroutine at a time, on a thread. Others that
// are ready wait for their turn, each in the queue of a processor. A processor whose queue is empty looks in the global queue, then at
// the network, and then in the queues of others. A goroutine that waits for the network becomes ready by such a look, or at the latest ten
// milliseconds after the last one. That late look puts it in the global queue. A goroutine that has run for ten milliseconds
// without a pause goes there, too. If nothing else waits for its processor, it goes on at once, whatever waits for others.
//
// If new work has the key of work that is done at this instant, it is of the same goroutine, which keeps its processor. So a
// state machine that has ten entries to apply waits for its turn once. A goroutine that waits in the kernel also keeps its
// processor, for ten milliseconds at most.
//
// One goroutine reads a connection that many share. It waits for the network as any other does. Then it makes
// ready every goroutine whose message has come; the last of these runs next, on the reader's processor.
//
// A Process is safe for concurrent use.
type Process struct {
	on         *Machine
	processors []*processor
	global     []*goroutine          // in this order
	network    []*goroutine          // that wait until somebody looks
	readers    map[uint64]*goroutine // of shared connections, while they wait
	looked     time.Duration
	idle       []*thread
	spare      []*thread    // that have no processor
	threads    []*thread    // all of them
	groups     []group      // what it has on each core
	unused     []*processor // that no thread has
	heap       heap
	markers    []*thread // that mark for want of anything else to do
}

// goroutine has some work to do.
type goroutine struct {
	Work
	of     *Process
	left   time.Duration // CPU time it still needs, until it waits in the kernel
	leaves time.Duration // CPU time of left during which it leaves garbage
	helps  time.Duration // CPU time of left in which it helps to mark
	came   time.Duration
	brings []*goroutine  // what the reader of a shared connection has for others; reading takes no time
	done   chan struct{} // nil if nobody waits for it
}

// Do implements Cores. Garbage is collected at once if nothing is said of the heap.
func (p *Process) Do(w Work) {
	if w.Left.Heap == 0 {
		p.Spend(w.Left.Key, w.Left.Cost)
		w.Left = Garbage{}
	}
	if w.Waits > 0 {
		w.Takes = max(w.Takes, 1) // whatever waits in the kernel has asked for that
	}
	if w.Takes <= 0 {
		time.Sleep(w.Before + w.After)
		return
	}
	time.Sleep(w.Before)
	g := &goroutine{Work: w, of: p, left: w.Takes, leaves: w.Takes, done: make(chan struct{})}
	p.on.add(g)
	<-g.done
	time.Sleep(w.After)
}

// Spend implements Cores.
func (p *Process) Spend(key uint64, d time.Duration) {
	if d > 0 {
		p.on.add(&goroutine{Work: Work{Key: key}, of: p, left: d})
	}
}

// admit makes a goroutine ready. If the network wakes it, and all processors have enough to do, it waits until one looks.
func (p *Process) admit(g *goroutine) {
	if g = p.read(g); g == nil {
		return
	}
	if g.Turn == FromNetwork && len(p.idle)+len(p.unused)+len(p.markers) == 0 {
		p.network = append(p.network, g)
		return
	}
	if p.goesOn(g) {
		return
	}
	if on := p.home(g); g.Turn == Next {
		on.ready = slices.Insert(on.ready, 0, g)
	} else {
		on.ready = append(on.ready, g)
	}
	p.wake()
}

// read returns the goroutine that reads a message from the network: g itself or, on a shared connection, its reader. It
// returns nil if that reader waits already, for it then reads this message, too.
func (p *Process) read(g *goroutine) *goroutine {
	if g.Turn != FromNetwork || g.Over == 0 {
		return g
	}
	if r := p.readers[g.Over]; r != nil {
		r.brings = append(r.brings, g)
		return nil
	}
	r := &goroutine{of: p, Work: Work{Key: g.Over, Over: g.Over, Turn: FromNetwork}, came: g.came, brings: []*goroutine{g}}
	if p.readers == nil {
		p.readers = map[uint64]*goroutine{}
	}
	p.readers[g.Over] = r
	return r
}

// goesOn reports whether a goroutine had a processor until now, and has it keep that.
func (p *Process) goesOn(g *goroutine) bool {
	if g.Turn == FromNetwork || g.done == nil {
		return false
	}
	for i := range p.on.cores {
		if t := p.on.cores[i].thread; t != nil && t.of == p && t.ended != nil && t.ended.Key == g.Key {
			t.ended, t.runs = nil, g
			return true
		}
	}
	return false
}

// wake has idle threads run what is ready, and those that mark for want of anything else.
func (p *Process) wake() {
	for len(p.markers) > 0 && p.waits() {
		t := p.markers[0]
		p.markers = slices.Delete(p.markers, 0, 1)
		p.take(t)
	}
	for len(p.idle)+len(p.unused) > 0 && p.waits() {
		p.start()
	}
}

// start has an idle thread do something, of which there must be some.
func (p *Process) start() {
	if len(p.idle) == 0 {
		t := p.thread()
		t.on, p.unused = p.unused[0], p.unused[1:]
		p.idle = append(p.idle, t)
	}
	t := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	p.take(t)
	if t.runs != nil && t.runs.done != nil {
		t.runs.left += p.on.waking.Takes
	}
	p.on.wakeUp(t)
}

// thread returns a thread that has no processor.
func (p *Process) thread() *thread {
	if n := len(p.spare); n > 0 {
		t := p.spare[n-1]
		p.spare = p.spare[:n-1]
		return t
	}
	t := &thread{of: p, entity: entity{weight: whole}}
	p.threads = append(p.threads, t)
	return t
}

// help has idle threads mark, once marking has begun.
func (p *Process) help() {
	for p.heap.marking && len(p.idle)+len(p.unused) > 0 {
		p.start()
	}
}

// monitored returns when somebody looks at the network though all processors have enough to do.
func (p *Process) monitored() time.Duration { return max(p.looked+goQuantum, p.network[0].came) }

// poll has what the network has brought wait in a queue.
func (p *Process) poll(queue *[]*goroutine) {
	p.looked = p.on.now
	*queue = append(*queue, p.network...)
	p.network = p.network[:0]
}

// lasts returns how long a thread goes on with what it does, unless something comes between.
func (p *Process) lasts(t *thread) time.Duration {
	switch {
	case t.ended != nil:
		return admission
	case t.runs == nil && p.heap.marking: // others mark, too
		return max(p.heap.toMark/time.Duration(len(p.markers)), time.Microsecond)
	case t.runs == nil:
		return 0
	}
	left := t.runs.left
	if t.runs.Left.Cost > 0 {
		left = min(left, t.runs.helps+allocates)
	}
	if p.heap.marking {
		left = min(left+p.heap.toMark, ((left+t.on.owes)*4+2)/3)
	}
	return left
}

// spend has a thread do what it does for so long.
func (p *Process) spend(t *thread, d time.Duration) {
	if t.ended != nil {
		return
	}
	marked := d
	if t.runs != nil {
		marked = p.heap.beside(t.on, d)
	}
	p.heap.credit += marked
	p.heap.mark(marked)
	if t.runs != nil {
		t.runs.left -= d - marked
		t.runs.leave(d - marked)
	}
}

// goOn ends a thread's goroutine if it is done, and takes the next if it does not go on, or has had its time. It reports
// whether the thread has something to do.
func (p *Process) goOn(t *thread) bool {
	switch now := p.on.now; {
	case t.ended != nil:
		t.ended = nil
		return p.take(t)
	case t.runs == nil && p.heap.marking:
	case t.runs == nil:
		p.markers = slices.DeleteFunc(p.markers, func(m *thread) bool { return m == t })
		return p.take(t)
	case t.runs.left <= 0 && t.runs.Waits > 0:
		p.on.block(t)
		return false
	case t.runs.left <= 0:
		if t.runs.done == nil {
			return p.take(t)
		}
		if p.on.last == now { // no two go on at one instant, in an order that the runtime would choose
			t.runs.left = 1
			return true
		}
		p.on.last = now
		close(t.runs.done)
		t.runs, t.ended = nil, t.runs
	case p.waitFor(t) && now-t.since >= goQuantum:
		p.global = append(p.global, t.runs)
		p.take(t)
	}
	return true
}

// take gives a thread the next goroutine, if there is one.
func (p *Process) take(t *thread) bool {
	t.runs = nil
	on := t.on
	on.turns++
	if n := len(p.global); on.turns%globalEvery == 0 && n > 0 {
		on.ready = slices.Insert(on.ready, 0, p.global[0])
		p.global = slices.Delete(p.global, 0, 1)
	} else if len(on.ready) == 0 && n > 0 {
		n = min(n, n/len(p.processors)+1, globalMost)
		on.ready = append(on.ready, p.global[:n]...)
		p.global = slices.Delete(p.global, 0, n)
	}
	if len(on.ready) == 0 {
		p.poll(&on.ready)
	}
	if len(on.ready) == 0 {
		p.steal(on)
	}
	t.since = p.on.now
	if len(on.ready) == 0 {
		on.rest(p.on.now)
		if p.heap.marking {
			p.markers = append(p.markers, t)
		}
		return p.heap.marking
	}
	p.resume(on)
	g := on.ready[0]
	on.ready = slices.Delete(on.ready, 0, 1)
	if n := len(g.brings); n > 0 { // runqput
		delete(p.readers, g.Over)
		on.ready = append(on.ready, g.brings[:n-1]...)
		g = g.brings[n-1]
	}
	t.runs = g
	return true
}
