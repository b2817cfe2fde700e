package simnet

import (
	"sync"
	"time"
)

// A stream of yamux holds 256 KiB that nobody has read. Who reads lets the sender go on whenever half of that is read (yamux,
// stream.go, Write and sendWindowUpdate; Nomad keeps yamux.DefaultConfig).
const (
	streamStep  = 128 << 10
	streamSteps = 2
)

// Step spends the time that one step of an end of a Stream takes. If after is negative, the end has not waited for the other
// one. Otherwise it waits, and the network wakes it once after has passed.
type Step func(takes, after time.Duration)

// Stream is a message that one end encodes while the other decodes what has come. An end that is too far ahead waits for the
// other.
//
// A Stream is used by one goroutine: Begin, End and Close, of which the first two may be left out. The nil Stream is a message
// that takes no time.
type Stream struct {
	route      Route
	takes      time.Duration
	steps      int
	sent, read chan time.Time // when the other end hears of a step
	closed     bool
	sending    sync.WaitGroup
}

// Stream returns a message of so many bytes, which takes either end so long. It loses nothing, whatever the link
// does, and is as late as its faults make messages.
func (r Route) Stream(bytes int, takes time.Duration) *Stream {
	steps := max(1, (bytes+streamStep-1)/streamStep)
	return &Stream{route: r, takes: takes, steps: steps, sent: make(chan time.Time, steps), read: make(chan time.Time, steps+streamSteps)}
}

// Begin does the sender's first step, after which the message is on its way, and lets the others follow.
func (s *Stream) Begin(step Step) {
	if s == nil {
		return
	}
	for range streamSteps {
		s.read <- time.Time{}
	}
	s.do(0, step, s.route, s.read, s.sent)
	if s.steps > 1 {
		s.sending.Go(func() {
			for i := 1; i < s.steps && s.do(i, step, s.route, s.read, s.sent); i++ {
			}
		})
	}
}

// End does all the reader's steps. The first step's part of the message must have come.
func (s *Stream) End(step Step) {
	if s == nil {
		return
	}
	for i := range s.steps {
		s.do(i, step, s.route.Back(), s.sent, s.read)
	}
}

// Close has the sender break off where the reader does not go on, and waits until it has.
func (s *Stream) Close() {
	if s == nil || s.closed {
		return
	}
	s.closed = true
	close(s.read)
	s.sending.Wait()
}

// do does a step once the other end allows it, and lets that know over the route. It reports whether it was allowed.
func (s *Stream) do(i int, step Step, route Route, may <-chan time.Time, done chan<- time.Time) bool {
	free := time.Now()
	heard, open := <-may
	if !open {
		return false
	}
	after := time.Duration(-1)
	if heard.After(free) { // else it would depend on the runtime who of two at one instant is first
		after = time.Until(heard)
	}
	n := time.Duration(s.steps)
	step(s.takes*time.Duration(i+1)/n-s.takes*time.Duration(i)/n, after)
	now := time.Now()
	done <- now.Add(route.network.delay(route.from, route.to, route.kind))
	return true
}
