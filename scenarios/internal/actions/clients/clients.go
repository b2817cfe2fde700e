package clients

import (
	"errors"
	"fmt"
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/internal/english"
)

// Every schedule of soak begins with it, so none is drawn.
var _ = actions.RegisterAction("start_clients", StartClients{}, actions.Soak{})

// StartClients brings the whole fleet to life.
type StartClients struct{ actions.Anywhere }

func (StartClients) Follow(h *actions.History) error {
	if h.Started {
		return errors.New("the clients have been started already")
	}
	h.Started = true
	return nil
}

func (StartClients) Disturbs(groups []behaviours.Group) float64 {
	return float64(behaviours.Nodes(groups, ""))
}

func (StartClients) Mark() string { return "clients start" }

func (StartClients) Do(s *actions.Stage) error {
	s.Fleet.Start(s.Ctx)
	return nil
}

var _ = actions.RegisterAction("stop_clients", StopClients{Fraction: 1}, actions.Drawn(actions.OfClients, 1, 1, drawStopClients))

// StopClients silences a Fraction of the clients or, with a Fraction of 1, those of a Group;
// without For until ResumeClients, and no Heal brings them back.
type StopClients struct {
	actions.Anywhere
	Group    string  `lang:"ref=group"`
	Fraction float64 `lang:"max=1"`
	For      time.Duration
}

func (a StopClients) Check(int) error {
	if a.Group != "" && (a.Fraction != 1 || a.For != 0) {
		return errors.New("a group stops as a whole and until resume_clients: leave out fraction and for, or use a behaviour")
	}
	return errors.Join(actions.ShareOfClients(a.Fraction), actions.Lasting(a.For))
}

func (a StopClients) Disturbs(groups []behaviours.Group) float64 {
	times := 1.0
	if a.For > 0 {
		times = 2 // they come back
	}
	return times * a.Fraction * float64(behaviours.Nodes(groups, a.Group))
}

func (a StopClients) Follow(h *actions.History) error { return h.NeedsClients() }

func (a StopClients) Mark() string {
	if a.Group != "" {
		return "the clients of group " + a.Group + " stop"
	}
	return fmt.Sprintf("%g%% of the clients stop", a.Fraction*100)
}

func (a StopClients) Do(s *actions.Stage) error {
	if a.Group != "" {
		s.Fleet.StopClients(s.Fleet.InGroup(a.Group))
		return nil
	}
	ids := s.Fleet.Stop(a.Fraction)
	if a.For > 0 {
		s.Begin(a.For, "they are back", func() error { s.Fleet.Resume(ids); return nil })
	}
	return nil
}

func drawStopClients(s *draw.Source) draw.Event {
	switch s.Rand.IntN(5) {
	case 0:
		return draw.NewEvent("stop_clients", fmt.Sprintf("group = %q", s.Group()))
	case 1, 2:
		return draw.NewEvent("stop_clients", "fraction = "+s.Between(0.05, 0.3))
	}
	return draw.NewEvent("stop_clients", "fraction = "+s.Between(0.05, 0.3), s.Lasts())
}

var _ = actions.RegisterAction("resume_clients", ResumeClients{}, actions.Drawn(actions.OfClients, 2, 1, drawResumeClients))

// ResumeClients brings back every stopped client, or every client of a Group.
type ResumeClients struct {
	actions.Anywhere
	Group string `lang:"ref=group"`
}

func (ResumeClients) Follow(h *actions.History) error { return h.NeedsClients() }

func (a ResumeClients) Mark() string {
	if a.Group != "" {
		return "the clients of group " + a.Group + " are back"
	}
	return "the stopped clients are back"
}

func (a ResumeClients) Do(s *actions.Stage) error {
	if a.Group != "" {
		s.Fleet.StartClients(s.Fleet.InGroup(a.Group))
	} else {
		s.Fleet.Resume(s.Fleet.StoppedNodes())
	}
	return nil
}

func drawResumeClients(s *draw.Source) draw.Event {
	if s.Chance(1, 2) {
		return draw.NewEvent("resume_clients", fmt.Sprintf("group = %q", s.Group()))
	}
	return draw.NewEvent("resume_clients")
}

var _ = actions.RegisterAction("flap_clients", FlapClients{Fraction: 1, Times: 1}, actions.Drawn(actions.OfClients, 3, 1, drawFlapClients))

// FlapClients stops a share of the clients for Down and brings them back for Up, Times times. A scenario
// file may say zero times.
type FlapClients struct {
	actions.Anywhere
	Fraction float64
	Down, Up time.Duration
	Times    int `lang:"max=100000"`
}

func (a FlapClients) Check(int) error {
	err := errors.Join(actions.ShareOfClients(a.Fraction), actions.Positive("down", a.Down), actions.Positive("up", a.Up))
	if a.Times < 1 {
		err = errors.Join(err, fmt.Errorf("times is %d: it must be at least 1", a.Times))
	}
	return err
}

func (a FlapClients) Never() bool { return a.Times == 0 }

func (a FlapClients) Disturbs(groups []behaviours.Group) float64 {
	return 2 * float64(a.Times) * a.Fraction * float64(behaviours.Nodes(groups, ""))
}

func (a FlapClients) Follow(h *actions.History) error { return h.NeedsClients() }

func (a FlapClients) Mark() string {
	return fmt.Sprintf("%g%% of the clients flap %s", a.Fraction*100, english.Plural(a.Times, "time"))
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

var _ = actions.RegisterAction("skew_clocks", SkewClocks{Rate: 1}, actions.Drawn(actions.OfClients, 4, 1, drawSkewClocks))

// SkewClocks makes the clocks of a share of the clients run at a rate: below 1 their
// heartbeats come late.
type SkewClocks struct {
	actions.Anywhere
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
