package realcluster

import (
	"cmp"
	"crypto/rand"
	"crypto/tls"
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
	"github.com/simctl/simctl/internal/nomadtls"
	"github.com/simctl/simctl/internal/pacer"
	"github.com/simctl/simctl/internal/redact"
	"github.com/simctl/simctl/nodesim/remote"
)

// Processes are the processes of the servers, if this program has started them.
type Processes interface {
	StartServer(server int) error
	KillServer(server int) error
	// Worked returns for how long the processors of their machine, and how many, have worked for anybody, and for how long its host
	// took them away; none if that is not known.
	Worked() (spent, stolen time.Duration, processors int)
	// MemoryRead returns how long a read of that machine's memory takes; zero if that is not known.
	MemoryRead() time.Duration
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
	// Run marks the jobs and the nodes of a run; empty = a name that no other run has.
	Run string
	// Foreign says that the cluster may have jobs and nodes of others, which are none of the run's.
	Foreign bool
	// Jobs are the IDs of the run's jobs, which no job of others may have.
	Jobs []string
}

// Cluster is a cluster of real servers. Its methods may be called from any goroutine.
type Cluster struct {
	Version string // of the servers
	cfg     Config
	servers []*server
	silent  error // why servers that were named are not among them; nil if all are
	missing int   // their number
	clients *remote.Servers
	note    string // the memo of the stay, which jobs carry; empty if there is none

	mu      sync.Mutex        // never held while servers are asked; it guards what follows, and killed and gone of each server
	nodes   map[string]string // statuses of the nodes, by ID: a new map after each look
	past    []counted
	going   bool   // evaluations are about to go, which no look has heard yet
	deleted uint64 // evaluations that were deleted before they were over

	looking   sync.Mutex    // held for all of a look; it guards what follows, and the counts of each server
	last      cluster.Stats // as they were last seen
	evals     evals
	down      uint64 // nodes that have gone down
	nodesPace pacer.Pacer
	looks     int
	work      work
	lost      error // why the last look saw nothing
}

// server is one server.
type server struct {
	client *api.Client
	slow   *api.Client // for requests that keep servers busy
	self   *api.AgentSelf
	rpc    string // where it serves clients and other servers, as it says
	reach  string // the same for the fleet
	counts counts
	killed bool
	gone   bool // it was killed once
}

// Errors of Connect.
var (
	// ErrUnsuited says that a run cannot go on in the cluster as it is.
	ErrUnsuited = errors.New("the cluster will not do")
	errNoLeader = fmt.Errorf("ask the servers: %w", rpc.ErrNoLeader)
)

// patience bounds one request, and longPatience one of hundreds of thousands of evaluations, which must not be
// made again while the servers are at it.
const (
	patience     = 10 * time.Second
	longPatience = 5 * time.Minute
)

// Connect returns a cluster, whose figures count from now. The error wraps ErrUnsuited if the
// servers are there, but not as a run needs them.
func Connect(cfg Config) (*Cluster, error) {
	c, err := dial(cfg)
	if err != nil {
		return nil, err
	}
	return c, c.attach()
}

// dial returns a cluster of which every server has said who it is.
func dial(cfg Config) (*Cluster, error) {
	c, err := dialSome(cfg)
	if err == nil {
		err = c.silent
	}
	return c, err
}

// dialSome returns a cluster of the servers that have said who they are, if there are any.
func dialSome(cfg Config) (*Cluster, error) {
	cfg.Run = cmp.Or(cfg.Run, strings.ToLower(rand.Text()[:8]))
	c := &Cluster{cfg: cfg, nodes: map[string]string{}, nodesPace: pacer.Pacer{Share: shareOfAnswers}, evals: evals{pace: pacer.Pacer{Share: shareOfAnswers}}}
	if cfg.RPC != nil && len(cfg.RPC) != len(cfg.API) {
		return nil, fmt.Errorf("%w: there are addresses of the API for %d and of RPC for %d: give both of every server, in the same order", ErrUnsuited, len(cfg.API), len(cfg.RPC))
	}
	for i, a := range cfg.API {
		client, err := NewClient(*a)
		if err != nil {
			return nil, fmt.Errorf("%w: %s", ErrUnsuited, redact.Passwords(err.Error()))
		}
		s := &server{client: client}
		if s.slow, err = newClient(*a, longPatience); err != nil {
			return nil, fmt.Errorf("%w: %s", ErrUnsuited, redact.Passwords(err.Error()))
		}
		if s.self, err = client.Agent().Self(); err != nil && strings.Contains(err.Error(), permissionDenied) {
			return nil, fmt.Errorf("%w: the server at %s denies permission: set NOMAD_TOKEN to a management token", ErrUnsuited, redact.Passwords(a.Address))
		} else if err != nil {
			said := fmt.Errorf("ask the server at %s who it is: %w", redact.Passwords(a.Address), asError(err))
			if nomadtls.Remedy(err) != "" {
				return nil, fmt.Errorf("%w: %w", ErrUnsuited, said)
			}
			if !passes(said) {
				return nil, said
			}
			c.silent = cmp.Or(c.silent, said)
			c.missing++
			continue
		}
		if s.self.Stats["nomad"]["server"] != "true" {
			return nil, fmt.Errorf("%w: the agent at %s is no server: name servers", ErrUnsuited, redact.Passwords(a.Address))
		}
		s.rpc = net.JoinHostPort(s.self.Member.Addr, s.self.Member.Tags["port"])
		if s.reach = s.rpc; cfg.RPC != nil {
			s.reach = cfg.RPC[i]
		}
		if slices.ContainsFunc(c.servers, func(o *server) bool { return o.rpc == s.rpc }) {
			return nil, fmt.Errorf("%w: two of the addresses lead to the server %s: give the address of every server once", ErrUnsuited, s.rpc)
		}
		c.Version = s.self.Member.Tags["build"]
		c.servers = append(c.servers, s)
	}
	if len(c.servers) == 0 {
		return nil, c.silent
	}
	return c, nil
}

