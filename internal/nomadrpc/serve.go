package nomadrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/yamux"
)

// service answers what comes in on streams. Both ends of a session have one.
type service struct {
	methods    *Methods
	limits     Limits
	patience   time.Duration // for the first byte of a stream, the rest of a message, an answer's write
	large      chan struct{} // has an element for each large message; nil = there may be any number
	report     func(problem string, peer net.Addr, err error)
	maxStreams int // of a session
}

// errTooManyStreams ends a session.
var errTooManyStreams = errors.New("too many streams")

// session serves the streams that the other end opens, until the session ends. Spawn runs a
// function in a goroutine.
func (s *service) session(ctx context.Context, mux *yamux.Session, wire *frames, withMode bool, spawn func(func())) {
	open := make(chan struct{}, s.maxStreams)
	for {
		stream, err := mux.AcceptStream()
		if err != nil {
			if bad := wire.failed(); bad != nil {
				s.report("connection closed", mux.RemoteAddr(), bad)
			}
			return
		}
		select {
		case open <- struct{}{}:
		default:
			s.report("connection closed", mux.RemoteAddr(), fmt.Errorf("%w: more than %d at a time", errTooManyStreams, s.maxStreams))
			wire.end()
			mux.Close()
			return
		}
		spawn(func() {
			defer func() { <-open }()
			defer stream.Close()
			if err := s.stream(ctx, metered{stream, wire}, withMode); err != nil && ctx.Err() == nil && !mux.IsClosed() {
				s.report("stream closed", mux.RemoteAddr(), err)
			}
		})
	}
}

// stream serves one stream. It returns nil if the other end closed it between two messages.
func (s *service) stream(ctx context.Context, conn net.Conn, withMode bool) error {
	if !withMode {
		return s.calls(ctx, conn)
	}
	mode, err := readMode(conn, s.patience)
	switch {
	case err != nil:
		return err
	case mode == modeRPC:
		return s.calls(ctx, conn)
	case mode == modeStreaming:
		return s.refuseStreaming(conn)
	}
	return fmt.Errorf("first byte of the stream is %#02x: want 0x01 for calls or 0x05 for streaming calls", mode)
}

// readMode reads the byte that says what follows.
func readMode(conn net.Conn, patience time.Duration) (byte, error) {
	var mode [1]byte
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(conn, mode[:]); err != nil {
		return 0, fmt.Errorf("no first byte: %w", err)
	}
	return mode[0], conn.SetReadDeadline(time.Time{})
}

// reader returns a reader of the messages of conn, and a function to call after each message. If the message
// was large, that makes room for another large one.
func (s *service) reader(conn net.Conn) (in *messages, release func()) {
	in = &messages{conn: conn, limits: s.limits, patience: s.patience}
	if s.large == nil {
		return in, func() {}
	}
	held := false
	in.grow = func() error {
		if held {
			return nil
		}
		select {
		case s.large <- struct{}{}:
			held = true
			return nil
		case <-time.After(s.patience):
			return fmt.Errorf("%w: %d others are being read, which is as many as may be", ErrTooLarge, cap(s.large))
		}
	}
	return in, func() {
		if held {
			held = false
			<-s.large
		}
	}
}

// calls answers one call after the other.
func (s *service) calls(ctx context.Context, conn net.Conn) error {
	in, release := s.reader(conn)
	for {
		if err := in.await(); err != nil {
			if quiet(err) {
				return nil
			}
			return err
		}
		err := s.call(ctx, conn, in)
		release()
		if errors.Is(err, ErrHangUp) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// quiet reports whether a stream ended in a way that needs no report: it was closed between
// messages.
func quiet(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, yamux.ErrConnectionReset) || errors.Is(err, yamux.ErrStreamClosed)
}

// call reads one call and answers it.
func (s *service) call(ctx context.Context, conn net.Conn, in *messages) error {
	if err := in.begin(); err != nil {
		return err
	}
	var header callHeader
	raw, err := in.next()
	if err == nil {
		err = decode(raw, &header)
	}
	if err != nil {
		return fmt.Errorf("header of a call: %w", err)
	}
	argument, err := in.next()
	if err != nil {
		return fmt.Errorf("argument of %q: %w", header.ServiceMethod, err)
	}
	if err := in.end(); err != nil {
		return err
	}
	answer, err := s.dispatch(ctx, header.ServiceMethod, argument, in.rest)
	if errors.Is(err, ErrHangUp) {
		return err
	}
	out := answerHeader{ServiceMethod: header.ServiceMethod, Seq: header.Seq}
	if err != nil {
		out.Error, answer = err.Error(), noBody{}
	}
	if err := conn.SetWriteDeadline(time.Now().Add(s.patience)); err != nil {
		return err
	}
	return encode(writer(conn), &out, answer)
}

// dispatch makes a call. It calls rest before the call may block.
func (s *service) dispatch(ctx context.Context, name string, argument []byte, rest func()) (any, error) {
	decoded, ok := s.methods.byName[name]
	if !ok {
		rest()
		return nil, fmt.Errorf("rpc: can't find method %.100s", name)
	}
	call, err := decoded(argument)
	rest()
	if err != nil {
		return nil, err
	}
	return call(ctx)
}

// refuseStreaming answers a streaming call.
func (s *service) refuseStreaming(conn net.Conn) error {
	in, release := s.reader(conn)
	defer release()
	if err := in.begin(); err != nil {
		return err
	}
	var header streamingHeader
	err := in.await()
	if err == nil {
		var raw []byte
		if raw, err = in.next(); err == nil {
			err = decode(raw, &header)
		}
	}
	if err != nil {
		return fmt.Errorf("header of a streaming call: %w", err)
	}
	if err := conn.SetWriteDeadline(time.Now().Add(s.patience)); err != nil {
		return err
	}
	return encode(writer(conn), &streamingAck{Error: fmt.Sprintf("Unknown rpc method: %.100q", header.Method)})
}

func writer(conn net.Conn) func([]byte) error {
	return func(raw []byte) error {
		_, err := conn.Write(raw)
		return err
	}
}
