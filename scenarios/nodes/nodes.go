package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/internal/rusage"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/nodesim/remote"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
	"github.com/simctl/simctl/scenarios/internal/english"
)

// Config says which clients there are and where their servers are.
type Config struct {
	Servers remote.Config
	// Count is the number of clients if Scenario is nil.
	Count int
	// Scenario has the clients and what they do by themselves; the rest of it is ignored.
	Scenario *scenarios.Compiled
	// Seed decides who the clients are: the same seed is the same machines.
	Seed int64
	// Drivers are the drivers that every node has.
	Drivers []string
	// RegisterOver spreads the registrations; 0 = 10 s, as Nomad's clients do.
	RegisterOver time.Duration
}

// MaxNodes is how many clients a process may have.
const MaxNodes = nodesim.MaxNodes

// fleet returns the clients and their behaviours.
func (c Config) fleet() (nodesim.Config, []*behaviours.Behaviour, error) {
	cfg := nodesim.Config{Nodes: c.Count, ReportAllocs: true}
	var own []*behaviours.Behaviour
	if c.Scenario != nil {
		cfg, own = c.Scenario.Fleet(), c.Scenario.Behaviours()
	} else {
		cfg.Groups = []nodesim.Group{{Name: "clients", Nodes: c.Count, Attributes: nodesim.DefaultAttributes()}}
	}
	cfg.Servers, cfg.Seed = len(c.Servers.Addresses), c.Seed
	cfg.Groups = slices.Clone(cfg.Groups)
	for i := range cfg.Groups {
		g := &cfg.Groups[i]
		g.Attributes = maps.Clone(g.Attributes)
		for _, driver := range c.Drivers {
			g.Attributes["driver."+driver] = "1"
		}
	}
	cfg.RegisterStagger = cmp.Or(c.RegisterOver, cfg.RegisterStagger)
	return cfg, own, remote.SetHabits(&cfg, cmp.Or(c.Servers.Release, remote.NewestRelease))
}

// Status is how a fleet does.
type Status struct {
	nodesim.Stats
	Nodes       int
	Servers     int
	Connections int
	Elapsed     time.Duration
	// ReadyAfter is when every client was ready for the first time; zero = that is to come.
	ReadyAfter time.Duration
	LastError  error
	Failures   []remote.Failure // of calls, the most frequent first

	// Calls a second that succeeded, and that failed, since the Status before.
	Registrations, Heartbeats, AllocUpdates, Failed float64
	// Cores is the processor time of this process since the start, by the time that passed.
	Cores   float64
	PeakRSS uint64
}

// InputError is an error that the user can correct.
type InputError struct{ error }

// every is the time between two Statuses.
const every = time.Second

// Run keeps the clients alive until ctx is done. It calls watch with a Status every second, and
// returns the last one. The error is an InputError for what cannot be; servers that do not
// answer at the start are an error, too, but later ones are the clients' affair.
func Run(ctx context.Context, cfg Config, watch func(Status)) (Status, error) {
	servers, err := remote.New(cfg.Servers)
	if err != nil {
		return Status{}, InputError{err}
	}
	defer servers.Close()
	fleet, own, err := cfg.fleet()
	if err != nil {
		return Status{}, InputError{err}
	}
	fleet.Dial = servers.Dial
	f, err := nodesim.NewFleet(fleet)
	if err != nil {
		return Status{}, InputError{errors.New(strings.TrimPrefix(err.Error(), "nodesim: "))}
	}
	if err := servers.Check(ctx); err != nil {
		return Status{}, err
	}
	r := &runner{fleet: f, servers: servers, cfg: fleet, began: time.Now(), cpu: rusage.CPU(), addresses: len(cfg.Servers.Addresses)}
	r.last, r.lastAt = f.Stats(), r.began
	f.Start(ctx)
	defer f.Shutdown()
	for tick := time.NewTicker(every); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			r.end()
			return r.status(time.Now()), nil
		case now := <-tick.C:
			s := r.status(now)
			if s.ReadyAfter != 0 && r.underway == nil {
				r.begin(ctx, own)
			}
			watch(s)
		}
	}
}

