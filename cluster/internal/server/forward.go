package server

import (
	"context"
	"errors"
	"time"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/cpu"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
)

// rpcHoldTimeout is how long a call waits for a leader before it fails. It looks again after a
// stagger of up to rpcHoldStagger (nomad/rpc.go, RPCHoldTimeout and JitterFraction).
const (
	rpcHoldTimeout = 5 * time.Second
	rpcHoldStagger = rpcHoldTimeout / 16
)

// leader returns the address of the server that leads, as far as this one knows: its own once it leads and is ready to
// serve, or that of another, which may have died or been deposed since. A server that knows of none, or is not ready,
// looks again until rpcHoldTimeout has passed (nomad/rpc.go, getLeaderForRPC). The key tells calls apart that may wait at
// one instant.
func (s *Server) leader(ctx context.Context, key string) (addr string, err error) {
	deadline := time.Now().Add(rpcHoldTimeout)
	for {
		addr = s.Leader()
		if addr != "" && (addr != s.addr || s.Established()) {
			return addr, nil
		}
		now := time.Now()
		switch {
		case now.Before(deadline):
		case addr == s.addr:
			return "", rpc.ErrNotReady
		default:
			return "", rpc.ErrNoLeader
		}
		draw := simnet.HashStrings(s.seed^uint64(now.UnixNano()), "hold", s.addr, key)
		select {
		case <-time.After(time.Duration(draw % uint64(rpcHoldStagger))):
		case <-ctx.Done():
			return "", ctx.Err()
		case <-s.ctx.Done():
			return "", ErrStopped
		}
	}
}

// Forward runs fn on the leader: here, when this server leads, or over the network. It
// charges the call to both servers.
func Forward[T any](ctx context.Context, s *Server, method string, fn func(leader *Server) (T, error)) (T, error) {
	return forward(ctx, s, method, nil, message{}, message{}, fn)
}

// forward is Forward for a call that has come over the path via; nil if the server makes the call itself. Call and
// answer say what sending either takes if it is long.
func forward[T any](ctx context.Context, s *Server, method string, via *path, call, answer message, fn func(leader *Server) (T, error)) (T, error) {
	return onward(ctx, s, method, via, call, answer, followed(s, method, fn))
}

// onward is forward without a word to Config.CarriedOut. A server that was forwarded a call does with it as with any other: it
// waits until it is ready, or forwards it once more if it does not lead.
func onward[T any](ctx context.Context, s *Server, method string, via *path, call, answer message, fn func(leader *Server) (T, error)) (T, error) {
	var zero T
	key, costs, verify := method, &s.cfg.Costs.RPC, time.Duration(0)
	if via != nil {
		key, costs, verify = method+via.key, via.costs, via.verify
	}
	addr, err := s.leader(ctx, key)
	if err != nil {
		return zero, err
	}
	if addr == s.addr {
		return fn(s)
	}
	route := s.shared.Network.Route(s.addr, addr, method)
	l := s.shared.ByAddr(addr)
	if l == nil {
		return zero, refused(ctx, route)
	}
	s.Compute("send/"+method, costs.Send)
	p := &path{route: route, to: l, over: simnet.HashStrings(0, s.addr, addr), key: s.addr + method, cost: costs.Serve + verify, costs: costs, verify: verify, via: via}
	asks, answers := call.over(p.route), answer.over(p.route.Back())
	defer asks.Close()
	defer answers.Close()
	asks.Begin(s.streams("encode/"+p.key, p.over))
	out, err := carry(ctx, p, func(l *Server) (T, error) {
		asks.End(l.streams("decode/"+p.key, p.over))
		out, err := onward(ctx, l, method, p, call, answer, fn)
		if err == nil {
			answers.Begin(l.streams("encode/"+p.key, p.over))
		}
		return out, err
	})
	if costs.Answer > 0 {
		s.receive("answer/"+method, p.over, 0, costs.Answer)
	}
	if err == nil {
		answers.End(s.streams("decode/"+p.key, p.over))
	}
	return out, err
}

