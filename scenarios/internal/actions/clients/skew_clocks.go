package clients

import (
	"errors"
	"fmt"
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.RegisterAction("skew_clocks", SkewClocks{Rate: 1}, actions.Drawn(actions.OfClients, 4, 1, drawSkewClocks))

// SkewClocks makes the clocks of a share of the clients run at a rate: below 1 their
// heartbeats come late.
type SkewClocks struct {
	Clients float64
	Rate    float64
	For     time.Duration
}

func (a SkewClocks) Check(int) error {
	err := errors.Join(actions.ShareOfClients(a.Clients), actions.Lasting(a.For))
	if !(a.Rate > 0) { // so that a NaN is refused
		err = errors.Join(err, fmt.Errorf("a clock rate of %g: it must be a number above 0", a.Rate))
	}
	return err
}

func (a SkewClocks) Follow(h *actions.History) error { return h.NeedsClients() }

func (a SkewClocks) Mark() string {
	return fmt.Sprintf("the clocks of %g%% of the clients run at %g", a.Clients*100, a.Rate)
}

func (a SkewClocks) Do(s *actions.Stage) error {
	ids := s.Fleet.Choose(a.Clients)
	if err := s.Fleet.SetClockRate(ids, a.Rate); err != nil {
		return err
	}
	s.Begin(a.For, "the clocks are right again", func() error { return s.Fleet.SetClockRate(ids, 1) })
	return nil
}

func drawSkewClocks(s *draw.Source) draw.Event {
	return draw.NewEvent("skew_clocks", s.Lasts(), "clients = "+s.Between(0.1, 1), "rate = "+s.Between(0.1, 3))
}
