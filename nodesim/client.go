package nodesim

import (
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/uuid"
)

// A loop is one of the things that a client does concurrently.
type loop uint8

const (
	nodeLoop  loop = iota // registerAndHeartbeat
	watchLoop             // watchAllocations
	syncLoop              // allocSync
	loops
)

type taskState uint8

const (
	idle    taskState = iota // waits for another loop to start it
	waiting                  // acts at task.at
	calling                  // its call is under way
)

// task is the state of one loop of one client.
type task struct {
	state    taskState
	wakeable bool          // a successful call of another loop ends the wait
	retrying bool          // the call is tried again below the loop, until deadline
	pos      int32         // index in the fleet's queue; -1 if it is not there
	at       time.Duration // since the fleet's start
	deadline time.Duration
	src      rand.PCG
}

// client is the state of one client. Its methods are the client's decisions, which depend on
// nothing else but draws from the loops' sources. Times count from the fleet's start.
type client struct {
	num    int
	id     string
	server int           // that it talks to
	life   uint32        // counts starts and stops; answers to an earlier life are ignored
	rate   float64       // of its clock relative to the servers'; zero means 1
	now    time.Duration // of the decision being made

	group      uint16
	generation uint32            // counts the machines it replaced
	override   map[string]string // attributes in place of the group's; nil = none

	running bool
	// version counts changes of the node's attributes; told is the last that was registered.
	version, told uint32
	registered    bool // the servers know the node, as far as the client can tell
	introduced    bool // registered at least once in this life: no longer initializing
	heartbeated   bool
	ready         bool
	ttl           time.Duration
	lastOK        time.Duration
	// beatAt is when the node loop sends its next heartbeat, and updateAt when it registers again for what has
	// changed, both as tasks count time; updateAt is zero if nothing has. denied means that this was tried.
	beatAt, updateAt time.Duration
	denied           bool

	index  uint64        // of the last GetClientAllocs
	block  time.Duration // how long later GetClientAllocs may block, since one was retried (RetriesShorten); zero: as usual
	allocs []alloc
	// The sync loop's ticker: it ticks at syncBase plus every multiple of syncEvery.
	syncBase, syncEvery time.Duration

	tasks [loops]task
}

// newClient returns a stopped client.
func newClient(cfg *Config, num int, group uint16) client {
	identity := source(cfg.Seed, num, seedIdentity)
	c := client{num: num, id: uuid.Random(&identity), server: num % cfg.Servers, group: group}
	for l := range loops {
		c.tasks[l] = task{pos: -1, src: source(cfg.Seed, num, uint64(l))}
	}
	return c
}

// callKind is a method of rpc.NodeServer.
type callKind uint8

const (
	callRegister callKind = iota
	callHeartbeat
	callWatch
	callSync
)

// call is a call that a loop wants made.
type call struct {
	kind    callKind
	server  int
	status  string            // callRegister: the node's
	version uint32            // callRegister: the client's
	index   uint64            // callWatch
	block   time.Duration     // callWatch
	report  []*rpc.Allocation // callSync
}

// answer is the result of a call.
type answer struct {
	err    error
	ttl    time.Duration // callRegister, callHeartbeat
	index  uint64        // callWatch
	allocs []*rpc.Allocation
}

// start begins a life: the client registers at a stagger from now.
func (c *client) start(cfg *Config, now time.Duration) {
	c.life++
	c.running, c.now = true, now
	c.syncBase, c.syncEvery = now, cfg.AllocSync
	c.sleep(nodeLoop, now+stagger(&c.tasks[nodeLoop].src, cfg.RegisterStagger), false)
}

// stop ends a life. The client keeps its allocations, as an agent's state directory does, but lets go of
// the servers' rows: when all clients fall silent, nothing else keeps millions of these in memory.
func (c *client) stop() {
	c.life++
	c.running, c.registered, c.introduced, c.heartbeated, c.ready = false, false, false, false, false
	c.index, c.block = 0, 0
	c.updateAt, c.denied = 0, false
	for l := range c.tasks {
		c.tasks[l].state = idle
		c.tasks[l].retrying = false
	}
	for i := range c.allocs {
		c.allocs[i].seen = nil
	}
}

