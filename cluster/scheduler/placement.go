package scheduler

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

const (
	// maxSkip is how many nodes with a score of zero or less choose skips in the hope of
	// better ones (stack.go).
	maxSkip = 3
	// maxFitScore is the bin-packing score of a full node (rank.go).
	maxFitScore = 18.0
)

// placeAll finds nodes for all placements. Destructive updates come first, since they free
// room for the others (generic_sched.go, computePlacements).
func (g *genericRun) placeAll() {
	g.chargeNodes()
	order := newShuffle(g.rand, g.candidates())
	planned := map[string]int{} // new allocations by node and group
	for _, p := range slices.Concat(g.destructive, g.places) {
		if g.failed[p.tg.Name] > 0 {
			g.fail(p.tg.Name) // there was no room for one of the group, so there is none for this
			continue
		}
		if p.stopPrevious {
			g.stop(p.previous, AllocUpdating, "")
		}
		node, score := g.choose(order, p, planned)
		if node == nil {
			g.fail(p.tg.Name)
			if p.stopPrevious {
				g.unstop(p.previous)
			}
			if p.reschedules && g.habits.KeepsUnplaced {
				g.keep(p.previous)
			}
			continue
		}
		if p.stopPrevious {
			g.plan.unplace(p.previous)
		}
		planned[node.ID+"/"+p.tg.Name]++
		alloc := g.place(p.tg, p.names.once(p.name), node.ID, p.previous)
		if p.tg.MaxClientDisconnect > 0 {
			alloc.Reach = &rpc.Reach{Score: score}
		}
	}
}

// candidates returns the ready nodes of the job's datacenters.
func (g *genericRun) candidates() []*rpc.Node {
	nodes := g.cache.readyNodes(g.snap)
	if len(nodes) == g.work.ReadyNodes {
		return nodes // all of them are in the job's datacenters
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(n *rpc.Node) bool { return !g.job.RunsIn(n.Datacenter) })
}

// choose returns the best of the first few nodes with room, in random order, and its score; nil if none has
// any (stack.go, GenericStack.Select, with the iterators of select.go). Services consider
// log2 of the number of nodes, batch jobs two.
func (g *genericRun) choose(order *shuffle, p placement, planned map[string]int) (best *rpc.Node, bestScore float64) {
	limit := 2
	if n := len(order.nodes); !g.batch && n > 0 {
		limit = max(limit, int(math.Ceil(math.Log2(float64(n)))))
	}
	bestScore = math.Inf(-1)
	taken, skipped := 0, 0
	for range order.nodes {
		n := order.next()
		on := g.rank(n)
		score, ok := g.score(n, on, p, planned)
		if !ok {
			continue
		}
		// A skipped node is a candidate, but does not count towards the limit.
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
	return best, bestScore
}

// score rates a node for a placement, the higher the better; it reports false if there is no
// room. It averages bin packing, job anti-affinity and rescheduling penalty (rank.go).
func (g *genericRun) score(n *rpc.Node, on *state.NodeAllocs, p placement, planned map[string]int) (float64, bool) {
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
		sum -= float64(collisions+1) / float64(p.tg.Count)
		scorers++
	}
	if p.previous != nil && p.previous.ClientStatus == rpc.AllocClientFailed && p.previous.NodeID == n.ID {
		sum--
		scorers++
	}
	return sum / scorers, true
}

func (g *genericRun) stopping(alloc *rpc.Allocation) bool {
	return slices.ContainsFunc(g.plan.NodeUpdate[alloc.NodeID], func(stop *rpc.Allocation) bool { return stop.ID == alloc.ID })
}

// fitScore returns 0 for an empty node to maxFitScore for a full one (structs/funcs.go,
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

// shuffle cycles through nodes in one random order, of which it draws only as much as is
// asked for.
type shuffle struct {
	rand  *rand.Rand
	nodes []*rpc.Node // shared: not written to
	order []*rpc.Node // drawn so far
	moved map[int]int // which node is at a position of the list, if not its own
	at    int
}

func newShuffle(r *rand.Rand, nodes []*rpc.Node) *shuffle {
	return &shuffle{rand: r, nodes: nodes, moved: map[int]int{}}
}

// next returns the next node. The list must not be empty.
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

// draw makes the next step of a Fisher–Yates shuffle, whose swaps it records in moved.
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
