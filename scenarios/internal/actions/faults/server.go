package faults

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
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
func (s Server) pick(c actions.Cluster) (int, error) {
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

// Servers picks several; nil picks all.
type Servers []Server

func (l Servers) String() string {
	if len(l) == 0 {
		return "all servers"
	}
	var parts []string
	for _, s := range l {
		parts = append(parts, s.String())
	}
	return strings.Join(parts, ", ")
}

// errNamesNone is about an empty list, which stands neither for all nor for none.
func errNamesNone(list string) error {
	return fmt.Errorf("%s names none: name one, or leave it out", list)
}

func (l Servers) check(servers int) error {
	if l != nil && len(l) == 0 {
		return errNamesNone("servers")
	}
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

func (l Servers) pick(c actions.Cluster) ([]int, error) {
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

// ofOurs is part of an Action that needs servers which this program has started.
type ofOurs struct{}

// On returns an error unless they are ours.
func (ofOurs) On(t actions.Target) error {
	if !t.Ours {
		return fmt.Errorf("the servers of %s are not ours to kill and to start: let simctl start some with --bin", t.Name)
	}
	return nil
}

var (
	_ = actions.RegisterAction("kill_server", KillServer{}, actions.Drawn(actions.OfServers, 1, 2, drawServerOrLeader("kill")))
	_ = ofLeader("kill_leader", func(lasts time.Duration) actions.Action { return KillServer{Server: Leader, For: lasts} })
)

// KillServer ends a server's process, as a crash does. Its Raft log, votes and snapshots
// stay; when the fault ends it starts again from them.
type KillServer struct {
	ofOurs
	Server Server
	For    time.Duration
}

func (a KillServer) Check(n int) error { return errors.Join(a.Server.check(n), actions.Lasting(a.For)) }

func (a KillServer) Mark() string { return fmt.Sprintf("%v is killed", a.Server) }

func (a KillServer) Do(s *actions.Stage) error {
	i, err := a.Server.pick(s.Cluster)
	if err != nil {
		return err
	}
	if !s.Cluster.Running(i) {
		return nil // dead already
	}
	if err := s.Cluster.StopServer(i); err != nil {
		return err
	}
	s.Begin(a.For, back(i), func() error { return s.StartServer(i) })
	return nil
}

// back marks the end of KillServer.
func back(i int) string { return fmt.Sprintf("%v is back", Server(i)) }

// drawServerOrLeader draws what ofLeader declares besides, too.
func drawServerOrLeader(verb string) func(*draw.Source) draw.Event {
	return func(s *draw.Source) draw.Event {
		if s.Chance(1, 3) {
			return draw.NewEvent(verb+"_leader", s.Lasts())
		}
		return draw.NewEvent(verb+"_server", "server = "+s.Server(), s.Lasts())
	}
}

var _ = actions.RegisterAction("start_server", StartServer{}, actions.Drawn(actions.OfServers, 3, 1, drawStartServer))

// StartServer starts a killed server again.
type StartServer struct {
	ofOurs
	Server Server
}

func (a StartServer) Check(n int) error { return a.Server.check(n) }
func (a StartServer) Mark() string      { return fmt.Sprintf("%v is started", a.Server) }

func (a StartServer) Do(s *actions.Stage) error {
	i, err := a.Server.pick(s.Cluster)
	if err != nil {
		return err
	}
	return errors.Join(s.EndMarked(back(i)), s.StartServer(i))
}

func drawStartServer(s *draw.Source) draw.Event {
	return draw.NewEvent("start_server", "server = "+s.Numbered())
}

// Every schedule of soak ends with one, so none is drawn.
var _ = actions.RegisterAction("heal", Heal{}, actions.Soak{})

// Heal ends every fault that is under way and starts every killed server.
type Heal struct{ actions.Anywhere }

func (Heal) Mark() string              { return "all faults end" }
func (Heal) Do(s *actions.Stage) error { return s.Heal() }

var (
	_ = actions.RegisterAction("pause_server", PauseServer{}, actions.Drawn(actions.OfServers, 2, 1, drawServerOrLeader("pause")))
	_ = ofLeader("pause_leader", func(lasts time.Duration) actions.Action { return PauseServer{Leader, lasts} })
)

// PauseServer cuts a server off from everybody, as a process that is stopped, or a machine
// that swaps, is to others: what is sent to it is not answered. What differs from such a
// process is in docs/adr/0602.
type PauseServer struct {
	Server Server
	For    time.Duration
}

func (a PauseServer) Check(n int) error {
	return errors.Join(a.Server.check(n), actions.Lasting(a.For))
}

func (a PauseServer) Mark() string { return fmt.Sprintf("%v is paused", a.Server) }

func (a PauseServer) Do(s *actions.Stage) error {
	i, err := a.Server.pick(s.Cluster)
	if err != nil {
		return err
	}
	end := s.Simulated.DisturbLinks(cluster.LinkFault{From: []string{s.Simulated.Addr(i)}, Link: cluster.Link{Loss: 1}})
	s.Begin(a.For, fmt.Sprintf("%v goes on", Server(i)), infallible(end))
	return nil
}
