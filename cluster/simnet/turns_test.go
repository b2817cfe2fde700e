package simnet

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/simctl/simctl/internal/virtualtest"
)

// TestTurns: servers have turns of their own, in the order in which they were made, and a
// heartbeat's own instant while Raft's goroutines start.
func TestTurns(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		p := newPair(t, nil)
		if b, a, c := p.net.Turn("b"), p.net.Turn("a"), p.net.Turn("c"); a != 1 || b != 2 || c != 3 {
			t.Errorf("turns %d, %d and %d of a, b and c", a, b, c)
		}
		takes := func() time.Duration {
			began := time.Now()
			if got := p.a.EncodePeer("b", "b"); string(got) != "b" || p.a.DecodePeer(got) != "b" {
				t.Errorf("encoded as %q", got)
			}
			return time.Since(began)
		}
		if d := takes(); d != 0 {
			t.Errorf("takes %v", d)
		}
		p.a.Stagger(time.Second)
		if d := takes(); d != 1 {
			t.Errorf("takes %v while it is staggered", d)
		}
		time.Sleep(time.Second)
		if d := takes() + takes(); d != 0 {
			t.Errorf("takes %v afterwards", d)
		}
	})
}

// TestWhatAnAnswerCommitsIsKnown: an encoding takes a nanosecond in that of an answer which can commit entries, so that
// what replication sends next knows whether it did.
func TestWhatAnAnswerCommitsIsKnown(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		p := newPair(t, answers)
		takes := func() time.Duration {
			began := time.Now()
			p.a.EncodePeer("b", "b")
			return time.Since(began)
		}
		for kind, call := range calls {
			if _, err := call(p.a); err != nil {
				t.Fatal(err)
			}
			want := time.Duration(0)
			if kind == "append" || kind == "snapshot" {
				want = 1
			}
			if first, second := takes(), takes(); first != want || second != 0 {
				t.Errorf("after a call %q: takes %v, then %v", kind, first, second)
			}
		}
	})
}

func TestSleep(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		soon, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		for _, tt := range []struct {
			name string
			ctx  context.Context
			d    time.Duration
			took time.Duration
			err  error
		}{
			{"no time", t.Context(), 0, 0, nil},
			{"no time, ended", ended, 0, 0, context.Canceled},
			{"ended", ended, time.Hour, 0, context.Canceled},
			{"without end", context.Background(), time.Minute, time.Minute, nil},
			{"no time without end", context.Background(), -1, 0, nil},
			{"cut short", soon, time.Hour, 0, context.DeadlineExceeded}, // a minute has passed
			{"to its end", t.Context(), time.Minute, time.Minute, nil},
		} {
			for range 20 { // whatever the runtime chooses
				if err := sleep(ended, tt.d); tt.ctx == ended && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", tt.name, err)
				}
			}
			began := time.Now()
			if err := sleep(tt.ctx, tt.d); !errors.Is(err, tt.err) || time.Since(began) != tt.took {
				t.Errorf("%s: %v after %v, want %v after %v", tt.name, err, time.Since(began), tt.err, tt.took)
			}
		}
	})
}
