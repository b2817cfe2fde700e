package simnet

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// maxInFlight is how many requests a pipeline holds before it blocks its sender, as in Raft's
// network transport.
const maxInFlight = 128

// maxEntries is how many entries a request has at most (raft, Config.MaxAppendEntries).
const maxEntries = 64

// brief is how long a pipeline that ends may take to notice.
const brief = 10 * time.Millisecond

// pipeline sends AppendEntries requests over one link without waiting for answers. It keeps
// their order, as a TCP connection does: the other end handles one after the other, while
// more are on their way.
type pipeline struct {
	from      *Transport
	to        raft.ServerAddress
	out, home Route // of requests and of answers
	sent      chan *appendFuture
	handled   chan *appendFuture
	done      chan raft.AppendFuture
	broken    chan struct{}   // closed when handle returns
	turn      time.Duration   // of the receiver
	ctx       context.Context // ends with Close or with the sender's transport
	cancel    context.CancelFunc
	timeout   *time.Timer // of what handle delivers
	refused   atomic.Bool // answer has come to a request without success

	window window // of requests whose answer is not read
	waited bool   // the last group of requests waited for room; of who sends them alone
	// While none is under way: who answered last, and the commit index that it has had from here.
	peer   *Transport
	commit uint64
	// When the last request that atOnce answered would have arrived, and its answer.
	arrived, back time.Time
}

// appendFuture is a request under way.
type appendFuture struct {
	start   time.Time
	req     *raft.AppendEntriesRequest
	resp    *raft.AppendEntriesResponse
	arrives time.Time // at the other end or, once handled, back here
	back    time.Time // no answer is here before
	err     error
	settled chan struct{}
}

func (f *appendFuture) Error() error {
	<-f.settled
	return f.err
}
func (f *appendFuture) Start() time.Time                      { return f.start }
func (f *appendFuture) Request() *raft.AppendEntriesRequest   { return f.req }
func (f *appendFuture) Response() *raft.AppendEntriesResponse { return f.resp }

// AppendEntriesPipeline opens a pipeline to another server.
func (t *Transport) AppendEntriesPipeline(_ raft.ServerID, to raft.ServerAddress) (raft.AppendPipeline, error) {
	p := &pipeline{
		from: t, to: to, turn: t.net.Turn(string(to)),
		out: t.net.Route(string(t.addr), string(to), "append"), home: t.net.Route(string(to), string(t.addr), "append"),
		sent: make(chan *appendFuture, maxInFlight), handled: make(chan *appendFuture, maxInFlight),
		done: make(chan raft.AppendFuture, maxInFlight), broken: make(chan struct{}), timeout: time.NewTimer(callTimeout),
		window: window{limit: t.MaxRPCsInFlight, room: make(chan struct{}, 1)},
	}
	p.ctx, p.cancel = context.WithCancel(t.ctx)
	t.pipelines.Go(p.handle)
	t.pipelines.Go(p.answer)
	return p, nil
}

// AppendEntries sends a request. If the pipeline is full it waits for room first. Raft's own transport sends the request
// and then waits for its room. That comes to the same: whatever else is to be sent by then follows at once.
func (p *pipeline) AppendEntries(req *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	after := p.turn
	if p.window.full() {
		if !p.window.await(p.ctx, p.broken) {
			return nil, raft.ErrPipelineShutdown
		}
		// Raft's main goroutine acts on the answers that come at these instants. The turn lets it finish, for it must not
		// be chance what the next request has in it. A pipeline to another server that goes on now has another turn.
		time.Sleep(p.from.net.instants.take(Turns+p.turn, Turns))
		p.waited = true
	} else if !p.window.follows() {
		p.waited = false
	}
	if p.waited {
		after += Turns // what came before it went on at its turn, too
	}
	now := time.Now()
	f := &appendFuture{start: now, req: req, resp: resp, settled: make(chan struct{})}
	f.arrives = now.Add(p.from.net.delay(string(p.from.addr), string(p.to), "append"))
	if p.from.hear(nil) != nil || p.ctx.Err() != nil || p.refused.Load() || p.from.stale(req.Term) {
		return nil, raft.ErrPipelineShutdown
	}
	if !p.atOnce(f) {
		f.arrives, f.back = later(f.arrives, p.arrived), p.back
		select {
		case <-p.broken: // there may be room in sent as well, and the select below would choose at random
			return nil, raft.ErrPipelineShutdown
		default:
		}
		p.window.enter(now)
		select {
		case p.sent <- f:
		case <-p.broken:
			// Raft learns of the failed request from its future; it must not wait here.
			return nil, raft.ErrPipelineShutdown
		case <-p.ctx.Done():
			return nil, raft.ErrPipelineShutdown
		}
	}
	// Raft wakes its replication goroutines at one instant. Each draws its next timeout
	// from one global source right after this call. Returning to one after the other, in
	// a fixed order, gives each the same draws in every run. One whose instant is taken
	// keeps out of the turns of the others.
	time.Sleep(p.from.net.instants.take(after, Turns))
	return f, p.from.hear(nil)
}

func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.done }

// Close drops what is under way.
func (p *pipeline) Close() error {
	p.cancel()
	return nil
}

