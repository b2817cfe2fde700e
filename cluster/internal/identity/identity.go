package identity

import (
	"errors"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// errUnsigned means that no server can sign at present.
var errUnsigned = errors.New("failed to sign node identity claims")

// terminal is how long before an identity expires servers refuse whoever they cannot sign
// another for (nomad/structs/node.go, IdentitySigningErrorIsTerminal, v2.0.5).
const terminal = 10 * time.Minute

// Identities are those of a cluster's clients, which carry them in Nomad. The zero value has none,
// and lets everybody in. It is safe for concurrent use.
type Identities struct {
	// TTL is how long an identity is good; zero means that clients need none.
	TTL time.Duration

	mu      sync.Mutex
	outages int                  // that keep servers from signing
	expires map[string]time.Time // by node
}

// FailSigning keeps servers from signing identities, or with -1 takes an earlier call back.
func (i *Identities) FailSigning(n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.outages += n
}

// Check returns an error if a node's identity has expired (nomad/auth, Authenticate).
func (i *Identities) Check(node string, now time.Time) error {
	if i.TTL == 0 {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.check(node, now)
}

func (i *Identities) check(node string, now time.Time) error {
	if expires, ok := i.expires[node]; ok && now.After(expires) {
		return rpc.ErrPermissionDenied
	}
	return nil
}

// Register gives a node that registers an identity, unless it has one that is good for long
// enough. An expired one is no obstacle (nomad/node_endpoint.go, Register, v2.0.5).
func (i *Identities) Register(node string, now time.Time) error {
	if i.TTL == 0 {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.lasts(node, now) {
		return nil
	}
	return i.sign(node, now)
}

// Heartbeat refuses a node whose identity has expired, and renews one that is in the last third
// of its time (nomad/node_endpoint.go, UpdateStatus, v2.0.5).
func (i *Identities) Heartbeat(node string, now time.Time) error {
	if i.TTL == 0 {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.check(node, now); err != nil || i.lasts(node, now) {
		return err
	}
	if err := i.sign(node, now); err != nil && now.Add(terminal).After(i.expires[node]) {
		return err
	}
	return nil // if it is not renewed, the next heartbeat tries again
}

// lasts reports whether a node's identity need not be renewed (nomad/structs/identity.go,
// IsExpiring). Called with mu held.
func (i *Identities) lasts(node string, now time.Time) bool {
	expires, ok := i.expires[node]
	return ok && !expires.Before(now.Add(i.TTL/3))
}

// sign gives a node a new identity. Called with mu held.
func (i *Identities) sign(node string, now time.Time) error {
	if i.outages > 0 {
		return errUnsigned
	}
	if i.expires == nil {
		i.expires = map[string]time.Time{}
	}
	i.expires[node] = now.Add(i.TTL)
	return nil
}
