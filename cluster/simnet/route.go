package simnet

import (
	"cmp"
	"context"
	"time"
)

// Route is the way of messages of one kind over one link. Messages of different kinds that leave at
// one instant take different times.
type Route struct {
	network        *Network
	link           Link
	from, to, kind string
}

// Route returns the way from one server to another.
func (n *Network) Route(from, to, kind string) Route {
	return Route{n, n.link(from, to), from, to, kind}
}

// ClientRoute returns the way between a client and a server, in either direction.
func (n *Network) ClientRoute(from, to, kind string) Route {
	return Route{n, n.clients, from, to, kind}
}

// Back returns the way back.
func (r Route) Back() Route {
	r.from, r.to = r.to, r.from
	return r
}

// Send sleeps for the time that a message takes. If the link
// loses the message it sleeps for callTimeout and returns ErrUnreachable. The other error
// is ctx's.
func (r Route) Send(ctx context.Context) error {
	wait, lost := r.network.trip(r.link, r.from, r.to, r.kind)
	if lost != nil {
		return cmp.Or(sleep(ctx, wait), lost)
	}
	time.Sleep(wait) // not for long, and ctx would cost a timer and a channel
	return ctx.Err()
}

// Steady reports whether the link loses nothing now and nothing disturbs it: then Delay says how
// long messages take.
func (r Route) Steady() bool { return r.link.Loss == 0 && r.network.faults.Load() == nil }

// Delay returns how long a message takes that is sent at an instant over a steady link.
func (r Route) Delay(at time.Time) time.Duration {
	return r.link.delay(r.network.hash(at, r.from, r.to, r.kind))
}
