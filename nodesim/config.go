package nodesim

import (
	"fmt"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// Dial returns server i as a client sees it; i counts from 0. It is called once for
// each server when the fleet is made.
type Dial func(server int) rpc.NodeServer

// Config describes a fleet. The zero value of every field but Nodes, Servers and Dial
// stands for the default named beside it.
type Config struct {
	Nodes   int // clients; at least 1
	Servers int // servers that Dial knows; at least 1. Client i starts on server i mod Servers
	Dial    Dial
	Seed    int64 // with the client's number, the seed of all its draws

	// Groups is what the fleet consists of, numbered one group after the other; Nodes is
	// their sum then. Without any, all clients are alike and the next four fields count.
	Groups []Group

	Datacenters []string          // client i is in Datacenters[i mod len]; nil = dc1
	NodeClass   string            // empty = none
	Attributes  map[string]string // shared by all nodes, never written to; nil = DefaultAttributes
	Resources   rpc.Resources     // of each node; zero = DefaultResources

	Timing
	Behaviour Behaviour

	// ReportAllocs makes clients watch their allocations and report their statuses.
	// Without it they only register and heartbeat, as load tests' fake clients do.
	ReportAllocs bool
}

// DefaultResources is what a node offers unless the Config says otherwise.
var DefaultResources = rpc.Resources{CPUMHz: 4000, MemoryMB: 8192, DiskMB: 100 * 1024}

// DefaultAttributes returns what a node says of itself unless the Config says otherwise:
// a few of what fingerprinting finds. Servers refuse a node without any.
func DefaultAttributes() map[string]string {
	return map[string]string{
		"cpu.arch": "amd64", "driver.mock_driver": "1", "kernel.name": "linux", "os.name": "ubuntu",
	}
}

// Timing is every interval of a client. Zero fields stand for the defaults beside them,
// which are the constants of client/client.go and, for RPCHold, client/config/config.go.
type Timing struct {
	// RegisterStagger, 10s, spreads registrations and the heartbeat after a node the
	// servers had forgotten registered again (initialHeartbeatStagger).
	RegisterStagger time.Duration
	RegisterRetry   time.Duration // 15s
	// FirstHeartbeat spreads the first heartbeat of a client's life, which turns the node
	// ready. Zero means right after it registered; real clients spread it over 10 s.
	FirstHeartbeat time.Duration
	AllocSync      time.Duration // 200ms
	AllocSyncRetry time.Duration // 5s
	WatchRetry     time.Duration // 30s
	WatchBlock     time.Duration // 5m: how long a GetClientAllocs may block
	RPCHold        time.Duration // 5s: how long a call is retried below the loops
	// HeartbeatRetryUnit is the second of the heartbeat retry rule, which waits 1 to 30
	// of them.
	HeartbeatRetryUnit time.Duration // 1s
	// MinHealthy, 10s, is how long an allocation of a deployment runs before the client
	// calls it healthy (structs.DefaultUpdateStrategy).
	MinHealthy time.Duration
}

// WithDefaults returns the timing with the defaults in place of zeros.
func (t Timing) WithDefaults() Timing {
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.RegisterStagger, 10 * time.Second},
		{&t.RegisterRetry, 15 * time.Second},
		{&t.AllocSync, 200 * time.Millisecond},
		{&t.AllocSyncRetry, 5 * time.Second},
		{&t.WatchRetry, 30 * time.Second},
		{&t.WatchBlock, 5 * time.Minute},
		{&t.RPCHold, 5 * time.Second},
		{&t.HeartbeatRetryUnit, time.Second},
		{&t.MinHealthy, 10 * time.Second},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return t
}

// Behaviour is what a client does with its allocations.
type Behaviour struct {
	StartDelay Delay // from learning of an allocation to its running; zero = at once
	StopDelay  Delay // from being told to stop one to its being complete; zero = at once
}

// Delay is a uniform distribution over [Min, Max); Max below Min counts as Min.
type Delay struct {
	Min, Max time.Duration
}

// Validate names the first field that cannot be used, its value and what is allowed.
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
	t := c.Timing
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"RegisterStagger", t.RegisterStagger},
		{"RegisterRetry", t.RegisterRetry},
		{"FirstHeartbeat", t.FirstHeartbeat},
		{"AllocSync", t.AllocSync},
		{"AllocSyncRetry", t.AllocSyncRetry},
		{"WatchRetry", t.WatchRetry},
		{"WatchBlock", t.WatchBlock},
		{"RPCHold", t.RPCHold},
		{"HeartbeatRetryUnit", t.HeartbeatRetryUnit},
		{"MinHealthy", t.MinHealthy},
		{"Behaviour.StartDelay.Min", c.Behaviour.StartDelay.Min},
		{"Behaviour.StopDelay.Min", c.Behaviour.StopDelay.Min},
	} {
		if f.value < 0 {
			return fmt.Errorf("nodesim: %s is %v: it must be 0 (the default) or longer", f.name, f.value)
		}
	}
	return nil
}
