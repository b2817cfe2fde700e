package simnet

import (
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/internal/virtualtest"
)

// TestNoTwoReturnToRaftAtOneInstant: a heartbeat, an error and the pipelines of two followers
// return at instants of their own, the same ones in whatever order they are called at an
// instant. What would have returned alone returns when it would have.
func TestNoTwoReturnToRaftAtOneInstant(t *testing.T) {
	const latency = time.Millisecond
	for _, swapped := range []bool{false, true} {
		virtualtest.Test(t, func(t *testing.T) {
			n := New(1, Link{Latency: latency}, Link{})
			leader := n.NewTransport("leader", nil)
			for _, follower := range []string{"b", "c"} {
				f := n.NewTransport(follower, nil)
				f.SetHeartbeatHandler(func(rpc raft.RPC) { rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil) })
				f.Listen(nil)
			}
			start := time.Now()
			var mu sync.Mutex
			returned := map[string]time.Duration{}
			at := func(instant time.Duration, what string, call func() error) {
				time.AfterFunc(instant, func() {
					if err := call(); err != nil {
						t.Logf("%s: %v", what, err)
					}
					mu.Lock()
					defer mu.Unlock()
					returned[what] = time.Since(start)
				})
			}
			heartbeat := func(to raft.ServerAddress) func() error {
				return func() error {
					req := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{Addr: []byte("leader")}, Term: 1}
					return leader.AppendEntries(raft.ServerID(to), to, req, &raft.AppendEntriesResponse{})
				}
			}
			entry := func(to raft.ServerAddress) func() error {
				p, err := leader.AppendEntriesPipeline(raft.ServerID(to), to)
				if err != nil {
					t.Fatal(err)
				}
				return func() error {
					_, err := p.AppendEntries(&raft.AppendEntriesRequest{Term: 1}, &raft.AppendEntriesResponse{})
					return err
				}
			}
			first, second := raft.ServerAddress("b"), raft.ServerAddress("c")
			if swapped {
				first, second = second, first
			}
			at(0, "heartbeat", heartbeat("b"))
			at(latency, "error", heartbeat("nobody"))
			at(2*latency-n.Turn("b"), "entry to "+string(first), entry(first))
			at(2*latency-n.Turn("b"), "entry to "+string(second), entry(second))
			time.Sleep(3 * latency)
			want := map[string]time.Duration{
				"heartbeat":  2 * latency,
				"entry to b": 2*latency + Turns,
				"entry to c": 2*latency + n.Turn("c") - n.Turn("b"),
				"error":      2*latency + 2,
			}
			mu.Lock()
			defer mu.Unlock()
			for what, instant := range want {
				if returned[what] != instant {
					t.Errorf("%s (swapped: %t) returned after %d ns, want %d", what, swapped, returned[what], instant)
				}
			}
			if err := leader.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAnswersThatEndPipelines: Raft draws a timeout when a pipeline ends, as it does after an answer
// without success. Two of these that arrive at one instant reach it at two; other answers need not.
func TestAnswersThatEndPipelines(t *testing.T) {
	for _, success := range []bool{true, false} {
		virtualtest.Test(t, func(t *testing.T) {
			p := newPair(t, func(rpc raft.RPC) { rpc.Respond(&raft.AppendEntriesResponse{Success: success}, nil) })
			settled := make(chan time.Time, 2)
			for range 2 {
				go func() {
					pipe, err := p.a.AppendEntriesPipeline("b", "b")
					if err != nil {
						t.Error(err)
					}
					f, err := pipe.AppendEntries(&raft.AppendEntriesRequest{Term: 1}, &raft.AppendEntriesResponse{})
					if err == nil {
						err = f.Error()
					}
					if err != nil {
						t.Error(err)
					}
					settled <- time.Now()
				}()
			}
			if a, b := <-settled, <-settled; a.Equal(b) != success {
				t.Errorf("answers with success %v are %v apart", success, b.Sub(a))
			}
		})
	}
}

// TestRestsAfterHeartbeats: whoever draws when Raft rests no more after a heartbeat that failed has the instant to itself. The rest
// grows with each failure of a term.
func TestRestsAfterHeartbeats(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		n := New(1, Link{}, Link{})
		leader := n.NewTransport("leader", nil)
		leader.HeartbeatTimeout = 90 * time.Millisecond
		for i, tt := range []struct {
			term uint64
			rest time.Duration
		}{
			{1, 10 * time.Millisecond}, {1, 10 * time.Millisecond}, {1, 10 * time.Millisecond}, {1, 20 * time.Millisecond},
			{1, 40 * time.Millisecond}, {1, 45 * time.Millisecond}, {2, 10 * time.Millisecond},
		} {
			req := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{Addr: []byte("leader")}, Term: tt.term}
			if err := leader.AppendEntries("gone", "gone", req, &raft.AppendEntriesResponse{}); err == nil {
				t.Fatal("who is gone has answered")
			}
			if got := n.instants.take(tt.rest, time.Nanosecond); got != tt.rest+time.Nanosecond {
				t.Errorf("heartbeat %d: another goes on after %v, want it a nanosecond after %v", i+1, got, tt.rest)
			}
			time.Sleep(time.Second)
		}
	})
}