// sleep makes a loop wait until the given time on the client's clock, which runs at its rate
// from now on.
func (c *client) sleep(l loop, until time.Duration, wakeable bool) {
	t := &c.tasks[l]
	t.state, t.at, t.wakeable = waiting, c.shows(until), wakeable
}

// shows returns when the client's clock will show a time.
func (c *client) shows(at time.Duration) time.Duration {
	if c.rate == 0 || at <= c.now {
		return at
	}
	return c.now + time.Duration(min(float64(at-c.now)/c.rate, math.MaxInt64/4)) // a clock that nearly stands still
}

// rest makes the node loop wait until its next heartbeat is due at a time, or until it is to register again.
func (c *client) rest(beat time.Duration) {
	c.beatAt = c.shows(beat)
	c.restOn()
}

func (c *client) restOn() {
	t := &c.tasks[nodeLoop]
	t.state, t.at, t.wakeable = waiting, c.beatAt, true
	if c.updateAt > 0 {
		t.at = min(t.at, c.updateAt)
	}
}

// begin returns the call that a loop makes now.
func (c *client) begin(cfg *Config, l loop, now time.Duration) call {
	t := &c.tasks[l]
	t.state = calling
	block := cfg.WatchBlock
	if c.block > 0 {
		block = min(block, c.block)
	}
	if t.retrying {
		block = t.deadline - now
		if l == watchLoop && c.index > 0 && cfg.RetriesShorten {
			c.block = block
		}
	} else {
		t.retrying, t.deadline = true, now+cfg.RPCHold
		if l == watchLoop {
			t.deadline += block
		}
	}
	next := call{server: c.server}
	switch {
	case l == watchLoop:
		next.kind, next.index, next.block = callWatch, c.index, max(block, time.Nanosecond)
	case l == syncLoop:
		next.kind, next.report = callSync, c.changes(cfg, now)
	case c.registered && (c.updateAt == 0 || c.updateAt > now):
		next.kind = callHeartbeat
	default:
		next.version = c.version
		next.kind, next.status = callRegister, rpc.NodeStatusInit
		if c.introduced {
			next.status = rpc.NodeStatusReady
		}
	}
	return next
}

// finish decides what a loop does next, given the answer to its call.
func (c *client) finish(cfg *Config, l loop, now time.Duration, asked call, a answer) {
	c.now = now
	t := &c.tasks[l]
	if a.err != nil {
		if c.server == asked.server {
			c.server = (c.server + 1) % cfg.Servers
		}
		if asked.retriable(a.err) && now < t.deadline {
			c.sleep(l, now+stagger(&t.src, cfg.RPCHold/rpcRetryFraction), false)
			return
		}
	}
	t.retrying = false
	switch asked.kind {
	case callRegister:
		c.onRegister(cfg, now, asked, a)
	case callHeartbeat:
		c.onHeartbeat(cfg, now, a)
	case callWatch:
		c.onAllocs(cfg, now, a)
	case callSync:
		c.onReport(cfg, now, asked, a)
	}
	if a.err == nil {
		c.wakeOthers(l, now)
	}
}

// retriable reports whether a failed call may be tried again as it is: neither a call without
// a leader nor a read can have changed anything (client/rpc.go, canRetry).
func (k call) retriable(err error) bool {
	return errors.Is(err, rpc.ErrNoLeader) || k.kind == callWatch && errors.Is(err, rpc.ErrUnreachable)
}

// wakeOthers ends the wakeable waits of the other loops (client/rpc.go,
// fireRpcRetryWatcher).
func (c *client) wakeOthers(l loop, now time.Duration) {
	for o := range c.tasks {
		if t := &c.tasks[o]; loop(o) != l && t.state == waiting && t.wakeable && t.at > now {
			t.at = now
			if loop(o) == nodeLoop {
				c.woken(now)
			}
		}
	}
}

