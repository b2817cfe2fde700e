package faults

import (
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.RegisterAction("fail_signing", FailSigning{}, actions.Drawn(actions.OfServers, 11, 1, drawFailSigning))

// FailSigning keeps the servers from signing identities of clients.
type FailSigning struct{ For time.Duration }

func (a FailSigning) Check(int) error { return actions.Lasting(a.For) }
func (FailSigning) Mark() string      { return "nothing is signed" }

func (a FailSigning) Do(s *actions.Stage) error {
	s.Simulated.FailSigning(true)
	s.Begin(a.For, "identities are signed again", func() error { s.Simulated.FailSigning(false); return nil })
	return nil
}

func drawFailSigning(s *draw.Source) draw.Event {
	if !s.Signs { // nobody would notice
		return drawPoisonJob(s)
	}
	return draw.NewEvent("fail_signing", s.Lasts())
}
