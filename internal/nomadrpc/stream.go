package nomadrpc

import (
	"bufio"
	"io"
	"net"
	"sync"
	"time"
)

// messages reads the messages of one stream. It keeps no buffers while it waits for a message
// to begin, since most streams wait for minutes.
type messages struct {
	conn   net.Conn
	limits Limits
	// patience is how long the rest of a message may take once it has begun.
	patience time.Duration
	grow     func() error // as of readMessage

	r     *bufio.Reader // nil while nothing is left to read
	raw   []byte
	first one
}

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4096) }}

// await blocks until a message begins.
func (m *messages) await() error {
	if m.r != nil {
		_, err := m.r.Peek(1)
		return err
	}
	m.first.Conn = m.conn
	if _, err := io.ReadFull(m.conn, m.first.b[:]); err != nil {
		return err
	}
	m.first.full = true
	m.r = readers.Get().(*bufio.Reader)
	m.r.Reset(&m.first)
	return nil
}

// next returns the next message, which is valid until the next call of next or rest.
func (m *messages) next() ([]byte, error) {
	var err error
	m.raw, err = readMessage(m.r, m.raw, m.limits, m.grow)
	return m.raw, err
}

// begin and end bracket the messages that the patience is for.
func (m *messages) begin() error { return m.conn.SetReadDeadline(time.Now().Add(m.patience)) }
func (m *messages) end() error   { return m.conn.SetReadDeadline(time.Time{}) }

// rest gives back the buffers until the next message begins.
func (m *messages) rest() {
	if m.r != nil && m.r.Buffered() == 0 {
		m.r.Reset(nil)
		readers.Put(m.r)
		m.r = nil
	}
	m.raw = nil
	if s, ok := m.conn.(interface{ Shrink() }); ok { // a stream of yamux
		s.Shrink()
	}
}

// one is a connection, one byte of which was read ahead.
type one struct {
	net.Conn
	b    [1]byte
	full bool
}

func (o *one) Read(p []byte) (int, error) {
	if o.full && len(p) > 0 {
		o.full = false
		p[0] = o.b[0]
		return 1, nil
	}
	return o.Conn.Read(p)
}
