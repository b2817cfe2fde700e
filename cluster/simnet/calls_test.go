package simnet

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/internal/virtualtest"
)

const oneWay = time.Millisecond

// pair is two servers, of which b answers every call with respond, which may be nil for not at all.
type pair struct {
	net      *Network
	a, b     *Transport
	received []int // entries of each request that b was charged for
}

func newPair(t *testing.T, respond func(raft.RPC)) *pair {
	t.Helper()
	p := &pair{net: New(1, Link{Latency: oneWay}, Link{})}
	p.a = p.net.NewTransport("a", nil)
	p.b = p.net.NewTransport("b", func(entries []*raft.Log, _ bool) { p.received = append(p.received, len(entries)) })
	p.a.Listen(nil)
	p.b.Listen(nil)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case rpc := <-p.b.Consumer():
				if respond != nil {
					respond(rpc)
				}
			}
		}
	}()
	t.Cleanup(func() {
		for _, end := range []*Transport{p.a, p.b} {
			if err := end.Close(); err != nil {
				t.Error(err)
			}
		}
		close(stop)
		<-done
	})
	return p
}

// calls are those that Raft makes, which return the term of the answer.
var calls = map[string]func(*Transport) (term uint64, err error){
	"append": func(a *Transport) (uint64, error) {
		var resp raft.AppendEntriesResponse
		err := a.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 1, Entries: []*raft.Log{{}}}, &resp)
		return resp.Term, err
	},
	"vote": func(a *Transport) (uint64, error) {
		var resp raft.RequestVoteResponse
		err := a.RequestVote("b", "b", &raft.RequestVoteRequest{}, &resp)
		return resp.Term, err
	},
	"prevote": func(a *Transport) (uint64, error) {
		var resp raft.RequestPreVoteResponse
		err := a.RequestPreVote("b", "b", &raft.RequestPreVoteRequest{}, &resp)
		return resp.Term, err
	},
	"snapshot": func(a *Transport) (uint64, error) {
		var resp raft.InstallSnapshotResponse
		err := a.InstallSnapshot("b", "b", &raft.InstallSnapshotRequest{}, &resp, bytes.NewReader([]byte("data")))
		return resp.Term, err
	},
	"timeoutnow": func(a *Transport) (uint64, error) {
		var resp raft.TimeoutNowResponse
		err := a.TimeoutNow("b", "b", &raft.TimeoutNowRequest{}, &resp)
		return 9, err // it has no other answer
	},
}

// answers answers a call in term 9, and a snapshot only if its data have arrived.
func answers(rpc raft.RPC) {
	switch rpc.Command.(type) {
	case *raft.AppendEntriesRequest:
		rpc.Respond(&raft.AppendEntriesResponse{Term: 9, Success: true}, nil)
	case *raft.RequestVoteRequest:
		rpc.Respond(&raft.RequestVoteResponse{Term: 9}, nil)
	case *raft.RequestPreVoteRequest:
		rpc.Respond(&raft.RequestPreVoteResponse{Term: 9}, nil)
	case *raft.InstallSnapshotRequest:
		data, err := io.ReadAll(rpc.Reader)
		if string(data) == "data" {
			rpc.Respond(&raft.InstallSnapshotResponse{Term: 9}, err)
		}
	case *raft.TimeoutNowRequest:
		rpc.Respond(&raft.TimeoutNowResponse{}, nil)
	}
}

