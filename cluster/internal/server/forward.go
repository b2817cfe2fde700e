package server

import (
	"context"
	"errors"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
)

// rpcHoldTimeout is how long a call waits for a leader before it fails, and
// rpcHoldPoll how often it looks (nomad/rpc.go, RPCHoldTimeout).
const (
	rpcHoldTimeout = 5 * time.Second
	rpcHoldPoll    = rpcHoldTimeout / 16
)

// leader waits for a server that leads and is ready to serve.
func (s *Server) leader(ctx context.Context) (*Server, error) {
	deadline := time.Now().Add(rpcHoldTimeout)
	for {
		if addr := s.Leader(); addr != "" {
			if l := s.shared.ByAddr(addr); l != nil && l.Established() {
				return l, nil
			}
		}
		if time.Now().After(deadline) {
			return nil, rpc.ErrNoLeader
		}
		select {
		case <-time.After(rpcHoldPoll + time.Duration(s.opts.ID+1)*time.Microsecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.ctx.Done():
			return nil, ErrStopped
		}
	}
}

// Forward runs fn on the leader: here, when this server leads, or over the network. It
// charges the call to both servers.
func Forward[T any](ctx context.Context, s *Server, method string, fn func(leader *Server) (T, error)) (T, error) {
	var zero T
	l, err := s.leader(ctx)
	if err != nil {
		return zero, err
	}
	if l == s {
		return fn(l)
	}
	s.compute("send/"+method, s.cfg.Costs.RPC.Send)
	return carry(ctx, s.shared.Network.Send, s.addr, l, method, s.addr+method, fn)
}

// FromClient carries a client's call to a server and the answer back. A server that does
// not run, nil, cannot be reached.
func FromClient[T any](ctx context.Context, s *Server, nodeID, method string, fn func(*Server) (T, error)) (T, error) {
	if s == nil {
		var zero T
		return zero, rpc.ErrUnreachable
	}
	return carry(ctx, s.shared.Network.SendClient, nodeID, s, method, method+nodeID, fn)
}

// carry sends a call to a server, which spends CPU time under a key and runs fn, and the
// answer back. A server that dies meanwhile does not answer.
func carry[T any](ctx context.Context, send func(ctx context.Context, from, to, kind string) error,
	from string, to *Server, method, key string, fn func(*Server) (T, error)) (out T, err error) {
	var zero T
	if err := send(ctx, from, to.addr, method); err != nil {
		return zero, unreachable(err)
	}
	if to.dead() {
		return zero, rpc.ErrUnreachable
	}
	to.compute(key, to.cfg.Costs.RPC.Serve)
	out, err = fn(to)
	if to.dead() {
		out, err = zero, rpc.ErrUnreachable
	}
	if serr := send(ctx, to.addr, from, method); serr != nil {
		return zero, unreachable(serr)
	}
	return out, err
}

// unreachable turns the network's error into the one callers know.
func unreachable(err error) error {
	if errors.Is(err, simnet.ErrUnreachable) {
		return rpc.ErrUnreachable
	}
	return err
}
