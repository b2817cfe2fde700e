package simnet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Transport is one server's end of the network, for Raft.
type Transport struct {
	net  *Network
	addr raft.ServerAddress
	recv func(entries []*raft.Log, there bool)
	// Answered, if not nil, is called with the sender of each answer that comes over a pipeline, before Raft gets that, and whether it was
	// there when the one before was dealt with. It may block, and calls heard once the answer is read, when there is room for
	// another request. Set it before Listen.
	Answered func(from string, there bool, heard func())
	// MaxRPCsInFlight is how many requests of a pipeline may be under way; zero means 130, as in Raft before 1.4.1. Set it before Listen.
	MaxRPCsInFlight int
	// NoPreVotes has this server raise its term without asking first, as Raft did before 1.7. It asks in the first election of a
	// cluster, where nobody leads who could be deposed: so runs without faults are the same with pre-votes and without. Set it before Listen.
	NoPreVotes bool
	// HeartbeatTimeout is Raft's. After a heartbeat that failed Raft rests for half of it at most. Zero means one second. Set it before Listen.
	HeartbeatTimeout time.Duration

	consumer  chan raft.RPC
	cut       context.Context // ends with Cut
	cutOff    context.CancelFunc
	ctx       context.Context // ends with Close
	cancel    context.CancelFunc
	pipelines sync.WaitGroup
	stagger   atomic.Int64 // when Stagger ends, in Unix nanoseconds; zero if it is over
	replied   atomic.Int64 // when a call of replicate last returned, in Unix nanoseconds

	mu        sync.Mutex
	heartbeat func(raft.RPC)
	leads     func(term uint64) bool
	followers map[raft.ServerAddress]follower // of the last heartbeats from here
	failures  map[raft.ServerAddress]failures // of heartbeats from here
}

// follower is a server that has followed in a term.
type follower struct {
	server *Transport
	term   uint64
}

// failures counts heartbeats that failed one after the other in a term.
type failures struct {
	term uint64
	n    int
}

// heartbeat is the kind of messages that Raft has a path of their own for.
const heartbeat = "heartbeat"

var (
	_ raft.Transport   = (*Transport)(nil)
	_ raft.WithPreVote = (*Transport)(nil)
	_ raft.WithClose   = (*Transport)(nil)
)

// NewTransport returns a server's transport, which is unreachable until Listen. If receive
// is not nil it is called with the entries of each request before Raft gets them, and whether the request was there when the
// one before was dealt with. It may block, for as long as storing them takes.
func (n *Network) NewTransport(addr string, receive func(entries []*raft.Log, there bool)) *Transport {
	t := &Transport{net: n, addr: raft.ServerAddress(addr), recv: receive, consumer: make(chan raft.RPC), followers: map[raft.ServerAddress]follower{}, failures: map[raft.ServerAddress]failures{}}
	t.cut, t.cutOff = context.WithCancel(context.Background())
	t.ctx, t.cancel = context.WithCancel(context.Background())
	n.Turn(addr)
	return t
}

// Listen makes the server reachable, in place of an earlier one with its address. leads
// reports whether its Raft leads in a term; nil means that it always does.
//
// When a leadership ends Raft's replication to a follower may have both to stop and to send
// once more, and chooses at random. See replicate.
func (t *Transport) Listen(leads func(term uint64) bool) {
	t.mu.Lock()
	t.leads = leads
	t.mu.Unlock()
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	t.net.nodes[string(t.addr)] = t
}

// stale reports whether the leadership of a term has ended.
func (t *Transport) stale(term uint64) bool {
	t.mu.Lock()
	leads := t.leads
	t.mu.Unlock()
	return leads != nil && !leads(term)
}

// Cut detaches a server that dies. Calls to it fail, those under way included. Calls from
// it get neither an answer nor an error until Close: its Raft stands still, where it would
// otherwise go on in an order that the runtime chooses.
func (t *Transport) Cut() { t.cutOff() }

// Close cuts the server off, fails its own calls and returns when its pipelines have ended.
func (t *Transport) Close() error {
	t.Cut()
	t.cancel()
	t.pipelines.Wait()
	return nil
}

func (t *Transport) Consumer() <-chan raft.RPC     { return t.consumer }
func (t *Transport) LocalAddr() raft.ServerAddress { return t.addr }

// Stagger makes EncodePeer wait for a nanosecond, for the next d. A leader's heartbeats to
// a follower begin with that call, and its replication does not. Both draw their first
// timeouts from one source then, and must not do so at one instant.
func (t *Transport) Stagger(d time.Duration) { t.stagger.Store(time.Now().Add(d).UnixNano()) }