// TestCalls: every call of Raft's comes to the other end and back, or fails, and takes its time.
func TestCalls(t *testing.T) {
	refused := errors.New("refused")
	for _, tt := range []struct {
		name    string
		respond func(raft.RPC)
		before  func(*pair)
		during  func(*pair)
		took    time.Duration
		err     error
	}{
		{name: "answered", respond: answers, took: 2 * oneWay},
		{name: "refused", respond: func(rpc raft.RPC) { rpc.Respond(nil, refused) }, took: oneWay, err: refused},
		{name: "answered with something else", respond: func(rpc raft.RPC) { rpc.Respond(7, nil) }, took: 2 * oneWay, err: errAny},
		{name: "never answered", took: oneWay + callTimeout, err: ErrUnreachable},
		{name: "the other end dies", during: func(p *pair) { p.b.Cut() }, took: time.Second, err: ErrUnreachable},
		{name: "the other end has died", respond: answers, before: func(p *pair) { p.b.Cut() }, took: oneWay, err: ErrUnreachable},
		{name: "this end ends", during: func(p *pair) { p.a.cancel() }, took: time.Second, err: ErrUnreachable},
		{name: "this end has ended", respond: answers, before: func(p *pair) { p.a.cancel(); p.a.Cut() }, err: ErrUnreachable},
		{name: "this end dies, and closes later", respond: answers, before: func(p *pair) { p.a.Cut() }, during: func(p *pair) { p.a.cancel() }, took: time.Second, err: ErrUnreachable},
		{name: "the way there is cut", respond: answers, before: func(p *pair) {
			p.net.Disturb(Fault{From: []string{"a"}, OneWay: true, Link: Link{Loss: 1}})
		}, took: callTimeout, err: ErrUnreachable},
		{name: "the way back is cut", respond: answers, before: func(p *pair) {
			p.net.Disturb(Fault{From: []string{"b"}, OneWay: true, Link: Link{Loss: 1}})
		}, took: oneWay + callTimeout, err: ErrUnreachable},
	} {
		for kind, call := range calls {
			t.Run(tt.name+"/"+kind, func(t *testing.T) {
				virtualtest.Test(t, func(t *testing.T) {
					p := newPair(t, tt.respond)
					if tt.before != nil {
						tt.before(p)
					}
					if tt.during != nil {
						time.AfterFunc(time.Second, func() { tt.during(p) })
					}
					began := time.Now()
					term, err := call(p.a)
					if (tt.err == nil) != (err == nil) || tt.err != errAny && !errors.Is(err, tt.err) || tt.err == nil && term != 9 {
						t.Errorf("answered in term %d, error %v; want %v", term, err, tt.err)
					}
					if took := time.Since(began); took < tt.took || took > tt.took+2*time.Millisecond {
						t.Errorf("took %v, want %v", took, tt.took)
					}
				})
			})
		}
	}
}

// errAny stands for an error of no particular kind.
var errAny = errors.New("any error")

// TestNoPreVotes: a server without pre-votes is answered at once, by an error that Raft takes for a yes, but asks in the first election.
// One that is cut off gets no such yes: it would raise its term, and have that after its restart.
func TestNoPreVotes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		last   uint64 // index in its log
		on     bool
		cut    bool
		asked  bool
		yes    bool
		atMost time.Duration
	}{
		{name: "the first election", last: 1, asked: true, atMost: 2*oneWay + time.Microsecond},
		{name: "later ones", last: 2, yes: true, atMost: Turns},
		{name: "later ones with pre-votes", last: 2, on: true, asked: true, atMost: 2*oneWay + time.Microsecond},
		{name: "who is cut off", last: 2, cut: true, atMost: time.Second},
	} {
		virtualtest.Test(t, func(t *testing.T) {
			asked := false
			p := newPair(t, func(rpc raft.RPC) { asked = true; answers(rpc) })
			p.a.NoPreVotes = !tt.on
			if tt.cut {
				p.a.Cut()
				time.AfterFunc(time.Second, p.a.cancel)
			}
			began := time.Now()
			err := p.a.RequestPreVote("b", "b", &raft.RequestPreVoteRequest{LastLogIndex: tt.last}, &raft.RequestPreVoteResponse{})
			if yes := err != nil && strings.Contains(err.Error(), "unexpected command"); asked != tt.asked || yes != tt.yes || tt.cut != errors.Is(err, ErrUnreachable) {
				t.Errorf("%s: asked: %v, error %v", tt.name, asked, err)
			}
			if took := time.Since(began); took <= 0 || took > tt.atMost || tt.cut && took < time.Second {
				t.Errorf("%s: took %v, want at most %v", tt.name, took, tt.atMost)
			}
		})
	}
}