// refused takes as long as it takes to hear that nobody listens at the other end, and says so.
func refused(ctx context.Context, r simnet.Route) error {
	for _, way := range []simnet.Route{r, r.Back()} {
		if err := way.Send(ctx); err != nil {
			return unreachable(err)
		}
	}
	return rpc.ErrUnreachable
}

// message is a call or an answer that is long: each end takes time for its bytes, on top of what any call
// takes. The zero message is short.
type message struct {
	bytes int
	takes time.Duration
}

// over returns the message's stream over a route.
func (m message) over(r simnet.Route) *simnet.Stream {
	if m.takes <= 0 {
		return nil
	}
	return r.Stream(m.bytes, m.takes)
}

// streams returns how a server does the steps of a stream over a connection.
func (s *Server) streams(key string, over uint64) simnet.Step {
	return func(takes, after time.Duration) {
		if after < 0 {
			s.Compute(key, takes)
		} else {
			s.receive(key, over, after, takes)
		}
	}
}

// ToLeader carries a call to a server, from there to the leader, and the answer back. A
// server that does not run, nil, cannot be reached.
func ToLeader[T any](ctx context.Context, s *Server, caller, method, id string, fn func(leader *Server) (T, error)) (T, error) {
	return toLeader(ctx, s, (*Server).from, caller, method, id, fn)
}

// ClientToLeader is ToLeader for a call of a node's client, whose identity servers verify. If two calls of the method by
// one client can be answered at one instant, their IDs must differ.
func ClientToLeader[T any](ctx context.Context, s *Server, nodeID, method, id string, fn func(leader *Server) (T, error)) (T, error) {
	byClient := func(s *Server, nodeID, method string) *path { return s.fromClient(nodeID, method, s.ofClients.Serve) }
	return toLeader(ctx, s, byClient, nodeID, method, id, fn)
}

func toLeader[T any](ctx context.Context, s *Server, from func(s *Server, caller, method string) *path, caller, method, id string, fn func(*Server) (T, error)) (T, error) {
	if s == nil {
		var zero T
		return zero, rpc.ErrUnreachable
	}
	p := from(s, caller, method)
	return carry(ctx, p, followed(s, method, func(s *Server) (T, error) { return forward(ctx, s, method+"/"+id, p, message{}, message{}, fn) }))
}

// followed counts a call, and returns fn so changed that each time it runs it tells Config.CarriedOut of the call.
func followed[T any](s *Server, method string, fn func(*Server) (T, error)) func(*Server) (T, error) {
	tell := s.cfg.CarriedOut
	if tell == nil {
		return fn
	}
	call := s.shared.calls.Add(1)
	return func(at *Server) (T, error) {
		tell(call, method)
		return fn(at)
	}
}

// path is the way of one call to a server.
type path struct {
	route simnet.Route
	to    *Server
	over  uint64           // the connection, if other calls share it; zero if not
	key   string           // under which the server spends CPU time
	cost  time.Duration    // the CPU time that the server spends on the call
	costs *config.RPCCosts // of servers that forward the call
	// verify is the part of cost that verifies the caller's identity.
	verify time.Duration
	// calling is the CPU time that the fleet spends before it sends a client's call.
	calling time.Duration
	via     *path // the path before this one, of a call that is forwarded; nil if it is not
	// returned means that the answer's time on this path has passed already: one sleep was for
	// this path and for the one to the leader.
	returned bool
}

// fromClient returns the way of a call from the client of a node, which costs the server so much. Its identity is verified if it
// has one.
func (s *Server) fromClient(nodeID, method string, cost time.Duration) *path {
	p := s.outside(nodeID, method, cost, &s.ofClients)
	if s.cfg.ClientConnections > 0 {
		p.over = simnet.HashStrings(s.seed, "connection", s.sharedConnection(nodeID))
	}
	if s.cfg.Habits.ClientIdentities {
		p.verify = s.cfg.Costs.RPC.Verify
		p.cost += p.verify
	}
	return p
}

// from returns the way of any other call from outside the cluster.
func (s *Server) from(caller, method string) *path {
	return s.outside(caller, method, s.cfg.Costs.RPC.Serve, &s.cfg.Costs.RPC)
}

