package server

import (
	"context"

)

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
	s.compute("ask/"+nodeID, s.cfg.Costs.RPC.Send)
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