// EncodePeer also waits in the nanosecond in which a follower has answered a request or a snapshot. What that answer
// commits, Raft's main goroutine finds out in this nanosecond. Replication may go on at once, and calls EncodePeer before
// it reads the commit index for its next request.
func (t *Transport) EncodePeer(_ raft.ServerID, addr raft.ServerAddress) []byte {
	if t.replied.Load() == time.Now().UnixNano() {
		time.Sleep(time.Nanosecond)
	}
	if until := t.stagger.Load(); until != 0 {
		if time.Now().UnixNano() < until {
			time.Sleep(time.Nanosecond)
		} else {
			t.stagger.CompareAndSwap(until, 0)
		}
	}
	return []byte(addr)
}

func (t *Transport) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }

// SetHeartbeatHandler sets Raft's fast path for heartbeats, which do not queue behind disk
// writes.
func (t *Transport) SetHeartbeatHandler(cb func(raft.RPC)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heartbeat = cb
}

func (t *Transport) AppendEntries(_ raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	if isHeartbeat(args) {
		return t.beat(to, args, resp)
	}
	return replicate(t, to, "append", args.Term, args, nil, resp, raft.AppendEntriesResponse{Term: args.Term + 1})
}

// beat sends a heartbeat. A server that has followed in this term hears it at once, over links that lose nothing: there and
// back are one sleep then. Raft sends seven a second to each follower.
func (t *Transport) beat(to raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	heard := follower{t.net.transport(string(to)), args.Term}
	t.mu.Lock()
	follows := t.followers[to] == heard
	t.mu.Unlock()
	there := t.net.Route(string(t.addr), string(to), heartbeat)
	if follows && there.Steady() && heard.server.cut.Err() == nil && t.ctx.Err() == nil && t.cut.Err() == nil {
		if answer := heard.server.follows(args); answer != nil {
			*resp = *answer
			now := time.Now()
			arrives := now.Add(there.Delay(now))
			wait := arrives.Add(there.Back().Delay(arrives)).Sub(now)
			return t.hear(sleep(t.ctx, t.net.instants.take(wait, time.Nanosecond)))
		}
	}
	err := call(t, to, heartbeat, args, nil, resp)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		delete(t.failures, to)
	}
	if err == nil && resp.Success {
		t.followers[to] = heard
	} else {
		delete(t.followers, to)
	}
	return err
}

