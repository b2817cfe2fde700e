package cluster

import (
	"context"
	"fmt"
	"sync"
)

// Faults inside a server that goes on otherwise.

// crashes counts the evaluations that workers of a server are to lose.
type crashes struct {
	mu   sync.Mutex
	left int
	lost uint64
}

// take reports whether the evaluation just dequeued is lost.
func (c *crashes) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return false
	}
	c.left--
	c.lost++
	return true
}

// CrashWorkers makes the workers of server i lose the next n evaluations they dequeue, as
// if each crashed with it and was replaced at once: nobody acks or nacks them, so that
// they come back when their nack timers fire. What is left of an earlier n adds up; a
// restart of the server forgets it.
func (c *Cluster) CrashWorkers(i, n int) error {
	s := c.server(i)
	if s == nil || n < 1 {
		return fmt.Errorf("crash %d workers of %s: it must run, and at least one must crash", n, serverAddr(i))
	}
	s.crashes.mu.Lock()
	defer s.crashes.mu.Unlock()
	s.crashes.left += n
	return nil
}

// EvalsLost returns how many evaluations the workers of server i lost by crashing since it
// started.
func (c *Cluster) EvalsLost(i int) uint64 {
	s := c.server(i)
	if s == nil {
		return 0
	}
	s.crashes.mu.Lock()
	defer s.crashes.mu.Unlock()
	return s.crashes.lost
}

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

// StickApplier makes the plan applier of server i stand still before the next plan, or lets
// it go on. It matters while the server leads: plans wait, and with them their workers,
// whose evaluations' nack timers stand still too. A restart of the server frees it.
func (c *Cluster) StickApplier(i int, stuck bool) error {
	s := c.server(i)
	if s == nil {
		return fmt.Errorf("stick the plan applier of %s: it does not run", serverAddr(i))
	}
	s.applier.set(!stuck)
	return nil
}
