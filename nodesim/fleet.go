package nodesim

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// Fleet runs the clients. Its methods may be called from any goroutine. In a synctest
// bubble it must be made, started and shut down inside the bubble.
type Fleet struct {
	cfg     Config
	groups  []Group
	servers []rpc.NodeServer
	grid    grid

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// mu guards everything below and is held for decisions only, never during a call.
	mu        sync.Mutex
	selection rand.PCG // draws whom Stop and Choose choose
	started   time.Time
	armed     time.Duration // when drive wakes next by itself
	wake      chan struct{} // wakes it before that
	clients   []client
	watches   []context.CancelFunc // ends client i's GetClientAllocs; nil when none is under way
	queue     queue
	stats     Stats
	lastErr   error
	changed   chan struct{} // closed when stats.Ready or stats.Running moved; nil when nobody waits
	shutdown  bool
}

// Stats counts clients and what they have done. Registered, Ready, Running and Stopped
// are counts of clients now; the rest accumulates over the fleet's life.
type Stats struct {
	Registered int // running, and known to the servers as far as they can tell
	Ready      int // of these, those whose last registration was followed by a heartbeat
	Running    int // not stopped
	Stopped    int

	Registrations      uint64 // successful ones
	Heartbeats         uint64 // successful ones
	HeartbeatErrors    uint64
	RegistrationErrors uint64
	AllocUpdates       uint64 // reports the servers took
	AllocUpdateErrors  uint64 // reports they refused
}

// NewFleet makes a fleet whose clients are all stopped until Start. The error is that of
// Config.Validate.
func NewFleet(cfg Config) (*Fleet, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Timing = cfg.Timing.WithDefaults()
	groups, groupOf := cfg.groups()
	f := &Fleet{
		cfg:     cfg,
		groups:  groups,
		grid:    newGrid(cfg.Nodes),
		clients: make([]client, cfg.Nodes),
		watches: make([]context.CancelFunc, cfg.Nodes),

		selection: source(cfg.Seed, 0, seedSelection),
	}
	f.queue.clients = f.clients
	for i := range cfg.Servers {
		f.servers = append(f.servers, cfg.Dial(i))
	}
	for i := range f.clients {
		c := &f.clients[i]
		identity := source(cfg.Seed, i, seedIdentity)
		c.num, c.id, c.server, c.group = i, uuid(&identity), i%cfg.Servers, uint16(groupOf(i))
		for l := range loops {
			c.tasks[l] = task{pos: -1, src: source(cfg.Seed, i, uint64(l))}
		}
	}
	f.stats.Stopped = cfg.Nodes
	return f, nil
}

// Start brings all clients to life. It is called once; the clients live until Shutdown or
// until ctx is done.
func (f *Fleet) Start(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ctx, f.cancel = context.WithCancel(ctx)
	f.started = time.Now()
	f.wake = make(chan struct{}, 1)
	for i := range f.clients {
		f.decide(&f.clients[i], func(c *client, now time.Duration) { c.start(&f.cfg, now) })
	}
	f.wg.Go(f.drive)
	f.arm()
}

// Shutdown ends all clients and returns when every goroutine of the fleet has ended. A
// fleet cannot be started again.
func (f *Fleet) Shutdown() {
	f.mu.Lock()
	f.shutdown = true
	// One by one: cancelling them through the parent would wake them in random order.
	for i := range f.watches {
		f.endWatch(i)
	}
	f.mu.Unlock()
	if f.cancel != nil {
		f.cancel()
	}
	f.wg.Wait()
}

// Stop silences a share of the clients, chosen as by Choose. They send nothing from now on
// and ignore the answers to what they have sent. It returns their node IDs in the order of
// their numbers.
func (f *Fleet) Stop(fraction float64) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	chosen := f.choose(fraction)
	for _, i := range chosen {
		f.halt(i)
	}
	f.arm()
	return f.idsOf(chosen)
}

// Resume brings stopped clients back to life: they register again under their old IDs, at
// a stagger of RegisterStagger. Unknown IDs and running clients are passed over.
func (f *Fleet) Resume(ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	back := make(map[string]bool, len(ids))
	for _, id := range ids {
		back[id] = true
	}
	for i := range f.clients {
		if c := &f.clients[i]; back[c.id] && !c.running {
			f.decide(c, func(c *client, now time.Duration) { c.start(&f.cfg, now) })
		}
	}
	f.arm()
}

// Stats returns the counts of this moment.
func (f *Fleet) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// LastError returns the error of the latest call of a running client that failed; nil if
// none has.
func (f *Fleet) LastError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lastErr
}

