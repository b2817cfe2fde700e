package faults

import (
	"errors"
	"fmt"
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var (
	_ = actions.RegisterAction("kill_server", KillServer{}, actions.Drawn(actions.OfServers, 1, 2, drawKillServer))
	_ = ofLeader("kill_leader", func(lasts time.Duration) actions.Action { return KillServer{Leader, lasts} })
)

// KillServer ends a server's process, as a crash does. Its Raft log, votes and snapshots
// stay; when the fault ends it starts again from them.
type KillServer struct {
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
	s.Begin(a.For, fmt.Sprintf("%v is back", Server(i)), func() error { return s.StartServer(i) })
	return nil
}

func drawKillServer(s *draw.Source) draw.Event {
	if s.Chance(1, 3) {
		return draw.NewEvent("kill_leader", s.Lasts())
	}
	return draw.NewEvent("kill_server", "server = "+s.Server(), s.Lasts())
}
