package faults

import (
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
)

var _ = actions.RegisterAction("fail_signing", FailSigning{}, actions.Soak{})

// FailSigning keeps the servers from signing identities of clients.
type FailSigning struct{ For time.Duration }

func (a FailSigning) Check(int) error { return actions.Lasting(a.For) }
func (FailSigning) Mark() string      { return "nothing is signed" }

func (a FailSigning) Do(s *actions.Stage) error {
	s.Simulated.FailSigning(true)
	s.Begin(a.For, "identities are signed again", func() error { s.Simulated.FailSigning(false); return nil })
	return nil
}
