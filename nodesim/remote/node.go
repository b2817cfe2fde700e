package remote

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/uuid"
)

// node is what a client keeps between calls.
type node struct {
	number int // in the order in which nodes were first seen
	id     string
	secret string

	mu         sync.Mutex
	registered bool
	denied     bool   // the last registration was, and the next one goes without a token
	identity   string // signed by a server; empty = none
	allocs     map[string]known
	endWatch   context.CancelFunc // of the call that waits; nil = there was none
}

// known is an allocation that was fetched.
type known struct {
	alloc   *rpc.Allocation
	tasks   []string
	started time.Time // when it was first reported to run; zero = never
}

// node returns the node with that ID.
func (s *Servers) node(id string) *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[id]
	if n == nil {
		n = &node{number: len(s.nodes), id: id, secret: secretOf(id), allocs: map[string]known{}}
		s.nodes[id] = n
	}
	return n
}

// secretOf returns the secret of the node with that ID.
func secretOf(id string) string {
	sum := sha256.Sum256([]byte("secret of " + id))
	return uuid.Random(&halves{binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])})
}

// halves is a source of two numbers.
type halves [2]uint64

func (h *halves) Uint64() uint64 {
	next := h[0]
	h[0] = h[1]
	return next
}

// token returns what proves that a call comes from the node.
func (n *node) token() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.tokenLocked()
}

func (n *node) tokenLocked() string {
	if n.identity != "" {
		return n.identity
	}
	return n.secret
}

// registerToken returns what goes with a registration (client/client.go,
// getRegistrationToken, retryRegisterNode).
func (n *node) registerToken(intro string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.denied && intro == "":
		return ""
	case n.registered:
		return n.tokenLocked()
	}
	return intro
}

// accepted takes note of an answer to a registration or a heartbeat.
func (n *node) accepted(identity *string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.registered, n.denied = true, false
	if identity != nil && *identity != "" {
		n.identity = *identity
	}
}

// refused takes note of a registration that was denied.
func (n *node) refused() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.denied = true
}

// newWatch ends the watch that waits, since its client has forgotten it, and returns the
// context of the next.
func (n *node) newWatch(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.endWatch != nil {
		n.endWatch()
	}
	n.endWatch = cancel
	return ctx, cancel
}
