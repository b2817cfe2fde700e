package nomadrpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/yamux"
)

// frames is a connection with a yamux session on it. It bounds what the other end can make
// yamux keep: data that nobody has read yet, on all streams together, and pings, each of
// which yamux answers from a goroutine.
type frames struct {
	net.Conn
	head   [frameHead]byte
	got    int    // bytes of the head
	data   uint32 // bytes of the frame that are still to come
	unread atomic.Int64
	pings  int
	since  time.Time // of the first of those pings
	bad    atomic.Pointer[error]

	silent  sync.Once
	unheard chan struct{} // closed when nothing more can be read

	mu      sync.Mutex
	ended   bool
	reading map[*yamux.Stream]bool // those with a Read under way
}

func newFrames(conn net.Conn) *frames { return &frames{Conn: conn, unheard: make(chan struct{})} }

// What a frame's head says (yamux, spec.md).
const (
	frameHead     = 12
	frameTypeAt   = 1
	frameLengthAt = 8
	frameData     = 0
	framePing     = 2
)

// Limits of a session.
const (
	maxUnread = 64 << 20
	maxPings  = 100 // a second; yamux sends one in 30
)

func (f *frames) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if err != nil {
		if refused, ok := errors.AsType[*net.OpError](err); ok && refused.Op == "remote error" {
			f.bad.Store(&err) // an alert of TLS: the other end does not like our certificate
		}
		f.silent.Do(func() { close(f.unheard) })
		f.end()
	}
	if bad := f.follow(p[:n]); bad != nil {
		f.bad.Store(&bad)
		return 0, bad
	}
	return n, err
}

// failed returns which limit or alert ended the session; nil if none did.
func (f *frames) failed() error {
	if bad := f.bad.Load(); bad != nil {
		return *bad
	}
	return nil
}

// follow looks at bytes as they arrive.
func (f *frames) follow(p []byte) error {
	for len(p) > 0 {
		if f.data > 0 {
			n := min(int(f.data), len(p))
			f.data -= uint32(n)
			p = p[n:]
			if unread := f.unread.Add(int64(n)); unread > maxUnread {
				return fmt.Errorf("%d bytes sent that wait to be read, at most %d are allowed", unread, maxUnread)
			}
			continue
		}
		n := copy(f.head[f.got:], p)
		f.got += n
		p = p[n:]
		if f.got < frameHead {
			return nil
		}
		f.got = 0
		switch f.head[frameTypeAt] {
		case frameData:
			f.data = binary.BigEndian.Uint32(f.head[frameLengthAt:])
		case framePing:
			if err := f.ping(time.Now()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *frames) ping(now time.Time) error {
	if now.Sub(f.since) > time.Second {
		f.pings, f.since = 0, now
	}
	if f.pings++; f.pings > maxPings {
		return fmt.Errorf("more than %d pings in a second", maxPings)
	}
	return nil
}

// end ends the reads of all streams. It must come before the session ends, or right after:
// yamux lets a Read of a session that is ending go round and round until it has closed the
// stream, and with thousands of them that takes minutes.
func (f *frames) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	for s := range f.reading {
		_ = s.SetReadDeadline(time.Unix(1, 0)) // it returns no errors
	}
}

// watch ends the session when the other end no longer answers pings, as yamux's own keepalive
// does, and the reads when the session has ended in any other way.
func (f *frames) watch(mux *yamux.Session) {
	tick := time.NewTicker(yamux.DefaultConfig().KeepAliveInterval)
	defer tick.Stop()
	for {
		select {
		case <-mux.CloseChan():
			f.end()
			return
		case <-tick.C:
			if _, err := mux.Ping(); err != nil {
				f.end()
				mux.Close()
				return
			}
		}
	}
}

// lastWords is how long it may take to read what the other end said before it closed the connection.
const lastWords = time.Second

// Write notices that the session is about to end. The other end may have said why: what it said is read before yamux
// closes the connection.
func (f *frames) Write(p []byte) (int, error) {
	n, err := f.Conn.Write(p)
	if err != nil {
		select {
		case <-f.unheard:
		case <-time.After(lastWords):
		}
		f.end()
	}
	return n, err
}

// enter notes that a stream is being read. It returns false if the session has ended.
func (f *frames) enter(s *yamux.Stream) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	if f.reading == nil {
		f.reading = map[*yamux.Stream]bool{}
	}
	f.reading[s] = true
	return true
}

// leave undoes enter, and returns whether the session has ended meanwhile.
func (f *frames) leave(s *yamux.Stream) (ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.reading, s)
	return f.ended
}

// metered is a stream that tells its session what is read.
type metered struct {
	*yamux.Stream
	frames *frames
}

func (m metered) Read(p []byte) (int, error) {
	if !m.frames.enter(m.Stream) {
		return 0, io.EOF
	}
	n, err := m.Stream.Read(p)
	m.frames.unread.Add(int64(-n))
	if m.frames.leave(m.Stream) && err != nil {
		err = io.EOF
	}
	return n, err
}