// handle is the other end: it handles requests as they arrive.
func (p *pipeline) handle() {
	defer close(p.handled)
	defer close(p.broken)
	var next *appendFuture
	for {
		first := next
		if first == nil {
			select {
			case <-p.ctx.Done():
				return
			case first = <-p.sent:
			}
		}
		there := first.arrives.Before(time.Now())
		if !p.waitUntil(first.arrives) {
			return
		}
		var group []*appendFuture
		group, next = p.gather(first)
		if !p.waitUntil(group[len(group)-1].arrives) || !p.handleAll(group, there) {
			return
		}
	}
}

// gather returns the requests that were sent with one that has arrived, and perhaps a later one,
// which was not. Entries that a leader wrote together are one request in Raft; here they are
// requests of instants that follow each other.
func (p *pipeline) gather(first *appendFuture) (group []*appendFuture, next *appendFuture) {
	group = []*appendFuture{first}
	for entries := len(first.req.Entries); ; {
		select {
		case f := <-p.sent:
			if entries += len(f.req.Entries); entries > maxEntries || !follow(f.start, group[len(group)-1].start) {
				return group, f
			}
			group = append(group, f)
		default:
			return group, nil
		}
	}
}

// handleAll delivers requests that came together, and perhaps were there when those before them were handled. It reports whether the pipeline is whole.
func (p *pipeline) handleAll(group []*appendFuture, there bool) bool {
	var entries []*raft.Log
	for _, f := range group {
		entries = append(entries, f.req.Entries...)
	}
	for i, f := range group {
		f.err = p.deliver(f, entries, there)
		f.arrives = later(time.Now().Add(p.from.net.delay(string(p.to), string(p.from.addr), "append")), f.back)
		p.handled <- f
		if f.err != nil {
			return false
		}
		entries = nil // the first request has stored all
		if i < len(group)-1 {
			time.Sleep(Turns) // their answers are apart, as the requests were
		}
	}
	return true
}

func (p *pipeline) deliver(f *appendFuture, entries []*raft.Log, there bool) error {
	n := p.from.net
	// A lost request stalls the connection until the sender gives up.
	if n.lost(string(p.from.addr), string(p.to), "append") {
		if err := n.Send(p.ctx, string(p.from.addr), string(p.to), "append"); err != nil {
			return err
		}
	}
	peer := n.transport(string(p.to))
	if peer == nil {
		return ErrUnreachable
	}
	quick := peer == p.peer && p.nothingNew(f.req)
	answer, err := peer.deliver(p.ctx, request{args: f.req, entries: entries, there: there, quick: quick}, p.timeout)
	if err != nil {
		return err
	}
	resp, ok := answer.(*raft.AppendEntriesResponse)
	if !ok {
		return fmt.Errorf("append to %s: answered with a %T", p.to, answer)
	}
	*f.resp = *resp
	if resp.Success {
		p.peer, p.commit = peer, min(f.req.LeaderCommitIndex, f.req.PrevLogEntry+uint64(len(f.req.Entries)))
	}
	return nil
}

// nothingNew reports whether a request tells the server that answered last no more than that its leader is there.
// Raft's fast path for heartbeats does the same with such a request as its main loop, at a tenth of the cost.
func (p *pipeline) nothingNew(req *raft.AppendEntriesRequest) bool {
	return len(req.Entries) == 0 && req.LeaderCommitIndex == p.commit
}

// atOnce answers a request without sending it, and reports whether it did. It does if the request tells nothing new to a
// server that has answered all others, the links lose nothing, and an answer costs the leader nothing. Raft sends each
// idle follower 13 such requests a second, which was two fifths of the cost of an idle cluster. The leader has the answer
// a round trip too soon. Nothing else comes too soon: later requests, and the answers to them, arrive after the
// instants at which this one would have.
func (p *pipeline) atOnce(f *appendFuture) bool {
	if p.window.underWay() > 0 || len(p.done) > 0 || p.from.Answered != nil || !p.out.Steady() ||
		p.peer == nil || p.peer != p.from.net.transport(string(p.to)) || p.peer.cut.Err() != nil || !p.nothingNew(f.req) {
		return false
	}
	resp := p.peer.follows(f.req)
	if resp == nil {
		return false // Raft draws when a pipeline ends, and does so when the answer arrives
	}
	*f.resp = *resp
	p.arrived, p.back = f.arrives, f.arrives.Add(p.home.Delay(f.arrives))
	close(f.settled)
	p.done <- f
	return true
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// answer delivers the answers to Raft. After an error the pipeline yields nothing more: Raft
// closes it and falls back to single requests, as after any response without success. Raft takes
// a moment to close it, and it would be chance whether the next answer was read, or a request sent, before that.
func (p *pipeline) answer() {
	for f := range p.handled {
		there := f.arrives.Before(time.Now())
		if f.err == nil && !p.waitUntil(f.arrives) {
			return
		}
		if p.from.hear(nil) != nil {
			return
		}
		charged := p.from.Answered != nil && f.err == nil
		if charged {
			p.from.Answered(string(p.to), there, p.window.leave)
		}
		last := !f.resp.Success
		if last {
			p.from.net.instants.await() // Raft draws when the pipeline ends
			p.refused.Store(true)
		}
		close(f.settled)
		if !charged {
			p.window.leave()
		}
		select {
		case p.done <- f:
		case <-p.ctx.Done():
			return
		}
		if last {
			for range p.handled { // what else the follower answers is not read
			}
			return
		}
	}
}

func (p *pipeline) waitUntil(at time.Time) bool {
	wait := time.Until(at)
	if wait > brief {
		return sleep(p.ctx, wait) == nil
	}
	time.Sleep(wait) // see Route.Send
	return p.ctx.Err() == nil
}