// runner is a fleet that runs.
type runner struct {
	fleet     *nodesim.Fleet
	servers   *remote.Servers
	cfg       nodesim.Config
	addresses int
	began     time.Time
	cpu       time.Duration // at that time

	ready    time.Duration
	last     nodesim.Stats
	lastAt   time.Time
	underway []*behaviours.Underway
}

// begin lets the clients' behaviours begin.
func (r *runner) begin(ctx context.Context, own []*behaviours.Behaviour) {
	groups := behaviours.Groups(r.cfg)
	r.underway = []*behaviours.Underway{}
	for _, b := range own {
		r.underway = append(r.underway, b.Start(ctx, r.cfg.Seed, groups, r.fleet, 0))
	}
}

func (r *runner) end() {
	for _, u := range r.underway {
		u.End()
	}
}

func (r *runner) status(now time.Time) Status {
	stats, elapsed := r.fleet.Stats(), now.Sub(r.began)
	if r.ready == 0 && stats.Ready == r.cfg.Nodes {
		r.ready = elapsed
	}
	per := func(count func(nodesim.Stats) uint64) float64 {
		return float64(count(stats)-count(r.last)) / math.Max(now.Sub(r.lastAt).Seconds(), time.Millisecond.Seconds())
	}
	s := Status{
		Stats: stats, Nodes: r.cfg.Nodes, Servers: r.addresses, Connections: r.servers.Connections(),
		Elapsed: elapsed, ReadyAfter: r.ready, LastError: r.fleet.LastError(), Failures: r.servers.Failures(),
		Registrations: per(func(s nodesim.Stats) uint64 { return s.Registrations }),
		Heartbeats:    per(func(s nodesim.Stats) uint64 { return s.Heartbeats }),
		AllocUpdates:  per(func(s nodesim.Stats) uint64 { return s.AllocUpdates }),
		Failed:        per(failed),
		Cores:         (rusage.CPU() - r.cpu).Seconds() / math.Max(elapsed.Seconds(), time.Millisecond.Seconds()),
		PeakRSS:       rusage.PeakRSS(),
	}
	r.last, r.lastAt = stats, now
	return s
}

func failed(s nodesim.Stats) uint64 {
	return s.RegistrationErrors + s.HeartbeatErrors + s.AllocUpdateErrors
}

// Line says how the fleet does.
func (s Status) Line() string {
	line := fmt.Sprintf("%d of %s ready, %d registered; a second: registrations %.0f, heartbeats %.0f, updates of allocations %.0f",
		s.Ready, english.Plural(s.Nodes, "client"), s.Registered, s.Registrations, s.Heartbeats, s.AllocUpdates)
	if s.Stopped > 0 {
		line += fmt.Sprintf("; %d silent", s.Stopped)
	}
	if s.Failed > 0 {
		line += fmt.Sprintf("; failed calls %.0f (%v)", s.Failed, s.LastError)
	}
	return line
}

// shownFailures is how many kinds of failures a summary lists.
const shownFailures = 10

// Summary says what the fleet has done.
func (s Status) Summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s for %v, %d of them ready at the end, %d silent, %s\n",
		english.Plural(s.Nodes, "client"), s.Elapsed.Round(time.Second), s.Ready, s.Stopped, english.Plural(s.Connections, "connection"))
	if s.ReadyAfter != 0 {
		fmt.Fprintf(&b, "all were ready for the first time after %v\n", s.ReadyAfter.Round(100*time.Millisecond))
	}
	fmt.Fprintf(&b, "calls: %s (%d failed), %s (%d failed), %s (%d failed)\n",
		english.Plural(s.Stats.Registrations, "registration"), s.RegistrationErrors, english.Plural(s.Stats.Heartbeats, "heartbeat"), s.HeartbeatErrors,
		english.Agree(s.Stats.AllocUpdates, "update of allocations", "updates of allocations"), s.AllocUpdateErrors)
	for i, f := range s.Failures {
		if i == shownFailures {
			fmt.Fprintf(&b, "and %s of failures\n", english.Plural(len(s.Failures)-i, "other kind"))
			break
		}
		fmt.Fprintf(&b, "%s of %s failed: %s\n", english.Plural(f.Count, "call"), f.Method, f.Error)
	}
	fmt.Fprintf(&b, "this process: %.2f cores on average, %d MiB of memory at most\n", s.Cores, s.PeakRSS>>20)
	return b.String()
}