// TestDeathWhileStoring: entries that a server was storing when it died never get to its Raft, which waits for them.
func TestDeathWhileStoring(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		for range 30 { // a choice that the runtime would make falls out either way
			asked := false
			p := newPair(t, func(rpc raft.RPC) { asked = true; answers(rpc) })
			p.b.recv = func([]*raft.Log, bool) { p.b.Cut() }
			_, err := calls["append"](p.a)
			if synctest.Wait(); !errors.Is(err, ErrUnreachable) || asked {
				t.Fatalf("error %v, and its Raft was asked: %v", err, asked)
			}
		}
	})
}

// TestEndedLeaderships: requests of one that has ended are answered as by a follower of a newer
// term, and are not sent; heartbeats are.
func TestEndedLeaderships(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		p := newPair(t, answers)
		p.a.Listen(func(term uint64) bool { return term == 5 })
		beat := raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{Addr: []byte("a")}, Term: 4}
		with := func(change func(*raft.AppendEntriesRequest)) *raft.AppendEntriesRequest {
			req := beat
			change(&req)
			return &req
		}
		for _, tt := range []struct {
			name string
			req  *raft.AppendEntriesRequest
			term uint64
		}{
			{"a heartbeat", &beat, 9},
			{"the present term", with(func(r *raft.AppendEntriesRequest) { r.Term, r.PrevLogEntry = 5, 3 }), 9},
			{"entries", with(func(r *raft.AppendEntriesRequest) { r.Entries = []*raft.Log{{}} }), 5},
			{"a place in the log", with(func(r *raft.AppendEntriesRequest) { r.PrevLogEntry = 3 }), 5},
			{"a term of the log", with(func(r *raft.AppendEntriesRequest) { r.PrevLogTerm = 3 }), 5},
			{"a commit", with(func(r *raft.AppendEntriesRequest) { r.LeaderCommitIndex = 3 }), 5},
			{"no address", with(func(r *raft.AppendEntriesRequest) { r.Addr = nil }), 5},
		} {
			var resp raft.AppendEntriesResponse
			if err := p.a.AppendEntries("b", "b", tt.req, &resp); err != nil || resp.Term != tt.term || resp.Success != (tt.term == 9) {
				t.Errorf("%s: %+v, %v; want term %d", tt.name, resp, err, tt.term)
			}
		}
		if len(p.received) > 0 {
			t.Errorf("charged for %v entries", p.received)
		}
	})
}

// TestLeadershipsThatEnd: a request that fails after its leadership has ended is answered with a newer term, so that Raft
// stops there and does not wait in order to send it once more. In its leadership a failure is one, and an answer that
// comes is the answer.
func TestLeadershipsThatEnd(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ends   time.Duration // of the leadership
		answer func(raft.RPC)
		term   uint64
		err    error
	}{
		{"no answer, and it goes on", time.Hour, nil, 0, ErrUnreachable},
		{"no answer", oneWay, nil, 5, nil},
		{"an answer", oneWay, answers, 9, nil},
		{"it was over before", -1, answers, 5, nil},
	} {
		for kind, send := range map[string]func(*Transport) (uint64, error){
			"append": func(a *Transport) (uint64, error) {
				var resp raft.AppendEntriesResponse
				err := a.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 4, PrevLogEntry: 3}, &resp)
				return resp.Term, err
			},
			"snapshot": func(a *Transport) (uint64, error) {
				var resp raft.InstallSnapshotResponse
				err := a.InstallSnapshot("b", "b", &raft.InstallSnapshotRequest{Term: 4}, &resp, strings.NewReader("data"))
				return resp.Term, err
			},
		} {
			t.Run(tt.name+"/"+kind, func(t *testing.T) {
				virtualtest.Test(t, func(t *testing.T) {
					p := newPair(t, tt.answer)
					end := time.Now().Add(tt.ends)
					p.a.Listen(func(term uint64) bool { return term == 4 && !time.Now().After(end) })
					if term, err := send(p.a); term != tt.term || !errors.Is(err, tt.err) {
						t.Errorf("answered in term %d, error %v; want %d, %v", term, err, tt.term, tt.err)
					}
				})
			})
		}
	}
}
