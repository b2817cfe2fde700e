package simnet

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrUnreachable means that the other end has stopped or is cut off.
var ErrUnreachable = errors.New("server unreachable")

// callTimeout is how long a caller waits for an answer.
const callTimeout = 10 * time.Second

// Link describes one direction of a link. A message takes Latency plus a uniform draw from
// [0, Jitter). Loss, from 0 to 1, is the fraction of messages that vanish. The zero Link is
// instantaneous and loses nothing.
type Link struct {
	Latency time.Duration
	Jitter  time.Duration
	Loss    float64
}

// loses reports whether the link loses the message with hash h.
func (l Link) loses(h uint64) bool { return l.Loss > 0 && unit(Mix(h)) < l.Loss }

// delay returns how long the message with hash h takes.
func (l Link) delay(h uint64) time.Duration {
	return l.Latency + time.Duration(unit(h)*float64(l.Jitter))
}

// Network connects servers, by address, and clients. It is safe for concurrent use.
type Network struct {
	seed    uint64
	servers Link
	clients Link

	mu    sync.RWMutex
	nodes map[string]*Transport
	turns map[string]time.Duration // by address; see turn

	instants instants

	// faults is replaced and never written to, so that messages read it without a lock.
	faults atomic.Pointer[[]*fault]
}

// New returns a network with one kind of link among servers and one between clients and
// servers.
func New(seed int64, servers, clients Link) *Network {
	return &Network{
		seed: Mix(uint64(seed)), servers: servers, clients: clients,
		nodes: map[string]*Transport{}, turns: map[string]time.Duration{},
	}
}

// Send is Send of the route from one server to another.
func (n *Network) Send(ctx context.Context, from, to, kind string) error {
	return n.Route(from, to, kind).Send(ctx)
}

// SendClient is Send for the link between a client and a server, in either direction.
func (n *Network) SendClient(ctx context.Context, from, to, kind string) error {
	return n.ClientRoute(from, to, kind).Send(ctx)
}

// trip returns how long a message that is sent now takes. If the link loses it, the error is
// ErrUnreachable and the time is that after which the sender gives up.
func (n *Network) trip(l Link, from, to, kind string) (time.Duration, error) {
	h := n.hash(time.Now(), from, to, kind)
	if l = n.disturbed(l, from, to); l.loses(h) {
		return callTimeout + time.Duration(h%uint64(time.Millisecond)), ErrUnreachable
	}
	return l.delay(h), nil
}

// delay returns how long Send would sleep for if the link did not lose the message.
func (n *Network) delay(from, to, kind string) time.Duration {
	return n.disturbed(n.link(from, to), from, to).delay(n.hash(time.Now(), from, to, kind))
}

// lost reports whether the link would lose a message sent now.
func (n *Network) lost(from, to, kind string) bool {
	return n.disturbed(n.link(from, to), from, to).loses(n.hash(time.Now(), from, to, kind))
}

// link returns the link from one server to another; a server reaches itself at once.
func (n *Network) link(from, to string) Link {
	if from == to {
		return Link{}
	}
	return n.servers
}

func (n *Network) transport(addr string) *Transport {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.nodes[addr]
}

// Turn returns a few nanoseconds, a different number for each server: 1 for the first that
// asked.
func (n *Network) Turn(addr string) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.turns[addr]; !ok {
		n.turns[addr] = time.Duration(len(n.turns) + 1)
	}
	return n.turns[addr]
}

func (n *Network) hash(at time.Time, from, to, kind string) uint64 {
	return HashStrings(n.seed^uint64(at.UnixNano()), from, to, kind)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	if ctx.Done() == nil || d <= brief {
		time.Sleep(d) // a timer and a channel cost more
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Mix is the finaliser of splitmix64: a bijection that scatters its input.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// HashStrings folds strings into a seed. It is randomness that depends on who asks for
// what, and never on the order of asking.
func HashStrings(seed uint64, parts ...string) uint64 {
	h := Mix(seed)
	for _, s := range parts {
		for i := 0; i < len(s); i++ {
			h = (h ^ uint64(s[i])) * 0x100000001b3
		}
		h = Mix(h)
	}
	return h
}

func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }
