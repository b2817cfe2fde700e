package nodesim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// MaxNodes is the size of the largest fleet, whose grid has slots of 134 ms.
const MaxNodes = 1 << 24

// Purposes of the random sources derived from a fleet's seed.
const (
	seedIdentity = iota + uint64(loops) // sources 0 to loops-1 belong to the loops
	seedSelection
)

// source returns the random source of one actor. SplitMix64's finaliser makes the sources of
// consecutive numbers unrelated.
func source(seed int64, number int, purpose uint64) rand.PCG {
	return *rand.NewPCG(mix(uint64(seed)), mix(uint64(number)<<8|purpose))
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// stagger draws from [0, d) (helper/cluster.go, RandomStagger); it returns 0 if d is not
// positive.
func stagger(src *rand.PCG, d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(src.Uint64() % uint64(d))
}

// draw draws from the distribution.
func (d Delay) draw(src *rand.PCG) time.Duration {
	return d.Min + stagger(src, d.Max-d.Min)
}

// node returns the node as the client registers it, a new one for each call, since servers in
// this process keep it.
func (g *Group) node(cl *client) *rpc.Node {
	attributes := g.Attributes
	if cl.override != nil {
		attributes = cl.override
	}
	return &rpc.Node{
		ID:                    cl.id,
		SecretID:              cl.id, // nobody checks it
		Name:                  fmt.Sprintf("client-%05d", cl.num),
		Datacenter:            g.Datacenter,
		NodeClass:             g.NodeClass,
		Attributes:            attributes,
		Resources:             g.Resources,
		Status:                rpc.NodeStatusInit,
		SchedulingEligibility: rpc.NodeEligible,
	}
}

// grid keeps the loops of all clients apart: loop l of client n acts only at instants that
// are offset(n, l) modulo the slot. No two loops act in the same nanosecond, and a run does
// not depend on how the runtime breaks ties. The price is that a loop acts up to one slot
// late: 33 µs with 5,000 clients, 1 ms with 100,000.
type grid struct {
	slot time.Duration
}

func newGrid(nodes int) grid {
	slot := time.Duration(1)
	for slot < time.Duration(nodes)*gridStride {
		slot *= 2
	}
	return grid{slot}
}

// gridStride is the part of a slot that belongs to one client. Loops act at odd nanoseconds,
// because other actors' timers tend to fire at even ones.
const gridStride = 2 * time.Duration(loops)

// align returns the first instant of the loop at or after t.
func (g grid) align(t time.Duration, num int, l loop) time.Duration {
	offset := time.Duration(num)*gridStride + 2*time.Duration(l) + 1
	late := (t - offset) % g.slot
	if late < 0 {
		late += g.slot
	}
	if late == 0 {
		return t
	}
	return t + g.slot - late
}
