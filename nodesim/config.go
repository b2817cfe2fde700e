package nodesim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// Dial returns server number server, from 0, as clients see it. NewFleet calls it once for
// each server.
type Dial func(server int) rpc.NodeServer

// Config describes a fleet. The zero value of each field but Nodes, Servers and Dial stands
// for the default named beside it.
type Config struct {
	Nodes   int // clients; at least 1
	Servers int // at least 1; client i starts on server i mod Servers
	Dial    Dial
	Seed    int64 // seeds all draws, together with the client's number

	// Groups make up the fleet, whose clients are numbered group by group. Nodes must be
	// their sum. Nil is one group with the defaults of Group.
	Groups []Group

	Timing
	Behaviour Behaviour

	// ReportAllocs makes clients watch their allocations and report their statuses.
	// Without it they only register and heartbeat, as load tests' fake clients do.
	ReportAllocs bool
	// RetriesShorten makes a failed watch shorten all later ones until its client starts anew. The watch is tried again
	// for what is left of its time, and later watches block no longer than that. Clients up to 1.9.5 do so (client/rpc.go, rpc).
	RetriesShorten bool
	// IgnoresStale makes clients ask again when they are told nothing newer than they know. Without it they take what
	// a server that is behind says, and forget what it does not know of (client/client.go, watchAllocations).
	IgnoresStale bool
}

// DefaultResources is what a node offers unless its Group says otherwise.
var DefaultResources = rpc.Resources{CPUMHz: 4000, MemoryMB: 8192, DiskMB: 100 * 1024}

// DefaultAttributes returns the attributes of a node unless its Group says otherwise: some of
// those that fingerprinting finds. Servers refuse a node without any.
func DefaultAttributes() map[string]string {
	return map[string]string{
		"cpu.arch": "amd64", "driver.mock_driver": "1", "kernel.name": "linux", "os.name": "ubuntu",
	}
}

// Timing is every interval of a client; the package documentation says what each is for.
// Zero stands for what Nomad's clients do, as intervals lists it.
type Timing struct {
	// RegisterStagger spreads registrations. It also spreads the heartbeats of nodes that the
	// servers had forgotten and that registered again (initialHeartbeatStagger).
	RegisterStagger time.Duration
	RegisterRetry   time.Duration
	// NodeUpdate passes, as a retry does, from a change of the node's attributes until it registers again.
	NodeUpdate time.Duration
	// FirstHeartbeat spreads the first heartbeat of a client's life, which turns the node
	// ready. Zero sends it right after the registration; real clients spread it over 10 s.
	FirstHeartbeat time.Duration
	AllocSync      time.Duration
	// AllocSyncTypical is how often an UpdateAlloc goes out that has nothing urgent: no status
	// other than the one that the servers acknowledged last. It is a multiple of AllocSync: 1 s
	// since 1.6.0. Zero, as before that, means AllocSync.
	AllocSyncTypical time.Duration
	AllocSyncRetry   time.Duration
	WatchRetry       time.Duration
	WatchBlock       time.Duration // how long a GetClientAllocs may block
	RPCHold          time.Duration // how long a call is retried below the loops
	// HeartbeatRetryUnit stands for a second in the rule of heartbeat retries, which wait
	// 1 to 30 of them.
	HeartbeatRetryUnit time.Duration
	// MinHealthy is how long an allocation runs before the client calls it healthy
	// (structs.DefaultUpdateStrategy, DefaultMigrateStrategy).
	MinHealthy time.Duration
}

// interval is a field of Timing with its default.
type interval struct {
	name  string
	field *time.Duration
	value time.Duration
}

// intervals lists all fields. The defaults are the constants of client/client.go and, for
// RPCHold, of client/config/config.go.
func (t *Timing) intervals() []interval {
	return []interval{
		{"RegisterStagger", &t.RegisterStagger, 10 * time.Second},
		{"RegisterRetry", &t.RegisterRetry, 15 * time.Second},
		{"NodeUpdate", &t.NodeUpdate, 5 * time.Second},
		{"FirstHeartbeat", &t.FirstHeartbeat, 0},
		{"AllocSync", &t.AllocSync, 200 * time.Millisecond},
		{"AllocSyncTypical", &t.AllocSyncTypical, 0},
		{"AllocSyncRetry", &t.AllocSyncRetry, 5 * time.Second},
		{"WatchRetry", &t.WatchRetry, 30 * time.Second},
		{"WatchBlock", &t.WatchBlock, 5 * time.Minute},
		{"RPCHold", &t.RPCHold, 5 * time.Second},
		{"HeartbeatRetryUnit", &t.HeartbeatRetryUnit, time.Second},
		{"MinHealthy", &t.MinHealthy, 10 * time.Second},
	}
}

