package simnet

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/internal/virtualtest"
)

// TestStream: a sender is at most two steps ahead of what the reader has read. So a long message needs a round trip for each two
// steps, however quick both ends are, and ends that are slow work side by side.
func TestStream(t *testing.T) {
	const kib, ms = 1 << 10, time.Millisecond
	for _, tt := range []struct {
		bytes           int
		latency         time.Duration
		encodes, reads  time.Duration // a step takes
		want            time.Duration // until all is read, since the first step was begun
		waited, awaited int           // how often the sender and the reader waited
	}{
		{bytes: 0, latency: ms, want: 1 * ms},
		{bytes: 128 * kib, latency: ms, want: 1 * ms},
		{bytes: 256 * kib, latency: ms, want: 1 * ms},
		{bytes: 257 * kib, latency: ms, want: 3 * ms, waited: 1, awaited: 1},
		{bytes: 512 * kib, latency: ms, want: 3 * ms, waited: 1, awaited: 1},
		{bytes: 46 * 128 * kib, latency: ms, want: 45 * ms, waited: 22, awaited: 22},
		{bytes: 4 * 128 * kib, latency: ms, reads: 10 * ms, want: 1*ms + 4*10*ms, waited: 2},
		{bytes: 4 * 128 * kib, latency: ms, encodes: 10 * ms, want: 4*10*ms + 1*ms, awaited: 3},
		{bytes: 4 * 128 * kib, encodes: 10 * ms, reads: 10 * ms, want: 5 * 10 * ms},
		{bytes: 4 * 128 * kib, latency: 10 * ms, encodes: ms, reads: ms, want: (1 + 10 + 1 + 10 + 1 + 10 + 2) * ms, waited: 1, awaited: 1},
	} {
		t.Run(fmt.Sprintf("%d KiB, %v, %v, %v", tt.bytes/kib, tt.latency, tt.encodes, tt.reads), func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				n := New(1, Link{Latency: tt.latency}, Link{})
				steps := max(1, (tt.bytes+128*kib-1)/(128*kib))
				s := n.Route("a", "b", "call").Stream(tt.bytes, time.Duration(steps))
				began := time.Now()
				var waits [2]int
				end := func(i int, takes time.Duration) Step {
					return func(share, after time.Duration) {
						if share != 1 {
							t.Errorf("a step takes %d of %d, want 1", share, steps)
						}
						if after >= 0 {
							waits[i]++
						}
						time.Sleep(max(after, 0) + takes)
					}
				}
				s.Begin(end(0, tt.encodes))
				time.Sleep(tt.latency)
				s.End(end(1, tt.reads))
				if took := time.Since(began); took != tt.want {
					t.Errorf("it took %v, want %v", took, tt.want)
				}
				s.Close()
				if want := [2]int{tt.waited, tt.awaited}; waits != want {
					t.Errorf("sender and reader waited %d times, want %d", waits, want)
				}
			})
		})
	}
}

// TestStreamBreaksOff: a sender whose message does not get there goes no further than it may, and ends with the stream.
func TestStreamBreaksOff(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		steps := 0
		s := New(1, Link{Latency: time.Millisecond}, Link{}).Route("a", "b", "call").Stream(1<<20, time.Second)
		s.Begin(func(takes, _ time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			steps++
		})
		time.Sleep(time.Second)
		s.Close()
		s.Close()
		if steps != 2 {
			t.Errorf("the sender did %d steps of 8, want the 2 that nobody has to read", steps)
		}
	})
}

// TestStreamOverDisturbedLink: each end hears of the other as late as messages are at that time, and loses nothing.
func TestStreamOverDisturbedLink(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		n := New(1, Link{Latency: time.Millisecond}, Link{})
		defer n.Disturb(Fault{From: []string{"a"}, Link: Link{Latency: 99 * time.Millisecond, Loss: 0.5}})()
		s := n.Route("a", "b", "call").Stream(512<<10, 4)
		began := time.Now()
		step := func(_, after time.Duration) { time.Sleep(max(after, 0)) }
		s.Begin(step)
		s.End(step)
		s.Close()
		if took, want := time.Since(began), 300*time.Millisecond; took != want {
			t.Errorf("it took %v, want %v: there, back and there again", took, want)
		}
	})
}

// TestNoStream: a message that takes no time has no stream.
func TestNoStream(t *testing.T) {
	var s *Stream
	never := func(time.Duration, time.Duration) { t.Error("a message that takes no time has a step") }
	s.Begin(never)
	s.End(never)
	s.Close()
}
