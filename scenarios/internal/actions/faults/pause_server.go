package faults

import (
	"errors"
	"fmt"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var (
	_ = actions.RegisterAction("pause_server", PauseServer{}, actions.Drawn(actions.OfServers, 2, 1, drawPauseServer))
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
	end := s.Cluster.DisturbLinks(cluster.LinkFault{From: []string{s.Cluster.Addr(i)}, Link: cluster.Link{Loss: 1}})
	s.Begin(a.For, fmt.Sprintf("%v goes on", Server(i)), infallible(end))
	return nil
}

func drawPauseServer(s *draw.Source) draw.Event {
	if s.Chance(1, 3) {
		return draw.NewEvent("pause_leader", s.Lasts())
	}
	return draw.NewEvent("pause_server", "server = "+s.Server(), s.Lasts())
}