// rests returns for how long Raft rests once a call has failed, if it draws its next timeout right after that: it does after a heartbeat
// (raft, replication.go, heartbeat, and util.go, cappedExponentialBackoff).
func (t *Transport) rests(to raft.ServerAddress, kind string, args any) []time.Duration {
	req, ok := args.(*raft.AppendEntriesRequest)
	if !ok || kind != heartbeat {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.failures[to]
	if f.term != req.Term {
		f = failures{term: req.Term}
	}
	const first, most = 10 * time.Millisecond, 12
	rest := first << max(0, min(f.n, most)-2)
	f.n++
	t.failures[to] = f
	return []time.Duration{min(rest, cmp.Or(t.HeartbeatTimeout, time.Second)/2)}
}

func (t *Transport) RequestVote(_ raft.ServerID, to raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	return call(t, to, "vote", args, nil, resp)
}

// errNoPreVotes is the answer of servers that do not know pre-votes, which Raft takes for a yes (raft.go, preElectSelf).
var errNoPreVotes = errors.New("unexpected command")

func (t *Transport) RequestPreVote(_ raft.ServerID, to raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	const bootstrapped = 1 // the entry that a cluster begins with
	if t.NoPreVotes && args.LastLogIndex > bootstrapped {
		time.Sleep(t.net.instants.take(t.net.Turn(string(to)), Turns)) // no two answers, and nothing else, at one instant
		return t.hear(errNoPreVotes)
	}
	return call(t, to, "prevote", args, nil, resp)
}

func (t *Transport) InstallSnapshot(_ raft.ServerID, to raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	return replicate(t, to, "snapshot", args.Term, args, data, resp, raft.InstallSnapshotResponse{Term: args.Term + 1})
}

func (t *Transport) TimeoutNow(_ raft.ServerID, to raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	return call(t, to, "timeoutnow", args, nil, resp)
}

// hear returns the error of a call, or blocks until Close if the server is cut off.
func (t *Transport) hear(err error) error {
	if t.cut.Err() != nil {
		<-t.ctx.Done()
		return ErrUnreachable
	}
	return err
}

// replicate is call for a request that a leader sends in its term. If its leadership has ended, replicate sends nothing: it
// answers in the follower's place, with a newer term, which makes Raft stop. It does the same if the leadership ends
// during a call that fails. With the error, Raft would wait to send once more and would be told to stop, and it would be
// chance which of the two it does.
func replicate[T any](t *Transport, to raft.ServerAddress, kind string, term uint64, args any, data io.Reader, resp *T, newer T) error {
	if !t.stale(term) {
		if err := call(t, to, kind, args, data, resp); err == nil || !t.stale(term) {
			t.replied.Store(time.Now().UnixNano())
			return err
		}
	}
	*resp = newer
	return nil
}

// call sends a request and receives the answer.
func call[T any](t *Transport, to raft.ServerAddress, kind string, args any, data io.Reader, resp *T) error {
	err := carry(t, to, kind, args, data, resp)
	if err != nil {
		t.net.instants.await(t.rests(to, kind, args)...) // carry takes those of answers in advance
	}
	return t.hear(err)
}

func carry[T any](t *Transport, to raft.ServerAddress, kind string, args any, data io.Reader, resp *T) error {
	if t.cut.Err() != nil {
		return ErrUnreachable
	}
	if err := t.net.Send(t.ctx, string(t.addr), string(to), kind); err != nil {
		return err
	}
	peer := t.net.transport(string(to))
	if peer == nil {
		return fmt.Errorf("%s to %s: %w", kind, to, ErrUnreachable)
	}
	r := request{args: args, data: data, quick: kind == heartbeat}
	if req, ok := args.(*raft.AppendEntriesRequest); ok {
		r.entries = req.Entries
	}
	answer, err := peer.deliver(t.ctx, r, nil)
	if err != nil {
		return fmt.Errorf("%s to %s: %w", kind, to, err)
	}
	wait, lost := t.net.trip(t.net.link(string(to), string(t.addr)), string(to), string(t.addr), kind)
	if err := cmp.Or(sleep(t.ctx, t.net.instants.take(wait, time.Nanosecond)), lost); err != nil {
		return err
	}
	out, ok := answer.(*T)
	if !ok {
		return fmt.Errorf("%s to %s: answered with a %T", kind, to, answer)
	}
	*resp = *out
	return nil
}

// request is what a transport delivers to its Raft.
type request struct {
	args    any
	entries []*raft.Log // to be stored first
	there   bool        // it had come when the one before was handled
	data    io.Reader
	quick   bool // Raft's main loop would do no more with it than its fast path
}

// deliver hands a request to this server's Raft, once entries are stored, and waits for the
// answer: until the caller's context is done or, if it has a timer, for callTimeout at most.
func (t *Transport) deliver(caller context.Context, r request, timeout *time.Timer) (any, error) {
	if t.cut.Err() != nil {
		return nil, ErrUnreachable
	}
	to := t.consumer
	if r.quick {
		answer, path := t.heed(r.args)
		if answer != nil {
			return answer.Response, answer.Error
		}
		if path {
			to = nil // it is shutting down
		}
	}
	answer := make(chan raft.RPCResponse, 1)
	rpc := raft.RPC{Command: r.args, Reader: r.data, RespChan: answer}
	if timeout == nil {
		timeout = time.NewTimer(callTimeout)
	}
	timeout.Reset(callTimeout)
	defer timeout.Stop()
	if t.recv != nil && len(r.entries) > 0 {
		t.recv(r.entries, r.there)
		// The select below would choose at random among what has happened meanwhile.
		if t.cut.Err() != nil || caller.Err() != nil {
			return nil, ErrUnreachable
		}
	}
	select {
	case to <- rpc:
		return t.await(caller, answer, timeout)
	case <-t.cut.Done():
	case <-caller.Done():
	case <-timeout.C:
	}
	return nil, ErrUnreachable
}

// heed has Raft answer a request by its path for heartbeats, beside what else it does, if it has one. Raft does not
// answer while it shuts down.
func (t *Transport) heed(args any) (answer *raft.RPCResponse, path bool) {
	t.mu.Lock()
	fast := t.heartbeat
	t.mu.Unlock()
	if fast == nil {
		return nil, false
	}
	answers := make(chan raft.RPCResponse, 1)
	fast(raft.RPC{Command: args, RespChan: answers})
	select {
	case r := <-answers:
		return &r, true
	default:
		return nil, true
	}
}

func (t *Transport) await(caller context.Context, answer <-chan raft.RPCResponse, timeout *time.Timer) (any, error) {
	select {
	case r := <-answer:
		return r.Response, r.Error
	case <-t.cut.Done():
	case <-caller.Done():
	case <-timeout.C:
	}
	return nil, ErrUnreachable
}

// follows returns the answer of Raft's path for heartbeats, if it has one and accepts whom the request is from.
func (t *Transport) follows(args *raft.AppendEntriesRequest) *raft.AppendEntriesResponse {
	answer, _ := t.heed(args)
	if answer == nil || answer.Error != nil {
		return nil
	}
	resp, ok := answer.Response.(*raft.AppendEntriesResponse)
	if !ok || !resp.Success {
		return nil
	}
	return resp
}

// isHeartbeat tells a heartbeat from replication as Raft's own transport does.
func isHeartbeat(a *raft.AppendEntriesRequest) bool {
	return a.Term != 0 && a.Addr != nil && a.PrevLogEntry == 0 && a.PrevLogTerm == 0 &&
		len(a.Entries) == 0 && a.LeaderCommitIndex == 0
}