// WaitReady returns once every running client is ready, or with ctx's error. With no
// client running it returns at once.
func (f *Fleet) WaitReady(ctx context.Context) error {
	for {
		f.mu.Lock()
		if f.stats.Ready == f.stats.Running {
			f.mu.Unlock()
			return nil
		}
		if f.changed == nil {
			f.changed = make(chan struct{})
		}
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drive starts the calls of the loops whose time has come.
//
// It makes a timer for each wait and never resets one that is pending: in a bubble the
// runtime pays for that with a walk over all of the bubble's timers.
func (f *Fleet) drive() {
	for {
		f.mu.Lock()
		now := time.Since(f.started)
		for at, ok := f.queue.next(); ok && at <= now && !f.shutdown; at, ok = f.queue.next() {
			f.launch(f.queue.pop(), now)
		}
		f.armed = forever
		if at, ok := f.queue.next(); ok {
			f.armed = at
		}
		timer := time.NewTimer(time.Until(f.started.Add(f.armed)))
		f.mu.Unlock()
		select {
		case <-timer.C:
		case <-f.wake:
		case <-f.ctx.Done():
		}
		timer.Stop()
		if f.ctx.Err() != nil {
			return
		}
	}
}

// forever is when a fleet without a waiting loop wakes.
const forever = 100 * 365 * 24 * time.Hour

// arm wakes drive if it would sleep past the next instant. Called with mu held, after
// every decision.
func (f *Fleet) arm() {
	at, ok := f.queue.next()
	if !ok || at >= f.armed {
		return
	}
	f.armed = at
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// launch makes the call of one loop, in a goroutine of its own. Called with mu held.
func (f *Fleet) launch(r ref, now time.Duration) {
	c := &f.clients[r.client]
	asked, life := c.begin(&f.cfg, r.loop, now), c.life
	ctx := f.ctx
	if asked.kind == callWatch {
		ctx, f.watches[r.client] = context.WithCancel(f.ctx)
	}
	var node *rpc.Node
	if asked.kind == callRegister {
		node = f.groups[c.group].node(c)
		node.Status = asked.status
	}
	id, latency := c.id, f.groups[c.group].Latency
	f.wg.Go(func() {
		linger(ctx, latency)
		got := do(ctx, f.servers[asked.server], asked, id, node)
		linger(ctx, latency)
		f.answered(r, life, asked, got)
	})
}

// answered takes an answer to the client, unless it lives another life by now.
func (f *Fleet) answered(r ref, life uint32, asked call, got answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &f.clients[r.client]
	if c.life != life || f.shutdown || f.ctx.Err() != nil {
		return
	}
	if asked.kind == callWatch {
		f.endWatch(int(r.client))
	}
	f.stats.count(asked.kind, got.err)
	if got.err != nil {
		f.lastErr = got.err
	}
	f.decide(c, func(c *client, now time.Duration) { c.finish(&f.cfg, r.loop, now, asked, got) })
	f.arm()
}

// decide lets a client decide, then brings queue and counts in line with it. Called with
// mu held.
func (f *Fleet) decide(c *client, step func(*client, time.Duration)) {
	before := f.stats
	f.stats.add(c, -1)
	step(c, time.Since(f.started))
	f.stats.add(c, +1)
	for l := range loops {
		r := ref{int32(c.num), l}
		if t := &c.tasks[l]; t.state == waiting {
			f.queue.set(r, f.grid.align(t.at, c.num, l))
		} else {
			f.queue.remove(r)
		}
	}
	if f.changed != nil && (before.Ready != f.stats.Ready || before.Running != f.stats.Running) {
		close(f.changed)
		f.changed = nil
	}
}

func (f *Fleet) endWatch(i int) {
	if f.watches[i] != nil {
		f.watches[i]()
		f.watches[i] = nil
	}
}

// add counts the client in or, with by = -1, out.
func (s *Stats) add(c *client, by int) {
	if !c.running {
		s.Stopped += by
		return
	}
	s.Running += by
	if c.registered {
		s.Registered += by
	}
	if c.ready {
		s.Ready += by
	}
}

func (s *Stats) count(kind callKind, err error) {
	ok, failed := &s.Registrations, &s.RegistrationErrors
	switch kind {
	case callHeartbeat:
		ok, failed = &s.Heartbeats, &s.HeartbeatErrors
	case callSync:
		ok, failed = &s.AllocUpdates, &s.AllocUpdateErrors
	case callWatch:
		return
	}
	if err == nil {
		*ok++
	} else {
		*failed++
	}
}
