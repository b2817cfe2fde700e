package realcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/nodesim/remote"
)

// Processes are the processes of the servers, if this program has started them.
type Processes interface {
	StartServer(server int) error
	KillServer(server int) error
}

// Config says how to reach a cluster.
type Config struct {
	// API has the address of every server's HTTP API, and what the CLI takes from its environment.
	API []*api.Config
	// RPC has the addresses where the servers serve clients, in the same order; nil = as they say.
	RPC []string
	// Processes is nil unless this program has started the servers.
	Processes Processes
	// Clients says how the fleet reaches the servers, less their addresses and release.
	Clients remote.Config
}

// Cluster is a cluster of real servers. Its methods may be called from any goroutine.
type Cluster struct {
	Version string // of the servers
	cfg     Config
	servers []*server
	clients *remote.Servers

	mu    sync.Mutex
	last  cluster.Stats // as they were last seen
	evals evals
	nodes map[string]string // statuses of the nodes, by ID
	down  uint64            // nodes that have gone down
	past  []counted
	looks int
	lost  error // why the last look saw nothing
}

// server is one server.
type server struct {
	client *api.Client
	rpc    string // where it serves clients and other servers, as it says
	reach  string // the same for the fleet
	counts counts
	killed bool
}

// Errors of Connect.
var (
	// ErrUnsuited says that a run cannot go on in the cluster as it is.
	ErrUnsuited = errors.New("the cluster will not do")
	errNoLeader = fmt.Errorf("ask the servers: %w", rpc.ErrNoLeader)
)

// patience bounds one request.
const patience = 10 * time.Second

// Connect returns a cluster, whose figures count from now. The error wraps ErrUnsuited if the
// servers are there, but not as a run needs them.
func Connect(ctx context.Context, cfg Config) (*Cluster, error) {
	c := &Cluster{cfg: cfg, nodes: map[string]string{}}
	for _, a := range cfg.API {
		one := *a
		if one.HttpClient == nil {
			one.HttpClient = &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
		}
		client, err := api.NewClient(&one)
		if err != nil {
			return nil, errors.New(strings.ReplaceAll(err.Error(), a.Address, shown(a.Address)))
		}
		s := &server{client: client}
		self, err := client.Agent().Self()
		if err != nil {
			return nil, fmt.Errorf("ask the server at %s who it is: %w", shown(a.Address), asError(err))
		}
		if self.Stats["nomad"]["server"] != "true" {
			return nil, fmt.Errorf("%w: the agent at %s is no server: name servers", ErrUnsuited, shown(a.Address))
		}
		s.rpc = net.JoinHostPort(self.Member.Addr, self.Member.Tags["port"])
		if s.reach = s.rpc; cfg.RPC != nil {
			s.reach = cfg.RPC[len(c.servers)]
		}
		c.Version = self.Member.Tags["build"]
		c.servers = append(c.servers, s)
	}
	peers, err := c.servers[0].client.Status().Peers()
	if err != nil {
		return nil, asError(err)
	}
	if len(peers) != len(c.servers) {
		return nil, fmt.Errorf("%w: it has %d servers and %d addresses were given: give the address of every server, since figures are the leader's",
			ErrUnsuited, len(peers), len(c.servers))
	}
	for _, s := range c.servers {
		if err := s.scrape(); err != nil {
			return nil, err
		}
		s.counts.begin()
	}
	if c.Leader() < 0 {
		return nil, errNoLeader
	}
	if c.Stats(); c.lost != nil {
		return nil, c.lost
	}
	cfg.Clients.Release = c.Version
	for _, s := range c.servers {
		cfg.Clients.Addresses = append(cfg.Clients.Addresses, s.reach)
	}
	c.clients, err = remote.New(cfg.Clients)
	return c, err
}

// Close ends the clients' connections. The fleet must have been shut down.
func (c *Cluster) Close() { c.clients.Close() }

// shown is an address without its password.
func shown(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	if at := strings.LastIndexByte(rest, '@'); found && at >= 0 {
		return scheme + "://…@" + rest[at+1:]
	}
	return address
}

// Servers returns their number.
func (c *Cluster) Servers() int { return len(c.servers) }

// NodeServer returns a server as clients see it.
func (c *Cluster) NodeServer(i int) rpc.NodeServer { return c.clients.Dial(i) }

// Running reports whether a server runs: whether it was not killed.
func (c *Cluster) Running(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.servers[i].killed
}

var errNotOurs = errors.New("the server is not ours to kill and to start")

// StartServer starts a server that was killed.
func (c *Cluster) StartServer(i int) error {
	if c.cfg.Processes == nil {
		return errNotOurs
	}
	err := c.cfg.Processes.StartServer(i)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.servers[i].killed = err != nil
	return err
}

// StopServer kills a server. What it has counted is lost.
func (c *Cluster) StopServer(i int) error {
	if c.cfg.Processes == nil {
		return errNotOurs
	}
	c.mu.Lock()
	c.servers[i].killed, c.servers[i].counts.gone = true, true
	c.mu.Unlock()
	return c.cfg.Processes.KillServer(i)
}

// Leader returns the server that leads; -1 if there is none.
func (c *Cluster) Leader() int {
	for i, s := range c.servers {
		if !c.Running(i) {
			continue
		}
		if addr, err := s.client.Status().Leader(); err == nil && addr != "" {
			return slices.IndexFunc(c.servers, func(s *server) bool { return s.rpc == addr })
		}
	}
	return -1
}

// call asks a server that runs; it forwards the call to the leader.
func (c *Cluster) call(ask func(*api.Client) error) error {
	err := fmt.Errorf("ask the servers: %w", rpc.ErrUnreachable)
	for i, s := range c.servers {
		if !c.Running(i) {
			continue
		}
		if err = asError(ask(s.client)); !errors.Is(err, rpc.ErrUnreachable) {
			return err
		}
	}
	return err
}

// asError makes an error of the API one line, and one of those that callers tell apart.
func asError(err error) error {
	if err == nil {
		return nil
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	kind := error(nil)
	var answer api.UnexpectedResponseError
	switch {
	case strings.Contains(text, rpc.ErrNoLeader.Error()):
		kind = rpc.ErrNoLeader
	case strings.Contains(text, rpc.ErrNodeNotFound.Error()):
		kind = rpc.ErrNodeNotFound
	case strings.Contains(text, rpc.ErrJobNotFound.Error()):
		kind = rpc.ErrJobNotFound
	case !errors.As(err, &answer) || !answer.HasStatusCode():
		kind = rpc.ErrUnreachable
	default:
		return errors.New(text)
	}
	return fmt.Errorf("%s: %w", text, kind)
}
