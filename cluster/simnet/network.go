package simnet

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrUnreachable means that the other end is stopped or cut off.
var ErrUnreachable = errors.New("server unreachable")

// CallTimeout is how long a caller waits for a server that does not answer.
const CallTimeout = 10 * time.Second

// Link is the behaviour of one direction of one link. Delay is Latency plus a uniform
// draw from [0, Jitter). Loss is the share of messages that vanish, 0 to 1.
type Link struct {
	Latency time.Duration
	Jitter  time.Duration
	Loss    float64
}

// Network connects servers, named by address, and clients. The zero Link is
// instantaneous and loses nothing. It is safe for use by many goroutines.
type Network struct {
	seed    uint64
	servers Link
	clients Link

	mu    sync.RWMutex
	nodes map[string]*Transport
	turns map[string]time.Duration // by address, in the order of first attachment
	// group puts an address on one side of a partition; addresses in different groups
	// do not hear each other, and those without one are in group 0.
	group map[string]int
	links map[[2]string]Link
}

// New returns a network whose delays derive from seed.
func New(seed int64, servers, clients Link) *Network {
	return &Network{
		seed: Mix(uint64(seed)), servers: servers, clients: clients,
		nodes: map[string]*Transport{}, turns: map[string]time.Duration{}, group: map[string]int{}, links: map[[2]string]Link{},
	}
}

// SetLink overrides the link from one address to another, in that direction only.
func (n *Network) SetLink(from, to string, l Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[[2]string{from, to}] = l
}

// ClearLinks removes every override.
func (n *Network) ClearLinks() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links = map[[2]string]Link{}
}

// Partition splits the network: the i-th group of addresses hears only itself. Those
// not named form a group of their own.
func (n *Network) Partition(groups ...[]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.group = map[string]int{}
	for i, g := range groups {
		for _, addr := range g {
			n.group[addr] = i + 1
		}
	}
}

// Heal ends every partition.
func (n *Network) Heal() { n.Partition() }

// Reachable reports whether messages pass from one address to another. A client that
// has no address of its own ("") reaches every server.
func (n *Network) Reachable(from, to string) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return from == "" || n.group[from] == n.group[to]
}

// Send sleeps for the time a message takes from one server to another, or returns
// ErrUnreachable once the caller would have given up. kind keeps messages of different
// sorts that leave at the same instant apart.
func (n *Network) Send(ctx context.Context, from, to, kind string) error {
	return n.pass(ctx, n.link(from, to), from, to, kind)
}

// SendClient is Send for the link between a client and a server, in either direction.
func (n *Network) SendClient(ctx context.Context, client, server, kind string) error {
	return n.pass(ctx, n.clients, client, server, kind)
}

func (n *Network) pass(ctx context.Context, l Link, from, to, kind string) error {
	h := n.hash(from, to, kind)
	if !n.Reachable(from, to) || l.loses(h) {
		if err := sleep(ctx, CallTimeout+time.Duration(h%uint64(time.Millisecond))); err != nil {
			return err
		}
		return ErrUnreachable
	}
	return sleep(ctx, l.delay(h))
}

// delay is what Send would sleep for between two servers that reach each other.
func (n *Network) delay(from, to, kind string) time.Duration {
	return n.link(from, to).delay(n.hash(from, to, kind))
}

// lost reports whether Send would fail now.
func (n *Network) lost(from, to, kind string) bool {
	return !n.Reachable(from, to) || n.link(from, to).loses(n.hash(from, to, kind))
}

// link returns the link from one server to another; a server reaches itself at once.
func (n *Network) link(from, to string) Link {
	if from == to {
		return Link{}
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	if l, ok := n.links[[2]string{from, to}]; ok {
		return l
	}
	return n.servers
}

func (n *Network) transport(addr string) *Transport {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.nodes[addr]
}

// turn returns a time of some nanoseconds that no other server has.
func (n *Network) turn(addr string) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.turns[addr]; !ok {
		n.turns[addr] = time.Duration(len(n.turns) + 1)
	}
	return n.turns[addr]
}

func (l Link) delay(h uint64) time.Duration {
	return l.Latency + time.Duration(unit(h)*float64(l.Jitter))
}

func (l Link) loses(h uint64) bool { return l.Loss > 0 && unit(Mix(h)) < l.Loss }

func (n *Network) hash(from, to, kind string) uint64 {
	return HashStrings(n.seed^uint64(time.Now().UnixNano()), from, to, kind)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	if ctx.Done() == nil {
		time.Sleep(d)
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
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

// HashStrings folds strings into a seed: a source of randomness that depends on who
// asks for what and when, never on the order of asking.
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
