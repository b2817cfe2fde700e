package faults

import (
	"errors"
	"fmt"
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.RegisterAction("stick_applier", StickApplier{Server: Leader}, actions.Drawn(actions.OfServers, 7, 1, drawStickApplier))

// StickApplier makes a server's plan applier stand still, which matters while it leads.
type StickApplier struct {
	Server Server
	For    time.Duration
}

func (a StickApplier) Check(n int) error {
	return errors.Join(a.Server.check(n), actions.Lasting(a.For))
}

func (a StickApplier) Mark() string { return fmt.Sprintf("the plan applier of %v sticks", a.Server) }

func (a StickApplier) Do(s *actions.Stage) error {
	i, err := a.Server.pick(s.Cluster)
	if err != nil {
		return err
	}
	if err := s.Cluster.StickApplier(i, true); err != nil {
		return err
	}
	s.Begin(a.For, fmt.Sprintf("the plan applier of %v goes on", Server(i)), func() error {
		if !s.Cluster.Running(i) {
			return nil // stopping it has freed the applier
		}
		return s.Cluster.StickApplier(i, false)
	})
	return nil
}

func drawStickApplier(s *draw.Source) draw.Event { return draw.NewEvent("stick_applier", s.Lasts()) }