func (s *Server) outside(caller, method string, cost time.Duration, costs *config.RPCCosts) *path {
	p := &path{route: s.shared.Network.ClientRoute(caller, s.addr, method), to: s, key: method + caller, cost: cost, costs: costs}
	if s.shared.Fleet != nil {
		p.calling = s.cfg.Costs.RPC.Client
	} else {
		p.cost += s.cfg.Costs.RPC.Client
	}
	return p
}

// carry sends a call to a server, which runs fn, and the answer back.
func carry[T any](ctx context.Context, p *path, fn func(*Server) (T, error)) (out T, err error) {
	if err := p.there(ctx); err != nil {
		return out, err
	}
	out, err = fn(p.to)
	return back(ctx, p, out, err)
}

// there sends a call to the server, which spends CPU time on it.
func (p *path) there(ctx context.Context) error {
	if p.calling > 0 {
		p.to.shared.Fleet.Do(cpu.Work{Key: simnet.HashStrings(uint64(p.to.cfg.Seed), "fleet", p.key), Takes: p.calling})
	}
	if p.route.Steady() {
		p.to.receive(p.key, p.over, p.route.Delay(time.Now()), p.cost)
		return p.arrived(ctx)
	}
	if err := p.route.Send(ctx); err != nil {
		return unreachable(err)
	}
	if err := p.arrived(ctx); err != nil {
		return err
	}
	p.to.receive(p.key, p.over, 0, p.cost)
	return nil
}

// arrived returns why a call does not get to the server.
func (p *path) arrived(ctx context.Context) error {
	if p.to.dead() {
		return rpc.ErrUnreachable
	}
	return ctx.Err()
}

// back sends an answer back. A server that has died meanwhile does not answer.
func back[T any](ctx context.Context, p *path, out T, err error) (T, error) {
	var zero T
	if p.to.dead() {
		out, err = zero, rpc.ErrUnreachable
	}
	if serr := p.answer(ctx); serr != nil {
		return zero, unreachable(serr)
	}
	return out, err
}

// answer takes as long as an answer takes.
func (p *path) answer(ctx context.Context) error {
	switch route := p.route.Back(); {
	case p.returned:
		return nil
	case p.via != nil && route.Steady() && p.via.route.Steady():
		now := time.Now()
		there := now.Add(route.Delay(now))
		time.Sleep(there.Sub(now) + p.via.route.Back().Delay(there))
		p.via.returned = true
		return ctx.Err()
	default:
		return route.Send(ctx)
	}
}

// unreachable turns the network's error into the one callers know.
func unreachable(err error) error {
	if errors.Is(err, simnet.ErrUnreachable) {
		return rpc.ErrUnreachable
	}
	return err
}

// alive reports whether a node that was not heard from in time must not be marked down: its client
// answers a question, or a heartbeat came meanwhile, or nobody has to know any more. A client that
// answers has a new time to live (config.DesignConfig, AskTimeout).
func (s *Server) alive(ctx context.Context, nodeID string) bool {
	answers := s.ask(ctx, nodeID)
	switch {
	case !s.Established() || s.shared.Held.Load() || s.beats.Tracks(nodeID):
		return true
	case !answers:
		return false
	}
	_, leads := s.beats.Reset(nodeID)
	return leads
}

// ask asks the client of a node whether it is there, over the connection that it has to one of the
// servers, and waits for the answer.
func (s *Server) ask(ctx context.Context, nodeID string) bool {
	const method = "Node.Ask"
	clients := s.shared.Clients.Load()
	if clients == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Design.AskTimeout)
	defer cancel()
	s.Compute("ask/"+nodeID, s.cfg.Costs.RPC.Send)
	through, runs := (*clients).Reach(nodeID)
	if !runs {
		<-ctx.Done()
		return false
	}
	at, network := Addr(through), s.shared.Network
	hops := []func() error{
		func() error { return network.Send(ctx, s.addr, at, method+nodeID) },
		func() error { return network.SendClient(ctx, at, nodeID, method) },
		func() error { return network.SendClient(ctx, nodeID, at, method) },
		func() error { return network.Send(ctx, at, s.addr, method+nodeID) },
	}
	if s.shared.ByAddr(at) == nil {
		return false
	}
	for _, hop := range hops {
		if hop() != nil {
			return false
		}
	}
	return true
}
