package cluster

import (
	"context"
	"time"

	"github.com/simctl/simctl/cluster/internal/server"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Member is a server as its peers know it.
type Member struct {
	ID      int    // counted from 0
	Addr    string // on the network of the cluster
	Running bool
	Leads   bool // and serves
}

// Members returns all servers, running or not.
func (c *Cluster) Members() []Member {
	leader := c.Leader()
	members := make([]Member, c.cfg.Servers)
	for i := range members {
		members[i] = Member{ID: i, Addr: server.Addr(i), Running: c.Running(i), Leads: i == leader}
	}
	return members
}

// View is what one server answers reads from.
type View struct {
	Store *state.Store // to read only
	Index uint64       // of the state when the server was asked
	// SetBack is how often a snapshot of the leader's has led that state back.
	SetBack int
	// LastContact is how long ago the server heard of its leader: zero on the leader itself.
	LastContact time.Duration
	KnownLeader bool
	// Done is closed when the server's process ends: the store changes no more.
	Done <-chan struct{}
}

// View returns what server i answers reads from, as Nomad's blocking queries find it: its own
// state if stale, and else the leader's, for which it waits a while. The error is
// rpc.ErrNoLeader or, when the server does not run, rpc.ErrUnreachable.
func (c *Cluster) View(ctx context.Context, i int, stale bool) (View, error) {
	s := c.server(i)
	if s == nil {
		return View{}, rpc.ErrUnreachable
	}
	if !stale {
		return server.Forward(ctx, s, "Read", func(l *server.Server) (View, error) { return viewOf(l), nil })
	}
	return viewOf(s), nil
}

func viewOf(s *server.Server) View {
	v := View{Store: s.Store(), KnownLeader: s.Leader() != "", Done: s.Done()}
	v.Index, v.SetBack = v.Store.Course()
	if !s.Leads() {
		v.LastContact = max(0, time.Since(s.Raft.LastContact()))
	}
	return v
}
