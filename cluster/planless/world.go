package planless

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/simctl/simctl/internal/heap"
)

// Node is a machine. Schedulers know its ID and Rack, and otherwise what it has told them. Only the node itself,
// and a shared state, may read Free.
type Node struct {
	ID, Rack int
	Free     Size
	// Down says that everybody has noticed that the node is silent.
	Down bool

	away   bool
	since  int // counts its goings and comings
	allocs []*Alloc
}

// Alloc needs a place on a node.
type Alloc struct {
	ID, Job int
	Size    Size

	node    *Node
	running bool
	called  time.Duration // since when it is known to need a place
}

// Placed reports whether the allocation has a place.
func (a *Alloc) Placed() bool { return a.node != nil }

// Design decides where allocations go. All its state is its own. The world calls it at the
// instants at which schedulers hear of something, never from within one of its calls.
type Design interface {
	// Want asks for places for allocations of one job.
	Want(allocs []*Alloc)
	// Joined says that a node is there, for the first time or again, with the room that it has.
	Joined(n *Node)
	// Left says that a node is taken for down. Its allocations are wanted again.
	Left(n *Node)
}

// event is something to do at an instant. Events of one instant happen in the order in which
// they were made.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

// World is the simulation. It is for one goroutine.
type World struct {
	Params
	Now   time.Duration
	Nodes []*Node
	// Rand is the designs' source of draws. Nodes come and go by another, so that they do so alike for all.
	Rand *rand.Rand

	allocs []*Alloc
	design Design
	queue  heap.Heap[event]
	seq    uint64
	busy   []time.Duration // by scheduler: until when it thinks
	fleet  *rand.Rand
	count  Counts
	waits  []time.Duration
	series []Point
	broken error
}

func newWorld(p Params) *World {
	w := &World{Params: p, Rand: rand.New(rand.NewPCG(p.Seed, 1)), fleet: rand.New(rand.NewPCG(p.Seed, 2)), busy: make([]time.Duration, p.Schedulers)}
	w.queue.Before = func(a, b event) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }
	for i := range p.Nodes {
		w.Nodes = append(w.Nodes, &Node{ID: i, Rack: i % p.Racks, Free: p.Room})
	}
	return w
}

// After does something later.
func (w *World) After(d time.Duration, do func()) {
	w.seq++
	w.queue.Push(event{w.Now + d, w.seq, do})
}

// Tell sends a message to a scheduler, which do receives.
func (w *World) Tell(do func()) {
	w.count.Messages++
	w.After(w.Hop.draw(w.Rand), do)
}

// Ask sends a message to a node, which do receives, unless the node is away by then.
func (w *World) Ask(n *Node, do func()) {
	w.Tell(func() {
		if !n.away {
			do()
		}
	})
}

// Think takes so much of a scheduler's time, after everything that it has to think about already.
func (w *World) Think(scheduler int, d time.Duration, do func()) {
	w.busy[scheduler] = max(w.busy[scheduler], w.Now) + d
	w.After(w.busy[scheduler]-w.Now, do)
}

// Write counts a write to a replicated log, and does something when it is there.
func (w *World) Write(do func()) {
	w.count.LogWrites++
	w.After(w.Commit, do)
}

// WriteLocally counts a write to a node's own disk.
func (w *World) WriteLocally() { w.count.LocalWrites++ }

// Conflict counts a decision that did not hold: its node was taken, or not there.
func (w *World) Conflict() { w.count.Conflicts++ }

// Accept places an allocation on a node that has decided so itself, and reports whether it has
// room. It is for messages that the node receives.
func (w *World) Accept(n *Node, a *Alloc) bool {
	if a.Placed() || !n.Free.fits(a.Size) {
		return false
	}
	if n.away {
		w.fail("allocation %d starts on node %d, which is away", a.ID, n.ID)
	}
	w.place(n, a)
	w.run(a)
	return true
}

// Assign places an allocation on a node as a shared state decides it, and reports whether there was room. The
// node hears of it by a message or, if it is away, when it is back.
func (w *World) Assign(n *Node, a *Alloc) bool {
	if a.Placed() || n.Down || !n.Free.fits(a.Size) {
		return false
	}
	w.place(n, a)
	since := n.since
	w.Ask(n, func() {
		if a.node == n && n.since == since {
			w.run(a)
		}
	})
	return true
}

func (w *World) place(n *Node, a *Alloc) {
	if a.node != nil || n.Down {
		w.fail("allocation %d is placed on node %d: down %v, placed already %v", a.ID, n.ID, n.Down, a.node != nil)
	}
	a.node = n
	n.Free = n.Free.sub(a.Size)
	if n.Free.CPU < 0 || n.Free.Memory < 0 {
		w.fail("node %d is over its capacity: %+v free", n.ID, n.Free)
	}
	n.allocs = append(n.allocs, a)
	w.count.Placements++
}

// run notes that an allocation runs.
func (w *World) run(a *Alloc) {
	if !a.running {
		a.running = true
		w.waits = append(w.waits, w.Now-a.called)
	}
}

func (w *World) fail(format string, args ...any) {
	if w.broken == nil {
		w.broken = fmt.Errorf("at %v: %s", w.Now, fmt.Sprintf(format, args...))
	}
}

// leave makes nodes fall silent at once. Each is noticed when its time is over.
func (w *World) leave(nodes []*Node) {
	for _, n := range nodes {
		if n.away {
			continue
		}
		n.away = true
		n.since++
		since := n.since
		ttl := w.TTL + time.Duration(w.fleet.Int64N(int64(w.TTL)))
		heard := time.Duration(w.fleet.Int64N(int64(ttl)))
		w.After(ttl-heard+w.Grace, func() {
			if n.since == since {
				w.notice(n)
			}
		})
	}
}

// notice takes a node for down: what ran there is wanted again, job by job.
func (w *World) notice(n *Node) {
	n.Down = true
	lost := n.allocs
	n.allocs, n.Free = nil, w.Room
	for _, a := range lost {
		if a.running { // one that never ran there has waited all the time
			a.called = w.Now
		}
		a.node, a.running = nil, false
	}
	w.count.Lost += len(lost)
	w.design.Left(n)
	slices.SortStableFunc(lost, func(a, b *Alloc) int { return a.Job - b.Job })
	for len(lost) > 0 {
		i := 1
		for i < len(lost) && lost[i].Job == lost[0].Job {
			i++
		}
		w.design.Want(lost[:i:i])
		lost = lost[i:]
	}
}

// comeBack ends the silence of nodes. One that was taken for down has stopped everything.
func (w *World) comeBack(nodes []*Node) {
	for _, n := range nodes {
		if !n.away {
			continue
		}
		n.away = false
		n.since++
		if !n.Down {
			for _, a := range n.allocs { // it hears of what it was given meanwhile
				w.run(a)
			}
			continue
		}
		w.Tell(func() {
			if !n.away && n.Down {
				n.Down = false
				w.design.Joined(n)
			}
		})
	}
}
