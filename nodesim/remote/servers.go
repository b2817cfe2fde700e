package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/nomadrpc"
)

// Config says where the servers are and how to speak to them.
type Config struct {
	Addresses []string // HOST:PORT of the servers' RPC; at least one
	// Connections is how many there are to each server; 0 = DefaultConnections. A server
	// accepts 100 from an address unless it is told otherwise (rpc_max_conns_per_client).
	Connections int
	// Local are the addresses that connections come from, in turn; nil = the system's choice.
	Local []netip.Addr
	// TLS is as nomadtls.Files.Client returns it; nil = none.
	TLS    *tls.Config
	Region string // empty = DefaultRegion
	// Release is that of the clients, such as 1.4.3. It decides their habits and is what nodes
	// say in their attribute nomad.version. Empty = NewestRelease.
	Release string
	// IntroToken goes with the first registration of each node.
	IntroToken string
	// Attributes are those that every node has besides its own.
	Attributes map[string]string
	// Refused is called once, if a server accepts fewer connections than there should be: then clients
	// share the rest. It may be nil.
	Refused func(server string)
}

// Defaults of Config.
const (
	DefaultConnections = 16
	DefaultRegion      = "global"
)

// Servers are the servers of one cluster, as the clients of a fleet see them. Their methods
// are safe for concurrent use.
type Servers struct {
	cfg    Config
	habits habits
	links  [][]*link // of each server
	// incomplete is how long a client waits, and up to twice as long, when a server did not
	// have every allocation that another one listed.
	incomplete time.Duration
	// knockEvery is the time between two tries to make a connection that a server refuses.
	knockEvery time.Duration
	told       sync.Once // that one does

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	failed failures

	mu    sync.Mutex
	nodes map[string]*node
	names map[string][]string // tasks, by themselves: many allocations have the same
}

// maxConnections to a server are more than any serves: a typing error must not take all memory.
const maxConnections = 1_000_000

// New returns the servers, and connects to none. The error names what is wrong in cfg.
func New(cfg Config) (*Servers, error) {
	cfg.Connections = cmp.Or(cfg.Connections, DefaultConnections)
	cfg.Region = cmp.Or(cfg.Region, DefaultRegion)
	cfg.Release = cmp.Or(cfg.Release, NewestRelease)
	s := &Servers{cfg: cfg, incomplete: 2 * time.Second, knockEvery: 10 * time.Second, nodes: map[string]*node{}, names: map[string][]string{}}
	var err error
	if s.habits, err = habitsOf(cfg.Release); err != nil {
		return nil, err
	}
	switch {
	case len(cfg.Addresses) == 0:
		return nil, errors.New("no server: name the address of at least one, such as 127.0.0.1:4647")
	case cfg.Connections < 1 || cfg.Connections > maxConnections:
		return nil, fmt.Errorf("%d connections: there must be 1 to %d to each server", cfg.Connections, maxConnections)
	case cfg.IntroToken != "" && !s.habits.identities:
		return nil, fmt.Errorf("clients of release %s know no introduction tokens: leave the token out or choose a later release", cfg.Release)
	}
	for _, address := range cfg.Addresses {
		_, port, err := net.SplitHostPort(address)
		if number, not := strconv.ParseUint(port, 10, 16); err != nil || not != nil || number == 0 {
			return nil, fmt.Errorf("server %q: it must be HOST:PORT, such as 127.0.0.1:4647", address)
		}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for _, address := range cfg.Addresses {
		var links []*link
		for i := range cfg.Connections {
			l := &link{servers: s, address: address, dial: nomadrpc.DialConfig{TLS: cfg.TLS}}
			if len(cfg.Local) > 0 {
				l.dial.Local = net.TCPAddrFromAddrPort(netip.AddrPortFrom(cfg.Local[i%len(cfg.Local)], 0))
			}
			links = append(links, l)
		}
		s.links = append(s.links, links)
	}
	return s, nil
}

// Knows reports whether a client with that ID has called.
func (s *Servers) Knows(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[id] != nil
}

// Dial is the nodesim.Dial of a fleet.
func (s *Servers) Dial(number int) rpc.NodeServer { return server{s, number} }

// Check calls each server once, so that a wrong address or certificate is known before there
// are thousands of clients.
func (s *Servers) Check(ctx context.Context) error {
	for i, address := range s.cfg.Addresses {
		var leader string
		if err := s.links[i][0].call(ctx, leaderMethod, s.leaderRequest(), &leader); err != nil {
			return fmt.Errorf("server %s: %w", address, err)
		}
		if leader == "" {
			return fmt.Errorf("server %s: %w", address, rpc.ErrNoLeader)
		}
	}
	return nil
}

const leaderMethod = "Status.Leader"

func (s *Servers) leaderRequest() *nomadrpc.GenericRequest {
	return &nomadrpc.GenericRequest{QueryOptions: nomadrpc.QueryOptions{Region: s.cfg.Region}}
}

// Close ends all connections. Calls under way fail.
func (s *Servers) Close() {
	s.cancel()
	for _, links := range s.links {
		for _, l := range links {
			l.close()
		}
	}
	s.wg.Wait()
}

// Connections counts the connections that are open.
func (s *Servers) Connections() int {
	n := 0
	for _, links := range s.links {
		for _, l := range links {
			if l.open() {
				n++
			}
		}
	}
	return n
}