// WithDefaults returns the timing with the defaults in place of zeros.
func (t Timing) WithDefaults() Timing {
	for _, i := range t.intervals() {
		*i.field = cmp.Or(*i.field, i.value)
	}
	return t
}

// Behaviour is what a client does with its allocations.
type Behaviour struct {
	StartDelay Delay // from learning of an allocation until it runs; zero = none
	StopDelay  Delay // from learning that it is to stop until it is complete; zero = none
	RunFor     Delay // how long an allocation of a batch or sysbatch job runs; zero = until it is told to stop
}

// Delay is a uniform distribution over [Min, Max); Max below Min counts as Min.
type Delay struct {
	Min, Max time.Duration
}

// Mean returns what draws are on average.
func (d Delay) Mean() time.Duration { return d.Min + max(d.Max-d.Min, 0)/2 }

// Validate returns an error that names the first wrong field, its value and what is allowed.
func (c Config) Validate() error {
	switch {
	case c.Nodes < 1 || c.Nodes > MaxNodes:
		return fmt.Errorf("nodesim: Nodes is %d: a fleet has 1 to %d clients", c.Nodes, MaxNodes)
	case c.Servers < 1:
		return fmt.Errorf("nodesim: Servers is %d: clients need at least 1 server", c.Servers)
	case c.Dial == nil:
		return fmt.Errorf("nodesim: Dial is nil: clients need a way to reach the servers")
	}
	if err := c.validateGroups(); err != nil {
		return err
	}
	for _, i := range append(c.Timing.intervals(),
		interval{name: "Behaviour.StartDelay.Min", field: &c.Behaviour.StartDelay.Min},
		interval{name: "Behaviour.StopDelay.Min", field: &c.Behaviour.StopDelay.Min},
		interval{name: "Behaviour.RunFor.Min", field: &c.Behaviour.RunFor.Min},
	) {
		if *i.field < 0 {
			return fmt.Errorf("nodesim: %s is %v: it must be 0 (the default) or longer", i.name, *i.field)
		}
	}
	return nil
}

// Group describes clients that are alike.
type Group struct {
	Name       string
	Nodes      int               // at least 1
	Datacenter string            // empty = dc1
	NodeClass  string            // empty = none
	Attributes map[string]string // shared by the nodes, never written to; nil = DefaultAttributes
	Resources  rpc.Resources     // of each node; zero = DefaultResources
	Racks      int               // the clients stand in these in turn; the fleet ignores them
	Latency    time.Duration     // added to each message between a client and a server
}

// groups returns the groups of the fleet with the defaults filled in.
func (c *Config) groups() []Group {
	groups := slices.Clone(c.Groups)
	if groups == nil {
		groups = []Group{{Nodes: c.Nodes}}
	}
	for i := range groups {
		g := &groups[i]
		g.Datacenter = cmp.Or(g.Datacenter, "dc1")
		g.Resources = cmp.Or(g.Resources, DefaultResources)
		if g.Attributes == nil {
			g.Attributes = DefaultAttributes()
		}
	}
	return groups
}

// validateGroups checks the groups by themselves and against Nodes.
func (c Config) validateGroups() error {
	sum := 0
	for _, g := range c.Groups {
		if g.Nodes < 1 || g.Latency < 0 {
			return fmt.Errorf("nodesim: group %q has %d nodes and a latency of %v: it must have at least 1 node and no negative latency", g.Name, g.Nodes, g.Latency)
		}
		sum += g.Nodes
	}
	switch {
	case c.Groups != nil && sum != c.Nodes:
		return fmt.Errorf("nodesim: Nodes is %d and the groups have %d: the two must be equal", c.Nodes, sum)
	case len(c.Groups) > math.MaxUint16:
		return fmt.Errorf("nodesim: %d groups: there must be %d at most", len(c.Groups), math.MaxUint16)
	}
	return nil
}
