package server

import (
	"context"
	"sync"
)

// Faults inside a server that goes on otherwise.

// crashes counts the evaluations that workers of a server are to lose.
type crashes struct {
	mu   sync.Mutex
	left int
}

// take reports whether the evaluation just dequeued is lost.
func (c *crashes) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return false
	}
	c.left--
	return true
}

// CrashWorkers makes the workers lose the next n evaluations they dequeue, on top of those
// of earlier calls.
func (s *Server) CrashWorkers(n int) {
	s.crashes.mu.Lock()
	defer s.crashes.mu.Unlock()
	s.crashes.left += n
}

// StickApplier makes the plan applier stand still before the next plan, or lets it go on.
func (s *Server) StickApplier(stuck bool) { s.applier.set(!stuck) }

// gate lets pass, or holds until it is opened. The zero value is open.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // nil while open; closed by opening
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case open && g.opened != nil:
		close(g.opened)
		g.opened = nil
	case !open && g.opened == nil:
		g.opened = make(chan struct{})
	}
}

// pass waits while the gate is closed; false: ctx ended.
func (g *gate) pass(ctx context.Context) bool {
	for {
		g.mu.Lock()
		opened := g.opened
		g.mu.Unlock()
		if opened == nil {
			return ctx.Err() == nil
		}
		select {
		case <-opened:
		case <-ctx.Done():
			return false
		}
	}
}