// NewClient returns a client of the API whose requests take no longer than patience.
func NewClient(cfg api.Config) (*api.Client, error) { return newClient(cfg, patience) }

func newClient(cfg api.Config, timeout time.Duration) (*api.Client, error) {
	if cfg.HttpClient == nil && !strings.HasPrefix(cfg.Address, "unix:") {
		cfg.HttpClient = &http.Client{Timeout: timeout, Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 4, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		}}
		if err := api.ConfigureTLS(cfg.HttpClient, cfg.TLSConfig); err != nil {
			return nil, err
		}
	}
	return api.NewClient(&cfg)
}

// attach begins to count, and makes the fleet's way to the servers.
func (c *Cluster) attach() error {
	peers, err := c.servers[0].client.Status().Peers()
	if err != nil {
		return asError(err)
	}
	if len(peers) != len(c.servers) {
		return fmt.Errorf("%w: its servers are %d (%s), and addresses of %d were given: give that of every server, since figures are the leader's",
			ErrUnsuited, len(peers), strings.Join(peers, ", "), len(c.servers))
	}
	for _, s := range c.servers {
		if err := s.scrape(); err != nil {
			return err
		}
		s.counts.begin()
	}
	if c.Leader() < 0 {
		return errNoLeader
	}
	if c.Stats(); c.lost != nil {
		return c.lost
	}
	clients := c.cfg.Clients
	clients.Release, clients.Attributes = c.Version, map[string]string{nodeMark: c.cfg.Run}
	clients.Region = cmp.Or(clients.Region, c.servers[0].self.Member.Tags["region"])
	for _, s := range c.servers {
		clients.Addresses = append(clients.Addresses, s.reach)
	}
	if c.clients, err = remote.New(clients); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsuited, err)
	}
	return nil
}

// Close ends the clients' connections. The fleet must have been shut down.
func (c *Cluster) Close() { c.clients.Close() }

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
	c.servers[i].killed, c.servers[i].gone = true, true
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
	return c.callOver(func(s *server) *api.Client { return s.client }, ask)
}

// callSlowly is call for what takes the servers long.
func (c *Cluster) callSlowly(ask func(*api.Client) error) error {
	return c.callOver(func(s *server) *api.Client { return s.slow }, ask)
}

func (c *Cluster) callOver(way func(*server) *api.Client, ask func(*api.Client) error) error {
	err := fmt.Errorf("ask the servers: %w", rpc.ErrUnreachable)
	for i, s := range c.servers {
		if !c.Running(i) {
			continue
		}
		if err = asError(ask(way(s))); !errors.Is(err, rpc.ErrUnreachable) {
			return err
		}
	}
	return err
}

// What servers and the API's client say.
const (
	permissionDenied   = "Permission denied"
	unexpectedResponse = "Unexpected response code" // in errors that do not wrap theirs, too
)

// betweenLeaders is what servers say while a leader goes and the next one comes.
var betweenLeaders = []string{
	rpc.ErrNoLeader.Error(), rpc.ErrNotReady.Error(), "failed to get conn", "rpc error: EOF",
	"leadership lost while committing log", "node is not the leader",
}

// asError makes an error of the API one line, and one of those that callers tell apart.
func asError(err error) error {
	if err == nil {
		return nil
	}
	text := redact.Passwords(strings.Join(strings.Fields(err.Error()), " "))
	if remedy := nomadtls.Remedy(err); !strings.Contains(text, remedy) {
		text += ": " + remedy
	}
	kind := error(nil)
	switch {
	case slices.ContainsFunc(betweenLeaders, func(said string) bool { return strings.Contains(text, said) }):
		kind = rpc.ErrNoLeader
	case strings.Contains(text, rpc.ErrNodeNotFound.Error()):
		kind = rpc.ErrNodeNotFound
	case strings.Contains(text, rpc.ErrJobNotFound.Error()):
		kind = rpc.ErrJobNotFound
	case !strings.Contains(text, unexpectedResponse):
		kind = rpc.ErrUnreachable
	default:
		return errors.New(text)
	}
	return fmt.Errorf("%s: %w", text, kind)
}
