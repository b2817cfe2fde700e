package simnet

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/internal/virtualtest"
)

// TestIdleFollowers: a request that tells nothing new is answered at once, by Raft's path for heartbeats, if
// nothing could happen to it on its way; what is sent after it arrives no sooner than it would have.
func TestIdleFollowers(t *testing.T) {
	const trip = 2 * oneWay
	entry := []*raft.Log{{Index: 5}}
	at := func(commit uint64, entries []*raft.Log) *raft.AppendEntriesRequest {
		return &raft.AppendEntriesRequest{Term: 1, PrevLogEntry: 4, LeaderCommitIndex: commit, Entries: entries}
	}
	const charged, ahead = "the leader is charged", "more than it can commit"
	for name, tt := range map[string]struct {
		before func(*pair)
		second *raft.AppendEntriesRequest
		took   time.Duration
	}{
		charged:              {func(*pair) {}, at(4, nil), trip},
		"nothing new":        {func(*pair) {}, at(4, nil), 0},
		"a new commit index": {func(*pair) {}, at(5, nil), trip},
		"entries":            {func(*pair) {}, at(4, entry), trip},
		"a fault elsewhere": {func(p *pair) {
			p.net.Disturb(Fault{From: []string{"b"}, To: []string{"c"}, Link: Link{Loss: 1}})
		}, at(4, nil), trip},
		"it is shutting down": {func(p *pair) { p.b.SetHeartbeatHandler(func(raft.RPC) {}) }, at(4, nil), oneWay + callTimeout},
		"it is another one":   {func(p *pair) { p.net.NewTransport("b", nil).Listen(nil) }, at(4, nil), oneWay + callTimeout},
		"it is no follower":   {func(p *pair) { p.b.SetHeartbeatHandler(refuses) }, at(4, nil), trip},
		"it has no such path": {func(p *pair) { p.b.SetHeartbeatHandler(nil) }, at(4, nil), trip},
		ahead:                 {func(*pair) {}, at(9, nil), trip},
	} {
		t.Run(name, func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				p := newPair(t, answers)
				p.b.SetHeartbeatHandler(answers)
				if name == charged {
					p.a.Answered = func(_ string, _ bool, heard func()) { heard() }
				}
				pipe, err := p.a.AppendEntriesPipeline("b", "b")
				if err != nil {
					t.Fatal(err)
				}
				send := func(req *raft.AppendEntriesRequest) time.Duration {
					t.Helper()
					began := time.Now()
					if _, err := pipe.AppendEntries(req, &raft.AppendEntriesResponse{}); err != nil {
						t.Fatal(err)
					}
					_ = (<-pipe.Consumer()).Error() // some fail
					return time.Since(began).Round(time.Microsecond)
				}
				if took := send(at(4, nil)); took != trip {
					t.Errorf("the first took %v, want %v", took, trip)
				}
				tt.before(p)
				if took := send(tt.second); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				if name == ahead { // it has not committed that yet
					if took := send(tt.second); took != trip {
						t.Errorf("it took %v once more, want %v", took, trip)
					}
				}
			})
		})
	}
	virtualtest.Test(t, func(t *testing.T) {
		p := newPair(t, answers)
		p.net.servers.Jitter = oneWay // an entry would overtake some
		p.b.SetHeartbeatHandler(answers)
		var arrived time.Time
		p.b.recv = func([]*raft.Log, bool) { arrived = time.Now() }
		pipe, err := p.a.AppendEntriesPipeline("b", "b")
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			first := time.Now().Add(p.net.delay("a", "b", "append"))
			answer := first.Add(p.net.Route("b", "a", "append").Delay(first))
			for _, entries := range [][]*raft.Log{nil, entry} {
				if _, err := pipe.AppendEntries(at(4, entries), &raft.AppendEntriesResponse{}); err != nil {
					t.Fatal(err)
				}
				if err := (<-pipe.Consumer()).Error(); err != nil {
					t.Fatal(err)
				}
			}
			if early := first.Sub(arrived); early > 0 {
				t.Errorf("an entry arrived %v before the request that was sent before it", early)
			}
			if early := time.Until(answer); early > 0 {
				t.Errorf("an entry was answered %v before the request that was sent before it", early)
			}
		}
	})
}

func refuses(rpc raft.RPC) { rpc.Respond(&raft.AppendEntriesResponse{Term: 9}, nil) }

// TestHeartbeats: a heartbeat takes its way there and back. One to a server that has followed in its term is heard
// when it is sent, if nothing could happen to it on its way, and any other when it arrives.
func TestHeartbeats(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*pair)
		term   uint64 // of the second heartbeat
		heard  time.Duration
		err    error
	}{
		"the same follower": {func(*pair) {}, 1, 0, nil},
		"a newer term":      {func(*pair) {}, 2, oneWay, nil},
		"a fault elsewhere": {func(p *pair) {
			p.net.Disturb(Fault{From: []string{"b"}, To: []string{"c"}, Link: Link{Loss: 1}})
		}, 1, oneWay, nil},
		"it is another one": {func(p *pair) {
			b := p.net.NewTransport("b", nil)
			b.SetHeartbeatHandler(p.b.heartbeat)
			b.Listen(nil)
		}, 1, oneWay, nil},
		"it has died":      {func(p *pair) { p.b.Cut() }, 1, -1, ErrUnreachable},
		"this end is over": {func(p *pair) { p.a.cancel() }, 1, -1, errAny},
	} {
		t.Run(name, func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				p := newPair(t, answers)
				var heard time.Time
				p.b.SetHeartbeatHandler(func(rpc raft.RPC) {
					heard = time.Now()
					answers(rpc)
				})
				beat := func(term uint64) (time.Duration, error) {
					heard = time.Time{}
					began := time.Now()
					req := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{Addr: []byte("a")}, Term: term}
					var resp raft.AppendEntriesResponse
					err := p.a.AppendEntries("b", "b", req, &resp)
					if took := time.Since(began); err == nil && (took != 2*oneWay || !resp.Success) {
						t.Errorf("a heartbeat took %v, want %v; accepted: %v", took, 2*oneWay, resp.Success)
					}
					if heard.IsZero() {
						return -1, err
					}
					return heard.Sub(began), err
				}
				if after, err := beat(1); after != oneWay || err != nil {
					t.Errorf("the first is heard after %v, want %v; error %v", after, oneWay, err)
				}
				tt.before(p)
				if after, err := beat(tt.term); after != tt.heard || (err == nil) != (tt.err == nil) {
					t.Errorf("the second is heard after %v, want %v; error %v, want %v", after, tt.heard, err, tt.err)
				}
			})
		})
	}
	virtualtest.Test(t, func(t *testing.T) {
		p := newPair(t, answers)
		p.b.SetHeartbeatHandler(answers)
		var resp raft.AppendEntriesResponse
		req := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{Addr: []byte("a")}, Term: 1}
		if err := p.a.AppendEntries("b", "b", req, &resp); err != nil {
			t.Fatal(err)
		}
		p.b.SetHeartbeatHandler(refuses)
		if err := p.a.AppendEntries("b", "b", req, &resp); err != nil || resp.Success || resp.Term != 9 {
			t.Errorf("one that no longer follows answers %+v, error %v", resp, err)
		}
	})
}
