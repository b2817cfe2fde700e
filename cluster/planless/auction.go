package planless

import (
	"cmp"
	"math"
	"slices"
)

// auction has schedulers that keep no state of the nodes, but ask them: a scheduler with allocations to
// place asks all nodes for their state, waits for the answers, gives each allocation to the node with the
// best bid, and auctions again what is refused. It follows Cloud Foundry's Diego. There a lock lets one
// auctioneer work at a time; here all schedulers hold auctions, as in fly.io's flaps.
type auction struct {
	w        *World
	auctions []*auctioneer
	members  map[int]bool // nodes known to be there
}

type auctioneer struct {
	auction *auction
	id      int
	backlog
	under bool
}

// bid is a node's state, and what was awarded on it since.
type bid struct {
	node *Node
	free Size
	jobs map[int]int
}

func newAuction(w *World) Design {
	d := &auction{w: w, members: map[int]bool{}}
	for i := range w.Schedulers {
		d.auctions = append(d.auctions, &auctioneer{auction: d, id: i})
	}
	return d
}

func (d *auction) Want(allocs []*Alloc) {
	a := d.auctions[allocs[0].Job%len(d.auctions)]
	a.queue.add(allocs...)
	a.hold()
}

func (d *auction) Joined(n *Node) {
	d.members[n.ID] = true
	for _, a := range d.auctions {
		a.joined()
		a.hold()
	}
}

func (d *auction) Left(n *Node) { delete(d.members, n.ID) }

// hold holds an auction for all allocations in the queue.
func (a *auctioneer) hold() {
	if a.under || len(a.queue) == 0 {
		return
	}
	batch := a.queue.takeAll()
	if len(batch) == 0 {
		return
	}
	a.under = true
	w, joins := a.auction.w, a.joins
	var bids []*bid
	asked := 0
	over := false
	begin := func() {
		if !over {
			over = true
			a.award(batch, bids, joins)
		}
	}
	for _, n := range w.Nodes {
		if !a.auction.members[n.ID] {
			continue
		}
		asked++
		w.Ask(n, func() {
			b := &bid{node: n, free: n.Free, jobs: map[int]int{}}
			for _, al := range n.allocs {
				b.jobs[al.Job]++
			}
			w.Tell(func() {
				if bids = append(bids, b); len(bids) == asked {
					begin()
				}
			})
		})
	}
	w.After(w.Timeout, begin) // nodes that are away do not answer
}

// award gives out the batch, the largest first, and sends each to its winner.
func (a *auctioneer) award(batch []*Alloc, bids []*bid, joins int) {
	w := a.auction.w
	slices.SortStableFunc(bids, func(x, y *bid) int { return cmp.Compare(x.node.ID, y.node.ID) })
	slices.SortStableFunc(batch, func(x, y *Alloc) int { return cmp.Compare(w.Room.load(y.Size), w.Room.load(x.Size)) })
	var blocked []*Alloc
	var sent []placement
	looked := 0
	for _, al := range batch {
		looked += len(bids)
		best, score := (*bid)(nil), math.Inf(1)
		for _, b := range bids {
			if !b.free.fits(al.Size) {
				continue
			}
			// The node with the fewest of the job, and among those the emptiest.
			if s := float64(b.jobs[al.Job]) + w.Room.load(w.Room.sub(b.free).add(al.Size)); s < score {
				best, score = b, s
			}
		}
		if best == nil {
			blocked = append(blocked, al)
			continue
		}
		best.free = best.free.sub(al.Size)
		best.jobs[al.Job]++
		sent = append(sent, placement{al, best.node})
	}
	// A comparison of two numbers is less than a look at a node.
	w.Think(a.id, w.Look*timesOf(looked)/bidsPerLook, func() { a.send(sent, joins, blocked) })
}

// bidsPerLook is how many bids are compared in the time of one look.
const bidsPerLook = 100

// send tells the winners. Allocations that were refused, or for which no answer came, are auctioned again.
func (a *auctioneer) send(sent []placement, joins int, blocked []*Alloc) {
	w := a.auction.w
	open := len(sent)
	var again []*Alloc
	end := func() {
		a.under = false
		a.queue.add(again...)
		a.block(joins, blocked)
		a.hold()
	}
	if open == 0 {
		end()
		return
	}
	for _, p := range sent {
		answered := false
		answer := func(accepted bool) {
			if answered {
				return
			}
			answered = true
			if !accepted {
				w.Conflict()
				again = append(again, p.alloc)
			}
			if open--; open == 0 {
				end()
			}
		}
		w.Ask(p.node, func() {
			ok := w.Accept(p.node, p.alloc)
			if ok {
				w.WriteLocally()
			}
			w.Tell(func() { answer(ok) })
		})
		w.After(w.Timeout, func() { answer(p.alloc.Placed()) })
	}
}
