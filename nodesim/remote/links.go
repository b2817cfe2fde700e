package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/nomadrpc"
	"github.com/simctl/simctl/internal/nomadtls"
)

// link is one connection to one server, made when it is needed and made again when it has
// ended.
type link struct {
	servers *Servers
	address string
	dial    nomadrpc.DialConfig

	mu       sync.Mutex
	closed   bool
	answered bool // it has answered a call
	refused  bool // the server has closed the last session before it answered any call
	knocks   bool // knock calls the server now and then until it is not refused
	session  *nomadrpc.Session
	attempt  *attempt // to connect, under way
}

// attempt is an attempt to connect, shared by all goroutines that wait for the connection. The other fields are set
// when done is closed.
type attempt struct {
	done    chan struct{}
	session *nomadrpc.Session
	err     error
}

// get returns the connection.
func (l *link) get(ctx context.Context) (*nomadrpc.Session, error) {
	l.mu.Lock()
	if l.session != nil && !l.session.Closed() {
		defer l.mu.Unlock()
		return l.session, nil
	}
	if l.closed {
		l.mu.Unlock()
		return nil, net.ErrClosed
	}
	a := l.attempt
	if a == nil {
		a = &attempt{done: make(chan struct{})}
		l.attempt = a
		old := l.session
		l.servers.wg.Go(func() { l.connect(a, old) })
	}
	l.mu.Unlock()
	select {
	case <-a.done:
		return a.session, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// connect makes the connection that replaces old, which has ended.
func (l *link) connect(a *attempt, old *nomadrpc.Session) {
	if old != nil {
		old.Close()
	}
	a.session, a.err = nomadrpc.Dial(l.servers.ctx, l.address, l.dial)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempt, l.session, l.answered = nil, a.session, false
	if l.closed && a.session != nil {
		a.session.Close()
	}
	close(a.done)
}

func (l *link) open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session != nil && !l.session.Closed()
}

func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	session := l.session
	l.mu.Unlock()
	if session != nil {
		session.Close()
	}
}

// works reports whether calls are answered.
func (l *link) works() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answered && !l.refused && l.session != nil && !l.session.Closed()
}

// isRefused reports whether the server has closed the last session before it answered any call.
func (l *link) isRefused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// call makes a node's call, on another's connection if the server refuses the node's own.
func (s server) call(ctx context.Context, n *node, method string, req, resp any) error {
	links := s.links[s.number]
	own := links[n.number%len(links)]
	if own.isRefused() {
		if l := s.share(n); l != nil {
			return l.call(ctx, method, req, resp)
		}
	}
	err := own.call(ctx, method, req, resp)
	if err != nil && ctx.Err() == nil && own.isRefused() {
		if l := s.share(n); l != nil {
			return l.call(ctx, method, req, resp)
		}
	}
	return err
}

// strewn is a prime. It spreads nodes with neighbouring connections of their own over connections far apart.
const strewn = 7919

// share returns a connection for a node whose own is refused; nil if none works.
func (s server) share(n *node) *link {
	links := s.links[s.number]
	for i := range links {
		if l := links[(n.number*strewn+i)%len(links)]; l.works() {
			s.told.Do(func() {
				if s.cfg.Refused != nil {
					s.cfg.Refused(l.address)
				}
			})
			return l
		}
	}
	return nil
}

// call makes a call, and counts it if it fails. The error is as of try.
func (l *link) call(ctx context.Context, method string, req, resp any) error {
	err := l.try(ctx, method, req, resp)
	if err != nil && ctx.Err() == nil {
		l.servers.failed.add(method, err)
	}
	return err
}

// try makes a call. The error is one that clients tell apart (rpc.ErrNoLeader and others)
// where Nomad's clients do, with the server's words.
func (l *link) try(ctx context.Context, method string, req, resp any) error {
	session, err := l.get(ctx)
	connected := err == nil || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
	if err == nil {
		err = session.Call(ctx, method, req, resp)
	}
	remedy := nomadtls.Remedy(err)
	err = classify(err)
	switch {
	case remedy != "":
		err = fmt.Errorf("%w: %s", err, remedy)
	case ctx.Err() == nil && connected:
		err = l.explain(session, err)
	}
	return err
}

// explain adds the likely cause to the error of a call if the server has closed a connection on which no
// call was ever answered. From then on knock tries the connection.
func (l *link) explain(session *nomadrpc.Session, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if session != l.session {
		return err // there is another since
	}
	if !errors.Is(err, rpc.ErrUnreachable) {
		l.answered, l.refused = true, false
		return err
	}
	if l.answered {
		return err
	}
	l.refused = true
	if !l.knocks && !l.closed {
		l.knocks = true
		l.servers.wg.Go(l.knock)
	}
	wrong := "those without TLS if it demands TLS"
	if l.dial.TLS != nil {
		wrong = "those with TLS if its RPC speaks none"
	}
	return fmt.Errorf("%w (a server closes connections beyond its limit for an address, rpc_max_conns_per_client, and %s)", err, wrong)
}

// knock calls the server now and then until it answers.
func (l *link) knock() {
	every := l.servers.knockEvery
	for goOn := true; goOn; {
		pause(l.servers.ctx, every+rand.N(every))
		var leader string
		_ = l.try(l.servers.ctx, leaderMethod, l.servers.leaderRequest(), &leader) // what came of it is noted
		l.mu.Lock()
		goOn = l.refused && !l.closed
		l.knocks = goOn
		l.mu.Unlock()
	}
}
