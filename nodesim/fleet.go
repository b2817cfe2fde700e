package nodesim

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// Fleet runs clients. Its methods are safe for concurrent use. In a synctest bubble, NewFleet,
// Start and Shutdown must be called inside the bubble.
type Fleet struct {
	cfg     Config
	groups  []Group
	servers []rpc.NodeServer
	grid    grid

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// mu guards everything below. It is held for decisions, never during a call.
	mu        sync.Mutex
	selection rand.PCG // for Stop and Choose
	started   time.Time
	armed     time.Duration // when drive's timer fires
	wake      chan struct{} // wakes drive before that
	clients   []client
	queue     queue
	stats     Stats
	lastErr   error
	shutdown  bool
}

// Stats counts clients, now, and answered calls, since Start.
type Stats struct {
	Registered int // running, and known to the servers as far as the clients can tell
	Ready      int // registered, and have sent a heartbeat since
	Running    int
	Stopped    int

	// Calls that succeeded, and calls that failed.
	Registrations, RegistrationErrors uint64
	Heartbeats, HeartbeatErrors       uint64
	AllocUpdates, AllocUpdateErrors   uint64
}

// NewFleet returns a fleet whose clients are stopped until Start. The error is that of
// Config.Validate.
func NewFleet(cfg Config) (*Fleet, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Timing = cfg.Timing.WithDefaults()
	f := &Fleet{
		cfg:       cfg,
		groups:    cfg.groups(),
		grid:      newGrid(cfg.Nodes),
		selection: source(cfg.Seed, 0, seedSelection),
		clients:   make([]client, 0, cfg.Nodes),
	}
	for i := range cfg.Servers {
		f.servers = append(f.servers, cfg.Dial(i))
	}
	for g := range f.groups {
		for range f.groups[g].Nodes {
			f.clients = append(f.clients, newClient(&cfg, len(f.clients), uint16(g)))
		}
	}
	f.queue = newQueue(f.clients)
	f.stats.Stopped = cfg.Nodes
	return f, nil
}

// Start brings all clients to life until Shutdown, or until ctx is done. It must be called
// once.
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
}

// Shutdown ends all clients for good and returns when every goroutine of the fleet has
// ended.
func (f *Fleet) Shutdown() {
	f.mu.Lock()
	f.shutdown = true
	f.mu.Unlock()
	if f.cancel != nil {
		f.cancel()
	}
	f.wg.Wait()
}

// Stats returns the present counts.
func (f *Fleet) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

var _ rpc.Clients = (*Fleet)(nil)

// Reach returns the server that the client of a node is connected to, and whether it runs.
func (f *Fleet) Reach(nodeID string) (server int, runs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.clients {
		if c := &f.clients[i]; c.id == nodeID {
			return c.server, c.running
		}
	}
	return 0, false
}

// LastError returns the error of the last call that failed; nil if none did. It ignores
// answers to clients that were stopped meanwhile.
func (f *Fleet) LastError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lastErr
}

// drive launches the calls of the loops whose time has come.
//
// It makes a timer for each wait that was cut short, because resetting one that is pending makes
// the runtime walk over all timers of a bubble.
func (f *Fleet) drive() {
	var timer *time.Timer // nil, or one that has fired
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
		if wait := time.Until(f.started.Add(f.armed)); timer != nil {
			timer.Reset(wait)
		} else {
			timer = time.NewTimer(wait)
		}
		f.mu.Unlock()
		select {
		case <-timer.C:
		case <-f.wake:
			timer.Stop()
			timer = nil
		case <-f.ctx.Done():
			timer.Stop()
		}
		if f.ctx.Err() != nil {
			return
		}
	}
}

// forever is how long drive waits when no loop does.
const forever = 100 * 365 * 24 * time.Hour

// arm wakes drive if the earliest loop acts before drive's timer fires. It must be called
// after every decision, with mu held.
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

// launch makes the call of one loop in a new goroutine. It is called with mu held.
func (f *Fleet) launch(r ref, now time.Duration) {
	c := &f.clients[r.client]
	x := &exchange{f: f, ref: r, life: c.life, asked: c.begin(&f.cfg, r.loop, now), id: c.id, latency: f.groups[c.group].Latency}
	if x.asked.kind == callRegister {
		x.node = f.groups[c.group].node(c)
		x.node.Status = x.asked.status
	}
	f.wg.Go(func() {
		linger(f.ctx, x.latency)
		if got, answered := x.send(f.ctx, f.servers[x.asked.server]); answered {
			x.back(got)
		}
	})
}

// exchange is a call under way.
type exchange struct {
	f       *Fleet
	ref     ref
	life    uint32
	asked   call
	id      string
	node    *rpc.Node // callRegister
	latency time.Duration
}

// send makes the call. It returns false if the call waits, and resume will be called.
func (x *exchange) send(ctx context.Context, server rpc.NodeServer) (got answer, answered bool) {
	switch x.asked.kind {
	case callRegister:
		return granted(server.Register(ctx, &rpc.NodeRegisterRequest{Node: x.node})), true
	case callHeartbeat:
		return granted(server.UpdateStatus(ctx, &rpc.NodeUpdateStatusRequest{NodeID: x.id, Status: rpc.NodeStatusReady})), true
	case callWatch:
		resp, err := server.GetClientAllocs(ctx, &rpc.NodeSpecificRequest{
			NodeID: x.id, SecretID: x.id, MinQueryIndex: x.asked.index, MaxQueryTime: x.asked.block,
		}, x.resume)
		return listed(resp, err), resp != nil || err != nil
	default: // callSync
		_, err := server.UpdateAlloc(ctx, &rpc.AllocUpdateRequest{NodeID: x.id, Alloc: x.asked.report})
		return answer{err: err}, true
	}
}

func granted(resp *rpc.NodeUpdateResponse, err error) answer {
	if err != nil {
		return answer{err: err}
	}
	return answer{ttl: resp.HeartbeatTTL}
}

func listed(resp *rpc.NodeClientAllocsResponse, err error) answer {
	if err != nil || resp == nil {
		return answer{err: err}
	}
	return answer{index: resp.Index, allocs: resp.Allocs}
}

// resume makes the rest of a call that waited, if the client still wants it.
func (x *exchange) resume(rest rpc.ClientAllocsCall) {
	x.f.mu.Lock()
	defer x.f.mu.Unlock()
	if !x.stale() {
		x.f.wg.Go(func() { x.back(listed(rest())) })
	}
}

// stale reports whether the client has stopped since it asked. It is called with mu held.
func (x *exchange) stale() bool {
	return x.f.clients[x.ref.client].life != x.life || x.f.shutdown || x.f.ctx.Err() != nil
}

// back hands an answer to the client.
func (x *exchange) back(got answer) {
	f := x.f
	linger(f.ctx, x.latency)
	f.mu.Lock()
	defer f.mu.Unlock()
	if x.stale() {
		return
	}
	f.stats.count(x.asked.kind, got.err)
	if got.err != nil {
		f.lastErr = got.err
	}
	f.decide(&f.clients[x.ref.client], func(c *client, now time.Duration) { c.finish(&f.cfg, x.ref.loop, now, x.asked, got) })
	f.arm()
}

// linger waits for d, or until ctx is done.
func linger(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// decide lets a client decide, and updates queue and counts. It is called with mu held.
func (f *Fleet) decide(c *client, step func(*client, time.Duration)) {
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
}

// add counts the client in if by is 1, and out if by is -1.
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
