package nomadrpc

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

// ServerConfig describes a Server. The zero value of each field but Methods stands for the
// default named beside it.
type ServerConfig struct {
	Methods *Methods
	Log     *slog.Logger // nil = none
	// TLS makes the server demand TLS, as tls { rpc = true } does; nil = none is spoken.
	TLS *tls.Config

	MaxConns           int // at a time; 16384
	MaxConnsPerAddress int // of an IP address, at a time; any number
	MaxStreams         int // of a connection, at a time; 16384
	MaxLargeMessages   int // of more than 64 KiB, being read or answered at a time; 16
	// HandshakeTimeout is how long a connection may take to say what it is, and for TLS, as
	// rpc_handshake_timeout is; 5 s.
	HandshakeTimeout time.Duration
	// MessageTimeout is how long a message may take from its first byte to its last, and how
	// long a write may make no progress; 30 s.
	MessageTimeout time.Duration
	Limits         Limits // of a message; RequestLimits
}

// Server answers calls. It serves listeners until Close.
type Server struct {
	cfg     ServerConfig
	service service
	log     rareLog

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	listeners map[net.Listener]bool
	conns     map[net.Conn]bool
	addresses map[string]int // connections of each
}

// NewServer returns a server, which Close ends.
func NewServer(cfg ServerConfig) *Server {
	cfg.MaxConns = cmp.Or(cfg.MaxConns, 16384)
	cfg.MaxConnsPerAddress = cmp.Or(cfg.MaxConnsPerAddress, cfg.MaxConns)
	cfg.MaxStreams = cmp.Or(cfg.MaxStreams, 16384)
	cfg.MaxLargeMessages = cmp.Or(cfg.MaxLargeMessages, 16)
	cfg.HandshakeTimeout = cmp.Or(cfg.HandshakeTimeout, 5*time.Second)
	cfg.MessageTimeout = cmp.Or(cfg.MessageTimeout, 30*time.Second)
	cfg.Limits = cmp.Or(cfg.Limits, RequestLimits)
	s := &Server{
		cfg: cfg, log: rareLog{to: cfg.Log},
		listeners: map[net.Listener]bool{}, conns: map[net.Conn]bool{}, addresses: map[string]int{},
	}
	s.service = service{
		methods: cfg.Methods, limits: cfg.Limits, patience: cfg.MessageTimeout,
		large: make(chan struct{}, cfg.MaxLargeMessages), report: s.log.report, maxStreams: cfg.MaxStreams,
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Serve accepts connections until Close, after which it returns nil, or until the listener
// fails for good. It closes the listener.
func (s *Server) Serve(ln net.Listener) error {
	defer ln.Close()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.listeners[ln] = true
	s.wg.Add(1)
	s.mu.Unlock()
	defer s.wg.Done()
	for wait := time.Duration(0); ; {
		conn, err := ln.Accept()
		switch {
		case s.ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // such as too many open files
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			s.log.report("connection not accepted", ln.Addr(), err)
			select {
			case <-time.After(wait):
			case <-s.ctx.Done():
			}
			continue
		}
		wait = 0
		if err := s.admit(conn); err != nil {
			s.log.report("connection refused", conn.RemoteAddr(), err)
			conn.Close()
			continue
		}
		s.wg.Go(func() {
			defer s.dismiss(conn)
			if err := s.conn(conn); err != nil && s.ctx.Err() == nil {
				s.log.report("connection closed", conn.RemoteAddr(), err)
			}
		})
	}
}

// Close ends all listeners and connections, and returns when every call has been answered.
func (s *Server) Close() {
	s.cancel()
	s.mu.Lock()
	s.closed = true
	for ln := range s.listeners {
		ln.Close()
	}
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// admit counts a connection in, or returns why it may not be.
func (s *Server) admit(conn net.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	address := addressOf(conn)
	switch {
	case s.closed:
		return net.ErrClosed
	case len(s.conns) >= s.cfg.MaxConns:
		return fmt.Errorf("there are %d connections, which is as many as may be", len(s.conns))
	case s.addresses[address] >= s.cfg.MaxConnsPerAddress:
		return fmt.Errorf("there are %d connections from %s, which is as many as may be", s.addresses[address], address)
	}
	s.conns[conn] = true
	s.addresses[address]++
	return nil
}

func (s *Server) dismiss(conn net.Conn) {
	conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	address := addressOf(conn)
	delete(s.conns, conn)
	if s.addresses[address]--; s.addresses[address] == 0 {
		delete(s.addresses, address)
	}
}

func addressOf(conn net.Conn) string {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return conn.RemoteAddr().String()
	}
	return host
}

// conn serves a connection. The error says what was wrong with it.
func (s *Server) conn(conn net.Conn) error {
	mode, err := readMode(conn, s.cfg.HandshakeTimeout)
	switch {
	case err != nil:
		return err
	case mode == modeTLS && s.cfg.TLS == nil:
		return errors.New("the other end wants TLS, which this server does not speak")
	case mode != modeTLS && s.cfg.TLS != nil:
		return fmt.Errorf("first byte is %#02x: want 0x04, since this server demands TLS", mode)
	case mode == modeTLS:
		secure := tls.Server(conn, s.cfg.TLS)
		if err := s.handshake(secure); err != nil {
			return fmt.Errorf("TLS: %w", err)
		}
		if mode, err = readMode(secure, s.cfg.HandshakeTimeout); err != nil {
			return err
		}
		conn = secure
	}
	ctx, cancel := context.WithCancel(context.WithValue(s.ctx, callerKey{}, conn.RemoteAddr()))
	defer cancel()
	conn = patientConn{conn, s.cfg.MessageTimeout}
	switch mode {
	case modeRPC:
		return s.service.calls(ctx, conn)
	case modeMultiplex, modeMultiplexV2:
		wire := newFrames(conn)
		mux, err := yamux.Server(wire, yamuxConfig())
		if err != nil {
			return err
		}
		s.wg.Go(func() { wire.watch(mux) })
		defer mux.Close()
		s.service.session(ctx, mux, wire, mode == modeMultiplexV2, s.wg.Go)
		return nil
	case modeStreaming:
		return s.service.refuseStreaming(conn)
	case modeRaft:
		return errors.New("the other end is a server that wants to speak Raft: this one has no peers")
	}
	return fmt.Errorf("first byte is %#02x: want 0x01, 0x03 or 0x06 (Nomad's RPC), or 0x04 (TLS)", mode)
}

func (s *Server) handshake(conn *tls.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(s.cfg.HandshakeTimeout)); err != nil {
		return err
	}
	if err := conn.HandshakeContext(s.ctx); err != nil {
		return err
	}
	return conn.SetDeadline(time.Time{})
}

// rareLog writes at most one line a second about each problem, and how many it left out.
type rareLog struct {
	to *slog.Logger

	mu   sync.Mutex
	last map[string]*logged
}

type logged struct {
	at      time.Time
	skipped int
}

func (l *rareLog) report(problem string, peer net.Addr, err error) {
	if l.to == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last = map[string]*logged{}
	}
	seen := l.last[problem]
	if seen == nil {
		seen = new(logged)
		l.last[problem] = seen
	}
	now := time.Now()
	if now.Sub(seen.at) < time.Second {
		seen.skipped++
		return
	}
	l.to.Warn("RPC "+problem, "peer", peer, "error", err, "not_logged_before", seen.skipped)
	seen.at, seen.skipped = now, 0
}
