package clients

import (
	"errors"
	"fmt"
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.RegisterAction("flap_clients", FlapClients{Fraction: 1, Times: 1}, actions.Drawn(actions.OfClients, 3, 1, drawFlapClients))

// FlapClients stops a share of the clients for Down and brings them back for Up, Times times.
type FlapClients struct {
	Fraction float64
	Down, Up time.Duration
	Times    int
}

func (a FlapClients) Check(int) error {
	err := errors.Join(actions.ShareOfClients(a.Fraction), actions.Positive("down", a.Down), actions.Positive("up", a.Up))
	if a.Times < 1 {
		err = errors.Join(err, fmt.Errorf("%d times: it must be at least once", a.Times))
	}
	return err
}

func (a FlapClients) Follow(h *actions.History) error { return h.NeedsClients() }

func (a FlapClients) Mark() string {
	return fmt.Sprintf("%g%% of the clients flap %d times", a.Fraction*100, a.Times)
}

func (a FlapClients) Do(s *actions.Stage) error {
	a.flap(s, s.Fleet.Choose(a.Fraction), a.Times)
	return nil
}

// flap stops clients so many times. Being down and being up are faults, one after the other;
// healing ends them and begins none.
func (a FlapClients) flap(s *actions.Stage, ids []string, times int) {
	s.Fleet.StopNodes(ids)
	s.Begin(a.Down, "", func() error {
		s.Fleet.Resume(ids)
		if times > 1 && !s.Healing() {
			s.Begin(a.Up, "", func() error {
				if !s.Healing() {
					a.flap(s, ids, times-1)
				}
				return nil
			})
		}
		return nil
	})
}

func drawFlapClients(s *draw.Source) draw.Event {
	return draw.NewEvent("flap_clients", "fraction = "+s.Between(0.05, 0.5), "down = "+s.Delay(time.Second, time.Minute),
		"up = "+s.Delay(time.Second, time.Minute), fmt.Sprintf("times = %d", 1+s.Rand.IntN(4)))
}