// woken makes the next heartbeat due, and the registration that was tried.
func (c *client) woken(now time.Duration) {
	c.beatAt = now
	if c.denied {
		c.updateAt = now
	}
}

func (c *client) onRegister(cfg *Config, now time.Duration, asked call, a answer) {
	src := &c.tasks[nodeLoop].src
	again := c.registered
	if a.err != nil && again {
		c.updateAt, c.denied = c.shows(now+retry(src, cfg.RegisterRetry)), true
		c.restOn()
		return
	}
	if a.err != nil {
		c.sleep(nodeLoop, now+retry(src, cfg.RegisterRetry), true)
		return
	}
	spread := cfg.FirstHeartbeat
	switch {
	case again:
		spread = 0 // the call ends the wait for the next heartbeat
		c.updateAt, c.denied = 0, false
	case c.introduced:
		spread = cfg.RegisterStagger
	}
	if c.version != asked.version && c.updateAt == 0 {
		c.updateAt = c.shows(now + retry(src, cfg.NodeUpdate))
	}
	c.registered, c.introduced, c.told = true, true, asked.version
	c.ready = asked.status == rpc.NodeStatusReady
	c.lastOK, c.ttl = now, a.ttl
	c.rest(now + stagger(src, spread))
	if cfg.ReportAllocs && c.tasks[watchLoop].state == idle {
		c.sleep(watchLoop, now, true)
	}
}

func (c *client) onHeartbeat(cfg *Config, now time.Duration, a answer) {
	src := &c.tasks[nodeLoop].src
	switch {
	case a.err == nil:
		c.ready, c.heartbeated = true, true
		c.lastOK, c.ttl = now, a.ttl
		if c.denied {
			c.updateAt = now
		}
		c.rest(now + a.ttl)
	case errors.Is(a.err, rpc.ErrNodeNotFound):
		c.registered, c.ready = false, false
		c.sleep(nodeLoop, now, false)
	case !c.heartbeated:
		c.rest(now + retry(src, cfg.RegisterRetry))
	default:
		left := c.lastOK + c.ttl - now
		c.rest(now + heartbeatRetry(src, left, cfg.HeartbeatRetryUnit))
	}
}

// reintroduce makes the client register again, 5 to 10 s from now, with all that changes until then
// (client/client.go, watchNodeUpdates). A client that has yet to register does so at the time that was planned.
func (c *client) reintroduce(cfg *Config, now time.Duration) {
	c.version++
	t := &c.tasks[nodeLoop]
	if !c.registered || c.updateAt > 0 {
		return // it will be told, or the answer to the call under way shows that it was not
	}
	c.now = now
	c.updateAt = c.shows(now + retry(&t.src, cfg.NodeUpdate))
	if t.state == waiting && !t.retrying {
		c.restOn()
	}
}

// retry returns a wait from [base, 2*base) (client/client.go, retryIntv).
func retry(src *rand.PCG, base time.Duration) time.Duration {
	return base + stagger(src, base)
}

// rpcRetryFraction is structs.JitterFraction.
const rpcRetryFraction = 16

// heartbeatRetry returns the wait after a failed heartbeat of a client that has heartbeated
// before, given the time left of its TTL, which is negative after its end
// (client/client.go, getHeartbeatRetryIntv). The wait is 1 to 30 units: close to the end of
// the TTL or just after it 1 to 2; long after it, as if so much time were left.
//
// Nomad means to treat "no leader" as it does for registrations, but compares an error that
// it has wrapped. So the rule applies to that error too.
func heartbeatRetry(src *rand.PCG, left, unit time.Duration) time.Duration {
	if left < -30*unit {
		left = -left
	}
	switch wait := stagger(src, left); {
	case wait < unit:
		return unit + stagger(src, unit)
	case wait > 30*unit:
		return 25*unit + stagger(src, 5*unit)
	default:
		return wait
	}
}
