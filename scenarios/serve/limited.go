package serve

import (
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// limited closes new connections at once while as many as allowed are open. So a client that keeps connections open
// without a word cannot use up the memory and the files of this process.
type limited struct {
	net.Listener
	slots  chan struct{}
	log    *slog.Logger
	logged atomic.Int64 // when it last said so, in Unix seconds
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.slots <- struct{}{}:
			return &slot{Conn: conn, free: sync.OnceFunc(func() { <-l.slots })}, nil
		default:
		}
		if now := time.Now().Unix(); l.logged.Swap(now) != now {
			l.log.Warn("HTTP connection refused: as many are open as may be", "peer", conn.RemoteAddr(), "open", cap(l.slots))
		}
		conn.Close()
	}
}

// slot is a connection that counts.
type slot struct {
	net.Conn
	free func()
}

func (s *slot) Close() error {
	s.free()
	return s.Conn.Close()
}
