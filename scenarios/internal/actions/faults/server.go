package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
)

// Server picks a server: by its number, counted from 0, or by what it does when the event
// comes.
type Server int

const (
	// Leader is the server that leads. Without one the event is tried again.
	Leader Server = -1
	// Follower is the first running server that does not lead.
	Follower Server = -2
)

func (s Server) String() string {
	switch s {
	case Leader:
		return "the leader"
	case Follower:
		return "a follower"
	}
	return fmt.Sprintf("server %d", int(s)+1)
}

// UnmarshalText reads a server as a file names it: leader, follower, or its number, counted
// from 1.
func (s *Server) UnmarshalText(text []byte) error {
	switch string(text) {
	case "leader":
		*s = Leader
		return nil
	case "follower":
		*s = Follower
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return fmt.Errorf(`%q is no server: it must be "leader", "follower" or a number from 1`, text)
	}
	*s = Server(n - 1)
	return nil
}

func (s Server) check(servers int) error {
	if s < Follower || int(s) >= servers {
		return fmt.Errorf("there is no %v: the scenario has %d", s, servers)
	}
	return nil
}

// pick finds the server that a Server stands for at this moment.
func (s Server) pick(c *cluster.Cluster) (int, error) {
	switch s {
	case Leader:
		if l := c.Leader(); l >= 0 {
			return l, nil
		}
		return 0, fmt.Errorf("pick the leader: %w", rpc.ErrNoLeader)
	case Follower:
		leader := c.Leader()
		for i := range c.Servers() {
			if i != leader && c.Running(i) {
				return i, nil
			}
		}
		return 0, fmt.Errorf("pick a follower: none runs: %w", rpc.ErrUnreachable)
	}
	return int(s), nil
}

// Servers picks several; an empty list picks all.
type Servers []Server

func (l Servers) String() string {
	if len(l) == 0 {
		return "all servers"
	}
	return l.join()
}

func (l Servers) join() string {
	var parts []string
	for _, s := range l {
		parts = append(parts, s.String())
	}
	return strings.Join(parts, ", ")
}

func (l Servers) check(servers int) error {
	for i, s := range l {
		if err := s.check(servers); err != nil {
			return err
		}
		if slices.Contains(l[:i], s) {
			return fmt.Errorf("%v is named twice", s)
		}
	}
	return nil
}

func (l Servers) pick(c *cluster.Cluster) ([]int, error) {
	var ids []int
	if len(l) == 0 {
		for i := range c.Servers() {
			ids = append(ids, i)
		}
		return ids, nil
	}
	for _, s := range l {
		i, err := s.pick(c)
		if err != nil {
			return nil, err
		}
		ids = append(ids, i)
	}
	return ids, nil
}

// ofLeader declares a keyword for a fault of the leader, whose block says only how long it
// lasts.
func ofLeader(keyword string, fault func(lasts time.Duration) actions.Action) struct{} {
	type block struct{ For time.Duration }
	return actions.Register(keyword, block{}, func(b block, _ *actions.Setting) (actions.Action, error) { return fault(b.For), nil }, actions.Soak{})
}
