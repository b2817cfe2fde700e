package nomadrpc

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

// DialConfig says how to reach a server. The zero value is a connection without TLS.
type DialConfig struct {
	TLS   *tls.Config // nil = none
	Local net.Addr    // the address that the connection comes from; nil = any
	// Timeout is how long connecting and the TLS handshake may take; 10 s.
	Timeout time.Duration
	Limits  Limits // of an answer; AnswerLimits
}

// Session is a connection to a server, on which any number of calls can be under way.
type Session struct {
	mux    *yamux.Session
	wire   *frames
	limits Limits
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex
	idle []*caller
}

// maxIdleStreams is how many streams without a call are kept for the next calls.
const maxIdleStreams = 64

// writeTimeout is how long a write may make no progress.
const writeTimeout = 10 * time.Second

// ServerError is the error that a server answered a call with.
type ServerError string

func (e ServerError) Error() string { return string(e) }

// Dial connects to a server.
func Dial(ctx context.Context, address string, cfg DialConfig) (*Session, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(cfg.Timeout, 10*time.Second))
	defer cancel()
	conn, err := (&net.Dialer{LocalAddr: cfg.Local}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if conn, err = introduce(ctx, conn, cfg.TLS); err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	wire := newFrames(patientConn{conn, writeTimeout})
	mux, err := yamux.Client(wire, yamuxConfig())
	if err != nil {
		conn.Close()
		return nil, err
	}
	s := &Session{mux: mux, wire: wire, limits: cmp.Or(cfg.Limits, AnswerLimits)}
	serving, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	refuse := service{
		methods: new(Methods), limits: RequestLimits, patience: writeTimeout, maxStreams: 256,
		report: func(string, net.Addr, error) {},
	}
	s.wg.Go(func() { wire.watch(mux) })
	s.wg.Go(func() { refuse.session(serving, mux, wire, true, s.wg.Go) })
	return s, nil
}

// introduce says what follows on a connection: a session, inside TLS if secure is set. It
// closes the connection if it fails.
func introduce(ctx context.Context, conn net.Conn, secure *tls.Config) (_ net.Conn, err error) {
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	if secure != nil {
		if _, err := conn.Write([]byte{modeTLS}); err != nil {
			return nil, err
		}
		inside := tls.Client(conn, secure)
		if err := inside.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
		conn = inside
	}
	if _, err := conn.Write([]byte{modeMultiplexV2}); err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Time{})
}

// Closed reports whether the connection has ended.
func (s *Session) Closed() bool { return s.mux.IsClosed() }

// Close ends the connection and the calls under way.
func (s *Session) Close() {
	s.cancel()
	s.wire.end()
	s.mux.Close()
	s.wg.Wait()
}

// caller is a stream for calls, one at a time.
type caller struct {
	stream *yamux.Stream
	in     messages
	seq    uint64
}

// Call makes a call and decodes the answer into resp. It may wait for the answer as long as
// ctx lets it: each call under way has a stream for itself. A ServerError is the server's
// answer; after any other error it is unknown whether the server has made the call.
func (s *Session) Call(ctx context.Context, method string, req, resp any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := s.caller()
	if err != nil {
		return fmt.Errorf("%s: %w", method, cmp.Or(s.wire.failed(), err))
	}
	stop := context.AfterFunc(ctx, func() { c.stream.SetDeadline(time.Unix(1, 0)) })
	err = c.call(method, req, resp)
	interrupted := !stop()
	var answered ServerError
	switch {
	case interrupted && err != nil:
		c.stream.Close()
		return fmt.Errorf("%s: %w", method, ctx.Err())
	case err == nil || errors.As(err, &answered):
		s.release(c, interrupted)
		return err
	}
	c.stream.Close()
	return fmt.Errorf("%s: %w", method, cmp.Or(s.wire.failed(), err))
}

// caller returns a stream without a call.
func (s *Session) caller() (*caller, error) {
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return c, nil
	}
	s.mu.Unlock()
	stream, err := s.mux.OpenStream()
	if err != nil {
		return nil, err
	}
	if _, err := stream.Write([]byte{modeRPC}); err != nil {
		stream.Close()
		return nil, err
	}
	return &caller{stream: stream, in: messages{conn: metered{stream, s.wire}, limits: s.limits}}, nil
}

// release keeps a stream for the next call, or closes it.
func (s *Session) release(c *caller, spoilt bool) {
	s.mu.Lock()
	keep := !spoilt && len(s.idle) < maxIdleStreams
	if keep {
		s.idle = append(s.idle, c)
	}
	s.mu.Unlock()
	if !keep {
		c.stream.Close()
	}
}

// call makes one call. Any error but a ServerError leaves the stream unusable.
func (c *caller) call(method string, req, resp any) error {
	c.seq++
	if err := encode(writer(c.stream), &callHeader{method, c.seq}, req); err != nil {
		return err
	}
	if err := c.in.await(); err != nil {
		return err
	}
	defer c.in.rest()
	raw, err := c.in.next()
	if err != nil {
		return err
	}
	var header answerHeader
	if err := decode(raw, &header); err != nil {
		return fmt.Errorf("header of the answer: %w", err)
	}
	if header.Seq != c.seq {
		return fmt.Errorf("the answer is to call %d, want %d", header.Seq, c.seq)
	}
	if raw, err = c.in.next(); err != nil {
		return err
	}
	if header.Error != "" {
		return ServerError(header.Error)
	}
	if err := decode(raw, resp); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}
