package simnet

import (
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/internal/virtualtest"
)

func TestDelayIsAFunctionOfSeedLinkAndInstant(t *testing.T) {
	link := Link{Latency: time.Millisecond, Jitter: time.Millisecond}
	measure := func(seed int64, from, to, kind string) (d time.Duration) {
		virtualtest.Test(t, func(t *testing.T) {
			n := New(seed, link, link)
			start := time.Now()
			if err := n.Send(t.Context(), from, to, kind); err != nil {
				t.Error(err)
			}
			d = time.Since(start)
		})
		return d
	}
	base := measure(1, "a", "b", "append")
	if base < link.Latency || base >= link.Latency+link.Jitter {
		t.Errorf("delay %v is outside [%v, %v)", base, link.Latency, link.Latency+link.Jitter)
	}
	if again := measure(1, "a", "b", "append"); again != base {
		t.Errorf("the same message took %v and %v", base, again)
	}
	for name, other := range map[string]time.Duration{
		"seed": measure(2, "a", "b", "append"), "link": measure(1, "b", "a", "append"), "kind": measure(1, "a", "b", "vote"),
	} {
		if other == base {
			t.Errorf("another %s has the same delay %v", name, base)
		}
	}
}

func TestTransportCarriesCallsAndCharges(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		n := New(1, Link{Latency: time.Millisecond}, Link{})
		charged := 0
		a := n.NewTransport("a", nil)
		b := n.NewTransport("b", func(entries []*raft.Log, _ bool) { charged += len(entries) })
		var early raft.AppendEntriesResponse
		if err := a.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 7}, &early); !errors.Is(err, ErrUnreachable) {
			t.Errorf("to a transport that does not listen yet: %v", err)
		}
		b.Listen(nil)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for rpc := range b.Consumer() {
				req := rpc.Command.(*raft.AppendEntriesRequest)
				rpc.Respond(&raft.AppendEntriesResponse{Term: req.Term, Success: true}, nil)
			}
		}()
		var resp raft.AppendEntriesResponse
		start := time.Now()
		err := a.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 7, Entries: []*raft.Log{{}, {}}}, &resp)
		if err != nil || resp.Term != 7 || !resp.Success {
			t.Errorf("response %+v, error %v", resp, err)
		}
		if charged != 2 || time.Since(start) != 2*time.Millisecond {
			t.Errorf("charged for %d entries after %v, want 2 after 2ms", charged, time.Since(start))
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := a.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 7}, &resp); !errors.Is(err, ErrUnreachable) {
			t.Errorf("to a closed transport: %v", err)
		}
		if err := a.RequestVote("c", "c", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{}); !errors.Is(err, ErrUnreachable) {
			t.Errorf("to nobody: %v", err)
		}
		close(b.consumer)
		<-done
	})
}

// TestSteady: a link is steady that loses nothing while no fault goes on, wherever.
func TestSteady(t *testing.T) {
	for loss, want := range map[float64]bool{0: true, 0.1: false} {
		n := New(1, Link{Latency: time.Millisecond, Loss: loss}, Link{})
		if n.Route("a", "b", "k").Steady() != want {
			t.Errorf("a link that loses %g is steady: %v", loss, !want)
		}
		end := n.Disturb(Fault{From: []string{"c"}, To: []string{"d"}, Link: Link{Latency: 1}})
		if n.Route("a", "b", "k").Steady() {
			t.Errorf("a link that loses %g is steady while there is a fault", loss)
		}
		if end(); n.Route("a", "b", "k").Steady() != want {
			t.Errorf("a link that loses %g is steady after a fault: %v", loss, !want)
		}
	}
}
