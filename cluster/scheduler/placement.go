package scheduler

import (
	"math"
	"math/rand/v2"

	"github.com/simctl/simctl/cluster/rpc"
)

const (
	// maxSkip is how many nodes with a score of zero or less are passed over in the hope
	// of better ones (stack.go).
	maxSkip = 3
	// maxFitScore is the bin-packing score of a node that is filled exactly (rank.go).
	maxFitScore = 18.0
)

// placeAll finds nodes for all that is to be placed, replacements first: what they free
// can be used by the rest (generic_sched.go, computePlacements).
func (g *genericRun) placeAll() {
	g.chargeNodes()
	order := newShuffle(g.rand, g.candidates())
	planned := map[string]int{} // new allocations by node and group
	for _, list := range [][]placement{g.destructive, g.places} {
		for _, p := range list {
			if g.failed[p.tg.Name] > 0 {
				g.fail(p.tg.Name) // the group has no room: the next will not have either
				continue
			}
			if p.stopPrevious {
				g.stop(p.previous, allocUpdating, "", "")
			}
			node := g.choose(order, p, planned)
			if node == nil {
				g.fail(p.tg.Name)
				if p.stopPrevious {
					g.unstop(p.previous)
				}
				continue
			}
			if p.stopPrevious {
				g.plan.unplace(p.previous)
			}
			planned[node.ID+"/"+p.tg.Name]++
			g.place(p.tg, p.name, node.ID, p.previous)
		}
	}
}

// candidates returns the ready nodes of the job's datacenters.
func (g *genericRun) candidates() []*rpc.Node {
	nodes := g.cache.readyNodes(g.snap)
	if len(nodes) == g.work.ReadyNodes {
		return nodes // all of them are in the job's datacenters
	}
	in := make([]*rpc.Node, 0, g.work.ReadyNodes)
	for _, n := range nodes {
		if g.job.RunsIn(n.Datacenter) {
			in = append(in, n)
		}
	}
	return in
}

// choose returns the best of the first few nodes that have room, in random order; nil
// when none has (stack.go, GenericStack.Select with select.go's iterators). Services
// look at log2 of the number of nodes, batch jobs at two.
func (g *genericRun) choose(order *shuffle, p placement, planned map[string]int) *rpc.Node {
	limit := 2
	if n := order.len(); !g.batch && n > 0 {
		limit = max(limit, int(math.Ceil(math.Log2(float64(n)))))
	}
	var best *rpc.Node
	bestScore, taken, skipped := math.Inf(-1), 0, 0
	for range order.len() {
		n := order.next()
		g.work.Scored++
		g.considered(n)
		score, ok := g.score(n, p, planned)
		if !ok {
			continue
		}
		// A node passed over is a candidate all the same, but does not count.
		if score > bestScore {
			best, bestScore = n, score
		}
		if score <= 0 && skipped < maxSkip {
			skipped++
			continue
		}
		if taken++; taken == limit {
			break
		}
	}
	return best
}

// score rates a node for a placement, the higher the better; false when it has no room
// (rank.go: bin packing, job anti-affinity and rescheduling penalty, averaged).
func (g *genericRun) score(n *rpc.Node, p placement, planned map[string]int) (float64, bool) {
	on := g.snap.NodeAllocs(n.ID)
	used := g.used(on).Add(p.tg.Resources)
	if !n.Resources.Fits(used) {
		return 0, false
	}
	sum, scorers := fitScore(n.Resources, used)/maxFitScore, 1.0
	collisions := planned[n.ID+"/"+p.tg.Name]
	for _, alloc := range on.Live {
		if g.owns(alloc) && alloc.TaskGroup == p.tg.Name && !g.stopping(alloc) {
			collisions++
		}
	}
	if collisions > 0 {
		sum -= float64(collisions+1) / float64(max(1, p.tg.Count))
		scorers++
	}
	if p.previous != nil && p.previous.ClientStatus == rpc.AllocClientFailed && p.previous.NodeID == n.ID {
		sum--
		scorers++
	}
	return sum / scorers, true
}

func (g *genericRun) stopping(alloc *rpc.Allocation) bool {
	for _, stop := range g.plan.NodeUpdate[alloc.NodeID] {
		if stop.ID == alloc.ID {
			return true
		}
	}
	return false
}

// fitScore is 0 for an empty node and 18 for one that is full (structs/funcs.go,
// ScoreFitBinPack).
func fitScore(capacity, used rpc.Resources) float64 {
	free := func(used, capacity int) float64 {
		if capacity == 0 {
			return 0
		}
		return 1 - float64(used)/float64(capacity)
	}
	total := math.Pow(10, free(used.CPUMHz, capacity.CPUMHz)) + math.Pow(10, free(used.MemoryMB, capacity.MemoryMB))
	return min(max(20-total, 0), maxFitScore)
}

// shuffle goes round a list of nodes in random order, again and again in the same one.
// Only as much of the order is drawn as is asked for.
type shuffle struct {
	rand  *rand.Rand
	nodes []*rpc.Node // shared: not written to
	order []*rpc.Node // drawn so far
	moved map[int]int // where the nodes not drawn yet are, if not in their own place
	at    int
}

func newShuffle(r *rand.Rand, nodes []*rpc.Node) *shuffle {
	return &shuffle{rand: r, nodes: nodes, moved: map[int]int{}}
}

func (s *shuffle) len() int { return len(s.nodes) }

// next returns the next node; there must be some.
func (s *shuffle) next() *rpc.Node {
	if s.at == len(s.nodes) {
		s.at = 0
	}
	if s.at == len(s.order) {
		s.draw()
	}
	s.at++
	return s.order[s.at-1]
}

// draw makes one step of Fisher and Yates on the list as it would be by now.
func (s *shuffle) draw() {
	i := len(s.order)
	j := i + s.rand.IntN(len(s.nodes)-i)
	s.order = append(s.order, s.nodes[s.place(j)])
	s.moved[j] = s.place(i)
	delete(s.moved, i)
}

func (s *shuffle) place(i int) int {
	if at, ok := s.moved[i]; ok {
		return at
	}
	return i
}
